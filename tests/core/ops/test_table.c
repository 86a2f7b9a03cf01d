/* SPDX-License-Identifier: MIT
 *
 * Promises: every row of ops.def is in the table and found by its ONNX name; a misspelt name gets the nearest known
 * one; attributes are found, marked used and checked for their type; an attribute that an operator does not know stays
 * unmarked, and one with a value that is not implemented is refused; attributes of an operator of another family are
 * refused, and an initialiser clears them all. */
#include "tests/kit/ops_support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/op_functions.h"
#include "core/ops/ops.h"

Test(ops_table, every_operator_is_complete_and_found)
{
	for (int op = NPL_OP_NONE + 1; op < NPL_OPS; op++) {
		const struct npl_op_def *def = &npl_op_defs[op];
		const struct npl_op_functions *functions = &npl_op_functions[op];
		cr_assert(def->name && functions->attrs && functions->shape && functions->run, "row %d", op);
		cr_assert_eq((int)npl_op_find(def->name), op);
		cr_assert_str_eq(npl_op_nearest(def->name), def->name);
		cr_assert_eq(functions->macs != NULL, (def->flags & (NPL_OP_IS_GEMM | NPL_OP_HAS_MACS)) != 0, "%s",
			     def->name);
	}
	cr_assert_eq(npl_op_find("conv"), NPL_OPS, "names are case-sensitive");
	cr_assert_eq(npl_op_find(""), NPL_OPS);
}

/* Every operator has versions, in order; each opset picks the last one that is not newer, or says why there is none. */
Test(ops_table, each_opset_picks_the_last_version)
{
	for (int op = NPL_OP_NONE + 1; op < NPL_OPS; op++) {
		const struct npl_op_versions *v = &npl_op_versions[op];
		cr_assert(v->n > 0 && v->n <= NPL_MAX_OP_VERSIONS, "%s has no row", npl_op_defs[op].name);
		cr_assert(v->n < 2 || v->since[1] > NPL_FIRST_OPSET, "%s lists what no opset picks",
			  npl_op_defs[op].name);
		cr_assert(!v->end || v->end > v->since[v->n - 1]);
		cr_assert(v->since[v->n - 1] <= NPL_LAST_OPSET);
		for (int opset = NPL_FIRST_OPSET; opset <= NPL_LAST_OPSET; opset++) {
			struct npl_err err = {0};
			int picked = npl_op_version((enum npl_op)op, opset, &err), expected = NPL_EINPUT;
			for (int k = 0; k < v->n; k++) {
				cr_assert(!k || v->since[k] > v->since[k - 1], "%s", npl_op_defs[op].name);
				if (v->since[k] <= opset && (!v->end || opset < v->end))
					expected = v->since[k];
			}
			cr_assert_eq(picked, expected, "%s, opset %d: %d", npl_op_defs[op].name, opset, picked);
			cr_assert_eq(err.code, picked < 0 ? NPL_EINPUT : 0);
		}
	}
	cr_assert_eq(npl_op_version(NPL_OP_RELU, 18, NULL), 14);
	cr_assert_eq(npl_op_version(NPL_OP_CONV, 22, NULL), 22);
	cr_assert_eq(npl_op_version(NPL_OP_UPSAMPLE, 8, NULL), 7);
}

/* docs/onnx.md has a row for each operator, with its versions. */
Test(ops_table, the_page_has_the_versions_of_each_operator)
{
	char page[65536], row[256];
	FILE *file = fopen("docs/onnx.md", "r");
	cr_assert(file, "docs/onnx.md");
	const size_t bytes = fread(page, 1, sizeof page - 1, file);
	fclose(file);
	page[bytes] = 0;
	int rows = 0;
	for (const char *at = strstr(page, "\n|---"); at && (at = strstr(at + 1, "\n| ")) != NULL;)
		rows++;
	cr_expect_eq(rows, NPL_OPS - 1, "the page has %d operators, the table %d", rows, NPL_OPS - 1);
	for (int op = NPL_OP_NONE + 1; op < NPL_OPS; op++) {
		const struct npl_op_versions *v = &npl_op_versions[op];
		int n = snprintf(row, sizeof row, "\n| %s | ", npl_op_defs[op].name);
		for (int k = 0; k < v->n; k++)
			n += snprintf(row + n, sizeof row - (size_t)n, "%s%d", k ? ", " : "", v->since[k]);
		if (v->successor)
			snprintf(row + n, sizeof row - (size_t)n, " | opset %d and later: use %s |", v->end,
				 v->successor);
		cr_expect(strstr(page, row), "docs/onnx.md has no row beginning with: %s", row + 1);
	}
}

