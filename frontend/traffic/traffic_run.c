/* SPDX-License-Identifier: MIT
 *
 * Traffic through a memory (npulab/traffic.h): pushes requests in order at the boundaries between cycles, and takes
 * completions with their latencies. Boundaries at which no request is due or can be accepted are skipped. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "npulab/progress.h"
#include "npulab/result.h"
#include "traffic_impl.h"

struct npl_traffic {
	struct request_trace *trace; /* NULL: requests come from the pattern */
	struct pattern pattern;
};

int npl_traffic_open_trace(const char *path, const struct npl_memory_info *memory, struct npl_traffic **traffic,
			   struct npl_err *err)
{
	*traffic = calloc(1, sizeof **traffic);
	if (!*traffic)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	if (request_trace_open(path, memory, &(*traffic)->trace, err)) {
		free(*traffic);
		*traffic = NULL;
		return err->code;
	}
	return 0;
}

int npl_traffic_open_pattern(const char *name, int64_t n, const struct npl_memory_info *memory,
			     struct npl_traffic **traffic, struct npl_err *err)
{
	*traffic = calloc(1, sizeof **traffic);
	if (!*traffic)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", name);
	if (pattern_open(name, n, memory, &(*traffic)->pattern, err)) {
		free(*traffic);
		*traffic = NULL;
		return err->code;
	}
	return 0;
}

void npl_traffic_close(struct npl_traffic *traffic)
{
	if (!traffic)
		return;
	request_trace_close(traffic->trace);
	free(traffic);
}

bool npl_traffic_has_cycles(const struct npl_traffic *traffic)
{
	return traffic->trace;
}

int npl_traffic_next(struct npl_traffic *traffic, bool any_order, struct npl_traffic_request *request, int capacity,
		     int *n, struct npl_err *err)
{
	if (traffic->trace)
		return request_trace_next(traffic->trace, any_order, request, capacity, n, err);
	pattern_next(&traffic->pattern, request, capacity, n);
	return 0;
}

enum { BATCH = 256, READS = 0, WRITES = 1, DIRECTIONS = 2 };

#define NEVER (UINT64_MAX / 4)

struct run {
	struct npl_memory *memory;
	struct npl_traffic *traffic;
	const struct npl_traffic_options *options;
	int64_t inject;
	uint64_t access_bytes;
	struct npl_traffic_request batch[BATCH];
	int have;
	uint64_t requests, completed, last_cycle; /* requests: those of all batches so far */
	struct latencies latencies[DIRECTIONS];
};

/* Gets the next batch; run->have is 0 after the last. Returns 0 or a code. */
static int next_batch(struct run *run, struct npl_err *err)
{
	npl_progress_step("request", (int64_t)run->requests + 1,
			  run->traffic->trace ? 0 : (int64_t)run->traffic->pattern.n, NULL);
	int rc = npl_traffic_next(run->traffic, run->inject > 0, run->batch, BATCH, &run->have, err);
	run->requests += rc ? 0 : (uint64_t)run->have;
	return rc;
}

/* Makes a request; its tag holds its due cycle and its direction. */
static struct npl_memory_request request_of(const struct run *run, const struct npl_traffic_request *next, uint64_t due)
{
	return (struct npl_memory_request){.address = next->address,
					   .bytes = run->access_bytes,
					   .tag = due << 1 | next->is_write,
					   .is_write = next->is_write};
}

static uint64_t take_completions(struct run *run)
{
	struct npl_memory_completion completions[BATCH];
	uint64_t n, all = 0;
	do {
		n = npl_memory_take(run->memory, completions, BATCH);
		for (uint64_t i = 0; i < n; i++)
			latencies_add(&run->latencies[completions[i].tag & 1],
				      completions[i].cycle - (completions[i].tag >> 1));
		if (n)
			run->last_cycle = completions[n - 1].cycle;
		all += n;
	} while (n == BATCH);
	run->completed += all;
	return all;
}

static int advance(struct run *run, uint64_t until, unsigned stop, struct npl_err *err)
{
	npl_memory_advance(run->memory, until, stop);
	if (npl_memory_now(run->memory) < NEVER)
		return 0;
	return npl_fail(err, NPL_EINTERNAL, "%s: requests never complete", npl_memory_info(run->memory)->name);
}

/* Runs with options->inject requests in a cycle; each is due when it is accepted. */
static int run_injected(struct run *run, struct npl_err *err)
{
	struct npl_memory_request request[BATCH];
	struct npl_memory_feed feed = {
		.requests = request, .per_cycle = (uint64_t)run->inject, .tag_per_cycle = 1 << 1};
	int rc;
	while (!(rc = next_batch(run, err)) && run->have) {
		for (int i = 0; i < run->have; i++)
			request[i] = request_of(run, &run->batch[i], 0);
		feed.n = (uint64_t)run->have;
		for (feed.n_pushed = 0; npl_memory_feed(run->memory, &feed), feed.n_pushed < feed.n;) {
			if (take_completions(run))
				continue;
			if ((rc = advance(run, NEVER, NPL_MEMORY_ROOM | NPL_MEMORY_COMPLETION, err)) != 0)
				return rc;
			feed.n_pushed_now = 0;
		}
		take_completions(run);
	}
	return rc;
}

