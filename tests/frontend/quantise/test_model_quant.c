/* SPDX-License-Identifier: MIT
 *
 * Promises about what is found of a model's own quantisation: which float values are integers on a device of 8-bit
 * integers, which integers those are, which QuantizeLinear and DequantizeLinear only say so, and which constants the
 * model has as integers. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "frontend/graph/build.h"
#include "frontend/quantise/model_quant.h"
#include "npulab/session.h"
#include "tests/kit/onnx_writer.h"

static void put_tensor(struct onnx_writer *g, const char *name, int type, int rank, const int64_t *dims,
		       const void *data, size_t bytes)
{
	struct onnx_writer t = onnx_tensor_of(name, type, rank, dims, data, bytes);
	onnx_put_message(g, 5, &t);
}

/* Inputs x, of floats, and b, of bytes, and constants: scales s (1/2) and t (1/4), zero points z (uint8 7), j (int8 7)
 * and i (int8 -3), and each of four channels ss, zz; weights w (int8) with the scale of each filter, k (uint8 with one)
 * and a bias c (int32). */
static struct onnx_writer beginning(void)
{
	static const float scales[4] = {0.5f, 0.25f, 0.125f, 1};
	static const int8_t zeros[4];
	static const uint8_t seven = 7, weights[16] = {1, 2, 3};
	static const int8_t minus = -3;
	static const int32_t bias[4] = {5, 6, 7, 8};
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){1, 4, 4, 4});
	onnx_put_input(&g, "b", ONNX_UINT8, 4, (int64_t[]){1, 4, 4, 4});
	put_tensor(&g, "s", ONNX_FLOAT, 0, NULL, scales, 4);
	put_tensor(&g, "t", ONNX_FLOAT, 0, NULL, scales + 1, 4);
	put_tensor(&g, "z", ONNX_UINT8, 0, NULL, &seven, 1);
	put_tensor(&g, "j", ONNX_INT8, 0, NULL, &seven, 1);
	put_tensor(&g, "i", ONNX_INT8, 0, NULL, &minus, 1);
	put_tensor(&g, "ss", ONNX_FLOAT, 1, (int64_t[]){4}, scales, sizeof scales);
	put_tensor(&g, "zz", ONNX_INT8, 1, (int64_t[]){4}, zeros, sizeof zeros);
	put_tensor(&g, "w", ONNX_INT8, 4, (int64_t[]){4, 4, 1, 1}, weights, sizeof weights);
	put_tensor(&g, "k", ONNX_UINT8, 2, (int64_t[]){4, 4}, weights, sizeof weights);
	put_tensor(&g, "c", ONNX_INT32, 1, (int64_t[]){4}, bias, sizeof bias);
	onnx_put_int64s(&g, "flat", 2, (int64_t[]){1, 64});
	return g;
}

struct found {
	struct onnx_writer model;
	struct npl_graph *graph;
	struct npl_model_quants quants;
	char text[1024];
};

static void add_text(struct found *f, const char *format, const char *name, const char *more,
		     const struct npl_quant *quant)
{
	const size_t at = strlen(f->text);
	snprintf(f->text + at, sizeof f->text - at, format, at ? " " : "", name, more, (double)quant->scale,
		 (int)quant->zero_point);
}

/* "NAME=INTEGERS(SCALE,ZERO)" of each float value that is integers, with a "!" where nobody reads it as floats;
 * "NAME:(SCALE,ZERO)" of constants; then the nodes, which are named after their results, that only say so: "+NAME" for
 * QuantizeLinear, "-NAME". */
static void describe(struct found *f)
{
	f->text[0] = 0;
	for (int v = 0; v < f->graph->n_values; v++) {
		const struct npl_model_quant *of = &f->quants.value[v];
		const struct npl_value *value = &f->graph->value[v];
		if (of->integers >= 0) {
			cr_expect_eq(of->dtype, f->graph->value[of->integers].dtype);
			add_text(f, of->only_integers ? "%s%s=%s(%g,%d)!" : "%s%s=%s(%g,%d)", value->name,
				 f->graph->value[of->integers].name, &of->quant);
		} else if (value->constant && of->quant.scale > 0) {
			add_text(f, "%s%s:%s(%g,%d)", value->name, "", &of->quant);
		}
	}
	for (int i = 0; i < f->graph->n_nodes; i++)
		if (f->quants.node[i])
			add_text(f, "%s%s%s", f->quants.node[i] == NPL_QUANTISES ? "+" : "-", f->graph->node[i].name,
				 &(struct npl_quant){0});
}

/* Nodes "OP RESULT INPUTS...", a line each, after the beginning; outputs by name. place: as in npl_session_options,
 * where device 0 has 8-bit integers and device 1 has none. */
