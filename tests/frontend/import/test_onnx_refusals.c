/* SPDX-License-Identifier: MIT
 *
 * What the ONNX importer refuses it refuses with one line that begins with the file and names the culprit: wrong
 * graphs, wrong versions, files cut off anywhere, nested thousands deep, or no models at all. No byte outside the
 * file is read. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/graph/build.h"
#include "tests/kit/onnx_writer.h"

#define PATH      "folder/model.onnx"
#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

static int load_bytes(const struct onnx_writer *model, const struct npl_load_options *options, struct npl_graph **graph,
		      struct npl_err *err)
{
	*err = (struct npl_err){0};
	return npl_graph_load_memory(PATH, model->data, model->bytes, options, GRAPH_LIMITS, graph, err);
}

/* x (1,4) -> Relu -> y */
static void relu_graph(struct onnx_writer *g)
{
	onnx_put_input(g, "x", ONNX_FLOAT, 2, DIMS(1, 4));
	onnx_put_node(g, "Relu", "act", "x", "y", NULL);
	onnx_put_output(g, "y");
}

/* Refusals: each writes a graph that is wrong in one way. */
static void no_output(struct onnx_writer *g)
{
	onnx_put_input(g, "x", ONNX_FLOAT, 2, DIMS(1, 4));
	onnx_put_node(g, "Relu", "act", "x", "y", NULL);
}

static void output_of_nobody(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_output(g, "ghost");
}

static void output_twice(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_output(g, "y");
}

static void unknown_operator(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_node(g, "Reluu", "odd", "y", "z", NULL);
}

static void unknown_domain(struct onnx_writer *g)
{
	struct onnx_writer domain = {0};
	relu_graph(g);
	onnx_put_string(&domain, 7, "com.example");
	onnx_put_node(g, "Relu", "odd", "y", "z", &domain);
}

static void name_twice(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_node(g, "Relu", "again", "x", "y", NULL);
}

static void output_named_as_input(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_node(g, "Relu", "again", "y", "x", NULL);
}

static void input_twice(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_input(g, "x", ONNX_FLOAT, 2, DIMS(1, 4));
}

static void missing_input(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_node(g, "Add", "sum", "y lost", "z", NULL);
}

static void cycle(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_node(g, "Relu", "outside", "b", "c", NULL);
	onnx_put_node(g, "Relu", "ring1", "b", "a", NULL);
	onnx_put_node(g, "Relu", "ring2", "a", "b", NULL);
}

static void subgraph(struct onnx_writer *g)
{
	struct onnx_writer body = {0}, value = {0}, attrs = {0};
	relu_graph(&body);
	onnx_put_message(&value, 6, &body);
	onnx_put_attr(&attrs, "body", 5, &value);
	relu_graph(g);
	onnx_put_node(g, "Relu", "odd", "y", "z", &attrs);
}

static void unused_attribute(struct onnx_writer *g)
{
	struct onnx_writer attrs = {0};
	onnx_put_attr_float(&attrs, "slope", 0.5f);
	relu_graph(g);
	onnx_put_node(g, "Relu", "odd", "y", "z", &attrs);
}

/* In opset 13. */
static void attribute_of_the_past(struct onnx_writer *g)
{
	struct onnx_writer attrs = {0};
	onnx_put_attr_ints(&attrs, "axes", 1, (int64_t[]){0});
	relu_graph(g);
	onnx_put_node(g, "ReduceSum", "odd", "y", "z", &attrs);
}

static void attribute_to_come(struct onnx_writer *g)
{
	struct onnx_writer attrs = {0};
	onnx_put_attr_int(&attrs, "num_outputs", 2);
	relu_graph(g);
	onnx_put_node(g, "Split", "odd", "y", "z z2", &attrs);
}

static void attribute_twice(struct onnx_writer *g)
{
	struct onnx_writer attrs = {0};
	onnx_put_attr_int(&attrs, "axis", 0);
	onnx_put_attr_int(&attrs, "axis", 1);
	relu_graph(g);
	onnx_put_node(g, "Flatten", "odd", "y", "z", &attrs);
}

