/* SPDX-License-Identifier: MIT
 *
 * Functions that a model defines itself: what becomes of a call, in names, versions, attributes and absent inputs, and
 * what is refused. What they compute: tests/onnx/ops_functions.py. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "frontend/graph/build.h"
#include "tests/kit/onnx_writer.h"

#define PATH      "folder/model.onnx"
#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
#define DOMAIN    "pkg.test"

/* The parts of a FunctionProto. */
static struct onnx_writer function_in(const char *domain, const char *name, const char *overload, const char *inputs,
				      const char *outputs)
{
	struct onnx_writer f = {0};
	onnx_put_string(&f, 1, name);
	onnx_put_words(&f, 4, inputs);
	onnx_put_words(&f, 5, outputs);
	onnx_put_string(&f, 10, domain);
	if (*overload)
		onnx_put_string(&f, 13, overload);
	return f;
}

static struct onnx_writer function_of(const char *name, const char *overload, const char *inputs, const char *outputs)
{
	return function_in(DOMAIN, name, overload, inputs, outputs);
}

static void import_set(struct onnx_writer *f, const char *domain, int64_t version)
{
	struct onnx_writer set = {0};
	onnx_put_string(&set, 1, domain);
	onnx_put_int(&set, 2, version);
	onnx_put_message(f, 9, &set);
}

/* A call, in a body (field 7) or in a graph (field 1). */
static void put_call(struct onnx_writer *to, int field, const char *op, const char *overload, const char *name,
		     const char *inputs, const char *outputs, struct onnx_writer *attrs)
{
	onnx_put_node_as(to, field, DOMAIN, op, overload, name, inputs, outputs, attrs);
}

/* A node of ONNX's own operators in a body. */
static void put_body(struct onnx_writer *f, const char *op, const char *name, const char *inputs, const char *outputs,
		     struct onnx_writer *attrs)
{
	onnx_put_node_as(f, 7, "", op, "", name, inputs, outputs, attrs);
}

static void put_reference(struct onnx_writer *attrs, const char *name, const char *of)
{
	struct onnx_writer a = {0};
	onnx_put_string(&a, 1, name);
	onnx_put_string(&a, 21, of);
	onnx_put_int(&a, 20, 2);
	onnx_put_message(attrs, 5, &a);
}

static void put_default(struct onnx_writer *f, const char *name, int64_t i)
{
	struct onnx_writer a = {0};
	onnx_put_string(&a, 1, name);
	onnx_put_int(&a, 3, i);
	onnx_put_int(&a, 20, 2);
	onnx_put_message(f, 11, &a);
}

/* x (2,3) -> call f -> y, and the functions after the graph, each emptied. */
static struct onnx_writer model_of(struct onnx_writer *graph, int opset, int n, struct onnx_writer *functions)
{
	struct onnx_writer model = onnx_model(graph, opset);
	for (int i = 0; i < n; i++)
		onnx_put_message(&model, 25, &functions[i]);
	return model;
}

static void put_ends(struct onnx_writer *g)
{
	onnx_put_input(g, "x", ONNX_FLOAT, 2, DIMS(2, 3));
	onnx_put_output(g, "y");
}

static int load(struct onnx_writer *model, struct npl_graph **graph, struct npl_err *err)
{
	const struct npl_load_options keep = {.no_fold = true};
	*err = (struct npl_err){0};
	int rc = npl_graph_load_memory(PATH, model->data, model->bytes, &keep, GRAPH_LIMITS, graph, err);
	onnx_writer_free(model);
	return rc;
}

