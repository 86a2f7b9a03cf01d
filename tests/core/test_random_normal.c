/* SPDX-License-Identifier: MIT
 *
 * Promises: RandomNormal gives the same values everywhere (pinned by an independent computation in Python), normally
 * distributed, any of them without those before it; in a network such a tensor takes no memory until somebody reads it;
 * without a seed it has its own, from its name. */
#include "frontend/graph/build.h"
#include "tests/kit/onnx_writer.h"
#include "tests/kit/ops_support.h"

#include <math.h>

#include "npulab/session.h"

/* Phi(quantile(p)) = p, by libm's error function, far into both tails. */
Test(random_normal, the_quantile_inverts_the_distribution)
{
	uint64_t seed = 0x5eed4001u;
	for (int i = 0; i < 20000; i++) {
		double p = ldexp((double)(test_rng(&seed) >> 12) + 0.5, -52);
		if (i & 1)
			p = ldexp(p, -(int)test_range(&seed, 0, 900));
		double x = npl_normal_quantile(p), restored = 0.5 * erfc(-x / sqrt(2.0));
		/* an error of one part in 2^50 in x is one of x^2 parts in p */
		cr_assert(fabs(restored / p - 1) < 1e-14 * (2 + x * x), "p %.17g: x %.17g gives %.17g", p, x, restored);
		if (p > 0x1p-30 && p < 0.5)
			cr_assert_float_eq(npl_normal_quantile(1 - p), -x, 1e-6);
	}
	cr_assert_eq(npl_normal_quantile(0.5), 0);
}

/* statistics.NormalDist().inv_cdf of Python's standard library on splitmix64. */
Test(random_normal, values_are_those_of_python)
{
	static const struct {
		struct npl_random_law law;
		float expected[8];
	} cases[] = {
		{{.deviation = 1, .seed = 0x3f800000, .seeded = true},
		 {0x1.77b35cp+0f, -0x1.87f94cp-1f, 0x1.1469acp-1f, -0x1.e8a7f8p-1f, -0x1.d5b14ap+0f, -0x1.f9668ap-1f,
		  -0x1.8042aap-3f, 0x1.713694p-2f}},
		{{.mean = 0.5f, .deviation = 0.125f, .seed = 0x40e00000, .seeded = true},
		 {0x1.006cf4p-1f, 0x1.dda7dap-2f, 0x1.9c4650p-2f, 0x1.c2ebd0p-2f, 0x1.e132bap-2f, 0x1.476ebep-2f,
		  0x1.e071f2p-2f, 0x1.0ea054p-1f}},
	};
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
		for (int64_t first = 0; first < 8; first++) {
			float actual[8];
			double wide[8];
			npl_random_floats(&cases[c].law, first, 8 - first, actual);
			npl_random_doubles(&cases[c].law, first, 8 - first, wide);
			for (int64_t i = first; i < 8; i++) {
				cr_assert_eq(actual[i - first], cases[c].expected[i], "case %zu: element %d is %a", c,
					     (int)i, (double)actual[i - first]);
				cr_assert_eq((float)wide[i - first], cases[c].expected[i]);
			}
		}
}

/* Moments and tails of a million values. */
Test(random_normal, moments_and_tails_are_normal)
{
	enum { N = 1000000 };
	const struct npl_random_law law = {.mean = 3, .deviation = 2, .seed = 99, .seeded = true};
	float *x = malloc(N * sizeof *x);
	double sum = 0, square = 0, fourth = 0;
	int beyond[4] = {0};
	cr_assert(x);
	npl_random_floats(&law, 0, N, x);
	for (int i = 0; i < N; i++) {
		double z = ((double)x[i] - 3) / 2;
		sum += z;
		square += z * z;
		fourth += z * z * z * z;
		for (int k = 0; k < 4; k++)
			beyond[k] += fabs(z) > k + 1;
	}
	cr_assert_float_eq(sum / N, 0, 0.005);
	cr_assert_float_eq(square / N, 1, 0.007);
	cr_assert_float_eq(fourth / N, 3, 0.06);
	for (int k = 0; k < 4; k++) {
		double share = erfc((k + 1) / sqrt(2.0)), spread = sqrt(share / N);
		cr_assert_float_eq((double)beyond[k] / N, share, 6 * spread, "beyond %d: %d", k + 1, beyond[k]);
	}
	free(x);
}

static void put_normal(struct onnx_writer *g, const char *name, int64_t side, int seed)
{
	struct onnx_writer a = {0};
	onnx_put_attr_ints(&a, "shape", 2, (int64_t[]){side, side});
	onnx_put_attr_float(&a, "scale", 0.5f);
	if (seed)
		onnx_put_attr_float(&a, "seed", (float)seed);
	onnx_put_node(g, "RandomNormal", name, "", name, &a);
}