static struct found find_placed(const char *nodes, const char *outputs, const int *place)
{
	struct found f = {0};
	struct npl_err err;
	struct onnx_writer g = beginning();
	char text[1024], op[32], result[32], *line, *tail = text;
	snprintf(text, sizeof text, "%s", nodes);
	while ((line = strtok_r(tail, "\n", &tail))) {
		struct onnx_writer attrs = {0};
		int at = 0;
		cr_assert_eq(sscanf(line, "%31s %31s %n", op, result, &at), 2, "%s", line);
		if (strstr(line, " ss")) /* of weights and of images alike: which dimension counts channels */
			onnx_put_attr_int(&attrs, "axis", line[at] == 'b');
		if (!strcmp(op, "MaxPool"))
			onnx_put_attr_ints(&attrs, "kernel_shape", 2, (int64_t[]){1, 1});
		if (!strcmp(op, "ReduceMax"))
			onnx_put_attr_int(&attrs, "keepdims", 0);
		if (!strcmp(op, "Concat"))
			onnx_put_attr_int(&attrs, "axis", 1);
		onnx_put_node(&g, op, result, line + at, result, &attrs);
	}
	snprintf(text, sizeof text, "%s", outputs);
	for (tail = text; (line = strtok_r(tail, " ", &tail));)
		onnx_put_output(&g, line);
	f.model = onnx_model(&g, 13);
	int rc = npl_graph_load_memory("net.onnx", f.model.data, f.model.bytes, NULL, GRAPH_LIMITS, &f.graph, &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	rc = npl_model_quants_find(f.graph, place, (const bool[]){true, false}, &f.quants, &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	describe(&f);
	return f;
}

static void release(struct found *f)
{
	npl_model_quants_free(&f->quants);
	npl_graph_free(f->graph);
	onnx_writer_free(&f->model);
}

static void check(const char *nodes, const char *outputs, const char *expected)
{
	struct found f = find_placed(nodes, outputs, NULL);
	cr_expect_str_eq(f.text, expected, "%s\n found    %s\n expected %s", nodes, f.text, expected);
	release(&f);
}

static int value_of(const struct found *f, const char *name)
{
	for (int v = 0; v < f->graph->n_values; v++)
		if (!strcmp(f->graph->value[v].name, name))
			return v;
	cr_assert_fail("no value %s", name);
	return -1;
}

Test(model_quant, a_convolution_between_quantisations)
{
	const char *nodes = "QuantizeLinear xq x s z\nDequantizeLinear xd xq s z\n"
			    "DequantizeLinear wd w ss zz\nDequantizeLinear cd c ss\n"
			    "Conv y xd wd cd\nQuantizeLinear yq y t i\nDequantizeLinear yd yq t i\nAbs a yd";
	check(nodes, "a", "x=xq(0.5,7)! xd=xq(0.5,7) y=yq(0.25,-3)! yd=yq(0.25,-3) +xq -xd +yq -yd");
	struct found f = find_placed(nodes, "a", NULL);
	const struct npl_value *w = &f.graph->value[value_of(&f, "wd")], *c = &f.graph->value[value_of(&f, "cd")];
	cr_assert(w->constant && w->model_integers && c->constant && c->model_integers);
	cr_expect(w->model_integers->parts == 4 && w->model_integers->axis == 0);
	cr_expect_eq(w->model_integers->dtype, NPL_I8);
	cr_expect(c->model_integers->parts == 4 && c->model_integers->dtype == NPL_I32);
	cr_expect(f.quants.quantises);
	release(&f);
}

Test(model_quant, constants_with_one_scale)
{
	check("DequantizeLinear kd k t z\nMatMul y x kd", "y", "kd:(0.25,7)");
	check("DequantizeLinear wd w ss zz\nConv y x wd", "y", "");
	check("DequantizeLinear kd k t z\nTranspose kt kd\nMatMul y x kt", "y", "kt:(0.25,7)");
}

Test(model_quant, one_value_quantised_more_than_once)
{
	/* Through a view too; the same again are the same integers, other numbers are an operator's work. */
	check("Reshape r x flat\nQuantizeLinear q r s z\nQuantizeLinear p x s z\nQuantizeLinear o x t z", "q p o",
	      "x=q(0.5,7) +q +p");
	check("QuantizeLinear q x s z\nQuantizeLinear p x s i", "q p", "x=q(0.5,7) +q");
	check("QuantizeLinear q x s z\nQuantizeLinear p x s j", "q p", "x=q(0.5,7) +q");
	check("DequantizeLinear d b s z\nQuantizeLinear q d s z\nQuantizeLinear p d t z", "q p", "d=b(0.5,7) -d +q");
}

Test(model_quant, lone_quantise_and_dequantise_nodes_are_taken)
{
	check("Relu y x\nQuantizeLinear q y s z", "q", "y=q(0.5,7)! +q");
	check("QuantizeLinear q x s", "q", "x=q(0.5,0)! +q");
	struct found f = find_placed("DequantizeLinear d b s z\nRelu y d", "y", NULL);
	cr_expect_str_eq(f.text, "d=b(0.5,7) -d");
	cr_expect(!f.quants.quantises);
	release(&f);
}

Test(model_quant, readers_of_floats_get_floats)
{
	check("DequantizeLinear d b s z\nRelu y d\nAbs a d", "y a", "d=b(0.5,7) -d");
	check("DequantizeLinear d b s z\nQuantizeLinear q d s z", "q", "d=b(0.5,7)! -d +q");
	check("Relu y x\nQuantizeLinear q y s z", "q y", "y=q(0.5,7) +q");
	check("Relu y x\nReshape r y flat\nQuantizeLinear q y s z", "q r", "y=q(0.5,7) +q");
}

Test(model_quant, joined_and_multiplied_values_have_each_their_own)
{
	check("QuantizeLinear q x s z\nDequantizeLinear d q s z\nDequantizeLinear e b t z\nConcat y d e\n"
	      "QuantizeLinear p y t i",
	      "p", "x=q(0.5,7)! d=q(0.5,7) e=b(0.25,7) y=p(0.25,-3)! +q -d -e +p");
	check("QuantizeLinear q x s z\nDequantizeLinear d q s z\nDequantizeLinear e b t z\nMatMul y d e\n"
	      "QuantizeLinear p y t i",
	      "p", "x=q(0.5,7)! d=q(0.5,7) e=b(0.25,7) y=p(0.25,-3)! +q -d -e +p");
}

/* A scale for each channel, one that is computed. */
Test(model_quant, scales_by_channel_or_computed_run_as_operators)
{
	check("DequantizeLinear d b ss\nRelu y d", "y", "");
	check("ReduceMax m x\nQuantizeLinear q x m z", "q", "");
}

Test(model_quant, devices_without_8_bit_integers)
{
	const char *nodes = "QuantizeLinear q x s z\nQuantizeLinear p x s z\nDequantizeLinear d q s z\nAbs a d";
	static const int places[][4] = {
		{0, 0, 0, 0}, {0, 1, NPL_ON_HOST, 0}, {NPL_ON_HOST, 0, 1, 1}, {1, 1, NPL_ON_HOST, 1}};
	static const char *const expected[] = {"x=q(0.5,7)! d=q(0.5,7) +q +p -d", "x=q(0.5,7) +q", "x=p(0.5,7) +p", ""};
	for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
		struct found f = find_placed(nodes, "p a", places[k]);
		cr_expect_str_eq(f.text, expected[k], "%d: %s", (int)k, f.text);
		release(&f);
	}
}

/* While layers are planned it turns out what a device makes the integers stand for. */
Test(model_quant, integers_that_are_read_as_other_numbers)
{
	struct found f = find_placed(
		"MaxPool m b\nDequantizeLinear d m s z\nQuantizeLinear q d s z\nDequantizeLinear e b t z", "q e", NULL);
	const int m = value_of(&f, "m"), b = value_of(&f, "b"), node_d = f.graph->value[value_of(&f, "d")].producer;
	const struct npl_quant one = npl_model_quant_of(&f.quants, m);
	cr_expect_str_eq(f.text, "d=m(0.5,7)! e=b(0.25,7) -d +q -e");
	cr_expect(one.scale == 1 && one.zero_point == 0);
	f.quants.value[m].quant = (struct npl_quant){.scale = 0.5f, .zero_point = 8};
	cr_expect_eq(npl_model_quant_resolve(&f.quants, node_d), NPL_NO_QUANT_NODE);
	cr_expect_eq(npl_model_quant_resolve(&f.quants, f.graph->value[value_of(&f, "q")].producer), NPL_NO_QUANT_NODE);
	cr_expect_eq(npl_model_quant_resolve(&f.quants, f.graph->value[value_of(&f, "e")].producer), NPL_DEQUANTISES);
	const struct npl_quant said = npl_model_quant_of(&f.quants, b);
	cr_expect(said.scale == 0.25f && said.zero_point == 7);
	describe(&f);
	cr_expect_str_eq(f.text, "e=b(0.25,7) -e");
	release(&f);
}

Test(model_quant, what_the_model_gives_and_wants_as_integers)
{
	struct found f = find_placed("DequantizeLinear d b s z\nMaxPool m d\nReshape r m flat\nGlobalAveragePool g d\n"
				     "MaxPool o x\nQuantizeLinear q o s z\nRelu y m",
				     "r g q y", NULL);
	static const char *const name[] = {"d", "m", "r", "g", "x", "o"};
	static const bool given[] = {true, true, true, false, false, false};
	for (size_t k = 0; k < sizeof name / sizeof *name; k++)
		cr_expect_eq(npl_model_quant_is_given(&f.quants, value_of(&f, name[k])), given[k], "%s", name[k]);
	static const char *const made[] = {"m", "g", "o", "y"};
	static const bool is_wanted[] = {true, false, true, true};
	for (size_t k = 0; k < sizeof made / sizeof *made; k++) {
		const int v = value_of(&f, made[k]);
		const struct npl_node *node = &f.graph->node[f.graph->value[v].producer];
		cr_expect_eq(npl_model_quant_is_wanted(&f.quants, node, v), is_wanted[k], "%s", made[k]);
	}
	release(&f);
}