Test(ops_table, a_wrong_name_finds_the_nearest)
{
	static const char *const pairs[][2] = {
		{"conv", "Conv"},   {"MaxPool2", "MaxPool"}, {"concatenate", "Concat"}, {"AveragPool", "AveragePool"},
		{"GEMM", "Gemm"},   {"Matmul", "MatMul"},    {"SoftMax", "Softmax"},    {"Reshap", "Reshape"},
		{"Drop", "Dropout"}};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		cr_assert_str_eq(npl_op_nearest(pairs[i][0]), pairs[i][1], "%s", pairs[i][0]);
	const char *const keys[] = {"array.rows", "array.columns", "clock_hz"};
	cr_assert_str_eq(npl_nearest("array.row", keys, 3), "array.rows");
	cr_assert_str_eq(npl_nearest("CLOCK_HZ", keys, 3), "clock_hz");
	cr_assert_null(npl_nearest("", keys, 3), "nothing is near to nothing");
	cr_assert_null(npl_nearest("array", keys + 2, 1));
	cr_assert_null(npl_nearest("x", keys, 0));
	char longer[5000];
	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	cr_assert_null(npl_nearest(longer, keys, 3));
}

/* Attributes of an operator are good for its family alone; those that name no operator, and none at all, for any. */
Test(ops_table, attributes_of_another_family)
{
	const float values[] = {-1, 2};
	struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(1, 2), .data = (void *)values}, y = {0};
	const struct npl_tensor *in[] = {&x};
	struct npl_attrs attrs = {.op = NPL_OP_GEMM, .gemm.alpha = 1}, softmax = {.op = NPL_OP_SOFTMAX};
	struct npl_err err = {0};
	cr_assert_eq(npl_op_shape(NPL_OP_ELU, &attrs, in, 1, &y, 1, &err), NPL_EINTERNAL);
	cr_assert_str_eq(err.msg, "Elu is given the attributes of a Gemm");
	cr_assert_eq(npl_op_run(NPL_OP_RELU, &attrs, in, 1, &y, 1, &err), NPL_EINTERNAL);
	cr_assert_str_eq(err.msg, "Relu is given the attributes of a Gemm");
	/* Conv's is the first row. */
	const struct npl_attrs conv = {.op = NPL_OP_CONV};
	cr_assert_eq(npl_op_check_attrs(NPL_OP_LSTM, &conv, &err), NPL_EINTERNAL);
	cr_assert_str_eq(err.msg, "LSTM is given the attributes of a Conv");
	cr_assert_eq(npl_op_check_attrs(NPL_OP_LOGSOFTMAX, &softmax, NULL), 0);
	cr_assert_eq(npl_op_check_attrs(NPL_OP_ELU, &(struct npl_attrs){0}, NULL), 0);
	cr_assert_eq(npl_op_check_attrs(NPL_OP_ELU, NULL, NULL), 0);
	cr_assert_eq(npl_op_window(NPL_OP_GEMM, &attrs), NULL);
	cr_assert_eq(npl_op_window(NPL_OP_CONVINTEGER, &attrs), &attrs.conv.window);
	cr_assert_eq(npl_op_window(NPL_OP_MAXUNPOOL, &attrs), &attrs.pool.window);
	memset(&attrs, 0xff, sizeof attrs);
	attrs = (struct npl_attrs){.opset = 13};
	for (size_t i = 0; i < sizeof attrs.none; i++)
		cr_assert_eq(attrs.none[i], 0, "byte %zu", i);
}

