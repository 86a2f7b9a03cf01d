/* SPDX-License-Identifier: MIT
 *
 * Whole networks, one image, values included: the simulated TPU v1 beside the cpu device in 8 bits with the same
 * threads, in sessions that take turns; and what it takes to know the TPU's cycles alone, from the graph to the
 * figures. CNN1 is shipped; ResNet-50 is that of the ONNX project's light models, where its file is at
 * ../shared/models/light. */
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "npulab/device.h"
#include "npulab/model.h"
#include "npulab/session.h"
#include "npulab/thread.h"

#define RESNET "../shared/models/light/light_resnet50.onnx"

static struct npl_err err;

static void check(int rc, const char *subject)
{
	if (!rc)
		return;
	fprintf(stderr, "bench: %s: %s\n", subject, err.msg);
	exit(npl_exit_status(err.code));
}

struct network {
	struct npl_graph *graph;
	struct npl_range *range;
	struct npl_samples samples;
	struct npl_tensor *input, *output;
};

static void load(const char *path, struct network *n)
{
	int64_t real;
	*n = (struct network){0};
	check(npl_graph_load(path, &(struct npl_load_options){.batch = 1}, &n->graph, &err), path);
	n->range = calloc((size_t)n->graph->n_values + 1, sizeof *n->range);
	n->input = calloc((size_t)n->graph->n_inputs + 1, sizeof *n->input);
	n->output = calloc((size_t)n->graph->n_outputs + 1, sizeof *n->output);
	if (!n->range || !n->input || !n->output)
		exit(1);
	for (int v = 0; v < n->graph->n_values; v++)
		n->range[v] = NPL_RANGE_EMPTY;
	check(npl_samples_load(n->graph, NULL, 0, NULL, 1, &n->samples, &err), "samples");
	check(npl_samples_batch(n->graph, &n->samples, 0, n->input, &real, &err), "samples");
	check(npl_evaluate(n->graph, n->input, n->output, n->range, &err), "calibration");
}

static void free_outputs(struct network *n)
{
	for (int i = 0; i < n->graph->n_outputs; i++)
		npl_tensor_free(&n->output[i]);
}

static void unload(struct network *n)
{
	free_outputs(n);
	for (int i = 0; i < n->graph->n_inputs; i++)
		npl_tensor_free(&n->input[i]);
	npl_samples_free(&n->samples);
	npl_graph_free(n->graph);
	free(n->range);
	free(n->input);
	free(n->output);
}

/* Seconds of the device's part of one run. */
static double run_once(struct npl_session *session, struct network *n)
{
	struct npl_run run = {0};
	free_outputs(n);
	check(npl_session_run(session, n->input, n->output, &run, &err), "run");
	double seconds = run.wall_seconds;
	npl_run_free(&run);
	return seconds;
}

static void beside(const char *name, struct network *n, struct npl_device *const device[2])
{
	double times[2][BENCH_RUNS], total = 0;
	struct npl_session *session[2];
	char subject[100];
	int runs = 0;
	for (int d = 0; d < 2; d++) {
		const struct npl_session_options options = {.n_devices = 1, .device = &device[d], .ranges = n->range};
		check(npl_session_open(n->graph, &options, &session[d], &err), name);
		run_once(session[d], n);
	}
	for (; runs < BENCH_RUNS && (runs < 5 || total < 1); runs++)
		for (int d = 0; d < 2; d++)
			total += times[d][runs] = run_once(session[d], n);
	for (int d = 0; d < 2; d++) {
		qsort(times[d], (size_t)runs, sizeof *times[d], bench_order);
		npl_session_close(session[d]);
		snprintf(subject, sizeof subject, "%s, %s", name, d ? "tpu_v1 with values" : "cpu in 8 bits");
		bench_print(subject, (double)n->graph->macs, "GMAC/s", times[d][runs / 2]);
	}
	printf("%-52s %9.2f times the cpu device (at most 3.00)\n", "", times[1][runs / 2] / times[0][runs / 2]);
}

struct timing {
	const char *path;
	struct npl_device *device;
};

/* Times everything from the model's file to its cycles. */
static void time_network(void *context)
{
	const struct timing *t = context;
	struct npl_graph *graph;
	struct npl_session *session;
	struct npl_run run = {0};
	const struct npl_session_options options = {.n_devices = 1, .device = &t->device, .plan.timing_only = true};
	check(npl_graph_load(t->path, &(struct npl_load_options){.batch = 1}, &graph, &err), t->path);
	check(npl_session_open(graph, &options, &session, &err), "session");
	check(npl_session_run(session, NULL, NULL, &run, &err), "run");
	npl_run_free(&run);
	npl_session_close(session);
	npl_graph_free(graph);
}

static void bench(const char *name, const char *path, struct npl_device *const device[3])
{
	struct network n;
	char subject[100];
	if (access(path, R_OK)) {
		printf("%s: no file %s\n", name, path);
		return;
	}
	load(path, &n);
	beside(name, &n, device);
	snprintf(subject, sizeof subject, "%s, tpu_v1, cycles alone", name);
	bench_print(subject, (double)n.graph->macs, "GMAC/s",
		    bench_seconds(time_network, &(struct timing){path, device[1]}));
	snprintf(subject, sizeof subject, "%s, the same on DDR3-2133", name);
	bench_print(subject, (double)n.graph->macs, "GMAC/s",
		    bench_seconds(time_network, &(struct timing){path, device[2]}));
	unload(&n);
}

int main(void)
{
	struct npl_device *device[3];
	const struct npl_device_options dram = {.n_sets = 1,
						.set = (const char *const[]){"weight_memory.preset=ddr3-2133"}};
	const struct npl_device_options cpu = {.n_sets = 2,
					       .set = (const char *const[]){"precision=int8", "threads=1"}};
	npl_threads_allow(1);
	printf("networks, one image, 1 thread\n");
	check(npl_device_open("cpu", &cpu, &device[0], &err), "cpu");
	check(npl_device_open("tpu_v1", &(struct npl_device_options){0}, &device[1], &err), "tpu_v1");
	check(npl_device_open("tpu_v1", &dram, &device[2], &err), "tpu_v1 on DDR3-2133");
	bench("ResNet-50", RESNET, device);
	bench("CNN1", "models/cnn1.onnx", device);
	npl_device_close(device[0]);
	npl_device_close(device[1]);
	npl_device_close(device[2]);
	return 0;
}
