/* SPDX-License-Identifier: MIT
 *
 * Folding and batch rewriting: a folded network computes what the unfolded one computes, to rounding, and no node is
 * left that should have gone or gone that should have stayed. Constants that are all one element stay so however
 * large they are. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "frontend/graph/build.h"
#include "tests/kit/graph_interp.h"
#include "tests/kit/onnx_writer.h"
#include "tests/kit/support.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

static struct npl_graph *load(const struct onnx_writer *model, const struct npl_load_options *options)
{
	struct npl_graph *graph;
	struct npl_err err;
	int rc = npl_graph_load_memory("fold.onnx", model->data, model->bytes, options, GRAPH_LIMITS, &graph, &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	return graph;
}

static float unit(uint64_t *rng)
{
	return (float)((double)(test_rng(rng) >> 11) / (double)((uint64_t)1 << 52) - 1);
}

/* A float initialiser of random values in [-1,1) plus `offset`. */
static void put_random(struct onnx_writer *g, uint64_t *rng, const char *name, int rank, const int64_t *dims,
		       float offset)
{
	int64_t count = onnx_count(rank, dims);
	float *data = malloc((size_t)count * sizeof *data + 1);
	for (int64_t i = 0; i < count; i++)
		data[i] = unit(rng) + offset;
	onnx_put_floats(g, name, rank, dims, data);
	free(data);
}

/* BatchNormalization of `channels` channels: "bnK" from in to out. */
static void put_batchnorm(struct onnx_writer *g, uint64_t *rng, int k, int64_t channels, const char *in,
			  const char *out)
{
	static const char *const part[] = {"scale", "shift", "mean", "variance"};
	char name[4][32], inputs[256], node[32];
	struct onnx_writer attrs = {0};
	for (int i = 0; i < 4; i++) {
		snprintf(name[i], sizeof name[i], "bn%d_%s", k, part[i]);
		put_random(g, rng, name[i], 1, &channels, i == 3 ? 1.5f : 0.25f);
	}
	snprintf(inputs, sizeof inputs, "%s %s %s %s %s", in, name[0], name[1], name[2], name[3]);
	snprintf(node, sizeof node, "bn%d", k);
	onnx_put_attr_float(&attrs, "epsilon", 1e-3f);
	onnx_put_node(g, "BatchNormalization", node, inputs, out, &attrs);
}

/* conv -> add -> batch norm -> add -> relu -> dropout -> flatten -> matmul -> add -> gemm -> batch norm, with random
 * sizes, groups, biases and orders of operands. */
static struct onnx_writer random_network(uint64_t *rng, int64_t opset)
{
	struct onnx_writer g = {0}, attrs = {0};
	int64_t groups = 1 + (int64_t)(test_rng(rng) % 3), in = groups * (1 + (int64_t)(test_rng(rng) % 3));
	int64_t out = groups * (1 + (int64_t)(test_rng(rng) % 4)), k = 1 + (int64_t)(test_rng(rng) % 3), size = 5,
		hidden = 7, last = 4;
	int64_t features = out * (size - k + 1) * (size - k + 1);
	bool conv_bias = test_rng(rng) & 1, scalar = test_rng(rng) & 1, left = test_rng(rng) & 1,
	     trans_b = test_rng(rng) & 1;
	bool gemm_bias = opset < 11 || (test_rng(rng) & 1);
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, DIMS(2, in, size, size));
	put_random(&g, rng, "w", 4, DIMS(out, in / groups, k, k), 0);
	put_random(&g, rng, "b", 1, DIMS(out), 0);
	onnx_put_attr_int(&attrs, "group", groups);
	onnx_put_node(&g, "Conv", "conv", conv_bias ? "x w b" : "x w", "c1", &attrs);
	put_random(&g, rng, "a1", 3, DIMS(scalar ? 1 : out, 1, 1), 0);
	onnx_put_node(&g, "Add", "add1", left ? "a1 c1" : "c1 a1", "c2", NULL);
	put_batchnorm(&g, rng, 1, out, "c2", "c3");
	put_random(&g, rng, "a2", 4, DIMS(1, out, 1, 1), 0);
	onnx_put_node(&g, "Add", "add2", "c3 a2", "c4", NULL);
	onnx_put_node(&g, "Relu", "relu", "c4", "c5", NULL);
	onnx_put_node(&g, "Dropout", "drop", "c5", "c6", NULL);
	onnx_put_node(&g, "Flatten", "flat", "c6", "c7", NULL);
	put_random(&g, rng, "m", 2, DIMS(features, hidden), 0);
	onnx_put_node(&g, "MatMul", "matmul", "c7 m", "c8", NULL);
	put_random(&g, rng, "a3", scalar ? 2 : 1, scalar ? DIMS(1, hidden) : DIMS(hidden), 0);
	onnx_put_node(&g, "Add", "add3", left ? "c8 a3" : "a3 c8", "c9", NULL);
	put_random(&g, rng, "gw", 2, trans_b ? DIMS(last, hidden) : DIMS(hidden, last), 0);
	put_random(&g, rng, "gb", scalar ? 1 : 2, scalar ? DIMS(last) : DIMS(1, 1), 0);
	onnx_put_attr_float(&attrs, "alpha", 0.5f);
	onnx_put_attr_float(&attrs, "beta", 0.25f);
	onnx_put_attr_int(&attrs, "transB", trans_b);
	onnx_put_node(&g, "Gemm", "gemm", gemm_bias ? "c9 gw gb" : "c9 gw", "c10", &attrs);
	put_batchnorm(&g, rng, 2, last, "c10", "y");
	onnx_put_output(&g, "y");
	return onnx_model(&g, opset);
}