/* Loads, or fails the test; the nodes must have these names, in order. */
static struct npl_graph *expect_nodes(struct onnx_writer model, int n, const char *const *names)
{
	struct npl_graph *graph;
	struct npl_err err;
	int rc = load(&model, &graph, &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	cr_assert_eq(graph->n_nodes, n, "%d nodes", graph->n_nodes);
	for (int i = 0; i < n; i++)
		cr_assert_str_eq(graph->node[i].name, names[i], "node %d is '%s'", i, graph->node[i].name);
	return graph;
}

static void expect_refusal(struct onnx_writer model, const char *const expected[4])
{
	struct npl_graph *graph;
	struct npl_err err;
	int rc = load(&model, &graph, &err);
	cr_assert_eq(rc, NPL_EINPUT, "expected '%s', got %d '%s'", expected[0], rc, err.msg);
	cr_assert_eq(strncmp(err.msg, PATH ": ", strlen(PATH) + 2), 0, "no file name: %s", err.msg);
	for (int i = 0; i < 4 && expected[i]; i++)
		cr_assert(strstr(err.msg, expected[i]), "expected '%s' in: %s", expected[i], err.msg);
}

static const struct npl_value *input_of(const struct npl_graph *graph, int node, int k)
{
	return &graph->value[graph->node[node].in[k]];
}

/* Calls of calls: nodes and values are named by the path to them, once more with a number where a name is taken. */
Test(onnx_functions, nodes_are_named_by_the_path_to_them)
{
	static const char *const names[] = {"one/Relu_0", "one/inner/neg", "two/Relu_0",     "two/inner/neg",
					    "last",       "two/Relu_0#2",  "two/inner/neg#2"};
	struct onnx_writer g = {0}, f[2] = {function_of("Outer", "", "a", "b"), function_of("Inner", "", "t", "u")};
	put_body(&f[0], "Relu", "", "a", "t", NULL);
	put_call(&f[0], 7, "Inner", "", "inner", "t", "b", NULL);
	put_body(&f[1], "Neg", "neg", "t", "u", NULL);
	put_ends(&g);
	put_call(&g, 1, "Outer", "", "one", "x", "two/t", NULL); /* the name that a value of the next call would get */
	put_call(&g, 1, "Outer", "", "two", "two/t", "z", NULL);
	onnx_put_node(&g, "Abs", "last", "z", "w", NULL);
	put_call(&g, 1, "Outer", "", "two", "w", "y", NULL);
	struct npl_graph *graph = expect_nodes(model_of(&g, 17, 2, f), 7, names);
	cr_assert_str_eq(input_of(graph, 1, 0)->name, "one/t");
	cr_assert_str_eq(input_of(graph, 2, 0)->name, "two/t");
	cr_assert_str_eq(input_of(graph, 3, 0)->name, "two/t#2");
	cr_assert_str_eq(input_of(graph, 6, 0)->name, "two/t#3");
	cr_assert_str_eq(graph->value[graph->output[0]].name, "y");
	npl_graph_free(graph);
}

/* Overloads are functions of their own; a function may be called before and after the file defines it, and one that
 * nobody calls may hold what npulab does not know. */
Test(onnx_functions, overloads_are_functions_of_their_own)
{
	static const char *const names[] = {"a/n", "b/n"};
	struct onnx_writer g = {0}, f[3] = {function_of("F", "", "a", "b"), function_of("F", "other", "a", "b"),
					    function_of("Unused", "", "a", "b")};
	put_body(&f[0], "Relu", "n", "a", "b", NULL);
	put_body(&f[1], "Neg", "n", "a", "b", NULL);
	put_body(&f[2], "NoSuchOperator", "n", "nowhere", "b", NULL);
	put_ends(&g);
	put_call(&g, 1, "F", "", "a", "x", "z", NULL);
	put_call(&g, 1, "F", "other", "b", "z", "y", NULL);
	struct npl_graph *graph = expect_nodes(model_of(&g, 17, 3, f), 2, names);
	cr_assert_eq(graph->node[0].op, NPL_OP_RELU);
	cr_assert_eq(graph->node[1].op, NPL_OP_NEG);
	npl_graph_free(graph);
}

/* ONNX leaves open which of the two a node means. */
Test(onnx_functions, hides_an_operator_of_its_name)
{
	struct onnx_writer g = {0}, f = function_in("", "Relu", "", "a", "b");
	put_body(&f, "Neg", "neg", "a", "b", NULL);
	put_ends(&g);
	onnx_put_node(&g, "Relu", "n", "x", "y", NULL);
	npl_graph_free(expect_nodes(model_of(&g, 17, 1, &f), 1, (const char *const[]){"n/neg"}));
}

/* Each node means the operators of its own function's version: Softmax is along the last axis from opset 13 on, before
 * over all dimensions from 1 on. A function that imports none has the model's. */
Test(onnx_functions, a_node_means_its_function_s_version)
{
	static const char *const names[] = {"main", "a/n", "b/n"};
	struct onnx_writer g = {0}, f[2] = {function_of("Old", "", "a", "b"), function_of("Same", "", "a", "b")};
	import_set(&f[0], "", 11);
	import_set(&f[0], "com.example.unused", 1);
	put_body(&f[0], "Softmax", "n", "a", "b", NULL);
	put_body(&f[1], "Softmax", "n", "a", "b", NULL);
	put_ends(&g);
	onnx_put_node(&g, "Softmax", "main", "x", "v", NULL);
	put_call(&g, 1, "Old", "", "a", "v", "w", NULL);
	put_call(&g, 1, "Same", "", "b", "w", "y", NULL);
	struct npl_graph *graph = expect_nodes(model_of(&g, 21, 2, f), 3, names);
	cr_assert_eq(graph->opset, 21);
	const int expected[] = {21, 11, 21};
	for (int i = 0; i < 3; i++)
		cr_assert_eq(graph->node[i].attrs.opset, expected[i], "node %d: %d", i, graph->node[i].attrs.opset);
	npl_graph_free(graph);
}

/* An attribute's value is the call's, else the function's default, else the operator's; through two functions too. */
Test(onnx_functions, an_attribute_is_the_call_s_then_the_default)
{
	static const char *const names[] = {"given/inner/soft", "default/inner/soft", "none/inner/soft"};
	for (int with_default = 0; with_default < 2; with_default++) {
		struct onnx_writer g = {0}, attrs = {0},
				   f[2] = {function_of("Outer", "", "a", "b"), function_of("Inner", "", "t", "u")};
		if (with_default)
			put_default(&f[0], "along", 1);
		else
			onnx_put_string(&f[0], 6, "along");
		onnx_put_string(&f[1], 6, "which");
		put_reference(&attrs, "which", "along");
		put_call(&f[0], 7, "Inner", "", "inner", "a", "b", &attrs);
		put_reference(&attrs, "axis", "which");
		put_body(&f[1], "Softmax", "soft", "t", "u", &attrs);
		put_ends(&g);
		onnx_put_attr_int(&attrs, "along", 0);
		put_call(&g, 1, "Outer", "", "given", "x", "v", &attrs);
		put_call(&g, 1, "Outer", "", "default", "v", "w", NULL);
		put_call(&g, 1, "Inner", "", "none", "w", "y", NULL);
		struct npl_graph *graph = expect_nodes(model_of(&g, 21, 2, f), 3,
						       (const char *const[]){names[0], names[1], "none/soft"});
		cr_assert_eq(graph->node[0].attrs.along.axis, 0);
		cr_assert_eq(graph->node[1].attrs.along.axis,
			     1); /* of two axes, the default and the last are both it */
		cr_assert_eq(graph->node[2].attrs.along.axis, 1);
		npl_graph_free(graph);
	}
}

/* Inputs that the call leaves out, at the end or by an empty name, are absent in the body; outputs that it leaves out
 * are not made where the operator need not; an output that is an input is a copy. */
Test(onnx_functions, inputs_left_out_are_absent_in_the_body)
{
	struct onnx_writer g = {0}, f[2] = {function_of("Limit", "", "a low high", "b"),
					    function_of("Pool", "", "a", "b index a")};
	put_body(&f[0], "Clip", "clip", "a low high", "b", NULL);
	struct onnx_writer attrs = {0};
	onnx_put_attr_ints(&attrs, "kernel_shape", 1, DIMS(2));
	put_body(&f[1], "MaxPool", "pool", "a", "b index", &attrs);
	struct onnx_writer axis = {0};
	onnx_put_attr_int(&axis, "axis", 2);
	onnx_put_input(&g, "x", ONNX_FLOAT, 3, DIMS(1, 2, 3));
	onnx_put_floats(&g, "six", 0, NULL, (const float[]){6});
	onnx_put_output(&g, "y");
	put_call(&g, 1, "Limit", "", "upper", "x - six", "u", NULL);
	put_call(&g, 1, "Limit", "", "none", "u", "v", NULL);
	put_call(&g, 1, "Pool", "", "pool", "v", "w - copy", NULL);
	onnx_put_node(&g, "Concat", "both", "w copy", "y", &axis);
	static const char *const names[] = {"upper/clip", "none/clip", "pool/pool", "pool/a", "both"};
	struct npl_graph *graph = expect_nodes(model_of(&g, 17, 2, f), 5, names);
	cr_assert_eq(graph->node[0].n_in, 3);
	cr_assert_eq(graph->node[0].in[1], -1);
	cr_assert_eq(graph->node[1].n_in, 1);
	cr_assert_eq(graph->node[2].n_out, 1);
	cr_assert_eq(graph->node[3].op, NPL_OP_IDENTITY);
	cr_assert_eq(graph->node[3].in[0], graph->node[1].out[0]);
	npl_graph_free(graph);
}

/* A Split makes as many parts as it has outputs, though nobody reads the last: left out by the body, or by the
 * caller. */
Test(onnx_functions, parts_that_nobody_reads)
{
	for (int k = 0; k < 4; k++) {
		const int opset = k & 1 ? 18 : 13;
		struct onnx_writer g = {0}, attrs = {0}, f = function_of("Half", "", "a", k & 2 ? "b c" : "b");
		onnx_put_attr_int(&attrs, "axis", 1);
		if (opset == 18)
			onnx_put_attr_int(&attrs, "num_outputs", 2);
		put_body(&f, "Split", "split", "a", "b c", &attrs);
		onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(2, 6));
		onnx_put_output(&g, "y");
		put_call(&g, 1, "Half", "", "half", "x", "y", NULL);
		struct npl_graph *graph = expect_nodes(model_of(&g, opset, 1, &f), 1,
						       (const char *const[]){"half/split"});
		const struct npl_shape *y = &graph->value[graph->output[0]].shape;
		cr_assert(y->rank == 2 && y->dim[0] == 2 && y->dim[1] == 3, "opset %d: second dimension %lld", opset,
			  (long long)y->dim[1]);
		npl_graph_free(graph);
	}
}