static void wrong_attribute_type(struct onnx_writer *g)
{
	struct onnx_writer attrs = {0};
	onnx_put_attr_float(&attrs, "axis", 1);
	relu_graph(g);
	onnx_put_node(g, "Flatten", "odd", "y", "z", &attrs);
}

static void too_many_inputs(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_node(g, "Relu", "odd", "x y", "z", NULL);
}

static void too_few_inputs(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_node(g, "Conv", "odd", "x", "z", NULL);
}

static void absent_needed_input(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_node(g, "Gemm", "odd", "- x", "z", NULL);
}

static void too_many_outputs(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_node(g, "Relu", "odd", "y", "z more", NULL);
}

static void symbolic_width(struct onnx_writer *g)
{
	onnx_put_input(g, "x", ONNX_FLOAT, 2, DIMS(1, -1));
	onnx_put_node(g, "Relu", "act", "x", "y", NULL);
	onnx_put_output(g, "y");
}

static void unknown_width(struct onnx_writer *g)
{
	onnx_put_input(g, "x", ONNX_FLOAT, 2, DIMS(1, -2));
	onnx_put_node(g, "Relu", "act", "x", "y", NULL);
	onnx_put_output(g, "y");
}

static void no_shape(struct onnx_writer *g)
{
	onnx_put_input(g, "x", ONNX_FLOAT, -1, NULL);
	onnx_put_node(g, "Relu", "act", "x", "y", NULL);
	onnx_put_output(g, "y");
}

static void rank_nine(struct onnx_writer *g)
{
	onnx_put_input(g, "x", ONNX_FLOAT, 9, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1));
}

static void huge_input(struct onnx_writer *g)
{
	onnx_put_input(g, "x", ONNX_FLOAT, 3, DIMS(1, (int64_t)1 << 40, (int64_t)1 << 40));
}

static void string_input(struct onnx_writer *g)
{
	onnx_put_input(g, "x", ONNX_STRING, 1, DIMS(1));
}

static void string_weight(struct onnx_writer *g)
{
	struct onnx_writer t = onnx_tensor_of("w", ONNX_STRING, 1, DIMS(1), "ab", 2);
	onnx_put_message(g, 5, &t);
}

static void short_weight(struct onnx_writer *g)
{
	struct onnx_writer t = onnx_tensor_of("w", ONNX_FLOAT, 2, DIMS(2, 3), "0123456789abcdefghij", 20);
	onnx_put_message(g, 5, &t);
}

static void short_list(struct onnx_writer *g)
{
	struct onnx_writer t = {0};
	onnx_put_int(&t, 1, 3);
	onnx_put_int(&t, 2, ONNX_FLOAT);
	onnx_put_string(&t, 8, "w");
	onnx_put_float(&t, 4, 1);
	onnx_put_message(g, 5, &t);
}

static void wrong_list(struct onnx_writer *g)
{
	struct onnx_writer t = {0};
	onnx_put_int(&t, 1, 1);
	onnx_put_int(&t, 2, ONNX_FLOAT);
	onnx_put_string(&t, 8, "w");
	onnx_put_int(&t, 7, 1);
	onnx_put_message(g, 5, &t);
}

static void data_twice(struct onnx_writer *g)
{
	struct onnx_writer t = onnx_tensor_of("w", ONNX_FLOAT, 1, DIMS(1), "abcd", 4);
	onnx_put_float(&t, 4, 1);
	onnx_put_message(g, 5, &t);
}

static void byte_too_large(struct onnx_writer *g)
{
	struct onnx_writer t = {0};
	onnx_put_int(&t, 1, 1);
	onnx_put_int(&t, 2, ONNX_INT8);
	onnx_put_string(&t, 8, "w");
	onnx_put_int(&t, 5, 200);
	onnx_put_message(g, 5, &t);
}

static void bool_of_two(struct onnx_writer *g)
{
	struct onnx_writer t = onnx_tensor_of("w", ONNX_BOOL, 1, DIMS(1), "\2", 1);
	onnx_put_message(g, 5, &t);
}

