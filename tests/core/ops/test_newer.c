/* SPDX-License-Identifier: MIT
 *
 * Operators that came with opset 17 and later: what their shape rules refuse, and that what Attention becomes in a
 * graph is what its kernel computes. Their values, from the standard's definitions: tests/onnx/. */
#include <math.h>

#include "frontend/graph/build.h"
#include "tests/kit/graph_interp.h"
#include "tests/kit/onnx_writer.h"
#include "tests/kit/ops_support.h"

#define NO_TYPE NPL_DTYPES

/* An operator with inputs of these shapes, float32 or constant int64 where `list` says so, and one or two
 * attributes. */
static const struct wrong {
	enum npl_op op;
	int opset, n_in;
	struct npl_shape in[6];
	int list; /* this input is a list of int64 with the values; 0: none is */
	int64_t values[8];
	struct npl_attr attr[2];
	const char *expected;
} wrong[] = {
	{NPL_OP_GROUPNORMALIZATION,
	 18,
	 3,
	 {{3, {1, 6, 4}}, {1, {6}}, {1, {6}}},
	 0,
	 {0},
	 {{.name = "num_groups", .type = NPL_ATTR_INT, .i = 3}},
	 "one for each group"},
	{NPL_OP_GROUPNORMALIZATION,
	 21,
	 3,
	 {{3, {1, 6, 4}}, {1, {3}}, {1, {3}}},
	 0,
	 {0},
	 {{.name = "num_groups", .type = NPL_ATTR_INT, .i = 3}},
	 "one for each channel"},
	{NPL_OP_GROUPNORMALIZATION,
	 21,
	 3,
	 {{3, {1, 6, 4}}, {1, {6}}, {1, {6}}},
	 0,
	 {0},
	 {{.name = "num_groups", .type = NPL_ATTR_INT, .i = 4}},
	 "cannot be split into 4"},
	{NPL_OP_GROUPNORMALIZATION,
	 21,
	 3,
	 {{3, {1, 6, 4}}, {1, {6}}, {1, {6}}},
	 0,
	 {0},
	 {{0}},
	 "num_groups must be given"},
	{NPL_OP_RMSNORMALIZATION, 23, 2, {{2, {2, 6}}, {1, {5}}}, 0, {0}, {{0}}, "does not broadcast"},
	{NPL_OP_GELU,
	 20,
	 1,
	 {{2, {2, 6}}},
	 0,
	 {0},
	 {{.name = "approximate", .type = NPL_ATTR_STRING, .s = "erf"}},
	 "'erf'"},
	{NPL_OP_BITWISEAND, 18, 2, {{1, {4}}, {1, {4}}}, 0, {0}, {{0}}, "expected integers"},
	{NPL_OP_BITWISENOT, 18, 1, {{1, {4}}}, 0, {0}, {{0}}, "expected integers"},
	{NPL_OP_CENTERCROPPAD, 18, 2, {{2, {4, 4}}, {1, {1}}}, 1, {3}, {{0}}, "expected one for each of 2 axes"},
	{NPL_OP_CENTERCROPPAD, 18, 2, {{2, {4, 4}}, {1, {2}}}, 1, {3, -1}, {{0}}, "negative"},
	{NPL_OP_CENTERCROPPAD,
	 18,
	 2,
	 {{2, {4, 4}}, {1, {2}}},
	 1,
	 {3, 3},
	 {{.name = "axes", .type = NPL_ATTR_INTS, .ints = (const int64_t[]){0, -2}, .n = 2}},
	 "given twice"},
	{NPL_OP_ROTARYEMBEDDING, 23, 3, {{3, {1, 2, 8}}, {3, {1, 2, 4}}, {3, {1, 2, 4}}}, 0, {0}, {{0}}, "num_heads"},
	{NPL_OP_ROTARYEMBEDDING, 23, 3, {{4, {1, 2, 3, 5}}, {3, {1, 3, 2}}, {3, {1, 3, 2}}}, 0, {0}, {{0}}, "in pairs"},
	{NPL_OP_ROTARYEMBEDDING,
	 23,
	 3,
	 {{4, {1, 2, 3, 8}}, {2, {3, 4}}, {2, {3, 4}}},
	 0,
	 {0},
	 {{0}},
	 "batch x sequence x 4"},
	{NPL_OP_HANNWINDOW, 17, 1, {{1, {1}}}, 0, {0}, {{0}}, "must be constant"},
	{NPL_OP_DFT, 20, 1, {{2, {4, 3}}}, 0, {0}, {{0}}, "must be 1 (real) or 2 (complex)"},
	{NPL_OP_DFT,
	 20,
	 1,
	 {{2, {4, 2}}},
	 0,
	 {0},
	 {{.name = "inverse", .type = NPL_ATTR_INT, .i = 1}, {.name = "onesided", .type = NPL_ATTR_INT, .i = 1}},
	 "inverse=1 with onesided=1"},
	{NPL_OP_DFT,
	 17,
	 1,
	 {{2, {4, 2}}},
	 0,
	 {0},
	 {{.name = "axis", .type = NPL_ATTR_INT, .i = 1}},
	 "must not be the last"},
	{NPL_OP_AFFINEGRID, 20, 2, {{3, {1, 2, 3}}, {1, {5}}}, 1, {1, 1, 2, 2, 2}, {{0}}, "does not fit"},
	{NPL_OP_ATTENTION, 23, 3, {{3, {1, 4, 8}}, {3, {1, 4, 8}}, {3, {1, 4, 8}}}, 0, {0}, {{0}}, "q_num_heads"},
	{NPL_OP_ATTENTION,
	 23,
	 3,
	 {{4, {1, 3, 4, 8}}, {4, {1, 2, 4, 8}}, {4, {1, 2, 4, 8}}},
	 0,
	 {0},
	 {{0}},
	 "do not fit each other"},
	{NPL_OP_ATTENTION,
	 23,
	 4,
	 {{4, {1, 2, 4, 8}}, {4, {1, 2, 5, 8}}, {4, {1, 2, 5, 8}}, {2, {4, 4}}},
	 0,
	 {0},
	 {{0}},
	 "the mask 4x4 does not broadcast"},
	{NPL_OP_ATTENTION,
	 23,
	 3,
	 {{4, {1, 2, 4, 8}}, {4, {1, 2, 5, 8}}, {4, {1, 2, 5, 8}}},
	 0,
	 {0},
	 {{.name = "qk_matmul_output_mode", .type = NPL_ATTR_INT, .i = 4}},
	 "expected 0 to 3"},
};