/* Each refusal is a function, called once with x and y, or the call itself. */
static void calls_itself(struct onnx_writer *f)
{
	put_call(f, 7, "F", "", "again", "a", "b", NULL);
}

static void reads_outside(struct onnx_writer *f)
{
	put_body(f, "Add", "sum", "a x", "b", NULL);
}

static void makes_no_output(struct onnx_writer *f)
{
	put_body(f, "Relu", "n", "a", "c", NULL);
}

static void makes_its_input(struct onnx_writer *f)
{
	put_body(f, "Relu", "n", "a", "a", NULL);
}

static void unknown_operator(struct onnx_writer *f)
{
	put_body(f, "Reluu", "n", "a", "b", NULL);
}

static void unknown_function(struct onnx_writer *f)
{
	put_call(f, 7, "G", "", "n", "a", "b", NULL);
}

static void wrong_shapes(struct onnx_writer *f)
{
	put_body(f, "MatMul", "n", "a a", "b", NULL);
}

static void old_version(struct onnx_writer *f)
{
	import_set(f, "", 5);
	put_body(f, "Relu", "n", "a", "b", NULL);
}

static void two_versions(struct onnx_writer *f)
{
	import_set(f, "", 15);
	import_set(f, "ai.onnx", 16);
	put_body(f, "Relu", "n", "a", "b", NULL);
}