static void external_data(struct onnx_writer *g)
{
	struct onnx_writer t = {0};
	onnx_put_int(&t, 1, 1);
	onnx_put_int(&t, 2, ONNX_FLOAT);
	onnx_put_string(&t, 8, "w");
	onnx_put_int(&t, 14, 1);
	onnx_put_message(g, 5, &t);
}

static void external_without_folder(struct onnx_writer *g)
{
	struct onnx_writer t = {0}, entry = {0};
	onnx_put_int(&t, 1, 1);
	onnx_put_int(&t, 2, ONNX_FLOAT);
	onnx_put_string(&t, 8, "w");
	onnx_put_string(&entry, 1, "location");
	onnx_put_string(&entry, 2, "w.bin");
	onnx_put_message(&t, 13, &entry);
	onnx_put_int(&t, 14, 1);
	onnx_put_message(g, 5, &t);
}

static void odd_location(struct onnx_writer *g)
{
	struct onnx_writer t = onnx_tensor_of("w", ONNX_FLOAT, 1, DIMS(1), "abcd", 4);
	onnx_put_int(&t, 14, 7);
	onnx_put_message(g, 5, &t);
}

static void nameless_weight(struct onnx_writer *g)
{
	struct onnx_writer t = onnx_tensor_of(NULL, ONNX_FLOAT, 1, DIMS(1), "abcd", 4);
	onnx_put_message(g, 5, &t);
}

static void weight_twice(struct onnx_writer *g)
{
	onnx_put_floats(g, "w", 1, DIMS(1), &(float){1});
	onnx_put_floats(g, "w", 1, DIMS(1), &(float){2});
}

static void weight_declared_otherwise(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_floats(g, "w", 2, DIMS(2, 3), (float[6]){0});
	onnx_put_input(g, "w", ONNX_FLOAT, 2, DIMS(-1, 4));
}

static void weight_declared_of_another_type(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_floats(g, "w", 2, DIMS(2, 3), (float[6]){0});
	onnx_put_input(g, "w", ONNX_INT8, -1, NULL);
}

static void expand_to_negative(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_int64s(g, "to", 2, DIMS(-3, 4));
	onnx_put_node(g, "Expand", "wide", "x to", "z", NULL);
}

static void sparse_weight(struct onnx_writer *g)
{
	onnx_put_string(g, 15, "");
}

static void nul_in_name(struct onnx_writer *g)
{
	struct onnx_writer node = {0};
	relu_graph(g);
	onnx_put_bytes(&node, 1, "y\0z", 3);
	onnx_put_message(g, 1, &node);
}

static void shapes_do_not_fit(struct onnx_writer *g)
{
	relu_graph(g);
	onnx_put_floats(g, "w", 2, DIMS(3, 2), (float[6]){0});
	onnx_put_node(g, "MatMul", "product", "y w", "z", NULL);
}

static void name_is_a_number(struct onnx_writer *g)
{
	struct onnx_writer node = {0};
	relu_graph(g);
	onnx_put_int(&node, 3, 7);
	onnx_put_message(g, 1, &node);
}