/* Runs both graphs on the same random input and gives the largest difference relative to the largest output. */
static double difference(struct npl_graph *a, struct npl_graph *b, uint64_t *rng)
{
	const struct npl_value *input = &a->value[a->input[0]];
	struct npl_tensor x = {.dtype = input->dtype, .shape = input->shape};
	struct npl_err err;
	cr_assert_eq(npl_tensor_alloc(&x, &err), 0);
	for (int64_t i = 0; i < npl_tensor_count(&x); i++)
		((float *)x.data)[i] = unit(rng);
	struct npl_tensor *va = test_run_graph(a, &x, &err), *vb = test_run_graph(b, &x, &err);
	cr_assert(va && vb, "%s", err.msg);
	const struct npl_tensor *ya = &va[a->output[0]], *yb = &vb[b->output[0]];
	cr_assert(npl_shape_equal(&ya->shape, &yb->shape) && ya->data && yb->data);
	cr_assert_str_eq(a->value[a->output[0]].name, b->value[b->output[0]].name);
	double worst = 0, largest = 0;
	for (int64_t i = 0; i < npl_tensor_count(ya); i++) {
		worst = fmax(worst, fabs((double)((float *)ya->data)[i] - ((float *)yb->data)[i]));
		largest = fmax(largest, fabs((double)((float *)ya->data)[i]));
	}
	test_free_values(a, va);
	test_free_values(b, vb);
	npl_tensor_free(&x);
	return worst / largest;
}

Test(onnx_fold, folded_equals_unfolded)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t rng = seed;
		int64_t opset = 7 + (int64_t)(seed % 11);
		struct onnx_writer model = random_network(&rng, opset);
		struct npl_graph *folded = load(&model, NULL),
				 *plain = load(&model, &(struct npl_load_options){.no_fold = true});
		cr_assert_eq(plain->n_nodes, 11, "seed %d", (int)seed);
		cr_assert_eq(plain->folded_batchnorms + plain->folded_biases, 0);
		cr_assert_eq(folded->n_nodes, 5, "seed %d: %d nodes are left", (int)seed, folded->n_nodes);
		cr_assert_eq(folded->folded_batchnorms, 2);
		cr_assert_eq(folded->folded_biases, 3);
		static const char *const names[] = {"conv", "relu", "flat", "matmul", "gemm"};
		for (int i = 0; i < 5; i++)
			cr_assert_str_eq(folded->node[i].name, names[i]);
		cr_assert_eq(folded->node[3].op, NPL_OP_GEMM);
		cr_assert_eq(folded->macs, plain->macs);
		double worst = difference(folded, plain, &rng);
		cr_assert(worst <= 1e-5, "seed %d: difference %g", (int)seed, worst);
		npl_graph_free(folded);
		npl_graph_free(plain);
		onnx_writer_free(&model);
	}
}