static void operator_of_later(struct onnx_writer *f)
{
	import_set(f, "", 13);
	put_body(f, "HardSwish", "n", "a", "b", NULL);
}

static void needs_what_is_absent(struct onnx_writer *f)
{
	onnx_put_words(f, 4, "missing");
	put_body(f, "Add", "n", "a missing", "b", NULL);
}

Test(onnx_functions, wrong_functions_are_refused)
{
	static const struct {
		void (*build)(struct onnx_writer *f);
		const char *expected[4];
	} wrong[] = {
		{calls_itself, {"node 'call' (F)", "function 'F' of the domain '" DOMAIN "'", "it calls itself"}},
		{reads_outside,
		 {"function 'F'", "node 'sum' (Add)", "its input 'x' is neither an input of the function"}},
		{makes_no_output, {"function 'F'", "its output 'b' is made by no node"}},
		{makes_its_input, {"function 'F'", "two of its values are called 'a'"}},
		{unknown_operator, {"node 'call/n'", "operator 'Reluu' (opset 17) is not known"}},
		{unknown_function, {"node 'call/n'", "operator 'G' of the domain '" DOMAIN "' is not known"}},
		{wrong_shapes, {"node 'call/n' (MatMul)", "2x3"}},
		{old_version, {"function 'F'", "opset 5 is not supported, only " GRAPH_OPSETS}},
		{two_versions, {"function 'F'", "two versions of the ONNX operator set, 15 and 16"}},
		{operator_of_later, {"node 'call/n' (HardSwish)", "came with opset 14"}},
		{needs_what_is_absent, {"node 'call/n' (Add)", "has 1 input"}},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct onnx_writer g = {0}, f = function_of("F", "", "a", "b");
		wrong[i].build(&f);
		put_ends(&g);
		put_call(&g, 1, "F", "", "call", "x", "y", NULL);
		expect_refusal(model_of(&g, 17, 1, &f), wrong[i].expected);
	}
}