/* x (2,side) through four square matrices: a and b of one seed, c and d without. */
static struct npl_graph *make_graph(int64_t side, struct onnx_writer *model)
{
	struct onnx_writer g = {0};
	struct npl_graph *graph;
	struct npl_err err;
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){2, side});
	put_normal(&g, "a", side, 5);
	put_normal(&g, "b", side, 5);
	put_normal(&g, "c", side, 0);
	put_normal(&g, "d", side, 0);
	onnx_put_node(&g, "MatMul", "m1", "x a", "t1", NULL);
	onnx_put_node(&g, "MatMul", "m2", "t1 b", "t2", NULL);
	onnx_put_node(&g, "MatMul", "m3", "t2 c", "t3", NULL);
	onnx_put_node(&g, "MatMul", "m4", "t3 d", "y", NULL);
	onnx_put_output(&g, "y");
	*model = onnx_model(&g, 13);
	cr_assert_eq(npl_graph_load_memory("net.onnx", model->data, model->bytes, NULL, GRAPH_LIMITS, &graph, &err), 0,
		     "%s", err.msg);
	return graph;
}

Test(random_normal, made_when_read)
{
	struct onnx_writer model;
	struct npl_graph *graph = make_graph(1 << 18, &model); /* 4 x 256 GiB */
	struct npl_err err;
	cr_assert_eq(graph->n_nodes, 4);
	cr_assert_eq(graph->folded_constants, 4);
	cr_assert_eq(graph->parameters, (uint64_t)4 << 36);
	cr_assert_lt(graph->arena.bytes, 1 << 20);
	for (int i = 0; i < 4; i++) {
		const struct npl_value *w = &graph->value[graph->node[i].in[1]];
		cr_assert(w->constant && w->is_random && !w->data && !w->is_fill && w->law.deviation == 0.5f);
	}
	npl_graph_free(graph);
	onnx_writer_free(&model);

	graph = make_graph(16, &model);
	const float *data[4];
	for (int i = 0; i < 4; i++) {
		struct npl_value *w = &graph->value[graph->node[i].in[1]];
		data[i] = npl_value_data(graph, w, &err);
		cr_assert(data[i] && npl_value_data(graph, w, &err) == data[i], "made once");
	}
	cr_assert_arr_eq(data[0], data[1], 16 * 16 * sizeof(float), "one seed, one tensor");
	cr_assert(memcmp(data[0], data[2], 64) && memcmp(data[2], data[3], 64), "no seed: each its own");
	struct onnx_writer twin_model;
	struct npl_graph *twin = make_graph(16, &twin_model);
	for (int i = 0; i < 4; i++)
		cr_assert_arr_eq(npl_value_data(twin, &twin->value[twin->node[i].in[1]], &err), data[i],
				 16 * 16 * sizeof(float), "the same in every run");
	npl_graph_free(twin);
	onnx_writer_free(&twin_model);
	npl_graph_free(graph);
	onnx_writer_free(&model);
}

/* y = scale (x W - mean) / sqrt(4): one positive factor for all columns keeps the weight a description, of other
 * numbers; other factors make it. Its elements are the unfolded ones times their column's factor all the same. */
Test(random_normal, a_uniform_batchnorm_keeps_the_weight_a_description)
{
	static const float scales[][4] = {{3, 3, 3, 3}, {-3, -3, -3, -3}, {0, 0, 0, 0}, {3, 3, 3, 5}};
	const union {
		float value;
		uint32_t bits;
	} seed = {.value = 5};
	const struct npl_random_law plain = {.deviation = 0.5f, .seed = seed.bits, .seeded = true};
	for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
		struct onnx_writer g = {0}, a = {0};
		struct npl_graph *graph;
		struct npl_err err;
		float raw[16];
		onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){2, 4});
		put_normal(&g, "w", 4, 5);
		onnx_put_node(&g, "Gemm", "gemm", "x w", "t", NULL);
		onnx_put_floats(&g, "scale", 1, (int64_t[]){4}, scales[k]);
		onnx_put_floats(&g, "shift", 1, (int64_t[]){4}, (float[]){1, 2, 3, 4});
		onnx_put_floats(&g, "mean", 1, (int64_t[]){4}, (float[]){4, 3, 2, 1});
		onnx_put_floats(&g, "variance", 1, (int64_t[]){4}, (float[]){4, 4, 4, 4});
		onnx_put_attr_float(&a, "epsilon", 0);
		onnx_put_node(&g, "BatchNormalization", "bn", "t scale shift mean variance", "y", &a);
		onnx_put_output(&g, "y");
		struct onnx_writer model = onnx_model(&g, 13);
		cr_assert_eq(
			npl_graph_load_memory("net.onnx", model.data, model.bytes, NULL, GRAPH_LIMITS, &graph, &err), 0,
			"%s", err.msg);
		cr_assert_eq(graph->folded_batchnorms, 1);
		struct npl_value *w = &graph->value[graph->node[0].in[1]];
		cr_assert_eq(w->is_random, k == 0);
		cr_assert_eq(w->data == NULL, k == 0);
		const float *data = npl_value_data(graph, w, &err);
		npl_random_floats(&plain, 0, 16, raw);
		for (int i = 0; i < 16; i++)
			cr_assert_float_eq(data[i], raw[i] * scales[k][i % 4] / 2, 1e-6);
		npl_graph_free(graph);
		onnx_writer_free(&model);
	}
}
