/* SPDX-License-Identifier: MIT
 *
 * What one point of a sweep over machines costs: ResNet-50 by time alone, one image, on one thread, on a machine that
 * is opened for this point with settings of its own. The network is loaded once. Each line is a machine: milliseconds
 * to open the device, to plan the network on it, to run it and to close both, medians of each. The last column is the
 * sum where malloc keeps what was freed (mallopt), so that the next point need not ask Linux for it again. */
#include <malloc.h>

#include "bench.h"
#include "npulab/device.h"
#include "npulab/model.h"
#include "npulab/session.h"
#include "npulab/thread.h"

enum { OPEN, PLAN, RUN, CLOSE, PHASES, MAX_SETS = 2 };

struct machine {
	const char *device, *set[MAX_SETS];
};

static const struct machine machines[] = {
	{"tpu_v1", {NULL}},
	{"tpu_v1", {"array.rows=128", "array.columns=128"}},
	{"tpu_v1", {"array.rows=64", "array.columns=64"}},
	{"tpu_v1", {"weight_memory.preset=ddr3-2133"}},
	{"tpu_v1", {"weight_memory.preset=hbm2"}},
	{"diannao", {NULL}},
};
enum { MACHINES = sizeof machines / sizeof *machines };

static struct npl_err err;

static void check(int rc, const char *subject)
{
	if (!rc)
		return;
	fprintf(stderr, "bench: %s: %s\n", subject, err.msg);
	exit(npl_exit_status(err.code));
}

/* Evaluates one point. Returns the milliseconds of each phase. */
static void evaluate(const struct machine *machine, struct npl_graph *graph, double ms[PHASES])
{
	struct npl_device_options opened = {.set = machine->set, .threads = 1};
	struct npl_device *device;
	struct npl_session *session;
	struct npl_run run = {0};
	double start[PHASES + 1];
	while (opened.n_sets < MAX_SETS && machine->set[opened.n_sets])
		opened.n_sets++;
	start[OPEN] = npl_clock_seconds();
	check(npl_device_open(machine->device, &opened, &device, &err), machine->device);
	start[PLAN] = npl_clock_seconds();
	const struct npl_session_options options = {.n_devices = 1, .device = &device, .plan.timing_only = true};
	check(npl_session_open(graph, &options, &session, &err), machine->device);
	start[RUN] = npl_clock_seconds();
	check(npl_session_run(session, NULL, NULL, &run, &err), machine->device);
	start[CLOSE] = npl_clock_seconds();
	npl_run_free(&run);
	npl_session_close(session);
	npl_device_close(device);
	start[PHASES] = npl_clock_seconds();
	for (int i = 0; i < PHASES; i++)
		ms[i] = (start[i + 1] - start[i]) * 1e3;
}

/* Evaluates a machine until its medians are steady, after one point to warm up. Returns the sum of all phases. */
static double measure(const struct machine *machine, struct npl_graph *graph, double median[PHASES])
{
	double times[PHASES][BENCH_RUNS], sums[BENCH_RUNS], total = 0;
	int n = 0;
	for (int warm = 0; n < BENCH_RUNS && (n < 5 || total < 500); warm = 1) {
		double ms[PHASES], sum = 0;
		evaluate(machine, graph, ms);
		if (!warm)
			continue;
		for (int i = 0; i < PHASES; i++)
			sum += times[i][n] = ms[i];
		total += sums[n++] = sum;
	}
	for (int i = 0; i < PHASES; i++) {
		qsort(times[i], (size_t)n, sizeof **times, bench_order);
		median[i] = times[i][n / 2];
	}
	qsort(sums, (size_t)n, sizeof *sums, bench_order);
	return sums[n / 2];
}

int main(void)
{
	double median[MACHINES][PHASES], sum[MACHINES], kept[PHASES];
	struct npl_arena arena = {0};
	struct npl_model_files files;
	struct npl_graph *graph;
	npl_threads_allow(1);
	check(npl_model_find("resnet50", &arena, &files, &err), "resnet50");
	check(npl_graph_load(files.path, &(struct npl_load_options){.batch = 1}, &graph, &err), files.path);
	for (int m = 0; m < MACHINES; m++)
		sum[m] = measure(&machines[m], graph, median[m]);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	printf("machine points: ResNet-50 by time alone, one image, 1 thread\n");
	printf("%-44s %8s %8s %8s %8s %8s %8s ms\n", "", "open", "plan", "run", "close", "point", "kept");
	for (int m = 0; m < MACHINES; m++) {
		char subject[100];
		snprintf(subject, sizeof subject, "%s %s %s", machines[m].device,
			 machines[m].set[0] ? machines[m].set[0] : "", machines[m].set[1] ? machines[m].set[1] : "");
		printf("%-44s", subject);
		for (int i = 0; i < PHASES; i++)
			printf(" %8.3f", median[m][i]);
		printf(" %8.3f %8.3f\n", sum[m], measure(&machines[m], graph, kept));
	}
	npl_graph_free(graph);
	npl_arena_free(&arena);
	return 0;
}