/* What must not be folded: the product's result has another reader or is an output, the constant is not per channel,
 * the other operand is no constant, or the sum has a larger shape than the product. */
static void unfoldable(struct onnx_writer *g, int variant)
{
	onnx_put_input(g, "x", ONNX_FLOAT, 4, DIMS(1, 2, 3, 3));
	onnx_put_floats(g, "w", 4, DIMS(2, 2, 1, 1), (float[]){1, 2, 3, 4});
	onnx_put_node(g, "Conv", "conv", "x w", "c", NULL);
	onnx_put_floats(g, "per_column", 1, DIMS(3), (float[]){1, 2, 3});
	onnx_put_floats(g, "full", 4, DIMS(1, 2, 3, 3), (float[18]){1});
	onnx_put_floats(g, "channels", 3, DIMS(2, 1, 1), (float[]){1, 2});
	onnx_put_floats(g, "larger", 5, DIMS(2, 1, 2, 1, 1), (float[]){1, 2, 3, 4});
	static const char *const operands[] = {"c channels", "c channels", "c per_column", "c full",
					       "c x",        "c larger",   "c c",          "d channels"};
	if (variant == 7) /* a Dropout that goes leaves its readers to the convolution */
		onnx_put_node(g, "Dropout", "drop", "c", "d", NULL);
	onnx_put_node(g, "Add", "add", operands[variant], "y", NULL);
	if (variant == 0)
		onnx_put_output(g, "c");
	if (variant == 1 || variant == 7) {
		onnx_put_node(g, "Relu", "other", variant == 1 ? "c" : "d", "z", NULL);
		onnx_put_output(g, "z");
	}
	onnx_put_output(g, "y");
}

Test(onnx_fold, nodes_that_must_not_be_folded_are_kept)
{
	uint64_t rng = 7;
	for (int variant = 0; variant < 8; variant++) {
		struct onnx_writer g = {0};
		unfoldable(&g, variant);
		struct onnx_writer model = onnx_model(&g, 13);
		struct npl_graph *folded = load(&model, NULL),
				 *plain = load(&model, &(struct npl_load_options){.no_fold = true});
		cr_assert_eq(folded->folded_biases, 0, "case %d", variant);
		cr_assert_eq(folded->n_nodes, plain->n_nodes - (variant == 7));
		cr_assert_eq(difference(folded, plain, &rng), 0);
		npl_graph_free(folded);
		npl_graph_free(plain);
		onnx_writer_free(&model);
	}
}

/* Rows of more than two dimensions, as transformers have them: the Add after the MatMul is its bias, to the bit. */
Test(onnx_fold, bias_of_rows_in_a_sequence)
{
	for (int form = 0; form < 6; form++) {
		uint64_t rng = (uint64_t)form + 50;
		struct onnx_writer g = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, form < 3 ? 3 : 4, DIMS(2, 3, form < 3 ? 5 : 2, 5));
		put_random(&g, &rng, "w", 2, DIMS(5, 7), 0);
		put_random(&g, &rng, "b", form % 3 == 1 ? 3 : 1, form % 3 == 1 ? DIMS(1, 1, 7) : DIMS(form % 3 ? 1 : 7),
			   0);
		onnx_put_node(&g, "MatMul", "rows", "x w", "p", NULL);
		onnx_put_node(&g, "Add", "add", form & 1 ? "b p" : "p b", "y", NULL);
		onnx_put_output(&g, "y");
		struct onnx_writer model = onnx_model(&g, 13);
		struct npl_graph *folded = load(&model, NULL),
				 *plain = load(&model, &(struct npl_load_options){.no_fold = true});
		cr_assert_eq(folded->n_nodes, 1, "form %d", form);
		cr_assert_eq(folded->folded_biases, 1);
		cr_assert_eq(folded->node[0].op, NPL_OP_MATMUL);
		cr_assert_eq(folded->macs, plain->macs);
		cr_assert_eq(difference(folded, plain, &rng), 0, "form %d", form);
		npl_graph_free(folded);
		npl_graph_free(plain);
		onnx_writer_free(&model);
	}
}

