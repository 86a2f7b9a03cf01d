/* SPDX-License-Identifier: MIT
 *
 * Promises: what a network computes from shapes alone is constant at import: exported layer groups of Shape, Gather,
 * Unsqueeze, Concat and Reshape leave one Reshape, which follows --batch; Size, EyeLike and the random tensors made
 * like another likewise; a shape that only looks like the batch is left alone. Einsum in a network counts its work. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "frontend/graph/build.h"
#include "tests/kit/graph_interp.h"
#include "tests/kit/onnx_writer.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

static struct npl_graph *load(const struct onnx_writer *model, int64_t batch)
{
	struct npl_graph *graph;
	struct npl_err err;
	struct npl_load_options options = {.batch = batch};
	int rc = npl_graph_load_memory("shapes.onnx", model->data, model->bytes, &options, GRAPH_LIMITS, &graph, &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	return graph;
}

static void put_scalar(struct onnx_writer *g, const char *name, int64_t value)
{
	struct onnx_writer t = onnx_tensor_of(name, ONNX_INT64, 0, NULL, &value, sizeof value);
	onnx_put_message(g, 5, &t);
}

static void put_axes(struct onnx_writer *g, const char *op, const char *in, const char *out)
{
	struct onnx_writer a = {0};
	onnx_put_attr_ints(&a, "axes", 1, DIMS(0));
	onnx_put_node(g, op, "", in, out, &a);
}

/* x.view(x.size(0), x.size(1) * x.size(2), -1), as PyTorch exports it. */
Test(onnx_shapes, a_view_exported_by_pytorch_has_its_shape)
{
	for (int64_t batch = 0; batch <= 6; batch += 3)
		for (int64_t exported = -1; exported <= 2; exported += 3) { /* symbolic; fixed at 2 */
			struct onnx_writer g = {0};
			onnx_put_input(&g, "x", ONNX_FLOAT, 4, DIMS(exported, 2, 5, 7));
			onnx_put_node(&g, "Relu", "relu", "x", "r", NULL);
			for (int d = 0; d < 3; d++) {
				char at[16], from[32], to[16];
				snprintf(at, sizeof at, "i%d", d);
				put_scalar(&g, at, d);
				snprintf(to, sizeof to, "s%d", d);
				onnx_put_node(&g, "Shape", "", "r", to, NULL);
				snprintf(from, sizeof from, "s%d i%d", d, d);
				snprintf(to, sizeof to, "d%d", d);
				onnx_put_node(&g, "Gather", "", from, to, NULL);
			}
			onnx_put_node(&g, "Mul", "", "d1 d2", "m", NULL);
			put_axes(&g, "Unsqueeze", "d0", "u0");
			put_axes(&g, "Unsqueeze", "m", "u1");
			onnx_put_int64s(&g, "rest", 1, DIMS(-1));
			struct onnx_writer a = {0};
			onnx_put_attr_int(&a, "axis", 0);
			onnx_put_node(&g, "Concat", "", "u0 u1 rest", "shape", &a);
			onnx_put_node(&g, "Reshape", "view", "r shape", "y", NULL);
			onnx_put_output(&g, "y");
			struct onnx_writer model = onnx_model(&g, 11);
			struct npl_graph *graph = load(&model, batch);
			int64_t expected = batch ? batch : exported < 0 ? 1 : exported;
			const struct npl_shape *y = &graph->value[graph->output[0]].shape;
			cr_assert_eq(graph->n_nodes, 2);
			cr_assert_eq(graph->node[1].op, NPL_OP_RESHAPE);
			cr_assert(y->rank == 3 && y->dim[0] == expected && y->dim[1] == 10 && y->dim[2] == 7);
			npl_graph_free(graph);
			onnx_writer_free(&model);
		}
}

/* x.view(x.size(1), -1) where that is 1, as the exported batch was: no batch. */
Test(onnx_shapes, a_size_of_1_is_no_batch)
{
	struct onnx_writer g = {0}, a = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 3, DIMS(1, 1, 6));
	onnx_put_node(&g, "Shape", "", "x", "s", NULL);
	onnx_put_int64s(&g, "one", 1, DIMS(1));
	onnx_put_node(&g, "Gather", "", "s one", "d", NULL);
	onnx_put_int64s(&g, "rest", 1, DIMS(-1));
	onnx_put_attr_int(&a, "axis", 0);
	onnx_put_node(&g, "Concat", "", "d rest", "shape", &a);
	onnx_put_node(&g, "Reshape", "view", "x shape", "y", NULL);
	onnx_put_output(&g, "y");
	struct onnx_writer model = onnx_model(&g, 13);
	struct npl_graph *graph = load(&model, 4);
	const struct npl_shape *y = &graph->value[graph->output[0]].shape;
	cr_assert(y->rank == 2 && y->dim[0] == 1 && y->dim[1] == 24);
	npl_graph_free(graph);
	onnx_writer_free(&model);
}