Test(ops_table, attributes_are_found_and_typed)
{
	struct npl_attr attr[] = {ATTR_INT("axis", 3), ATTR_FLOAT("alpha", 0.5f)};
	struct npl_attr_list list = {attr, 2};
	struct npl_err err = {0};
	struct npl_attr *found = attr;
	cr_assert_eq(op_attr_find(&list, "beta", NPL_ATTR_FLOAT, &found, &err), 0);
	cr_assert(!found && !attr[0].used && !attr[1].used);
	cr_assert_eq(op_attr_find(&list, "axis", NPL_ATTR_INT, &found, &err), 0);
	cr_assert(found == &attr[0] && attr[0].used && !attr[1].used);
	cr_assert_eq(op_attr_find(&list, "alpha", NPL_ATTR_INTS, &found, &err), NPL_EINPUT);
	cr_assert_str_eq(err.msg, "attribute alpha is a float, expected a list of integers");
}

/* One attribute and what the operator must say of it: "" accepts, NULL leaves it unmarked, else part of the refusal. */
struct attr_case {
	enum npl_op op;
	int opset;
	struct npl_attr attr;
	const char *expected;
};

static const struct npl_tensor two = {.dtype = NPL_F32, .shape = {1, {2}}, .data = (float[]){1, 2}};