static const struct {
	void (*build)(struct onnx_writer *);
	const char *expected[3];
} refusals[] = {
	{no_output, {"no output"}},
	{output_of_nobody, {"output 'ghost' is made by no node"}},
	{output_twice, {"output 'y' is listed twice"}},
	{unknown_operator, {"node 'odd': operator 'Reluu' (opset 13) is not known; nearest is Relu"}},
	{unknown_domain, {"node 'odd'", "'com.example'"}},
	{name_twice, {"node 'again' (Relu)", "two tensors are called 'y'"}},
	{output_named_as_input, {"node 'again' (Relu)", "two tensors are called 'x'"}},
	{input_twice, {"two tensors are called 'x'"}},
	{missing_input, {"node 'sum' (Add)", "'lost'"}},
	{cycle, {"node 'ring", "cycle"}},
	{subgraph, {"node 'odd' (Relu)", "'body'", "subgraph"}},
	{unused_attribute, {"node 'odd' (Relu)", "attribute 'slope' is not supported in opset 13"}},
	{attribute_of_the_past,
	 {"node 'odd' (ReduceSum)", "attribute 'axes' ended with opset 12, the node is of opset 13"}},
	{attribute_to_come,
	 {"node 'odd' (Split)", "attribute 'num_outputs' comes with opset 18, the node is of opset 13"}},
	{attribute_twice, {"node 'odd' (Flatten)", "'axis' is given twice"}},
	{wrong_attribute_type, {"node 'odd' (Flatten)", "axis"}},
	{too_many_inputs, {"node 'odd' (Relu)", "2 inputs"}},
	{too_few_inputs, {"node 'odd' (Conv)", "has 1 input, expected 2 to 3"}},
	{absent_needed_input, {"node 'odd' (Gemm)", "input 0 is absent"}},
	{too_many_outputs, {"node 'odd' (Relu)", "2 outputs"}},
	{symbolic_width, {"input 'x'", "dimension 1 is symbolic ('N')", "--dim 'N=N'"}},
	{unknown_width, {"input 'x'", "dimension 1 is not known", "--dim 'x[1]=N'"}},
	{no_shape, {"input 'x' has no shape"}},
	{rank_nine, {"input 'x'", "more than 8 dimensions"}},
	{huge_input, {"input 'x'", "elements"}},
	{string_input, {"input 'x'", "STRING is not supported"}},
	{string_weight, {"tensor 'w'", "STRING is not supported"}},
	{short_weight, {"tensor 'w'", "float32 2x3 needs 24 bytes, the file gives 20"}},
	{short_list, {"tensor 'w'", "needs 3 elements, the file gives 1"}},
	{wrong_list, {"tensor 'w'", "field 7"}},
	{data_twice, {"tensor 'w'", "given twice"}},
	{byte_too_large, {"tensor 'w'", "element 0, 200, is no int8"}},
	{bool_of_two, {"tensor 'w'", "is not a bool"}},
	{external_data, {"tensor 'w'", "another file, which it does not name"}},
	{external_without_folder, {"tensor 'w'", "'w.bin'", "no folder"}},
	{odd_location, {"tensor 'w'", "data location 7"}},
	{nameless_weight, {"initialiser has no name"}},
	{weight_twice, {"two tensors are called 'w'"}},
	{weight_declared_otherwise, {"input 'w' is declared float32 Nx4", "initialiser of that name is float32 2x3"}},
	{weight_declared_of_another_type, {"input 'w' is declared int8,", "initialiser of that name is float32 2x3"}},
	{expand_to_negative, {"node 'wide' (Expand)", "the shape -3x4 has a negative dimension"}},
	{sparse_weight, {"sparse"}},
	{nul_in_name, {"NUL"}},
	{shapes_do_not_fit, {"node 'product' (MatMul)", "3x2"}},
	{name_is_a_number, {"the name of a node", "wire type"}},
};

static void expect_refusal(const struct onnx_writer *model, const struct npl_load_options *options,
			   const char *const expected[3])
{
	struct npl_graph *graph;
	struct npl_err err;
	int rc = load_bytes(model, options, &graph, &err);
	cr_assert_eq(rc, NPL_EINPUT, "expected a refusal with '%s', got %d '%s'", expected[0], rc, err.msg);
	cr_assert_eq(err.code, NPL_EINPUT);
	cr_assert_null(graph);
	cr_assert_eq(strncmp(err.msg, PATH ": ", strlen(PATH) + 2), 0, "no file name: %s", err.msg);
	cr_assert_null(strchr(err.msg, '\n'));
	for (int i = 0; i < 3 && expected[i]; i++)
		cr_assert(strstr(err.msg, expected[i]), "expected '%s' in: %s", expected[i], err.msg);
}

/* Each wrong graph is refused, naming the file and the culprit. */
Test(onnx_refusals, wrong_graphs_are_refused_with_their_culprit)
{
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
		struct onnx_writer g = {0};
		refusals[i].build(&g);
		struct onnx_writer model = onnx_model(&g, 13);
		expect_refusal(&model, NULL, refusals[i].expected);
		onnx_writer_free(&model);
	}
}