Test(onnx_functions, wrong_calls_are_refused)
{
	static const struct {
		const char *inputs, *outputs, *attribute;
		const char *expected[4];
	} wrong[] = {
		{"x x", "y", NULL, {"node 'call' (F)", "has 2 inputs, the function 'F' has 1"}},
		{"x", "y z", NULL, {"node 'call' (F)", "has 2 outputs, the function 'F' has 1"}},
		{"x", "y", "slope", {"node 'call' (F)", "the function 'F' has no attribute 'slope'"}},
		{"ghost", "y", NULL, {"node 'call/n' (Relu)", "'ghost'"}},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct onnx_writer g = {0}, attrs = {0}, f = function_of("F", "", "a", "b");
		put_body(&f, "Relu", "n", "a", "b", NULL);
		put_ends(&g);
		if (wrong[i].attribute)
			onnx_put_attr_int(&attrs, wrong[i].attribute, 1);
		put_call(&g, 1, "F", "", "call", wrong[i].inputs, wrong[i].outputs, &attrs);
		expect_refusal(model_of(&g, 17, 1, &f), wrong[i].expected);
	}
	struct onnx_writer g = {0}, attrs = {0},
			   twice[2] = {function_of("F", "", "a", "b"), function_of("F", "", "c", "d")};
	put_ends(&g);
	onnx_put_node(&g, "Relu", "n", "x", "y", NULL);
	expect_refusal(model_of(&g, 17, 2, twice),
		       (const char *const[4]){"function 'F' of the domain '" DOMAIN "'", "the model defines it twice"});
	g = (struct onnx_writer){0};
	put_ends(&g);
	put_reference(&attrs, "axis", "which");
	onnx_put_node(&g, "Softmax", "n", "x", "y", &attrs);
	expect_refusal(
		model_of(&g, 17, 0, NULL),
		(const char *const[4]){"node 'n' (Softmax)", "attribute 'axis' refers to 'which' of a function"});
}

/* F0 is one node; each function after it calls the one before `times` times in a row. */
static struct onnx_writer tower(int levels, int times)
{
	struct onnx_writer g = {0}, model, *f = calloc((size_t)levels, sizeof *f);
	char name[16], before[16], in[16], out[16];
	cr_assert_not_null(f);
	for (int i = 0; i < levels; i++) {
		snprintf(name, sizeof name, "F%d", i);
		snprintf(before, sizeof before, "F%d", i - 1);
		snprintf(out, sizeof out, "v%d", i ? times : 1);
		f[i] = function_of(name, "", "v0", out);
		for (int k = 0; k < (i ? times : 1); k++) {
			snprintf(in, sizeof in, "v%d", k);
			snprintf(out, sizeof out, "v%d", k + 1);
			if (i)
				put_call(&f[i], 7, before, "", "c", in, out, NULL);
			else
				put_body(&f[i], "Relu", "n", in, out, NULL);
		}
	}
	put_ends(&g);
	put_call(&g, 1, name, "", "top", "x", "y", NULL);
	model = model_of(&g, 17, levels, f);
	free(f);
	return model;
}

/* What would become too much is refused before it is made: 2^63 nodes, and a chain of calls that is too deep. */
Test(onnx_functions, what_grows_too_large_is_refused_before)
{
	struct npl_graph *graph;
	struct npl_err err;
	expect_refusal(tower(63, 2), (const char *const[4]){"node 'top' (F62)", "becomes more than 1000000 nodes"});
	expect_refusal(tower(60, 1000), (const char *const[4]){"node 'top' (F59)", "becomes more than 1000000 nodes"});
	expect_refusal(tower(100, 1), (const char *const[4]){"functions call each other more than 64 deep"});
	struct onnx_writer deep = tower(64, 1), wide = tower(8, 3);
	cr_assert_eq(load(&deep, &graph, &err), 0, "%s", err.msg);
	cr_assert_eq(graph->n_nodes, 1);
	npl_graph_free(graph);
	cr_assert_eq(load(&wide, &graph, &err), 0, "%s", err.msg);
	cr_assert_eq(graph->n_nodes, 2187);
	npl_graph_free(graph);
}

/* Names of 60 kB in a function that is called ten thousand times: the memory for them is limited as well. */
Test(onnx_functions, memory_for_names_is_limited)
{
	enum { LENGTH = 60000, CALLS = 10000 };
	char *name = malloc(LENGTH + 1), in[16], out[16], call[16];
	cr_assert_not_null(name);
	memset(name, 'n', LENGTH);
	name[LENGTH] = 0;
	struct onnx_writer g = {0}, f = function_of("F", "", "a", "b");
	put_body(&f, "Relu", name, "a", "b", NULL);
	onnx_put_input(&g, "v0", ONNX_FLOAT, 2, DIMS(2, 3));
	for (int i = 0; i < CALLS; i++) {
		snprintf(in, sizeof in, "v%d", i);
		snprintf(out, sizeof out, "v%d", i + 1);
		snprintf(call, sizeof call, "c%d", i);
		put_call(&g, 1, "F", "", call, in, out, NULL);
	}
	onnx_put_output(&g, out);
	expect_refusal(model_of(&g, 17, 1, &f),
		       (const char *const[4]){"the calls of its functions need more than 512 MiB"});
	free(name);
}
