/* SPDX-License-Identifier: MIT
 *
 * What more threads give, with 1 and with as many as there are processors: a product of 2048^3 with values on tpu_v1
 * beside the cpu device in 8 bits, in turns; the values of 25 million weights; whole networks from the file to the
 * comparison, one random image. */
#include "bench.h"

#include <string.h>

#include "npulab/compare.h"
#include "npulab/model.h"
#include "npulab/random.h"
#include "npulab/single_layer.h"
#include "npulab/thread.h"

enum { SIDE = 2048, WEIGHTS = 25000000 };

static struct npl_err err;

static void check(int rc, const char *subject)
{
	if (rc) {
		fprintf(stderr, "%s: %s\n", subject, err.msg);
		exit(1);
	}
}

/* Seconds of the device's run of the product. */
static double product_on(const char *device, int threads)
{
	const char *set = "cpu.precision=int8";
	const struct npl_layer_spec spec = {.op = NPL_OP_GEMM,
					    .x = npl_shape_of(2, SIDE, SIDE),
					    .outputs = SIDE,
					    .attrs = {.gemm = {.alpha = 1, .beta = 1, .trans_b = true}},
					    .no_accuracy = true,
					    .seed = 1};
	const struct npl_compare_options options = {.device_names = &device,
						    .n_devices = 1,
						    .set = &set,
						    .n_sets = !strcmp(device, "cpu"),
						    .threads = threads};
	struct npl_comparison c;
	check(npl_single_layer(&spec, &options, &c, NULL, &err), device);
	const double seconds = strcmp(device, "cpu") ? c.device[0].simulation_wall_seconds
						     : c.device[0].run.layer[0].result.seconds;
	npl_comparison_free(&c);
	return seconds;
}

static void bench_product(int threads)
{
	enum { PAIRS = 9 };
	double ratio[PAIRS], seconds[PAIRS];
	char subject[80];
	for (int i = 0; i < PAIRS; i++) {
		const double native = product_on("cpu", threads);
		seconds[i] = product_on("tpu_v1", threads);
		ratio[i] = seconds[i] / native;
	}
	qsort(ratio, PAIRS, sizeof *ratio, bench_order);
	qsort(seconds, PAIRS, sizeof *seconds, bench_order);
	snprintf(subject, sizeof subject, "2048^3 with values on tpu_v1, threads: %d", threads);
	bench_print(subject, (double)SIDE * SIDE * SIDE, "GMAC/s", seconds[PAIRS / 2]);
	printf("%-52s %9.2f times the cpu device in int8 (at most 1.30)\n", "", ratio[PAIRS / 2]);
}

static void make_weights(void *values)
{
	const struct npl_random_law law = {.deviation = 0.05f, .seed = 1, .seeded = true};
	npl_random_floats(&law, 0, WEIGHTS, values);
}

static void bench_weights(int threads)
{
	float *values = malloc(WEIGHTS * sizeof *values);
	char subject[80];
	if (!values)
		exit(1);
	snprintf(subject, sizeof subject, "normally distributed weights made, threads: %d", threads);
	bench_print(subject, WEIGHTS, "G/s", bench_seconds(make_weights, values));
	free(values);
}

struct job {
	const char *path, *device;
};

/* Times everything from the model's file to its figures. */
static void compare(void *context)
{
	const struct job *job = context;
	const struct npl_compare_options options = {.device_names = &job->device, .n_devices = 1};
	struct npl_graph *graph;
	struct npl_samples samples;
	struct npl_comparison c;
	check(npl_graph_load(job->path, &(struct npl_load_options){.batch = 1}, &graph, &err), job->path);
	check(npl_samples_load(graph, NULL, 0, NULL, 1, &samples, &err), "samples");
	check(npl_compare(graph, &samples, NULL, &options, &c, &err), job->device);
	npl_comparison_free(&c);
	npl_samples_free(&samples);
	npl_graph_free(graph);
}

static void bench_network(const char *name, const char *path, const char *device, int threads)
{
	char subject[80];
	struct npl_graph *graph;
	check(npl_graph_load(path, &(struct npl_load_options){.batch = 1}, &graph, &err), path);
	snprintf(subject, sizeof subject, "%s on %s, from the file, threads: %d", name, device, threads);
	bench_print(subject, (double)graph->macs, "GMAC/s", bench_seconds(compare, &(struct job){path, device}));
	npl_graph_free(graph);
}

int main(void)
{
	const int teams[] = {1, npl_processors()};
	for (int t = 0; t < 2 && (!t || teams[1] > 1); t++) {
		npl_threads_allow(teams[t]);
		bench_product(teams[t]);
		bench_weights(teams[t]);
		bench_network("ResNet-50", "models/resnet50.onnx", "tpu_v1", teams[t]);
		bench_network("AlexNet", "models/alexnet.onnx", "diannao", teams[t]);
	}
	return 0;
}