/* Versions that are not among GRAPH_OPSETS, or none, or two, are refused; those within load. */
Test(onnx_refusals, only_supported_versions_load)
{
	for (int64_t opset = 0; opset <= NPL_LAST_OPSET + 3; opset++) {
		struct onnx_writer g = {0};
		struct npl_graph *graph;
		struct npl_err err;
		relu_graph(&g);
		struct onnx_writer model = onnx_model(&g, opset);
		int rc = load_bytes(&model, NULL, &graph, &err);
		const bool is_read = opset >= NPL_FIRST_OPSET && opset <= NPL_LAST_OPSET;
		cr_assert_eq(rc, is_read ? 0 : NPL_EINPUT, "opset %d: %d %s", (int)opset, rc, err.msg);
		cr_assert(!rc || strstr(err.msg, "only " GRAPH_OPSETS ": export or convert"), "%s", err.msg);
		cr_assert(rc || graph->opset == opset);
		npl_graph_free(graph);
		struct onnx_writer more = {0};
		onnx_put_int(&more, 2, 9);
		onnx_put_message(&model, 8, &more);
		if (opset != 9)
			expect_refusal(&model, NULL, (const char *const[3]){"two versions"});
		onnx_writer_free(&model);
	}
	struct onnx_writer g = {0}, model = {0};
	relu_graph(&g);
	onnx_put_int(&model, 1, 7);
	expect_refusal(&model, NULL, (const char *const[3]){"not an ONNX model", "no graph"});
	onnx_put_message(&model, 7, &g);
	expect_refusal(&model, NULL, (const char *const[3]){"does not say which version"});
	relu_graph(&g);
	onnx_put_message(&model, 7, &g);
	expect_refusal(&model, NULL, (const char *const[3]){"two graphs"});
	onnx_writer_free(&model);
}

/* Operators that the model's opset does not have yet, or no more, are refused by name, with what would work. */
Test(onnx_refusals, versions_of_an_operator)
{
	static const struct {
		const char *op;
		int opset;
		const char *expected[3];
	} wrong[] = {
		{"HardSwish", 13, {"node 'odd' (HardSwish)", "came with opset 14", "export it with opset 14 or later"}},
		{"Erf", 6, {"node 'odd' (Erf)", "came with opset 9 and the model is of opset 6"}},
		{"Upsample", 10, {"node 'odd' (Upsample)", "ended with opset 9", "Resize took its place"}},
		{"Scatter",
		 NPL_LAST_OPSET,
		 {"node 'odd' (Scatter)", "ended with opset 10", "ScatterElements took its place"}},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct onnx_writer g = {0};
		relu_graph(&g);
		onnx_put_node(&g, wrong[i].op, "odd", "y", "z", NULL);
		struct onnx_writer model = onnx_model(&g, wrong[i].opset);
		expect_refusal(&model, NULL, wrong[i].expected);
		onnx_writer_free(&model);
	}
}

/* Operators of others, and tensors of types that there are none of, are refused by name, with what would work. */
Test(onnx_refusals, foreign_operators_and_types_are_refused_by_name)
{
	static const char *const domains[] = {"com.microsoft", "ai.onnx.ml"};
	static const struct {
		int type;
		const char *name, *instead;
	} types[] = {{8, "STRING", "turn text into numbers"},  {14, "COMPLEX64", "real and imaginary parts"},
		     {17, "FLOAT8E4M3FN", "quantise to INT8"}, {20, "FLOAT8E5M2FNUZ", "quantise to INT8"},
		     {21, "UINT4", "quantise to INT8"},        {22, "INT4", "or keep FLOAT16"},
		     {23, "FLOAT4E2M1", "quantise to INT8"}};
	for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++) {
		struct onnx_writer g = {0}, domain = {0};
		relu_graph(&g);
		onnx_put_string(&domain, 7, domains[i]);
		onnx_put_node(&g, "Scaler", "odd", "y", "z", &domain);
		struct onnx_writer model = onnx_model(&g, 21);
		expect_refusal(&model, NULL,
			       (const char *const[3]){"node 'odd'", domains[i], "export the model with ONNX's own"});
		onnx_writer_free(&model);
	}
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		for (int weight = 0; weight < 2; weight++) {
			struct onnx_writer g = {0};
			relu_graph(&g);
			struct onnx_writer tensor = onnx_tensor_of("w", types[i].type, 1, (int64_t[]){2}, "\1", 1);
			if (weight)
				onnx_put_message(&g, 5, &tensor);
			else
				onnx_put_input(&g, "w", types[i].type, 1, (int64_t[]){2});
			onnx_writer_free(&tensor);
			struct onnx_writer model = onnx_model(&g, NPL_LAST_OPSET);
			expect_refusal(&model, NULL, (const char *const[3]){"'w'", types[i].name, types[i].instead});
			onnx_writer_free(&model);
		}
}