/* A Gemm whose own C is a matrix, or is made by a node, has no bias that could take more in. */
Test(onnx_fold, nothing_is_folded_into_a_gemm_with_a_matrix)
{
	uint64_t rng = 3;
	for (int variant = 0; variant < 4; variant++) {
		struct onnx_writer g = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(3, 4));
		put_random(&g, &rng, "w", 2, DIMS(4, 4), 0);
		put_random(&g, &rng, "matrix", 2, DIMS(3, 4), 0);
		put_random(&g, &rng, "more", 1, DIMS(4), 0);
		onnx_put_node(&g, "Gemm", "gemm", variant & 1 ? "x w matrix" : "x w x", "c", NULL);
		if (variant & 2)
			onnx_put_node(&g, "Add", "add", "c more", "y", NULL);
		else
			put_batchnorm(&g, &rng, 1, 4, "c", "y");
		onnx_put_output(&g, "y");
		struct onnx_writer model = onnx_model(&g, 13);
		struct npl_graph *folded = load(&model, NULL),
				 *plain = load(&model, &(struct npl_load_options){.no_fold = true});
		cr_assert_eq(folded->n_nodes, 2, "case %d", variant);
		cr_assert_eq(difference(folded, plain, &rng), 0);
		npl_graph_free(folded);
		npl_graph_free(plain);
		onnx_writer_free(&model);
	}
}

/* Two convolutions share a weight: folding into one must not change the other. */
Test(onnx_fold, a_shared_weight_stays_for_its_other_reader)
{
	uint64_t rng = 11;
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, DIMS(1, 2, 3, 3));
	put_random(&g, &rng, "w", 4, DIMS(2, 2, 1, 1), 0);
	onnx_put_node(&g, "Conv", "first", "x w", "c", NULL);
	put_batchnorm(&g, &rng, 1, 2, "c", "d");
	onnx_put_node(&g, "Conv", "second", "d w", "y", NULL);
	onnx_put_output(&g, "y");
	struct onnx_writer model = onnx_model(&g, 13);
	struct npl_graph *folded = load(&model, NULL),
			 *plain = load(&model, &(struct npl_load_options){.no_fold = true});
	cr_assert_eq(folded->folded_batchnorms, 1);
	cr_assert_neq(folded->node[0].in[1], folded->node[1].in[1]);
	cr_assert(difference(folded, plain, &rng) <= 1e-6);
	npl_graph_free(folded);
	npl_graph_free(plain);
	onnx_writer_free(&model);
}

/* The legacy rule: broadcast=1 with axis=1 lays a vector along the channels; without it a vector lies along the last
 * dimension and is no bias. */
Test(onnx_fold, a_legacy_broadcast_lies_along_its_axis)
{
	uint64_t rng = 5;
	for (int axis = 1; axis <= 3; axis += 2) {
		struct onnx_writer g = {0}, attrs = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, 4, DIMS(1, 3, 3, 3));
		put_random(&g, &rng, "w", 4, DIMS(3, 3, 1, 1), 0);
		put_random(&g, &rng, "b", 1, DIMS(3), 0);
		onnx_put_node(&g, "Conv", "conv", "x w", "c", NULL);
		onnx_put_attr_int(&attrs, "broadcast", 1);
		onnx_put_attr_int(&attrs, "axis", axis);
		onnx_put_node(&g, "Add", "add", "c b", "y", &attrs);
		onnx_put_output(&g, "y");
		struct onnx_writer model = onnx_model(&g, 6);
		struct npl_graph *folded = load(&model, NULL),
				 *plain = load(&model, &(struct npl_load_options){.no_fold = true});
		cr_assert_eq(folded->folded_biases, axis == 1);
		cr_assert(difference(folded, plain, &rng) <= 1e-6);
		npl_graph_free(folded);
		npl_graph_free(plain);
		onnx_writer_free(&model);
	}
}

