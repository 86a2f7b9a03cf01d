/* SPDX-License-Identifier: MIT
 *
 * docs/onnx.md is true: what its table calls refused is refused with a message that says so, its opsets and its list of
 * element types are the importer's, and operators that it does not list are refused as it says. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>

#include "core/files/words.h"
#include "frontend/graph/build.h"
#include "tests/kit/onnx_writer.h"

#define PATH "model.onnx"

/* Types of ONNX that there are no tensors of. */
enum { STRING = 8, COMPLEX = 14, FLOAT8 = 17, INT4 = 22 };

/* What a model is made of: inputs x and i and constants of the operators; one node 'odd'. */
struct odd {
	const char *op, *refused; /* as the page has them */
	int opset;
	const char *inputs, *outputs;
	const char *attr;
	int64_t value;
	int weight; /* the type of a constant w of one byte, where the operator meets it so; 0: none */
	const char *expected[2];
};

#define BLOCKS(op_, inputs_)                                                                                           \
	{                                                                                                              \
		op_, "`block_size`; 8-bit floats, 4-bit types", 23, inputs_, "y", "block_size", 2, 0,                  \
		{                                                                                                      \
			"block_size is 2"                                                                              \
		}                                                                                                      \
	}

#define RANDOM(op_, inputs_)                                                                                           \
	{                                                                                                              \
		op_, "all types except float32 and float64", 22, inputs_, "y", "dtype", 10, 0,                         \
		{                                                                                                      \
			"random values of float16 are not supported"                                                   \
		}                                                                                                      \
	}

static const struct odd table[] = {
	{"BatchNormalization", "training before 14", 9, "x v v v v", "y m", NULL, 0, 0, {"supported from opset 14 on"}},
	{"Cast", "strings, complex numbers, 8-bit and 4-bit types", 23, "x", "y", "to", STRING, 0, {"to is STRING"}},
	{"Cast", NULL, 23, "x", "y", "to", COMPLEX, 0, {"to is COMPLEX64"}},
	{"Cast", NULL, 23, "x", "y", "to", FLOAT8, 0, {"to is FLOAT8E4M3FN"}},
	{"Cast", NULL, 23, "x", "y", "to", INT4, 0, {"to is INT4"}},
	{"CastLike", "the same", 23, "x w", "y", NULL, 0, STRING, {"STRING is not supported"}},
	{"CastLike", NULL, 23, "x w", "y", NULL, 0, COMPLEX, {"COMPLEX64 is not supported"}},
	{"CastLike", NULL, 23, "x w", "y", NULL, 0, FLOAT8, {"FLOAT8E4M3FN is not supported"}},
	{"CastLike", NULL, 23, "x w", "y", NULL, 0, INT4, {"INT4 is not supported"}},
	{"Constant", "strings, sparse tensors", 23, "", "y", "value_string", 1, 0, {"strings and sparse tensors"}},
	{"Constant", NULL, 23, "", "y", "sparse_value", 1, 0, {"strings and sparse tensors"}},
	BLOCKS("DequantizeLinear", "i s"),
	{"DequantizeLinear", NULL, 23, "w s", "y", NULL, 0, FLOAT8, {"FLOAT8E4M3FN is not supported"}},
	{"DequantizeLinear", NULL, 23, "w s", "y", NULL, 0, INT4, {"INT4 is not supported"}},
	{"Dropout", "training", 13, "x s t", "y", NULL, 0, 0, {"training_mode must be"}},
	{"Equal", "strings", 23, "w w", "y", NULL, 0, STRING, {"STRING is not supported"}},
	{"Identity", "sequences, optional values", 16, "q", "y", NULL, 0, 0, {"sequence, map, optional"}},
	{"QLinearMatMul", "8-bit floats", 21, "i s z w s w s z", "y", NULL, 0, FLOAT8, {"FLOAT8E4M3FN is not"}},
	BLOCKS("QuantizeLinear", "x s"),
	{"QuantizeLinear", NULL, 23, "x s", "y", "output_dtype", FLOAT8, 0, {"output_dtype is FLOAT8E4M3FN"}},
	{"QuantizeLinear", NULL, 23, "x s", "y", "output_dtype", INT4, 0, {"output_dtype is INT4"}},
	RANDOM("RandomNormal", ""),
	RANDOM("RandomNormalLike", "x"),
	RANDOM("RandomUniform", ""),
	RANDOM("RandomUniformLike", "x"),
	{"Scatter",
	 "opset 11 and later: use ScatterElements",
	 11,
	 "x i x",
	 "y",
	 NULL,
	 0,
	 0,
	 {"ended with opset 10", "ScatterElements"}},
	{"Upsample", "opset 10 and later: use Resize", 10, "x v", "y", NULL, 0, 0, {"ended with opset 9", "Resize"}},
};
#define ROWS (sizeof table / sizeof *table)