Test(ops_newer, wrong_nodes_are_refused)
{
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		const struct wrong *w = &wrong[i];
		struct npl_attr attr[2] = {w->attr[0], w->attr[1]};
		struct npl_attr_list list = {attr, !!attr[0].name + !!attr[1].name};
		struct npl_attrs attrs = {.opset = w->opset};
		struct npl_tensor tensor[6], out[4] = {{0}};
		const struct npl_tensor *in[6];
		struct npl_err err = {0};
		for (int k = 0; k < w->n_in; k++) {
			tensor[k] = (struct npl_tensor){.dtype = NPL_F32, .shape = w->in[k]};
			if (w->list && w->list == k) {
				tensor[k].dtype = NPL_I64;
				tensor[k].data = (void *)w->values;
			}
			in[k] = &tensor[k];
		}
		int rc = npl_op_attrs(w->op, &list, &attrs, &err);
		if (!rc)
			rc = npl_op_shape(w->op, &attrs, in, w->n_in, out, 1, &err);
		cr_expect_eq(rc, NPL_EINPUT, "%s was to refuse: %s", npl_op_defs[w->op].name, w->expected);
		cr_expect(strstr(err.msg, w->expected), "%s said '%s', not '%s'", npl_op_defs[w->op].name, err.msg,
			  w->expected);
	}
}