/* A constant of 2^36 elements, its views and its normalisation stay one element; constants that are computed are. */
Test(onnx_fold, fills_stay_one_element)
{
	struct onnx_writer g = {0}, attrs = {0}, t = onnx_tensor_of(NULL, ONNX_FLOAT, 1, DIMS(1), &(float){2}, 4);
	int64_t side = 1 << 18;
	struct npl_err err;
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(1, side));
	onnx_put_int64s(&g, "shape", 3, DIMS(side, 2, side / 2));
	onnx_put_int64s(&g, "square", 2, DIMS(side, side));
	onnx_put_attr_tensor(&attrs, "value", &t);
	onnx_put_node(&g, "ConstantOfShape", "huge", "shape", "w0", &attrs);
	onnx_put_node(&g, "Reshape", "view", "w0 square", "w", NULL);
	onnx_put_node(&g, "Gemm", "gemm", "x w", "y", NULL);
	onnx_put_output(&g, "y");
	onnx_put_int64s(&g, "three", 1, DIMS(3));
	t = onnx_tensor_of(NULL, ONNX_FLOAT, 1, DIMS(1), &(float){-2}, 4);
	onnx_put_attr_tensor(&attrs, "value", &t);
	onnx_put_node(&g, "ConstantOfShape", "small", "three", "v", &attrs);
	onnx_put_floats(&g, "c", 1, DIMS(3), (float[]){1, 2, 3});
	onnx_put_node(&g, "Add", "computed", "v c", "s", NULL);
	onnx_put_node(&g, "Relu", "computed2", "s", "r", NULL);
	onnx_put_output(&g, "r");
	onnx_put_output(&g, "v");
	onnx_put_node(&g, "Relu", "too_large", "w", "dead", NULL);
	struct onnx_writer model = onnx_model(&g, 13);
	struct npl_graph *graph = load(&model, NULL);
	cr_assert_eq(graph->n_nodes, 1);
	cr_assert_eq(graph->folded_constants, 5);
	const struct npl_value *w = &graph->value[graph->node[0].in[1]];
	cr_assert(w->is_fill && w->constant && !w->data && w->shape.rank == 2);
	cr_assert_eq(graph->parameters, (uint64_t)side * side);
	cr_assert_lt(graph->arena.bytes, 1 << 20);
	struct npl_value *r = &graph->value[graph->output[1]], *v = &graph->value[graph->output[2]];
	const float *data = npl_value_data(graph, r, &err);
	cr_assert(data && data[0] == 0 && data[1] == 0 && data[2] == 1);
	cr_assert(v->is_fill);
	data = npl_value_data(graph, v, &err);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(data[i], -2);
	cr_assert_eq(npl_value_data(graph, v, &err), data);
	npl_graph_free(graph);
	onnx_writer_free(&model);
}

/* A few hundred bytes that ask for terabytes of work: what is over the limits stays a node, and loading is quick. */
Test(onnx_fold, nodes_over_the_limits_stay)
{
	struct onnx_writer g = {0};
	onnx_put_int64s(&g, "large", 2, DIMS(1 << 20, 1 << 20));
	onnx_put_int64s(&g, "wide", 2, DIMS(1 << 13, 1 << 13));
	onnx_put_node(&g, "ConstantOfShape", "a", "large", "va", NULL);
	onnx_put_node(&g, "Relu", "b", "va", "vb", NULL);
	onnx_put_node(&g, "ConstantOfShape", "c", "wide", "vc", NULL);
	onnx_put_node(&g, "MatMul", "d", "vc vc", "vd", NULL);
	onnx_put_output(&g, "vb");
	onnx_put_output(&g, "vd");
	struct onnx_writer model = onnx_model(&g, 13);
	struct npl_graph *graph = load(&model, NULL);
	cr_assert_eq(graph->n_nodes, 2);
	cr_assert_eq(graph->folded_constants, 2);
	cr_assert_lt(graph->arena.bytes, 1 << 20);
	npl_graph_free(graph);
	onnx_writer_free(&model);
}