/* An input that is a sequence of float tensors. */
static void put_sequence(struct onnx_writer *g)
{
	struct onnx_writer value = {0}, type = {0}, sequence = {0}, element = {0}, tensor = {0};
	onnx_put_int(&tensor, 1, ONNX_FLOAT);
	onnx_put_message(&element, 1, &tensor);
	onnx_put_message(&sequence, 1, &element);
	onnx_put_message(&type, 4, &sequence);
	onnx_put_string(&value, 1, "q");
	onnx_put_message(&value, 2, &type);
	onnx_put_message(g, 11, &value);
}

static int load(const struct odd *odd, struct npl_err *err)
{
	struct onnx_writer g = {0}, attrs = {0};
	const unsigned char bytes[4] = {1, 0, 0, 0};
	struct npl_graph *graph = NULL;
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){4, 4});
	onnx_put_input(&g, "i", ONNX_UINT8, 2, (int64_t[]){4, 4});
	if (strstr(odd->inputs, "q"))
		put_sequence(&g);
	onnx_put_floats(&g, "v", 1, (int64_t[]){4}, (float[]){1, 1, 1, 1});
	onnx_put_floats(&g, "s", 0, NULL, (float[]){0.5f});
	struct onnx_writer zero = onnx_tensor_of("z", ONNX_UINT8, 0, NULL, bytes, 1),
			   truth = onnx_tensor_of("t", ONNX_BOOL, 0, NULL, bytes, 1);
	onnx_put_message(&g, 5, &zero);
	onnx_put_message(&g, 5, &truth);
	if (odd->weight) {
		struct onnx_writer w = onnx_tensor_of("w", odd->weight, 1, (int64_t[]){1}, bytes, 1);
		onnx_put_message(&g, 5, &w);
	}
	if (odd->attr)
		onnx_put_attr_int(&attrs, odd->attr, odd->value);
	if (!strcmp(odd->op, "RandomNormal") || !strcmp(odd->op, "RandomUniform"))
		onnx_put_attr_ints(&attrs, "shape", 1, (int64_t[]){2});
	onnx_put_node(&g, odd->op, "odd", odd->inputs, odd->outputs, &attrs);
	onnx_put_output(&g, "y");
	if (strstr(odd->outputs, "m"))
		onnx_put_output(&g, "m");
	struct onnx_writer model = onnx_model(&g, odd->opset);
	*err = (struct npl_err){0};
	const int rc = npl_graph_load_memory(PATH, model.data, model.bytes, NULL, GRAPH_LIMITS, &graph, err);
	npl_graph_free(graph);
	onnx_writer_free(&model);
	return rc;
}

static char *read_page(void)
{
	FILE *file = fopen("docs/onnx.md", "r");
	char *page = calloc(1, 1 << 16);
	cr_assert(file && page);
	cr_assert(fread(page, 1, (1 << 16) - 1, file) > 0);
	fclose(file);
	return page;
}

Test(onnx_page, refusals_are_as_the_page_says)
{
	struct npl_err err;
	for (size_t i = 0; i < ROWS; i++) {
		cr_expect_eq(load(&table[i], &err), NPL_EINPUT, "%s, opset %d: %s", table[i].op, table[i].opset,
			     err.msg);
		for (int k = 0; k < 2 && table[i].expected[k]; k++)
			cr_expect(strstr(err.msg, table[i].expected[k]), "%s: expected '%s' in: %s", table[i].op,
				  table[i].expected[k], err.msg);
	}
}

/* Each refusal of the page stands in the table above, and each of the table on the page. */
Test(onnx_page, refusals_are_tried)
{
	char *page = read_page();
	size_t on_page = 0, tried = 0;
	const char *row = strstr(page, "\n|---");
	cr_assert(row);
	while ((row = strstr(row + 1, "\n| ")) != NULL) {
		const char *end = strchr(row + 1, '\n');
		cr_assert(end);
		on_page += strncmp(end - 6, " | - |", 6) != 0;
	}
	for (size_t i = 0; i < ROWS; i++) {
		char begin[64], row_end[128];
		if (!table[i].refused)
			continue;
		tried++;
		snprintf(begin, sizeof begin, "\n| %s |", table[i].op);
		snprintf(row_end, sizeof row_end, " | %s |\n", table[i].refused);
		const char *there = strstr(page, begin), *end = there ? strchr(there + 1, '\n') : NULL;
		const size_t n = strlen(row_end);
		cr_expect(end && !strncmp(end + 1 - n, row_end, n), "the page's row of %s does not end with%s",
			  table[i].op, row_end);
	}
	cr_expect_eq(on_page, tried, "the page has %zu refusals, %zu are tried here", on_page, tried);
	free(page);
}