/* Every proper prefix of a model is refused or is a model without its end; no byte outside it is read (the copy is
 * exactly as large as the prefix, so the address sanitizer would see). */
Test(onnx_refusals, no_byte_outside_of_a_prefix_is_read)
{
	struct onnx_writer g = {0}, attrs = {0};
	onnx_put_floats(&g, "w", 4, DIMS(2, 1, 3, 3), (float[18]){1});
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, DIMS(1, 1, 5, 5));
	onnx_put_attr_ints(&attrs, "pads", 4, DIMS(1, 1, 1, 1));
	onnx_put_node(&g, "Conv", "conv", "x w", "y", &attrs);
	onnx_put_output(&g, "y");
	struct onnx_writer model = onnx_model(&g, 13);
	for (size_t n = 0; n < model.bytes; n++) {
		struct onnx_writer part = {.data = malloc(n ? n : 1), .bytes = n};
		cr_assert(part.data);
		memcpy(part.data, model.data, n);
		expect_refusal(&part, NULL, (const char *const[3]){""});
		free(part.data);
	}
	onnx_writer_free(&model);
}

/* Length-delimited fields nested in each other, thousands deep, cost neither stack nor time: an unknown one is
 * stepped over, a subgraph is refused where it begins. */
Test(onnx_refusals, deep_nesting_costs_neither_stack_nor_time)
{
	for (int field = 1; field <= 30; field++) {
		struct onnx_writer inner = {0};
		for (int depth = 0; depth < 4000; depth++) {
			struct onnx_writer outer = {0};
			onnx_put_message(&outer, depth % 3 == 0 ? 7 : field, &inner);
			inner = outer;
		}
		expect_refusal(&inner, NULL, (const char *const[3]){""});
		onnx_writer_free(&inner);
	}
}

/* The file itself: missing, a directory, a device, empty, a text, random bytes. */
Test(onnx_refusals, files_that_are_no_models_are_refused)
{
	char dir[] = "/tmp/npl_import_XXXXXX", path[64], fifo[64];
	static const char *const texts[] = {"", "hello, world\n", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "\x08\x07",
					    "{\"a\": 1}\n"};
	struct npl_graph *graph;
	struct npl_err err;
	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/a.onnx", dir);
	snprintf(fifo, sizeof fifo, "%s/b.onnx", dir);
	cr_assert_eq(mkfifo(fifo, 0600), 0);
	const char *const bad[] = {"/dev/zero", dir, path, fifo};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		cr_assert_eq(npl_graph_load(bad[i], NULL, &graph, &err), NPL_EINPUT);
		cr_assert(!strncmp(err.msg, bad[i], strlen(bad[i])), "%s", err.msg);
	}
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		FILE *file = fopen(path, "w");
		cr_assert(file && fwrite(texts[i], 1, strlen(texts[i]), file) == strlen(texts[i]) && !fclose(file));
		cr_assert_eq(npl_graph_load(path, NULL, &graph, &err), NPL_EINPUT);
		cr_assert(!strncmp(err.msg, path, strlen(path)), "%s", err.msg);
	}
	cr_assert_eq(truncate(path, (off_t)3 << 30), 0); /* sparse: more than a protobuf message may have */
	cr_assert_eq(npl_graph_load(path, NULL, &graph, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "more than"), "%s", err.msg);
	cr_assert_eq(npl_graph_load(path, NULL, &graph, NULL), NPL_EINPUT); /* err may be NULL */
	unlink(path);
	unlink(fifo);
	rmdir(dir);
}