/* Views that change nothing go, also at the ends of the network; the outputs keep their names. */
Test(onnx_fold, views_that_change_nothing_go)
{
	static const char *const edges[][3] = {{"x", "a", "y"}, {"x", "y", NULL}};
	for (int variant = 0; variant < 2; variant++) {
		struct onnx_writer g = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(2, 3));
		if (variant == 0)
			onnx_put_node(&g, "Relu", "relu", "x", "a", NULL);
		onnx_put_node(&g, "Dropout", "drop", edges[variant][variant ? 0 : 1], "y", NULL);
		onnx_put_node(&g, "Flatten", "flat", "y", "z", NULL);
		onnx_put_node(&g, "Relu", "last", "z", "t", NULL);
		onnx_put_output(&g, "y");
		onnx_put_output(&g, "t");
		struct onnx_writer model = onnx_model(&g, 13);
		struct npl_graph *graph = load(&model, NULL);
		/* case 0: relu makes y; case 1: x cannot be both an input and the output y, so the Dropout stays */
		cr_assert_eq(graph->n_nodes, 2, "case %d: %d", variant, graph->n_nodes);
		cr_assert_eq(graph->node[0].op, variant ? NPL_OP_DROPOUT : NPL_OP_RELU);
		cr_assert_str_eq(graph->value[graph->output[0]].name, "y");
		cr_assert_eq(graph->value[graph->output[0]].uses, 2);
		cr_assert_eq(graph->node[0].out[0], graph->output[0]);
		cr_assert_eq(graph->node[1].in[0], graph->output[0]);
		npl_graph_free(graph);
		onnx_writer_free(&model);
	}
}

/* --batch: dimension 0 of the inputs and Reshapes that repeat it, not Reshapes of weights; where shapes then do not
 * fit, one clear line. A symbolic batch is 1 unless asked. */
static struct onnx_writer batch_model(int64_t batch, int64_t first)
{
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 3, DIMS(batch, 2, 3));
	onnx_put_int64s(&g, "shape", 2, DIMS(first, 6));
	onnx_put_floats(&g, "w", 3, DIMS(1, 2, 3), (float[6]){1, 2, 3, 4, 5, 6});
	onnx_put_node(&g, "Reshape", "flatten", "x shape", "a", NULL);
	onnx_put_node(&g, "Reshape", "weights", "w shape", "b", NULL);
	onnx_put_node(&g, "Add", "add", "a b", "y", NULL);
	onnx_put_output(&g, "y");
	return onnx_model(&g, 13);
}

Test(onnx_fold, the_batch_follows_what_is_asked_for)
{
	for (int64_t declared = -2; declared <= 1; declared++)
		for (int64_t batch = 0; batch <= 5; batch++) {
			struct onnx_writer model = batch_model(declared, 1);
			struct npl_graph *graph = load(&model, &(struct npl_load_options){.batch = batch});
			int64_t expected = batch ? batch : 1;
			cr_assert_eq(graph->batch, expected);
			cr_assert_eq(graph->value[graph->input[0]].shape.dim[0], expected);
			cr_assert_eq(graph->value[graph->output[0]].shape.dim[0], expected);
			cr_assert_eq(graph->n_nodes, 2);
			npl_graph_free(graph);
			onnx_writer_free(&model);
		}
	struct onnx_writer model = batch_model(3, 3);
	struct npl_graph *graph;
	struct npl_err err;
	cr_assert_eq(npl_graph_load_memory("f", model.data, model.bytes, NULL, GRAPH_LIMITS, &graph, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "f: node 'weights' (Reshape)"), "%s", err.msg);
	onnx_writer_free(&model);
	model = batch_model(1, 2); /* 2 is not the batch: it stays, and six values do not fit 2x6 */
	cr_assert_eq(npl_graph_load_memory("f", model.data, model.bytes, &(struct npl_load_options){.batch = 4},
					   GRAPH_LIMITS, &graph, &err),
		     NPL_EINPUT);
	cr_assert(strstr(err.msg, "node 'flatten' (Reshape)") && strstr(err.msg, "4x2x3"), "%s", err.msg);
	onnx_writer_free(&model);
}