/* The page says in three places which opsets are read. */
Test(onnx_page, the_page_says_which_opsets_are_read)
{
	char *page = read_page(), limits[80];
	cr_expect(strstr(page, "npulab reads ONNX models of opset " GRAPH_OPSETS ","), "not opset %s", GRAPH_OPSETS);
	cr_expect(strstr(page, "npulab needs " GRAPH_OPSETS "."), "not 'npulab needs %s'", GRAPH_OPSETS);
	snprintf(limits, sizeof limits, "* An opset below %d or above %d:", NPL_FIRST_OPSET, NPL_LAST_OPSET);
	cr_expect(strstr(page, limits), "not '%s'", limits);
	free(page);
}

/* The list of element types has those that tensors have, and no other. */
Test(onnx_page, the_page_lists_the_types_that_tensors_have)
{
	char *page = read_page();
	char *list = strstr(page, "Allowed are"), *end = list ? strstr(list, "; each operator") : NULL;
	cr_assert(list && end);
	*end = '\0';
	int named = 1; /* and one after the last comma */
	for (const char *at = list; (at = strchr(at, ',')) != NULL; at++)
		named++;
	for (int type = 0; type < NPL_DTYPES; type++)
		cr_expect(strstr(list, npl_dtype_name((enum npl_dtype)type)), "the page does not list %s",
			  npl_dtype_name((enum npl_dtype)type));
	cr_expect_eq(named + 1, NPL_DTYPES, "the page lists %d types", named + 1);
	free(page);
}

/* What could be computed and is not is told from what is no operator of ONNX's. */
Test(onnx_page, operators_that_are_not_listed)
{
	static const struct odd others[] = {
		{"GridSample",
		 NULL,
		 16,
		 "x x",
		 "y",
		 NULL,
		 0,
		 0,
		 {"node 'odd': ONNX's operator 'GridSample' is not implemented; docs/onnx.md lists those that are"}},
		{"Unique", NULL, 11, "x", "y", NULL, 0, 0, {"ONNX's operator 'Unique' is not implemented"}},
		{"If", NULL, 13, "x", "y", NULL, 0, 0, {"'If' is not supported", "control flow"}},
		{"Loop", NULL, 13, "x", "y", NULL, 0, 0, {"'Loop' is not supported", "control flow"}},
		{"Scan", NULL, 13, "x", "y", NULL, 0, 0, {"'Scan' is not supported", "control flow"}},
		{"SequenceConstruct", NULL, 13, "x", "y", NULL, 0, 0, {"'SequenceConstruct' is not supported"}},
		{"Optional", NULL, 15, "x", "y", NULL, 0, 0, {"'Optional' is not supported"}},
		{"StringConcat", NULL, 20, "x x", "y", NULL, 0, 0, {"'StringConcat' is not supported"}},
		{"GridSampl", NULL, 16, "x x", "y", NULL, 0, 0, {"operator 'GridSampl' (opset 16) is not known"}},
	};
	struct npl_err err;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		cr_expect_eq(load(&others[i], &err), NPL_EINPUT, "%s", others[i].op);
		for (int k = 0; k < 2 && others[i].expected[k]; k++)
			cr_expect(strstr(err.msg, others[i].expected[k]), "%s: %s", others[i].op, err.msg);
	}
	for (enum npl_op op = NPL_OP_NONE + 1; op < NPL_OPS; op++)
		cr_expect(!graph_is_unwritten(npl_op_defs[op].name) && !graph_refusal_reason(npl_op_defs[op].name),
			  "%s is refused by name and stands in ops.def", npl_op_defs[op].name);
	/* The page lists those that are not implemented, and no others; its lines are put together. */
	char *page = read_page(), output[500] = "not implemented: ";
	size_t n = 0, length;
	for (const char *c = page; *c; c++)
		if (!isspace((unsigned char)*c) || (n && page[n - 1] != ' '))
			page[n++] = isspace((unsigned char)*c) ? ' ' : *c;
	page[n] = 0;
	const char *at = graph_unwritten;
	for (const char *word; (word = npl_next_word(&at, &length));)
		snprintf(output + strlen(output), sizeof output - strlen(output), "%.*s%s", (int)length, word,
			 *at ? ", " : ".");
	cr_expect(strstr(page, output), "docs/onnx.md does not say '%s'", output);
	free(page);
}
