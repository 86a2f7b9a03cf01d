/* SPDX-License-Identifier: MIT
 *
 * Eager contexts in several threads at once, for the thread sanitizer: values are made, held, released, flushed, read
 * and recorded while the contexts' own threads are at work; one graph, whose weights are made when they are first read,
 * in a session of each thread; and a network whose layers are large enough for the process's pool, first alone, then on
 * two machines at a time that ask for the pool. `make tsan` builds and runs it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/files/data_names.h"
#include "npulab/graph_run.h"
#include "npulab/model.h"
#include "npulab/recording.h"
#include "npulab/thread.h"

#define THREADS 3
#define ROUNDS  12

static void check(int rc, const struct npl_err *err)
{
	if (rc) {
		fprintf(stderr, "threads: %s\n", err->msg);
		exit(1);
	}
}

static const char *const devices[THREADS] = {"reference", "tpu_v1", "diannao"};

/* A few layers, each in place or held beside the next. */
static void round_of(struct npl_eager *ctx, struct npl_eager_value *weights, int round)
{
	float data[2 * 8 * 8];
	struct npl_eager_value *x = NULL, *beside = NULL, *lost = NULL;
	struct npl_tensor out;
	struct npl_graph *graph = NULL;
	struct npl_err err;
	for (int i = 0; i < 2 * 8 * 8; i++)
		data[i] = (float)((i * 7 + round) % 19 - 9);
	struct npl_tensor image = npl_tensor_over(NPL_F32, npl_shape_of(4, 1, 2, 8, 8), data);
	if (round % 3 == 0)
		check(npl_recording_begin(ctx, NULL, &err), &err);
	check(npl_eager_input(ctx, "x", &image, NPL_COPY, &x, &err), &err);
	for (int layer = 0; layer < 4; layer++) {
		check(npl_eager_op(ctx, "Conv", NPL_ARGS(x, weights), NPL_ATTRS(NPL_INTS("pads", 1, 1, 1, 1)), &x,
				   &err),
		      &err);
		check(npl_eager_op(ctx, "Relu", NPL_ARGS(x), NPL_NO_ATTRS, layer == 1 ? &beside : &x, &err), &err);
		check(npl_eager_op(ctx, "Tanh", NPL_ARGS(x), NPL_NO_ATTRS, &lost, &err), &err);
		if (layer == 2) {
			check(npl_eager_flush(ctx, &err), &err);
			npl_eager_release(lost); /* while it is computed */
			lost = NULL;
		}
	}
	check(npl_eager_op(ctx, "Add", NPL_ARGS(x, beside), NPL_NO_ATTRS, &x, &err), &err);
	check(npl_eager_flush(ctx, &err), &err);
	check(npl_eager_op(ctx, "Relu", NPL_ARGS(x), NPL_NO_ATTRS, &lost, &err), &err);
	if (round % 2)
		check(npl_eager_read(ctx, x, &out, &err), &err);
	else
		check(npl_eager_read(ctx, lost, &out, &err), &err);
	if (round % 3 == 0)
		check(npl_recording_end(ctx, NPL_ARGS(x, lost), &graph, &err), &err);
	npl_graph_free(graph);
	npl_tensor_free(&out);
	npl_eager_release(x);
	npl_eager_release(beside);
	npl_eager_release(lost);
}

static void *work(void *name)
{
	struct npl_eager *ctx;
	struct npl_eager_value *weights = NULL;
	float data[2 * 2 * 3 * 3];
	struct npl_err err;
	for (int i = 0; i < 2 * 2 * 3 * 3; i++)
		data[i] = (float)(i % 5 - 2) / 8;
	struct npl_tensor w = npl_tensor_over(NPL_F32, npl_shape_of(4, 2, 2, 3, 3), data);
	check(npl_eager_open(name, NULL, &ctx, &err), &err);
	check(npl_eager_constant(ctx, &w, NPL_BORROW, &weights, &err), &err);
	for (int round = 0; round < ROUNDS; round++)
		round_of(ctx, weights, round);
	npl_eager_close(ctx); /* with work in hand in some rounds */
	return NULL;
}

/* lenet5, whose weights are RandomNormal nodes. */
static struct npl_graph *shared;

static void *share(void *name)
{
	struct npl_device *device;
	struct npl_tensor in = {.dtype = NPL_F32, .shape = shared->value[shared->input[0]].shape}, out[1];
	struct npl_err err;
	check(npl_device_open(name, NULL, &device, &err), &err);
	check(npl_tensor_alloc(&in, &err), &err);
	for (int64_t i = 0; i < npl_tensor_count(&in); i++)
		((float *)in.data)[i] = (float)(i % 7 - 3);
	check(npl_graph_run(shared, device, &in, NULL, out, NULL, &err), &err);
	npl_tensor_free(&in);
	npl_tensor_free(out);
	npl_device_close(device);
	return NULL;
}

static void run_threads(void *(*function)(void *))
{
	pthread_t thread[THREADS];
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, function, (void *)devices[i]))
			exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static struct npl_graph *load(const char *folder, const char *name)
{
	char path[5000];
	struct npl_graph *graph;
	struct npl_err err;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	check(npl_graph_load(path, NULL, &graph, &err), &err);
	return graph;
}

int main(void)
{
	char folder[4096];
	struct npl_err err;
	check(npl_data_dir("models", folder, sizeof folder, &err), &err);
	shared = load(folder, "lenet5.onnx");
	run_threads(work);
	run_threads(share);
	npl_graph_free(shared);
	npl_threads_allow(4);
	shared = load(folder, "mobilenet_v2.onnx");
	share("tpu_v1");
	run_threads(share);
	npl_graph_free(shared);
	puts("threads: good");
	return 0;
}