/* Attributes of operators, some of which are unknown or wrong at that opset. */
static const struct attr_case attribute_cases[] = {
	{NPL_OP_CONV, 11, INIT_INT("group", 4), ""},
	{NPL_OP_CONV, 11, INIT_INT("groups", 4), NULL},
	{NPL_OP_CONV, 11, INIT_FLOAT("group", 4), "attribute group is a float"},
	{NPL_OP_CONV, 11, INIT_INTS("pads", 1, 1, 1), "attribute pads has 3 values"},
	{NPL_OP_CONV, 11, INIT_INTS("pads", 1, 1, 1, 1, 1, 1, 1, 1), "at most 6"},
	{NPL_OP_CONV, 11, INIT_INTS("strides", 1, 1, 1, 1), "at most 3"},
	{NPL_OP_CONV, 11, INIT_STRING("auto_pad", "SAME"), "'SAME', expected NOTSET"},
	{NPL_OP_CONV, 11, INIT_STRING("auto_pad", "SAME_LOWER"), ""},
	{NPL_OP_CONV, 11, INIT_INT("auto_pad", 1), "expected a string"},
	{NPL_OP_CONV, 11, INIT_INT("ceil_mode", 1), NULL},
	{NPL_OP_MAXPOOL, 11, INIT_INTS("strides", 2, 2), "kernel_shape is missing"},
	{NPL_OP_MAXPOOL, 11, INIT_INTS("kernel_shape", 3, 3), ""},
	{NPL_OP_MAXPOOL, 11, INIT_INT("count_include_pad", 1), "kernel_shape is missing"},
	{NPL_OP_GEMM, 6, INIT_INT("broadcast", 1), ""},
	{NPL_OP_GEMM, 7, INIT_INT("broadcast", 1), NULL},
	{NPL_OP_GEMM, 7, INIT_FLOAT("alpha", NAN), "must be a finite number"},
	{NPL_OP_ADD, 6, INIT_INT("axis", 1), ""},
	{NPL_OP_ADD, 7, INIT_INT("axis", 1), NULL},
	{NPL_OP_MUL, 6, INIT_INT("broadcast", 1), ""},
	{NPL_OP_BATCHNORMALIZATION, 15, INIT_INT("training_mode", 0), ""},
	{NPL_OP_BATCHNORMALIZATION, 15, INIT_INT("training_mode", 1), ""},
	{NPL_OP_BATCHNORMALIZATION, 9, INIT_INT("spatial", 0), "spatial=0"},
	{NPL_OP_BATCHNORMALIZATION, 7, INIT_INT("spatial", 0), ""},
	{NPL_OP_BATCHNORMALIZATION, 9, INIT_INT("training_mode", 1), NULL},
	{NPL_OP_BATCHNORMALIZATION, 7, INIT_INT("spatial", 1), ""},
	{NPL_OP_BATCHNORMALIZATION, 6, INIT_INT("is_test", 1), ""},
	{NPL_OP_BATCHNORMALIZATION, 9, INIT_FLOAT("momentum", 0.9f), ""},
	{NPL_OP_RELU, 1, INIT_INTS("consumed_inputs", 0), ""},
	{NPL_OP_RELU, 14, INIT_FLOAT("alpha", 1), NULL},
	{NPL_OP_CONCAT, 1, INIT_INT("other", 1), NULL},
	{NPL_OP_CONCAT, 4, INIT_INT("other", 1), "the attribute axis is missing"},
	{NPL_OP_RESHAPE, 14, INIT_INT("allowzero", 1), ""},
	{NPL_OP_RESHAPE, 1, INIT_INTS("shape", 2, -1), ""},
	{NPL_OP_RESHAPE, 1, INIT_INT("other", 1), "the attribute shape is missing"},
	{NPL_OP_UNSQUEEZE, 11, INIT_INTS("axes", 0), ""},
	{NPL_OP_UNSQUEEZE, 11, INIT_INTS("axes", 0, 1, 2, 3, 4, 5, 6, 7, 8), "has 9 values"},
	{NPL_OP_UNSQUEEZE, 13, INIT_INTS("axes", 0), NULL},
	{NPL_OP_DROPOUT, 10, INIT_FLOAT("ratio", 0.5f), ""},
	{NPL_OP_DROPOUT, 12, INIT_INT("seed", 5), ""},
	{NPL_OP_CONSTANT, 12, INIT_STRING("value_string", "x"), "got 0"},
	{NPL_OP_CONSTANT, 12, INIT_FLOAT("value", 1), "expected a tensor"},
	{NPL_OP_CONSTANTOFSHAPE, 9, INIT_TENSOR("value", &two), "expected one element"},
	{NPL_OP_LRN, 13, INIT_INTS("size", 5), "expected an integer"},
	{NPL_OP_SIGMOID, 13, INIT_FLOAT("alpha", 1), NULL},
	{NPL_OP_TANH, 1, INIT_INTS("consumed_inputs", 0), ""},
	{NPL_OP_CLIP, 6, INIT_FLOAT("min", 0), ""},
	{NPL_OP_CLIP, 6, INIT_FLOAT("max", NAN), "must be a finite number"},
	{NPL_OP_CLIP, 6, INIT_INT("max", 6), "attribute max is an integer"},
	{NPL_OP_CLIP, 11, INIT_FLOAT("max", 6), NULL},
	{NPL_OP_SLICE, 9, INIT_INTS("starts", 0), "starts and ends must be there"},
	{NPL_OP_SLICE, 9, INIT_INTS("ends", 0, 1, 2, 3, 4, 5, 6, 7, 8), "has 9 values"},
	{NPL_OP_SLICE, 10, INIT_INTS("starts", 0), NULL},
	{NPL_OP_SPLIT, 11, INIT_INTS("split", 2, 3), ""},
	{NPL_OP_SPLIT, 11, INIT_INT("split", 2), "attribute split is an integer"},
	{NPL_OP_SPLIT, 13, INIT_INTS("split", 2, 3), NULL},
	{NPL_OP_SPLIT, 13, INIT_INT("axis", 1), ""},
	{NPL_OP_SPLIT, 17, INIT_INT("num_outputs", 2), NULL},
	{NPL_OP_SPLIT, 18, INIT_INT("num_outputs", 2), ""},
	{NPL_OP_CAST, 13, INIT_INT("saturate", 1), "attribute to is missing"},
	{NPL_OP_CAST, 21, INIT_INT("to", 22),
	 "attribute to is INT4, an element type that is not supported: quantise to INT8"},
	{NPL_OP_CAST, 19, INIT_INT("to", 17), "FLOAT8E4M3FN, an element type that is not supported: quantise to INT8"},
	{NPL_OP_CASTLIKE, 19, INIT_INT("saturate", 0), ""},
	{NPL_OP_CASTLIKE, 15, INIT_INT("saturate", 0), NULL},
	{NPL_OP_QUANTIZELINEAR, 19, INIT_INT("saturate", 0), ""},
	{NPL_OP_QUANTIZELINEAR, 19, INIT_INT("block_size", 0), NULL},
	{NPL_OP_QUANTIZELINEAR, 21, INIT_INT("block_size", 32),
	 "block_size is 32: a scale for each block is not supported, only one scale or one for each index"},
	{NPL_OP_DEQUANTIZELINEAR, 21, INIT_INT("block_size", 64), "block_size is 64"},
	{NPL_OP_QUANTIZELINEAR, 21, INIT_INT("output_dtype", 0), ""},
	{NPL_OP_QUANTIZELINEAR, 21, INIT_INT("output_dtype", 5), ""},
	{NPL_OP_QUANTIZELINEAR, 21, INIT_INT("output_dtype", 1), "output_dtype is float32, expected uint8, int8"},
	{NPL_OP_QUANTIZELINEAR, 21, INIT_INT("output_dtype", 21), "output_dtype is UINT4"},
	{NPL_OP_QUANTIZELINEAR, 23, INIT_INT("output_dtype", 23), "output_dtype is FLOAT4E2M1"},
	{NPL_OP_QUANTIZELINEAR, 21, INIT_INT("precision", 1), NULL},
	{NPL_OP_QUANTIZELINEAR, 23, INIT_INT("precision", 1), ""},
	{NPL_OP_DEQUANTIZELINEAR, 21, INIT_INT("output_dtype", 1), NULL},
	{NPL_OP_DEQUANTIZELINEAR, 23, INIT_INT("output_dtype", 10), ""},
	{NPL_OP_RANDOMNORMAL, 13, INIT_FLOAT("seed", 1), "the attribute shape is missing"},
	{NPL_OP_RANDOMNORMAL, 13, INIT_INTS("shape", 2, 3), ""},
	{NPL_OP_RANDOMNORMAL, 13, INIT_INT("dtype", 8),
	 "attribute dtype is STRING, an element type that is not supported"},
	{NPL_OP_RANDOMNORMAL, 13, INIT_FLOAT("scale", INFINITY), "must be a finite number"},
	{NPL_OP_RANDOMNORMALLIKE, 13, INIT_INT("dtype", 11), ""},
	{NPL_OP_RANDOMNORMALLIKE, 13, INIT_FLOAT("low", 0), NULL},
	{NPL_OP_RANDOMUNIFORMLIKE, 13, INIT_FLOAT("low", 2), "low=2 is greater than high=1"},
	{NPL_OP_GATHER, 6, INIT_INT("axis", 1), ""},
	{NPL_OP_GATHERND, 12, INIT_INT("batch_dims", 1), ""},
	{NPL_OP_SCATTERELEMENTS, 16, INIT_STRING("reduction", "mul"), ""},
	{NPL_OP_SCATTERELEMENTS, 16, INIT_STRING("reduction", "max"), "'max', which came with opset 18"},
	{NPL_OP_SCATTERELEMENTS, 18, INIT_STRING("reduction", "max"), ""},
	{NPL_OP_SCATTERND, 18, INIT_STRING("reduction", "mean"), "'mean', which is not supported"},
	{NPL_OP_SCATTERND, 13, INIT_STRING("reduction", "add"), NULL},
	{NPL_OP_SCATTERND, 16, INIT_INT("axis", 1), NULL},
	{NPL_OP_SQUEEZE, 12, INIT_INTS("axes", 0), ""},
	{NPL_OP_SQUEEZE, 13, INIT_INTS("axes", 0), NULL},
	{NPL_OP_PAD, 10, INIT_STRING("mode", "edge"), "pads must have two values per dimension"},
	{NPL_OP_PAD, 10, INIT_INTS("pads", 1, 2, 3), "pads must have two values per dimension"},
	{NPL_OP_PAD, 10, INIT_INTS("pads", 1, 2, 3, 4), ""},
	{NPL_OP_PAD, 11, INIT_INTS("pads", 1, 2), NULL},
	{NPL_OP_PAD, 13, INIT_STRING("mode", "wrap"), "'wrap', which came with opset 19"},
	{NPL_OP_PAD, 19, INIT_STRING("mode", "wrap"), ""},
	{NPL_OP_DEPTHTOSPACE, 11, INIT_STRING("mode", "CRD"), "blocksize is 0"},
	{NPL_OP_DEPTHTOSPACE, 11, INIT_INT("blocksize", 2), ""},
	{NPL_OP_SPACETODEPTH, 13, INIT_INT("blocksize", -1), "blocksize is -1"},
	{NPL_OP_REVERSESEQUENCE, 10, INIT_INT("batch_axis", 0), "time_axis=0 and batch_axis=0"},
	{NPL_OP_SHAPE, 15, INIT_INT("start", 1), ""},
	{NPL_OP_SHAPE, 13, INIT_INT("start", 1), NULL},
	{NPL_OP_SIZE, 15, INIT_INT("start", 1), NULL},
	{NPL_OP_EYELIKE, 9, INIT_INT("dtype", 8), "attribute dtype is STRING, an element type that is not supported"},
	{NPL_OP_EYELIKE, 9, INIT_INT("dtype", 16), ""},
	{NPL_OP_REDUCESUM, 11, INIT_INTS("axes", 0, 1), ""},
	{NPL_OP_REDUCESUM, 13, INIT_INTS("axes", 0, 1), NULL},
	{NPL_OP_REDUCESUM, 13, INIT_INT("noop_with_empty_axes", 1), ""},
	{NPL_OP_REDUCEMEAN, 13, INIT_INT("noop_with_empty_axes", 1), NULL},
	{NPL_OP_REDUCEMEAN, 18, INIT_INT("noop_with_empty_axes", 1), ""},
	{NPL_OP_REDUCEMEAN, 18, INIT_INTS("axes", 0, 1), NULL},
	{NPL_OP_REDUCEL2, 17, INIT_INTS("axes", 0, 1), ""},
	{NPL_OP_ARGMAX, 12, INIT_INT("select_last_index", 1), ""},
	{NPL_OP_ARGMAX, 11, INIT_INT("select_last_index", 1), NULL},
	{NPL_OP_TOPK, 9, INIT_INT("k", 1), ""},
	{NPL_OP_TOPK, 10, INIT_INT("k", 1), NULL},
	{NPL_OP_TOPK, 10, INIT_INT("largest", 0), NULL},
	{NPL_OP_TOPK, 11, INIT_INT("sorted", 0), ""},
	{NPL_OP_EINSUM, 12, INIT_INT("other", 1), "the attribute equation is missing"},
	{NPL_OP_RESIZE, 10, INIT_STRING("mode", "cubic"), "cubic came with Resize of opset 11"},
	{NPL_OP_RESIZE, 10, INIT_STRING("nearest_mode", "ceil"), NULL},
	{NPL_OP_RESIZE, 11, INIT_STRING("nearest_mode", "up"), "'up', which is not supported"},
	{NPL_OP_RESIZE, 13, INIT_STRING("coordinate_transformation_mode", "align_corners"), ""},
	{NPL_OP_RESIZE, 13, INIT_INT("antialias", 1), NULL},
	{NPL_OP_RESIZE, 18, INIT_INT("antialias", 1), ""},
	{NPL_OP_RESIZE, 18, INIT_INTS("axes", 2, 3), ""},
	{NPL_OP_RESIZE, 18, INIT_STRING("keep_aspect_ratio_policy", "larger"), "'larger', which is not supported"},
	{NPL_OP_RESIZE, 18, INIT_STRING("coordinate_transformation_mode", "half_pixel_symmetric"),
	 "half_pixel_symmetric came with Resize of opset 19"},
	{NPL_OP_RESIZE, 19, INIT_STRING("coordinate_transformation_mode", "half_pixel_symmetric"), ""},
	{NPL_OP_UPSAMPLE, 7, INIT_STRING("mode", "linear"), "must have one value per dimension"},
	{NPL_OP_UPSAMPLE, 9, INIT_STRING("mode", "linear"), ""},
};

Test(ops_table, each_version_knows_its_attributes)
{
	for (size_t i = 0; i < sizeof attribute_cases / sizeof *attribute_cases; i++) {
		const struct attr_case *c = &attribute_cases[i];
		const struct npl_op_def *def = &npl_op_defs[c->op];
		struct npl_attr attr = c->attr;
		struct npl_attr_list list = {&attr, 1};
		struct npl_attrs attrs = {.opset = c->opset};
		struct npl_err err = {0};
		int code = npl_op_attrs(c->op, &list, &attrs, &err);
		if (c->expected && *c->expected) {
			cr_assert_eq(code, NPL_EINPUT, "%s %s opset %d was accepted", def->name, attr.name, c->opset);
			cr_assert(strstr(err.msg, c->expected), "%s %s: '%s'", def->name, attr.name, err.msg);
			cr_assert_eq(npl_op_attrs(c->op, &list, &attrs, NULL), NPL_EINPUT, "without err");
		} else {
			cr_assert_eq(code, 0, "%s %s: %s", def->name, attr.name, err.msg);
			cr_assert_eq(attr.used, c->expected != NULL, "%s %s opset %d", def->name, attr.name, c->opset);
		}
	}
}
