/* SPDX-License-Identifier: MIT
 *
 * The third way: eager calls on a few images are recorded, with the values read on the way as in any other program;
 * what was recorded is a graph, which is run on all images and on another device. The recording is made for the shape
 * of its inputs, so the few images are a batch of the same size.
 *
 *     gcc recording.c -o recording $(pkg-config --cflags --libs npulab) */
#include "digits.h"

#include <npulab/recording.h>

/* One layer in place; bias and weights only for those that have them. */
static void layer(struct npl_eager *ctx, struct digits *digits, const char *op, const char *name,
		  struct npl_attr_list attrs, struct npl_eager_value **x)
{
	struct npl_eager_value *w = NULL, *c = NULL;
	struct npl_err err;
	if (name) {
		struct npl_tensor weights = digits_weights(digits, name, 1), bias = digits_weights(digits, name, 2);
		check(npl_eager_constant(ctx, &weights, NPL_BORROW, &w, &err), &err);
		check(npl_eager_constant(ctx, &bias, NPL_BORROW, &c, &err), &err);
	}
	/* Inputs that are left out at the end are NULL. */
	check(npl_eager_op(ctx, op, NPL_ARGS(*x, w, c), attrs, x, &err), &err);
	npl_eager_release(w);
	npl_eager_release(c);
}

/* The network of Python's kind: a function of a value. */
static void network(struct npl_eager *ctx, struct digits *digits, struct npl_eager_value **x)
{
	static const char *const convolutions[] = {"conv1", "conv2", "conv3"};
	for (int i = 0; i < 3; i++) {
		layer(ctx, digits, "Conv", convolutions[i], NPL_ATTRS(NPL_INTS("pads", 1, 1, 1, 1)), x);
		layer(ctx, digits, "Relu", NULL, NPL_NO_ATTRS, x);
		if (i > 0)
			layer(ctx, digits, "MaxPool", NULL,
			      NPL_ATTRS(NPL_INTS("kernel_shape", 2, 2), NPL_INTS("strides", 2, 2)), x);
	}
	layer(ctx, digits, "Flatten", NULL, NPL_NO_ATTRS, x);
	layer(ctx, digits, "Gemm", "fc1", NPL_ATTRS(NPL_INT("transB", 1)), x);
	layer(ctx, digits, "Relu", NULL, NPL_NO_ATTRS, x);
	layer(ctx, digits, "Gemm", "fc2", NPL_ATTRS(NPL_INT("transB", 1)), x);
}

/* Records the network while it reads blank images. */
static struct npl_graph *record(struct digits *digits)
{
	struct npl_tensor blank = {.dtype = NPL_F32, .shape = digits->images.shape};
	struct npl_eager *ctx;
	struct npl_eager_value *x = NULL;
	struct npl_graph *graph;
	struct npl_tensor logits;
	struct npl_err err;
	check(npl_tensor_alloc(&blank, &err), &err);
	check(npl_eager_open("reference", NULL, &ctx, &err), &err);
	check(npl_recording_begin(ctx, "digits", &err), &err);
	check(npl_eager_input(ctx, "image", &blank, NPL_COPY, &x, &err), &err);
	network(ctx, digits, &x);
	check(npl_eager_read(ctx, x, &logits, &err), &err);
	check(npl_recording_end(ctx, NPL_ARGS(x), &graph, &err), &err);
	npl_tensor_free(&logits);
	npl_tensor_free(&blank);
	npl_eager_close(ctx);
	return graph;
}

int main(void)
{
	static const char *const names[] = {"reference", "tpu_v1"};
	struct digits digits = {0};
	struct npl_err err;
	digits_load(&digits);
	struct npl_graph *graph = record(&digits);
	for (int i = 0; i < 2; i++) {
		struct npl_device *device;
		struct npl_tensor logits = {0};
		struct npl_cost cost;
		check(npl_device_open(names[i], NULL, &device, &err), &err);
		check(npl_graph_run(graph, device, &digits.images, NULL, &logits, &cost, &err), &err);
		digits_report(&digits, device, &logits, &cost);
		npl_tensor_free(&logits);
		npl_device_close(device);
	}
	npl_graph_free(graph);
	digits_free(&digits);
	return 0;
}