/* Inputs whose values the caller knows become constants; an unknown name or another type is refused. */
Test(onnx_fold, inputs_whose_values_are_given_become_constants)
{
	struct onnx_writer g = {0};
	struct npl_graph *graph;
	struct npl_err err;
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(2, 6));
	onnx_put_input(&g, "shape", ONNX_INT64, 1, DIMS(3));
	onnx_put_node(&g, "Reshape", "view", "x shape", "y", NULL);
	onnx_put_output(&g, "y");
	struct onnx_writer model = onnx_model(&g, 13);
	int64_t dims[] = {3, 2, -1};
	struct npl_tensor known = {.name = "shape", .dtype = NPL_I64, .shape = npl_shape_of(1, 3), .data = dims};
	struct npl_load_options options = {.n_constant_inputs = 1, .constant_input = &known};
	graph = load(&model, &options);
	cr_assert_eq(graph->n_inputs, 1);
	cr_assert(npl_shape_equal(&graph->value[graph->output[0]].shape, &npl_shape_of(3, 3, 2, 2)));
	npl_graph_free(graph);
	known.dtype = NPL_F64;
	cr_assert_eq(npl_graph_load_memory("f", model.data, model.bytes, &options, GRAPH_LIMITS, &graph, &err),
		     NPL_EINPUT);
	cr_assert(strstr(err.msg, "input 'shape' is int64, the value given is float64"), "%s", err.msg);
	known = (struct npl_tensor){.name = "shapes", .dtype = NPL_I64, .shape = npl_shape_of(1, 3), .data = dims};
	cr_assert_eq(npl_graph_load_memory("f", model.data, model.bytes, &options, GRAPH_LIMITS, &graph, &err),
		     NPL_EINPUT);
	cr_assert(strstr(err.msg, "no input is called 'shapes'"), "%s", err.msg);
	onnx_writer_free(&model);
}

/* Weights are parameters, of any float type and once however often they are read; a number alone is part of an
 * expression. */
Test(onnx_fold, what_counts_as_parameter)
{
	static const int64_t wide[] = {4}, one[] = {1};
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){2, 4});
	onnx_put_floats(&g, "w", 1, wide, (float[]){1, 2, 3, 4});
	onnx_put_floats(&g, "slope", 1, one, (float[]){0.25f});
	onnx_put_floats(&g, "epsilon", 0, NULL, (float[]){1e-5f});
	onnx_put_node(&g, "Mul", "scale", "x w", "a", NULL);
	onnx_put_node(&g, "Add", "offset", "a w", "b", NULL);
	onnx_put_node(&g, "PRelu", "act", "b slope", "c", NULL);
	onnx_put_node(&g, "Add", "last", "c epsilon", "y", NULL);
	onnx_put_output(&g, "y");
	struct onnx_writer model = onnx_model(&g, 13);
	struct npl_graph *graph = load(&model, NULL);
	cr_assert_eq(graph->parameters, 5, "%llu", (unsigned long long)graph->parameters);
	struct npl_value other[2] = {{.dtype = NPL_F32},
				     {.dtype = NPL_BF16, .constant = true, .shape = npl_shape_of(1, 3)}};
	struct npl_graph made = {.value = other};
	const struct npl_node gather = {.op = NPL_OP_GATHER, .n_in = 2, .in = (int[]){1, 1}};
	cr_assert(npl_input_is_parameter(&made, &gather, 0));
	other[1].dtype = NPL_I64;
	cr_assert(!npl_input_is_parameter(&made, &gather, 1), "indices are none");
	npl_graph_free(graph);
	onnx_writer_free(&model);
}

/* A BatchNormalization that lists the statistics of training after its result is the one without them where nobody
 * reads these, and refused where somebody does. */
