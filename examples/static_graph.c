/* SPDX-License-Identifier: MIT
 *
 * The static way: the network is written down once, then run on two devices.
 *
 *     gcc static_graph.c -o static_graph $(pkg-config --cflags --libs npulab) */
#include "digits.h"

#include <npulab/build.h>

/* A convolution of 3 x 3 that keeps its size, and Relu. */
static int convolution(struct npl_build *b, struct digits *digits, const char *name, int x)
{
	struct npl_tensor weights = digits_weights(digits, name, 1), bias = digits_weights(digits, name, 2);
	int w = npl_build_constant(b, &weights, NPL_BORROW);
	int c = npl_build_constant(b, &bias, NPL_BORROW);
	int y = npl_build_op(b, "Conv", NPL_IN(x, w, c), NPL_ATTRS(NPL_INTS("pads", 1, 1, 1, 1)));
	npl_build_name(b, y, name);
	return npl_build_op(b, "Relu", NPL_IN(y), NPL_NO_ATTRS);
}

static int pool(struct npl_build *b, int x)
{
	return npl_build_op(b, "MaxPool", NPL_IN(x),
			    NPL_ATTRS(NPL_INTS("kernel_shape", 2, 2), NPL_INTS("strides", 2, 2)));
}

static int dense(struct npl_build *b, struct digits *digits, const char *name, int x)
{
	struct npl_tensor weights = digits_weights(digits, name, 1), bias = digits_weights(digits, name, 2);
	int w = npl_build_constant(b, &weights, NPL_BORROW);
	int c = npl_build_constant(b, &bias, NPL_BORROW);
	return npl_build_op(b, "Gemm", NPL_IN(x, w, c), NPL_ATTRS(NPL_INT("transB", 1)));
}

int main(void)
{
	static const char *const names[] = {"reference", "tpu_v1"};
	struct digits digits = {0};
	struct npl_build *b;
	struct npl_graph *graph;
	struct npl_err err;
	digits_load(&digits);

	check(npl_build_open("digits", &b, &err), &err);
	int y = npl_build_input(b, "image", NPL_F32, digits.images.shape);
	y = convolution(b, &digits, "conv1", y);
	y = pool(b, convolution(b, &digits, "conv2", y));
	y = pool(b, convolution(b, &digits, "conv3", y));
	y = npl_build_op(b, "Flatten", NPL_IN(y), NPL_NO_ATTRS);
	y = npl_build_op(b, "Relu", NPL_IN(dense(b, &digits, "fc1", y)), NPL_NO_ATTRS);
	y = dense(b, &digits, "fc2", y);
	check(npl_build_finish(b, NPL_IN(y), &graph, &err), &err); /* says what went wrong first, if anything did */

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
