/* SPDX-License-Identifier: MIT
 *
 * Promises of the TPU paper's six applications as they ship: small files, made by their script to the byte; named, with
 * the paper's batch; every value that they compute from random inputs is finite and of a sane size; they run on
 * `reference`, on `null` and, timing only, on tpu_v1, with weights nobody made. (Layers and weights against the paper:
 * test_validate.c.) */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "npulab/compare.h"
#include "tests/kit/shipped_models.h"

static const struct {
	const char *name;
	int64_t batch, weights;
	int inputs, outputs;
} apps[] = {{"mlp0", 200, 20482880, 1, 1},   {"mlp1", 168, 4934400, 1, 1}, {"lstm0", 64, 52428800, 13, 13},
	    {"lstm1", 96, 34020000, 19, 19}, {"cnn0", 8, 8105984, 1, 1},   {"cnn1", 32, 102293696, 1, 2}};
#define APPS (sizeof apps / sizeof *apps)

static struct npl_graph *load(const char *name, int64_t batch, struct npl_model_files *files, struct npl_arena *arena)
{
	return shipped_load(name, &(struct npl_load_options){.batch = batch}, files, arena);
}

/* On a machine, timing only: all multiply-accumulates are done somewhere, and no weight is made for it. */
Test(tpu_applications, all_macs_are_done_without_weights)
{
	static const char *const sets[] = {"precision=int8", "precision=8x16"};
	for (size_t a = 0; a < APPS; a++)
		for (int wide = 0; wide < 2; wide++) {
			struct npl_arena arena = {0};
			struct npl_model_files files;
			struct npl_graph *graph = load(apps[a].name, apps[a].batch, &files, &arena);
			struct npl_device *device;
			struct npl_session *session;
			struct npl_run run;
			struct npl_err err;
			struct stat status;
			cr_assert_eq(files.batch, apps[a].batch);
			cr_assert(!stat(files.path, &status) && status.st_size < 1000000, "%s is too large",
				  files.path);
			cr_assert_eq(graph->n_inputs, apps[a].inputs);
			cr_assert_eq(graph->n_outputs, apps[a].outputs);
			cr_assert(files.source && files.license && strlen(files.description) < 60);
			cr_assert_eq(npl_device_open("tpu_v1",
						     &(struct npl_device_options){.n_sets = 1, .set = &sets[wide]},
						     &device, &err),
				     0, "%s", err.msg);
			cr_assert_eq(npl_device_get_info(device)->format, wide ? NPL_FORMAT_INT8X16 : NPL_FORMAT_INT8);
			struct npl_session_options options = {
				.n_devices = 1, .device = &device, .plan.timing_only = true};
			cr_assert_eq(npl_session_open(graph, &options, &session, &err), 0, "%s", err.msg);
			cr_assert_eq(npl_session_run(session, NULL, NULL, &run, &err), 0, "%s", err.msg);
			cr_assert_eq(run.macs, graph->macs, "%s", apps[a].name);
			cr_assert_gt(run.seconds, 0);
			cr_assert_lt(graph->arena.bytes, 4 << 20, "%s made its weights", apps[a].name);
			npl_run_free(&run);
			npl_session_close(session);
			npl_device_close(device);
			npl_graph_free(graph);
			npl_arena_free(&arena);
		}
}

/* Where a value comes from a ReLU-scaled layer its size is that of the layer before; an LSTM's lie below 1 by
 * themselves. */
static void check_ranges(const struct npl_graph *graph, const struct npl_range *range, const char *name)
{
	int64_t weights = 0;
	for (int i = 0; i < graph->n_nodes; i++) {
		struct npl_range r = range[graph->node[i].out[0]];
		double size = fmax(-(double)r.low, (double)r.high);
		cr_assert(size > 0.1 && size < 50, "%s: values of '%s' reach %g", name, graph->node[i].name, size);
		if (npl_op_defs[graph->node[i].op].flags & NPL_OP_IS_GEMM)
			weights += npl_shape_count(&graph->value[graph->node[i].in[1]].shape);
	}
	for (size_t a = 0; a < APPS; a++)
		if (!strcmp(apps[a].name, name))
			cr_assert_eq(weights, apps[a].weights, "%s: %lld weights", name, (long long)weights);
}

/* Two samples (one of CNN1) through the float reference and the devices `reference` and `null`. */
Test(tpu_applications, values_are_sane)
{
	for (size_t a = TEST_SANITIZED; a < APPS; a += TEST_SANITIZED ? 2 : 1) {
		struct npl_arena arena = {0};
		struct npl_model_files files;
		int64_t batch = a == APPS - 1 ? 1 : 2;
		struct npl_graph *graph = load(apps[a].name, batch, &files, &arena);
		struct npl_samples samples;
		struct npl_tensor in[19], out[19] = {{0}};
		struct npl_err err;
		int64_t real;
		struct npl_range *range = calloc((size_t)graph->n_values, sizeof *range);
		for (int v = 0; v < graph->n_values; v++)
			range[v] = NPL_RANGE_EMPTY;
		cr_assert_eq(npl_samples_load(graph, NULL, 0, NULL, 1, &samples, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_samples_batch(graph, &samples, 0, in, &real, &err), 0);
		cr_assert_eq(npl_evaluate(graph, in, out, range, &err), 0, "%s", err.msg);
		check_ranges(graph, range, apps[a].name);
		for (int k = 0; k < graph->n_outputs; k++) {
			const float *y = out[k].data;
			double square = 0;
			for (int64_t i = 0; i < npl_tensor_count(&out[k]); i++) {
				cr_assert(isfinite(y[i]), "%s, output %d", apps[a].name, k);
				square += (double)y[i] * (double)y[i];
			}
			double size = sqrt(square / (double)npl_tensor_count(&out[k]));
			cr_assert(size > 0.1 && size < 10, "%s: output %d has the size %g", apps[a].name, k, size);
			npl_tensor_free(&out[k]);
		}
		struct npl_comparison c;
		struct npl_compare_options options = {.n_devices = a < 2 ? 2 : 1,
						      .device_names = (const char *const[]){"null", "reference"},
						      .no_accuracy = true};
		cr_assert_eq(npl_compare(graph, &samples, NULL, &options, &c, &err), 0, "%s", err.msg);
		for (int i = 0; i < graph->n_nodes; i++)
			cr_assert_str_eq(c.device[0].run.layer[i].ran_on, "null");
		npl_comparison_free(&c);
		npl_samples_free(&samples);
		npl_graph_free(graph);
		npl_arena_free(&arena);
		free(range);
	}
}

Test(tpu_applications, the_script_made_them)
{
	const char *names[APPS];
	if (!shipped_can_make())
		cr_skip("no python3-onnx");
	for (size_t a = 0; a < APPS; a++)
		names[a] = apps[a].name;
	shipped_check_made("models/make_tpu_applications.py", names, APPS);
}