/* Runs with each request due in its own cycle, or when those before it have been accepted. */
static int run_timed(struct run *run, struct npl_err *err)
{
	struct npl_memory *memory = run->memory;
	uint64_t accepted = 0;
	int rc;
	while (!(rc = next_batch(run, err)) && run->have) {
		for (int i = 0; i < run->have; take_completions(run)) {
			const struct npl_memory_request request = request_of(run, &run->batch[i], run->batch[i].cycle);
			int failed = 0;
			if (npl_memory_now(memory) < run->batch[i].cycle) {
				failed = advance(run, run->batch[i].cycle, 0, err);
			} else if (npl_memory_can_accept(memory, &request)) {
				npl_memory_push(memory, &request);
				accepted++;
				i++;
			} else { /* waits for room in a queue, or for completions */
				const bool full = accepted - run->completed >= NPL_MEMORY_MAX_PENDING;
				failed = advance(run, NEVER, NPL_MEMORY_ROOM | (full ? NPL_MEMORY_COMPLETION : 0), err);
			}
			if (failed)
				return failed;
		}
	}
	return rc;
}

static int run_all(struct run *run, struct npl_err *err)
{
	int rc = run->inject ? run_injected(run, err) : run_timed(run, err);
	for (take_completions(run); !rc && run->completed < run->requests; take_completions(run))
		rc = advance(run, NEVER, NPL_MEMORY_COMPLETION, err);
	return rc;
}

static void fill_result(const struct run *run, struct npl_traffic_result *result)
{
	const struct npl_memory_info *info = npl_memory_info(run->memory);
	*result = (struct npl_traffic_result){.requests = run->completed,
					      .cycles = run->last_cycle,
					      .inject = run->inject,
					      .latency = latencies_of(run->latencies, DIRECTIONS),
					      .read_latency = latencies_of(&run->latencies[READS], 1),
					      .write_latency = latencies_of(&run->latencies[WRITES], 1)};
	npl_memory_counters(run->memory, &result->counters);
	result->n_energy = npl_memory_energy_of(run->memory, &result->counters, result->energy);
	result->seconds = (double)result->cycles * (double)info->clock.denominator / (double)info->clock.numerator;
	result->bytes_per_second = (double)(result->counters.read_bytes + result->counters.written_bytes) /
				   result->seconds;
}

int npl_traffic_run(struct npl_memory *memory, struct npl_traffic *traffic, const struct npl_traffic_options *options,
		    struct npl_traffic_result *result, struct npl_err *err)
{
	static const struct npl_traffic_options no_options;
	const struct npl_memory_info *info = npl_memory_info(memory);
	struct run *run = calloc(1, sizeof *run);
	if (!run)
		return npl_no_memory(err);
	run->memory = memory;
	run->traffic = traffic;
	run->options = options ? options : &no_options;
	run->access_bytes = traffic_access_bytes(info);
	run->inject = run->options->inject;
	if (!run->inject && !npl_traffic_has_cycles(traffic))
		run->inject = 2 * info->channels;
	if (!traffic->trace)
		npl_progress_weigh("request", (int64_t)traffic->pattern.n, NULL);
	int rc = latencies_open(&run->latencies[READS], err);
	if (!rc)
		rc = latencies_open(&run->latencies[WRITES], err);
	if (!rc)
		rc = run_all(run, err);
	if (!rc)
		fill_result(run, result);
	latencies_close(&run->latencies[READS]);
	latencies_close(&run->latencies[WRITES]);
	free(run);
	return rc;
}

void npl_traffic_figures_of(const struct npl_memory *memory, const struct npl_traffic_result *result,
			    struct npl_traffic_figures *figures)
{
	const struct npl_memory_counters *n = &result->counters;
	const uint64_t commands = n->read_commands + n->write_commands;
	const double bits = 8 * (double)(n->read_bytes + n->written_bytes);
	const double peak = npl_memory_info(memory)->peak_bytes_per_second;
	*figures = (struct npl_traffic_figures){.peak_fraction = isfinite(peak) ? result->bytes_per_second / peak : NAN,
						.row_hit_rate = commands ? (double)n->row_hits / (double)commands : NAN,
						.total_joules = result->n_energy ? 0 : NAN};
	for (int i = 0; i < result->n_energy; i++) {
		const struct npl_memory_energy *part = &result->energy[i];
		const bool known = !npl_origin_is_absent(part->origin);
		figures->joules[i] = known ? (double)part->events * part->pj * 1e-12 : NAN;
		figures->total_joules += figures->joules[i];
	}
	figures->pj_per_bit = figures->total_joules * 1e12 / bits;
}