/* What ONNX has and npulab does not compute is refused with the reason, and what came later with the opset. */
Test(ops_newer, operators_that_are_not_computed_are_refused_by_name)
{
	static const char *const pairs[][2] = {
		{"If", "runs a subgraph"},
		{"SequenceMap", "subgraph"},
		{"OptionalHasElement", "optional"},
		{"StringConcat", "strings"},
		{"RegexFullMatch", "strings"},
		{"ImageDecoder", "decodes image files"},
		{"Swish", "came with opset 24, and models of opset " GRAPH_OPSETS " are read"}};
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		struct onnx_writer g = {0};
		struct npl_graph *graph;
		struct npl_err err = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, 2, (const int64_t[]){1, 4});
		onnx_put_node(&g, pairs[i][0], "odd", "x", "y", NULL);
		onnx_put_output(&g, "y");
		struct onnx_writer model = onnx_model(&g, NPL_LAST_OPSET);
		int rc = npl_graph_load_memory("m.onnx", model.data, model.bytes, NULL, GRAPH_LIMITS, &graph, &err);
		cr_expect_eq(rc, NPL_EINPUT);
		cr_expect(strstr(err.msg, pairs[i][0]) && strstr(err.msg, pairs[i][1]), "%s", err.msg);
		onnx_writer_free(&model);
	}
}

struct attention_case {
	int rank, batch, heads, shared, rows, length, past, size, v_size;
	bool causal, bools, floats;
	float softcap;
};

static struct onnx_writer attention_model(const struct attention_case *c)
{
	struct onnx_writer g = {0}, attrs = {0};
	const int64_t q[4] = {c->batch, c->heads, c->rows, c->size}, k[4] = {c->batch, c->shared, c->length, c->size};
	const int64_t v[4] = {c->batch, c->shared, c->length, c->v_size};
	const int64_t fq[3] = {c->batch, c->rows, c->heads * c->size},
		      fk[3] = {c->batch, c->length, c->shared * c->size};
	const int64_t fv[3] = {c->batch, c->length, c->shared * c->v_size};
	const int64_t mask[2] = {c->rows, c->past + c->length}, past_k[4] = {c->batch, c->shared, c->past, c->size};
	const int64_t past_v[4] = {c->batch, c->shared, c->past, c->v_size};
	onnx_put_input(&g, "q", ONNX_FLOAT, c->rank, c->rank == 4 ? q : fq);
	onnx_put_input(&g, "k", ONNX_FLOAT, c->rank, c->rank == 4 ? k : fk);
	onnx_put_input(&g, "v", ONNX_FLOAT, c->rank, c->rank == 4 ? v : fv);
	if (c->bools || c->floats)
		onnx_put_input(&g, "mask", c->bools ? ONNX_BOOL : ONNX_FLOAT, 2, mask);
	if (c->past) {
		onnx_put_input(&g, "past_k", ONNX_FLOAT, 4, past_k);
		onnx_put_input(&g, "past_v", ONNX_FLOAT, 4, past_v);
	}
	onnx_put_attr_int(&attrs, "is_causal", c->causal);
	onnx_put_attr_int(&attrs, "q_num_heads", c->heads);
	onnx_put_attr_int(&attrs, "kv_num_heads", c->shared);
	onnx_put_attr_float(&attrs, "softcap", c->softcap);
	onnx_put_node(&g, "Attention", "a",
		      c->past ? c->bools || c->floats ? "q k v mask past_k past_v" : "q k v - past_k past_v"
		      : c->bools || c->floats ? "q k v mask"
					      : "q k v",
		      "y", &attrs);
	onnx_put_output(&g, "y");
	return onnx_model(&g, 23);
}