/* Constant shapes that begin with 1. A model that leaves its batch open means what they say, where that makes a
 * network: all elements in one row; where it does not, and where the model says a batch of 1, the 1 is the batch. */
Test(onnx_shapes, constant_shapes_and_the_batch)
{
	static const struct {
		int64_t declared, last, rows; /* of x (declared,2,3), reshaped to (1,last), with a batch of 4 */
	} cases[] = {{-1, -1, 1}, {-1, 24, 1}, {-1, 6, 4}, {1, -1, 4}, {1, 6, 4}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct onnx_writer g = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, 3, DIMS(cases[i].declared, 2, 3));
		onnx_put_int64s(&g, "shape", 2, DIMS(1, cases[i].last));
		onnx_put_node(&g, "Reshape", "rows", "x shape", "y", NULL);
		onnx_put_output(&g, "y");
		struct onnx_writer model = onnx_model(&g, 13);
		struct npl_graph *graph = load(&model, 4);
		const struct npl_shape *y = &graph->value[graph->output[0]].shape;
		cr_assert(y->rank == 2 && y->dim[0] == cases[i].rows && y->dim[1] == 24 / cases[i].rows,
			  "case %zu: %lld rows", i, (long long)y->dim[0]);
		npl_graph_free(graph);
		onnx_writer_free(&model);
	}
}

/* A mask and random values like the input, a NonZero of a large fill and what is made of them: constant. */
Test(onnx_shapes, made_like_an_input)
{
	struct onnx_writer g = {0}, a = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(3, 30));
	onnx_put_attr_float(&a, "seed", 4);
	onnx_put_node(&g, "RandomUniformLike", "", "x", "u", &a);
	onnx_put_node(&g, "EyeLike", "", "x", "eye", NULL);
	onnx_put_node(&g, "Add", "", "u eye", "t", NULL);
	onnx_put_node(&g, "Add", "", "x t", "y", NULL);
	onnx_put_node(&g, "Size", "", "x", "size", NULL);
	onnx_put_node(&g, "Shape", "", "x", "shape", NULL);
	struct onnx_writer one = onnx_tensor_of(NULL, ONNX_INT64, 1, DIMS(1), DIMS(1), 8);
	onnx_put_attr_tensor(&a, "value", &one);
	onnx_put_node(&g, "ConstantOfShape", "", "shape", "ones", &a);
	onnx_put_node(&g, "NonZero", "", "ones", "where", NULL);
	onnx_put_output(&g, "y");
	onnx_put_output(&g, "size");
	onnx_put_output(&g, "where");
	struct onnx_writer model = onnx_model(&g, 13);
	struct npl_graph *graph = load(&model, 0);
	struct npl_err err;
	cr_assert_eq(graph->n_nodes, 1);
	const int64_t *size = npl_value_data(graph, &graph->value[graph->output[1]], &err);
	cr_assert(size && *size == 90);
	struct npl_value *where = &graph->value[graph->output[2]];
	const int64_t *index = npl_value_data(graph, where, &err);
	cr_assert(index && where->shape.dim[0] == 2 && where->shape.dim[1] == 90);
	for (int64_t i = 0; i < 90; i++)
		cr_assert(index[i] == i / 30 && index[90 + i] == i % 30);
	const float *t = npl_value_data(graph, &graph->value[graph->node[0].in[1]], &err);
	for (int64_t i = 0; i < 90; i++) {
		float even = t[i] - (i / 30 == i % 30 ? 1.0f : 0.0f);
		cr_assert(even >= -1e-6f && even < 1);
	}
	npl_graph_free(graph);
	onnx_writer_free(&model);
}

Test(onnx_shapes, einsum_counts_its_macs)
{
	struct onnx_writer g = {0}, a = {0}, v = {0};
	onnx_put_input(&g, "q", ONNX_FLOAT, 4, DIMS(2, 3, 5, 7));
	onnx_put_input(&g, "k", ONNX_FLOAT, 4, DIMS(2, 3, 4, 7));
	onnx_put_string(&v, 4, "bhqd,bhkd->bhqk");
	onnx_put_attr(&a, "equation", 3, &v);
	onnx_put_node(&g, "Einsum", "scores", "q k", "y", &a);
	onnx_put_output(&g, "y");
	struct onnx_writer model = onnx_model(&g, 12);
	struct npl_graph *graph = load(&model, 0);
	cr_assert_eq(graph->macs, 2 * 3 * 5 * 4 * 7);
	npl_graph_free(graph);
	onnx_writer_free(&model);
}
