/* SPDX-License-Identifier: MIT
 *
 * Maxima of floats on the cpu, channels last after a convolution and in ONNX's order elsewhere. What the program
 * promises: the reference's bits for every window, NaNs passed on and infinities kept, with one thread and with two. */
#include <stdlib.h>

#include "tests/kit/session_net.h"

static int64_t range(uint64_t *rng, int64_t low, int64_t high)
{
	return test_range(rng, low, high);
}

/* A convolution that leaves its input as it is, except channels to which it adds -infinity. */
static void put_identity(struct onnx_writer *g, uint64_t *rng, int rank, int64_t channels)
{
	int64_t dims[5] = {channels, channels, 1, 1, 1};
	float *w = calloc((size_t)(channels * channels), sizeof *w), *b = calloc((size_t)channels, sizeof *b);
	cr_assert(w && b);
	for (int64_t c = 0; c < channels; c++) {
		w[c * channels + c] = 1;
		b[c] = range(rng, 0, 3) ? 0 : -INFINITY;
	}
	onnx_put_floats(g, "w", 2 + rank, dims, w);
	onnx_put_floats(g, "b", 1, &channels, b);
	onnx_put_node(g, "Conv", "same", "x w b", "c", NULL);
	free(w);
	free(b);
}

static void put_pool(struct onnx_writer *g, uint64_t *rng, int rank, const char *from)
{
	struct onnx_writer attrs = {0};
	int64_t kernel[3], stride[3], dilation[3], pads[6];
	if (!range(rng, 0, 4)) {
		onnx_put_node(g, "GlobalMaxPool", "pool", from, "y", NULL);
		return;
	}
	for (int d = 0; d < rank; d++) {
		kernel[d] = range(rng, 1, 3);
		stride[d] = range(rng, 1, 3);
		dilation[d] = range(rng, 0, 2) ? 1 : 2;
		pads[d] = range(rng, 0, kernel[d] - 1);
		pads[rank + d] = range(rng, 0, kernel[d] - 1);
	}
	onnx_put_attr_ints(&attrs, "kernel_shape", rank, kernel);
	onnx_put_attr_ints(&attrs, "strides", rank, stride);
	onnx_put_attr_ints(&attrs, "dilations", rank, dilation);
	onnx_put_attr_ints(&attrs, "pads", 2 * rank, pads);
	onnx_put_node(g, "MaxPool", "pool", from, "y", &attrs);
}

/* Both are NaN, or the bits are the same. */
static bool bits_equal(float a, float b)
{
	return (isnan(a) && isnan(b)) || !memcmp(&a, &b, sizeof a);
}

static void run_once(struct net *net, const char *threads, uint64_t seed)
{
	struct npl_device *cpu = open_device_set("cpu", 1, (const char *[]){threads});
	struct outcome o = run_net(net, &cpu, 1, NULL, false);
	for (int64_t i = 0; i < npl_tensor_count(&o.out[0]); i++) {
		const float actual = ((float *)o.out[0].data)[i], expected = ((float *)net->reference[0].data)[i];
		cr_assert(bits_equal(actual, expected), "seed %d, %s: element %lld is %g, expected %g", (int)seed,
			  threads, (long long)i, (double)actual, (double)expected);
	}
	free_outcome(net, &o);
	npl_device_close(cpu);
}

Test(cpu_maxpool, has_the_bits_of_the_reference)
{
	static const int64_t many[] = {1, 3, 16, 63, 64, 65, 130};
	for (uint64_t seed = 1; seed <= 120; seed++) {
		uint64_t rng = seed;
		struct onnx_writer g = {0};
		const int rank = (int)range(&rng, 1, 3);
		int64_t dims[5] = {range(&rng, 1, 2), many[range(&rng, 0, 6)]};
		const bool behind = seed % 3; /* a convolution */
		for (int d = 0; d < rank; d++)
			dims[2 + d] = range(&rng, 5, rank == 3 ? 6 : 9);
		onnx_put_input(&g, "x", ONNX_FLOAT, 2 + rank, dims);
		if (behind)
			put_identity(&g, &rng, rank, dims[1]);
		put_pool(&g, &rng, rank, behind ? "c" : "x");
		onnx_put_output(&g, "y");
		struct net net = make_net(&g, &rng);
		float *x = net.in[0].data;
		const int64_t count = npl_tensor_count(&net.in[0]);
		for (int i = 0; i < 3 && seed % 2; i++)
			x[range(&rng, 0, count - 1)] = i == 1 && !behind ? -INFINITY : NAN;
		npl_tensor_free(&net.reference[0]);
		struct npl_err err;
		cr_assert_eq(npl_evaluate(net.graph, net.in, net.reference, net.range, &err), 0, "%s", err.msg);
		run_once(&net, "threads=1", seed);
		run_once(&net, "threads=2", seed);
		free_net(&net);
	}
}