Test(onnx_fold, unread_statistics_of_training_are_left_out)
{
	static const char *const outs[] = {"y", "y m v", "y m v sm sv", "y - - sm sv"};
	for (int opset = 8; opset <= 14; opset += 3)
		for (size_t i = 0; i < 2 * sizeof outs / sizeof *outs; i++) {
			const bool is_read = i >= sizeof outs / sizeof *outs;
			const char *list = outs[i % (sizeof outs / sizeof *outs)];
			const char *last = strrchr(list, ' ');
			struct onnx_writer g = {0};
			struct npl_graph *graph;
			struct npl_err err;
			if (is_read && !last)
				continue;
			onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){1, 2, 3, 3});
			onnx_put_floats(&g, "p", 1, (int64_t[]){2}, (float[]){1, 2});
			onnx_put_node(&g, "BatchNormalization", "bn", "x p p p p", list, NULL);
			onnx_put_output(&g, "y");
			if (is_read)
				onnx_put_output(&g, last + 1);
			struct onnx_writer model = onnx_model(&g, opset);
			int rc = npl_graph_load_memory("f", model.data, model.bytes, NULL, GRAPH_LIMITS, &graph, &err);
			cr_assert_eq(rc, is_read ? NPL_EINPUT : 0, "opset %d, %s: %s", opset, list, err.msg);
			if (is_read)
				cr_assert(strstr(err.msg, "node 'bn' (BatchNormalization)"), "%s", err.msg);
			else
				cr_assert(graph->n_outputs == 1 && graph->node[0].n_out == 1);
			npl_graph_free(graph);
			onnx_writer_free(&model);
		}
}

static void put_zeros(struct onnx_writer *g, const char *name, int type, int rank, const int64_t *dims)
{
	static const char zeros[4096];
	size_t size = type == ONNX_INT32 ? 4 : 1, bytes = size * (size_t)onnx_count(rank, dims);
	cr_assert_leq(bytes, sizeof zeros);
	struct onnx_writer t = onnx_tensor_of(name, type, rank, dims, zeros, bytes);
	onnx_put_message(g, 5, &t);
}

/* Of a quantised network the weights and biases are parameters, whole numbers as they are; how they are read is none:
 * scales and zero points, one or one per channel. No more are the scales of a Resize. */
Test(onnx_fold, what_counts_as_quantised_parameter)
{
	static const int64_t six[] = {6}, w[] = {6, 3, 3, 3}, m[] = {6, 8}, scales[] = {4};
	static const float ones[] = {1, 1, 1, 1, 1, 1};
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_UINT8, 4, (int64_t[]){1, 3, 8, 8});
	onnx_put_floats(&g, "s", 0, NULL, ones);
	put_zeros(&g, "z", ONNX_UINT8, 0, NULL);
	put_zeros(&g, "w", ONNX_INT8, 4, w);
	onnx_put_floats(&g, "ws", 1, six, ones);
	put_zeros(&g, "wz", ONNX_INT8, 1, six);
	put_zeros(&g, "bias", ONNX_INT32, 1, six);
	onnx_put_floats(&g, "twice", 1, scales, ones);
	put_zeros(&g, "m", ONNX_INT8, 2, m);
	put_zeros(&g, "mz", ONNX_INT8, 0, NULL);
	put_zeros(&g, "later", ONNX_INT32, 1, six);
	onnx_put_node(&g, "QLinearConv", "conv", "x s z w ws wz s z bias", "a", NULL);
	onnx_put_node(&g, "DequantizeLinear", "real", "a s z", "b", NULL);
	onnx_put_node(&g, "Resize", "resize", "b - twice", "c", NULL);
	onnx_put_node(&g, "GlobalAveragePool", "pool", "c", "d", NULL);
	onnx_put_node(&g, "Flatten", "flat", "d", "e", NULL);
	onnx_put_node(&g, "DequantizeLinear", "made", "later s", "f", NULL);
	onnx_put_node(&g, "Add", "add", "e f", "h", NULL);
	onnx_put_node(&g, "QuantizeLinear", "whole", "h s z", "i", NULL);
	onnx_put_node(&g, "MatMulInteger", "last", "i m z mz", "y", NULL);
	onnx_put_output(&g, "y");
	struct onnx_writer model = onnx_model(&g, 13);
	struct npl_graph *graph = load(&model, NULL);
	cr_assert_eq(graph->parameters, 6 * 3 * 3 * 3 + 6 + 6 + 6 * 8, "%llu", (unsigned long long)graph->parameters);
	npl_graph_free(graph);
	onnx_writer_free(&model);
}