/* The kernel by itself, on the graph's inputs in the order of the operator. */
static struct npl_tensor by_kernel(const struct attention_case *c, const struct npl_graph *graph,
				   const struct npl_tensor *input)
{
	struct npl_attrs attrs = {.opset = 23,
				  .attention = {.causal = c->causal,
						.q_heads = c->heads,
						.kv_heads = c->shared,
						.softcap = c->softcap,
						.softmax_type = NO_TYPE}};
	const struct npl_tensor *in[6] = {&input[0], &input[1], &input[2]};
	int next = 3;
	if (c->bools || c->floats)
		in[3] = &input[next++];
	if (c->past) {
		in[4] = &input[next++];
		in[5] = &input[next++];
	}
	cr_assert_eq(next, graph->n_inputs);
	return test_run(NPL_OP_ATTENTION, &attrs, in, 6);
}

/* Random shapes: what a graph computes by products, one head's sums in float32, is what the kernel computes in double;
 * every product is a MatMul that devices see, and the graph counts as many multiply-accumulates as the operator has. */
Test(ops_newer, attention_in_a_graph)
{
	uint64_t seed = 20;
	for (int round = 0; round < 60; round++) {
		const int shared = 1 + (int)(test_rng(&seed) % 3);
		struct attention_case c = {.rank = 3 + round % 2,
					   .batch = 1 + (int)(test_rng(&seed) % 2),
					   .heads = shared * (1 + (int)(test_rng(&seed) % 3)),
					   .shared = shared,
					   .rows = 1 + (int)(test_rng(&seed) % 6),
					   .length = 1 + (int)(test_rng(&seed) % 7),
					   .past = (int)(test_rng(&seed) % 3) * 2,
					   .size = 1 + (int)(test_rng(&seed) % 9),
					   .v_size = 1 + (int)(test_rng(&seed) % 9),
					   .causal = test_rng(&seed) % 2 == 0,
					   .bools = round % 3 == 1,
					   .floats = round % 3 == 2,
					   .softcap = test_rng(&seed) % 2 ? 0.0f : 1.5f};
		struct onnx_writer model = attention_model(&c);
		struct npl_graph *graph;
		struct npl_err err = {0};
		cr_assert_eq(npl_graph_load_memory("m.onnx", model.data, model.bytes, NULL, GRAPH_LIMITS, &graph, &err),
			     0, "round %d: %s", round, err.msg);
		struct npl_tensor input[6];
		for (int i = 0; i < graph->n_inputs; i++) {
			const struct npl_value *value = &graph->value[graph->input[i]];
			input[i] = test_random_tensor(&seed, value->dtype, value->shape);
			for (int64_t e = 0; value->dtype == NPL_BOOL && e < npl_tensor_count(&input[i]); e++)
				((uint8_t *)input[i].data)[e] &= 1;
			const int64_t all = c.past + c.length; /* the first position of each row takes part */
			for (int64_t e = 0; value->dtype == NPL_BOOL && e < npl_tensor_count(&input[i]); e += all)
				((uint8_t *)input[i].data)[e] = 1;
		}
		uint64_t products = 0;
		for (int i = 0; i < graph->n_nodes; i++) {
			cr_assert_neq(graph->node[i].op, NPL_OP_ATTENTION);
			products += graph->node[i].op == NPL_OP_MATMUL;
		}
		cr_assert_eq(products, 2);
		struct npl_tensor from_kernel = by_kernel(&c, graph, input), *all = test_run_graph(graph, input, &err);
		cr_assert(all, "%s", err.msg);
		const struct npl_tensor *y = &all[graph->output[0]];
		cr_assert(npl_shape_equal(&y->shape, &from_kernel.shape));
		for (int64_t e = 0; e < npl_tensor_count(y); e++)
			cr_assert_float_eq(((float *)y->data)[e], ((float *)from_kernel.data)[e], 2e-6,
					   "round %d, element %lld", round, (long long)e);
		cr_assert_eq(graph->macs, (uint64_t)(c.batch * c.heads * c.rows * (c.past + c.length)) *
						  (uint64_t)(c.size + c.v_size));
		test_release(&from_kernel);
		test_free_values(graph, all);
		for (int i = 0; i < graph->n_inputs; i++)
			npl_tensor_free(&input[i]);
		npl_graph_free(graph);
		onnx_writer_free(&model);
	}
}
