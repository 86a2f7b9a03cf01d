/* SPDX-License-Identifier: MIT
 *
 * Requests per second of `npulab dram`, DDR3-2133 on one core: streams, tiles and random reads on one and two channels,
 * by the engine that goes from command to command and by the one that looks at every cycle; and how fast a trace is
 * read. Opening the memory, making the requests and the latency statistics are in it. */
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "npulab/traffic.h"

struct work {
	struct npl_memory *memory;
	const char *pattern, *trace; /* one of them */
	int64_t requests;
};

static struct npl_err err;

static void check(int rc)
{
	if (!rc)
		return;
	fprintf(stderr, "bench: %s\n", err.msg);
	exit(npl_exit_status(rc));
}

static void run(void *context)
{
	struct work *work = context;
	const struct npl_memory_info *info = npl_memory_info(work->memory);
	struct npl_traffic *traffic;
	struct npl_traffic_result result;
	npl_memory_reset(work->memory);
	if (work->trace)
		check(npl_traffic_open_trace(work->trace, info, &traffic, &err));
	else
		check(npl_traffic_open_pattern(work->pattern, work->requests, info, &traffic, &err));
	check(npl_traffic_run(work->memory, traffic, NULL, &result, &err));
	npl_traffic_close(traffic);
}

static void read_only(void *context)
{
	struct work *work = context;
	static struct npl_traffic_request request[256];
	struct npl_traffic *traffic;
	int n = 1;
	check(npl_traffic_open_trace(work->trace, npl_memory_info(work->memory), &traffic, &err));
	while (n)
		check(npl_traffic_next(traffic, false, request, 256, &n, &err));
	npl_traffic_close(traffic);
}

static void measure(struct work *work, void (*job)(void *context), const char *subject)
{
	bench_print(subject, (double)work->requests * 1e3, "M/s", bench_seconds(job, work));
}

/* A stream of reads that takes the channel whole. */
static void bench_trace(struct work *work)
{
	char path[] = "/tmp/bench_dram_XXXXXX";
	int fd = mkstemp(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file)
		return;
	for (int64_t i = 0; i < work->requests; i++)
		fprintf(file, "0x%llx READ %llu\n", 64ull * (unsigned long long)i, 4ull * (unsigned long long)i);
	fclose(file);
	work->trace = path;
	measure(work, read_only, "DRAM: a trace, read alone");
	measure(work, run, "DRAM: a trace of a stream, 1 channel");
	unlink(path);
}

int main(void)
{
	static const char *const patterns[] = {"stream_rd", "copy", "tile2k", "random_rd"};
	for (int every_cycle = 0; every_cycle < 2; every_cycle++)
		for (int channels = 1; channels <= 2; channels++) {
			const struct npl_memory_options options = {.channels = channels, .every_cycle = every_cycle};
			struct work work = {.requests = every_cycle ? 100000 : 1000000};
			check(npl_memory_open("ddr3-2133", &options, &work.memory, &err));
			for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
				char subject[80];
				work.pattern = patterns[p];
				snprintf(subject, sizeof subject, "DRAM: %s, %d channel%s%s", patterns[p], channels,
					 channels == 1 ? "" : "s", every_cycle ? ", every cycle" : "");
				measure(&work, run, subject);
			}
			if (!every_cycle && channels == 1)
				bench_trace(&work);
			npl_memory_close(work.memory);
		}
	return 0;
}
