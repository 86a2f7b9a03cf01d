/* SPDX-License-Identifier: MIT
 *
 * Promises: the shape rules give the output shapes that ONNX defines, complete the attributes as devices expect them,
 * can be asked twice, and refuse what does not fit with a message that names the shapes. */
#include "core/op_functions.h"
#include "tests/kit/ops_support.h"

struct rule {
	enum npl_op op;
	int opset;
	int n_in;
	struct npl_shape in[5];
	struct npl_shape out;
	const char *refusal; /* part of the message; NULL: out is the answer */
	struct npl_attr attr[6];
	bool has_list; /* the last input is a constant int64 list */
	int64_t list[8];
};

#define S1(...) npl_shape_of(1, __VA_ARGS__)
#define S2(...) npl_shape_of(2, __VA_ARGS__)
#define S3(...) npl_shape_of(3, __VA_ARGS__)
#define S4(...) npl_shape_of(4, __VA_ARGS__)
#define S5(...) npl_shape_of(5, __VA_ARGS__)
#define S6(...) npl_shape_of(6, __VA_ARGS__)
#define SCALAR  ((struct npl_shape){.rank = 0})

/* Asks the rule once more than a model would; leaves the completed attributes in *attrs. */
static void check(const struct rule *rule, struct npl_attrs *attrs)
{
	const struct npl_op_def *def = &npl_op_defs[rule->op];
	struct npl_attr attr[6];
	struct npl_attr_list list = {attr, 0};
	struct npl_tensor tensor[5], out = {0};
	const struct npl_tensor *in[5];
	struct npl_err err = {0};
	while (list.n < 6 && rule->attr[list.n].name) {
		attr[list.n] = rule->attr[list.n];
		list.n++;
	}
	for (int i = 0; i < rule->n_in; i++) {
		tensor[i] = (struct npl_tensor){.dtype = NPL_F32, .shape = rule->in[i]};
		in[i] = &tensor[i];
	}
	if (rule->has_list) {
		tensor[rule->n_in - 1].dtype = NPL_I64;
		tensor[rule->n_in - 1].data = (void *)rule->list;
	}
	*attrs = (struct npl_attrs){.opset = rule->opset};
	cr_assert_eq(npl_op_attrs(rule->op, &list, attrs, &err), 0, "%s: %s", def->name, err.msg);
	for (int i = 0; i < list.n; i++)
		cr_assert(attr[i].used, "%s left the attribute %s unread", def->name, attr[i].name);
	for (int asked = 0; asked < 2; asked++) {
		char actual[128], expected[128];
		int code = npl_op_shape(rule->op, attrs, in, rule->n_in, &out, 1, &err);
		if (rule->refusal) {
			cr_assert_eq(code, NPL_EINPUT, "%s was to refuse: %s", def->name, rule->refusal);
			cr_assert(strstr(err.msg, rule->refusal), "%s said '%s', not '%s'", def->name, err.msg,
				  rule->refusal);
			return;
		}
		cr_assert_eq(code, 0, "%s: %s", def->name, err.msg);
		cr_assert(npl_shape_equal(&out.shape, &rule->out), "%s gave %s, expected %s", def->name,
			  npl_shape_text(&out.shape, actual, sizeof actual),
			  npl_shape_text(&rule->out, expected, sizeof expected));
	}
}

static void check_all(const struct rule *rule, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct npl_attrs attrs;
		check(&rule[i], &attrs);
	}
}
#define CHECK_ALL(rules) check_all(rules, sizeof(rules) / sizeof *(rules))

Test(ops_shape, shapes_of_convolutions_are_right_or_refused)
{
	const int64_t huge = (int64_t)1 << 30;
	/* clang-format off */
	const struct rule rules[] = {
		{NPL_OP_CONV, 11, 2, {S4(1, 3, 224, 224), S4(64, 3, 7, 7)}, .out = S4(1, 64, 112, 112),
		 .attr = {ATTR_INTS("strides", 2, 2), ATTR_INTS("pads", 3, 3, 3, 3), ATTR_INTS("kernel_shape", 7, 7)}},
		{NPL_OP_CONV, 11, 3, {S4(2, 8, 5, 6), S4(4, 2, 3, 2), S1(4)}, .out = S4(2, 4, 1, 5),
		 .attr = {ATTR_INT("group", 4), ATTR_INTS("dilations", 2, 1)}},
		{NPL_OP_CONV, 11, 2, {S3(1, 4, 10), S3(6, 4, 3)}, .out = S3(1, 6, 4),
		 .attr = {ATTR_INTS("strides", 2)}},
		{NPL_OP_CONV, 11, 2, {S4(0, 4, 3, 3), S4(6, 4, 3, 3)}, .out = S4(0, 6, 1, 1)},
		{NPL_OP_CONV, 11, 2, {S4(1, 4, 9, 9), S4(6, 4, 3, 3)}, .out = S4(1, 6, 5, 5),
		 .attr = {ATTR_STRING("auto_pad", "SAME_UPPER"), ATTR_INTS("strides", 2, 2),
			  ATTR_INTS("pads", 0, 0, 0, 0)}},
		{NPL_OP_CONV, 11, 2, {S4(1, 4, 9, 9), S4(6, 4, 3, 3)}, .out = S4(1, 6, 4, 4),
		 .attr = {ATTR_STRING("auto_pad", "VALID"), ATTR_INTS("strides", 2, 2)}},
		{NPL_OP_CONV, 11, 2, {S4(1, 6, 8, 8), S4(8, 2, 3, 3)}, .refusal = "must divide by group = 4",
		 .attr = {ATTR_INT("group", 4)}},
		{NPL_OP_CONV, 11, 2, {S4(1, 8, 8, 8), S4(6, 2, 3, 3)},
		 .refusal = "weights 6x2x3x3 must divide by group = 4", .attr = {ATTR_INT("group", 4)}},
		{NPL_OP_CONV, 11, 2, {S4(1, 8, 8, 8), S4(8, 8, 3, 3)}, .refusal = "group = 0",
		 .attr = {ATTR_INT("group", 0)}},
		{NPL_OP_CONV, 11, 2, {S4(1, 4, 8, 8), S4(8, 3, 3, 3)},
		 .refusal = "the weights 8x3x3x3 take 3 channels"},
		{NPL_OP_CONV, 11, 2, {S4(1, 4, 4, 8), S4(8, 4, 5, 5)},
		 .refusal = "5x5 does not fit the input 1x4x4x8"},
		{NPL_OP_CONV, 11, 2, {S4(1, 4, 8, 8), S4(8, 4, 3, 3)}, .refusal = "each stride must be",
		 .attr = {ATTR_INTS("strides", 1, 0)}},
		{NPL_OP_CONV, 11, 2, {S4(1, 4, 8, 8), S4(8, 4, 3, 3)}, .refusal = "each pad must be",
		 .attr = {ATTR_INTS("pads", 0, -1, 0, 0)}},
		{NPL_OP_CONV, 11, 2, {S4(1, 4, 8, 8), S4(8, 4, 3, 3)}, .refusal = "each dilation must be",
		 .attr = {ATTR_INTS("dilations", 0, 1)}},
		{NPL_OP_CONV, 11, 2, {S4(1, 4, 8, 8), S4(8, 4, 3, 3)}, .refusal = "each dilation must be",
		 .attr = {ATTR_INTS("dilations", (int64_t)1 << 40, 1)}},
		{NPL_OP_CONV, 11, 2, {S4(1, 4, 8, 8), S4(8, 4, 3, 3)},
		 .refusal = "kernel_shape says 5 where the weights", .attr = {ATTR_INTS("kernel_shape", 3, 5)}},
		{NPL_OP_CONV, 11, 2, {S4(1, 4, 8, 8), S4(8, 4, 3, 3)}, .refusal = "contradict auto_pad",
		 .attr = {ATTR_STRING("auto_pad", "SAME_UPPER"), ATTR_INTS("pads", 2, 2, 2, 2)}},
		{NPL_OP_CONV, 11, 2, {S3(1, 4, 8), S4(8, 4, 3, 3)}, .refusal = "1x4x8 and the weights 8x4x3x3"},
		{NPL_OP_CONV, 11, 2, {S5(1, 4, 9, 8, 7), S5(8, 4, 3, 2, 1)}, .out = S5(1, 8, 3, 7, 7),
		 .attr = {ATTR_INTS("strides", 3, 1, 1)}},
		{NPL_OP_CONV, 11, 2, {S6(1, 4, 8, 8, 8, 8), S6(8, 4, 3, 3, 3, 3)},
		 .refusal = "must be batch x channels x width"},
		{NPL_OP_CONV, 11, 2, {S5(1, 4, 2, 8, 8), S5(8, 4, 3, 3, 4)},
		 .refusal = "a window spanning 3x3x4 does not fit the input 1x4x2x8x8"},
		{NPL_OP_CONV, 11, 2, {S3(1, 4, 8), S3(8, 4, 3)}, .refusal = "the window has 2 spatial dimensions",
		 .attr = {ATTR_INTS("strides", 1, 1)}},
		{NPL_OP_CONV, 11, 3, {S4(1, 4, 8, 8), S4(8, 4, 3, 3), S1(4)}, .refusal = "the bias is 4, expected 8"},
		{NPL_OP_CONV, 11, 2, {S4(1, 1, 8, 8), S4(8, 1, 1, 1)}, .refusal = "more than 1099511627776 elements",
		 .attr = {ATTR_INTS("pads", huge, huge, huge, huge)}},
		{NPL_OP_CONV, 11, 2, {S4((int64_t)1 << 26, 64, 8, 8), S4(1024, 64, 4096, 4096)},
		 .refusal = "too much work to count",
		 .attr = {ATTR_STRING("auto_pad", "SAME_UPPER"), ATTR_INTS("strides", 16, 16)}},
		{NPL_OP_CONV, 11, 1, {S4(1, 4, 8, 8)}, .refusal = "input 1 is missing"},
	};
	/* clang-format on */
	CHECK_ALL(rules);
}

/* The weights' rows are positions times filters, the bias is one of the filters. What 2^40 elements hold goes
 * through. */
Test(ops_shape, conv_with_private_kernels)
{
	const struct {
		struct npl_shape x, w, bias, out;
		int64_t groups;
		uint64_t macs;
		const char *refusal;
	} cases[] = {
		{S4(2, 8, 6, 7), S4(4 * 5 * 6, 4, 3, 3), S1(6), .out = S4(2, 6, 4, 5), 2, 2 * 6 * 20 * 36, NULL},
		{S3(1, 4, 10), S3(8 * 6, 4, 3), S1(6), .out = S3(1, 6, 8), 1, 6 * 8 * 12, NULL},
		{S4(1, 1024, 1024, 1024), S4(1 << 30, 1024, 1, 1), S1(1024), .out = S4(1, 1024, 1024, 1024), 1,
		 (uint64_t)1 << 40, NULL},
		{S4(1, 256, 256, 256), S4(246 * 246 * 384, 256, 11, 11), S1(384), .out = S4(1, 384, 246, 246), 1,
		 (uint64_t)246 * 246 * 384 * 256 * 121, NULL},
		{S4(2, 8, 6, 7), S4(4 * 5 * 6, 4, 3, 3), S1(120), .groups = 2,
		 .refusal = "the bias is 120, expected 6 values"},
		{S4(2, 8, 6, 7), S4(4 * 5 * 6 + 1, 4, 3, 3), S1(6), .groups = 2,
		 .refusal = "the 121 rows of the weights 121x4x3x3 are not as many for each of 4x5 output positions"},
		{S4(2, 8, 6, 7), S4(4 * 5 * 7, 4, 3, 3), S1(7), .groups = 2, .refusal = "must divide by group = 2"},
		{S4(2, 8, 6, 7), S4(6, 8, 3, 3), S1(6), .groups = 1, .refusal = "are not as many for each of 4x5"},
		{S4(2, 8, 2, 7), S4(6, 8, 3, 3), S1(6), .groups = 1, .refusal = "3x3 does not fit the input 2x8x2x7"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_attrs attrs = {.conv = {.groups = cases[i].groups,
						   .private_kernels = true,
						   .window = {.stride = {1, 1}, .dilation = {1, 1}}}};
		const struct npl_tensor x = {.dtype = NPL_F32, .shape = cases[i].x},
					w = {.dtype = NPL_F32, .shape = cases[i].w},
					bias = {.dtype = NPL_F32, .shape = cases[i].bias};
		const struct npl_tensor *in[] = {&x, &w, &bias};
		struct npl_tensor out = {0};
		struct npl_err err = {0};
		int code = npl_op_shape(NPL_OP_CONV, &attrs, in, 3, &out, 1, &err);
		if (cases[i].refusal) {
			cr_assert_eq(code, NPL_EINPUT, "case %zu", i);
			cr_assert(strstr(err.msg, cases[i].refusal), "%s, expected %s", err.msg, cases[i].refusal);
			continue;
		}
		cr_assert_eq(code, 0, "%s", err.msg);
		cr_assert(npl_shape_equal(&out.shape, &cases[i].out), "case %zu", i);
		cr_assert_eq(npl_op_macs(NPL_OP_CONV, &attrs, in, 3, &out), cases[i].macs, "case %zu", i);
	}
}

Test(ops_shape, shapes_of_pooling_are_right_or_refused)
{
	/* clang-format off */
	const struct rule rules[] = {
		{NPL_OP_MAXPOOL, 12, 1, {S4(1, 64, 112, 112)}, .out = S4(1, 64, 56, 56),
		 .attr = {ATTR_INTS("kernel_shape", 3, 3), ATTR_INTS("strides", 2, 2), ATTR_INTS("pads", 1, 1, 1, 1)}},
		{NPL_OP_MAXPOOL, 12, 1, {S4(1, 1, 4, 4)}, .out = S4(1, 1, 2, 2),
		 .attr = {ATTR_INTS("kernel_shape", 3, 3), ATTR_INTS("strides", 2, 2), ATTR_INT("ceil_mode", 1)}},
		{NPL_OP_MAXPOOL, 12, 1, {S4(1, 1, 4, 4)}, .out = S4(1, 1, 1, 1),
		 .attr = {ATTR_INTS("kernel_shape", 3, 3), ATTR_INTS("strides", 2, 2), ATTR_INT("ceil_mode", 0)}},
		/* a third window of stride 2 would start at 4, in the padding after the 3 inputs: dropped */
		{NPL_OP_AVERAGEPOOL, 12, 1, {S3(1, 1, 3)}, .out = S3(1, 1, 2),
		 .attr = {ATTR_INTS("kernel_shape", 2), ATTR_INTS("strides", 2), ATTR_INTS("pads", 1, 1),
			  ATTR_INT("ceil_mode", 1)}},
		{NPL_OP_AVERAGEPOOL, 12, 1, {S3(2, 3, 32)}, .out = S3(2, 3, 31),
		 .attr = {ATTR_INTS("kernel_shape", 2)}},
		{NPL_OP_MAXPOOL, 12, 1, {S4(1, 1, 4, 4)}, .refusal = "must be smaller than the 2 positions",
		 .attr = {ATTR_INTS("kernel_shape", 2, 2), ATTR_INTS("pads", 2, 0, 0, 0)}},
		{NPL_OP_MAXPOOL, 12, 1, {S4(1, 1, 4, 4)}, .refusal = "5x5 does not fit",
		 .attr = {ATTR_INTS("kernel_shape", 5, 5)}},
		{NPL_OP_MAXPOOL, 12, 1, {S4(1, 1, 0, 4)}, .refusal = "does not fit the input 1x1x0x4",
		 .attr = {ATTR_INTS("kernel_shape", 1, 1)}},
		{NPL_OP_AVERAGEPOOL, 12, 1, {S5(1, 1, 4, 4, 4)}, .refusal = "the window has 2 spatial dimensions",
		 .attr = {ATTR_INTS("kernel_shape", 2, 2)}},
		{NPL_OP_GLOBALAVERAGEPOOL, 12, 1, {S4(2, 512, 7, 5)}, .out = S4(2, 512, 1, 1)},
		{NPL_OP_GLOBALAVERAGEPOOL, 12, 1, {S3(2, 512, 7)}, .out = S3(2, 512, 1)},
		{NPL_OP_GLOBALAVERAGEPOOL, 12, 1, {S5(2, 512, 7, 3, 2)}, .out = S5(2, 512, 1, 1, 1)},
		{NPL_OP_GLOBALMAXPOOL, 12, 1, {S5(2, 512, 7, 3, 2)}, .out = S5(2, 512, 1, 1, 1)},
		{NPL_OP_GLOBALLPPOOL, 12, 1, {S4(2, 512, 7, 3)}, .out = S4(2, 512, 1, 1), .attr = {ATTR_INT("p", 3)}},
		{NPL_OP_AVERAGEPOOL, 12, 1, {S5(2, 3, 8, 9, 10)}, .out = S5(2, 3, 4, 9, 9),
		 .attr = {ATTR_INTS("kernel_shape", 2, 3, 4), ATTR_INTS("strides", 2, 1, 1),
			  ATTR_INTS("pads", 0, 1, 2, 0, 1, 0)}},
		{NPL_OP_GLOBALAVERAGEPOOL, 12, 1, {S2(2, 512)}, .refusal = "the input 2x512 must be"},
		{NPL_OP_GLOBALAVERAGEPOOL, 12, 1, {S4(2, 512, 0, 5)}, .refusal = "each kernel size must be 1"},
	};
	/* clang-format on */
	CHECK_ALL(rules);
	struct npl_tensor x = {.dtype = NPL_F32, .shape = S4(1, 1, 4, 4)}, out[2] = {{0}};
	struct npl_attrs attrs = {.pool = {.window = {.kernel = {2, 2}, .stride = {1, 1}, .dilation = {1, 1}}}};
	struct npl_err err = {0};
	cr_assert_eq(npl_op_shape(NPL_OP_MAXPOOL, &attrs, (const struct npl_tensor *[]){&x}, 1, out, 2, &err), 0, "%s",
		     err.msg);
	cr_assert(out[1].dtype == NPL_I64 && npl_shape_equal(&out[1].shape, &out[0].shape));
}

Test(ops_shape, windows_are_completed)
{
	struct npl_attrs attrs;
	check(&(struct rule){NPL_OP_CONV,
			     11,
			     2,
			     {S4(1, 4, 8, 9), S4(6, 4, 4, 2)},
			     .out = S4(1, 6, 8, 5),
			     .attr = {ATTR_STRING("auto_pad", "SAME_UPPER"), ATTR_INTS("strides", 1, 2)}},
	      &attrs);
	struct npl_window expected = {.rank = 2,
				      .kernel = {4, 2, 1},
				      .stride = {1, 2, 1},
				      .dilation = {1, 1, 1},
				      .pad_begin = {1, 0},
				      .pad_end = {2, 1}};
	cr_assert_eq(memcmp(&attrs.conv.window, &expected, sizeof expected), 0, "SAME_UPPER");
	check(&(struct rule){NPL_OP_CONV,
			     11,
			     2,
			     {S4(1, 4, 8, 9), S4(6, 4, 4, 2)},
			     .out = S4(1, 6, 8, 5),
			     .attr = {ATTR_STRING("auto_pad", "SAME_LOWER"), ATTR_INTS("strides", 1, 2)}},
	      &attrs);
	expected = (struct npl_window){.rank = 2,
				       .kernel = {4, 2, 1},
				       .stride = {1, 2, 1},
				       .dilation = {1, 1, 1},
				       .pad_begin = {2, 1},
				       .pad_end = {1, 0}};
	cr_assert_eq(memcmp(&attrs.conv.window, &expected, sizeof expected), 0, "SAME_LOWER");
	check(&(struct rule){NPL_OP_CONV,
			     11,
			     2,
			     {S3(1, 4, 10), S3(6, 4, 3)},
			     .out = S3(1, 6, 5),
			     .attr = {ATTR_INTS("strides", 2), ATTR_INTS("pads", 1, 2), ATTR_INTS("dilations", 2)}},
	      &attrs);
	expected = (struct npl_window){.rank = 1,
				       .kernel = {1, 3, 1},
				       .stride = {1, 2, 1},
				       .dilation = {1, 2, 1},
				       .pad_begin = {0, 1},
				       .pad_end = {0, 2}};
	cr_assert_eq(memcmp(&attrs.conv.window, &expected, sizeof expected), 0, "one dimension");
	check(&(struct rule){NPL_OP_GLOBALAVERAGEPOOL, 11, 1, {S4(1, 4, 7, 5)}, .out = S4(1, 4, 1, 1)}, &attrs);
	expected = (struct npl_window){.rank = 2, .kernel = {7, 5, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
	cr_assert_eq(memcmp(&attrs.pool.window, &expected, sizeof expected), 0, "the whole plane");
	check(&(struct rule){NPL_OP_MAXPOOL,
			     11,
			     1,
			     {S5(1, 4, 7, 5, 6)},
			     .out = S5(1, 4, 7, 3, 6),
			     .attr = {ATTR_INTS("kernel_shape", 4, 3, 2), ATTR_INTS("strides", 1, 2, 1),
				      ATTR_STRING("auto_pad", "SAME_LOWER")}},
	      &attrs);
	expected = (struct npl_window){.rank = 3,
				       .kernel = {3, 2, 4},
				       .stride = {2, 1, 1},
				       .dilation = {1, 1, 1},
				       .pad_begin = {1, 1, 2},
				       .pad_end = {1, 0, 1}};
	cr_assert_eq(memcmp(&attrs.pool.window, &expected, sizeof expected), 0, "three dimensions");
}

Test(ops_shape, shapes_of_products_are_right_or_refused)
{
	const int64_t huge = (int64_t)1 << 39;
	/* clang-format off */
	const struct rule rules[] = {
		{NPL_OP_GEMM, 11, 2, {S2(3, 4), S2(4, 5)}, .out = S2(3, 5)},
		{NPL_OP_GEMM, 11, 3, {S2(4, 3), S2(5, 4), S2(1, 5)}, .out = S2(3, 5),
		 .attr = {ATTR_INT("transA", 1), ATTR_INT("transB", 1), ATTR_FLOAT("alpha", 2)}},
		{NPL_OP_GEMM, 6, 3, {S2(3, 4), S2(4, 5), S1(5)}, .out = S2(3, 5), .attr = {ATTR_INT("broadcast", 1)}},
		{NPL_OP_GEMM, 11, 3, {S2(3, 4), S2(4, 5), SCALAR}, .out = S2(3, 5)},
		{NPL_OP_GEMM, 11, 2, {S2(3, 4), S2(5, 4)},
		 .refusal = "A is 3x4 and B is 5x4: 4 columns do not meet 5 rows"},
		{NPL_OP_GEMM, 11, 2, {S3(1, 3, 4), S2(4, 5)}, .refusal = "A 1x3x4 and B 4x5 must be matrices"},
		{NPL_OP_GEMM, 11, 3, {S2(3, 4), S2(4, 5), S1(3)},
		 .refusal = "C is 3, which does not broadcast to the output 3x5"},
		{NPL_OP_GEMM, 11, 3, {S2(1, 4), S2(4, 5), S2(3, 5)}, .refusal = "C is 3x5"},
		{NPL_OP_GEMM, 11, 2, {S2((int64_t)1 << 30, 4), S2(4, (int64_t)1 << 30)},
		 .refusal = "the output would be"},
		{NPL_OP_GEMM, 11, 2, {S2(huge, 0), S2(0, 2)}, .out = S2(huge, 2)},
		{NPL_OP_MATMUL, 13, 2, {S2(3, 4), S2(4, 5)}, .out = S2(3, 5)},
		{NPL_OP_MATMUL, 13, 2, {S4(2, 1, 3, 4), S3(7, 4, 5)}, .out = S4(2, 7, 3, 5)},
		{NPL_OP_MATMUL, 13, 2, {S1(4), S3(7, 4, 5)}, .out = S2(7, 5)},
		{NPL_OP_MATMUL, 13, 2, {S3(7, 3, 4), S1(4)}, .out = S2(7, 3)},
		{NPL_OP_MATMUL, 13, 2, {S1(4), S1(4)}, .out = SCALAR},
		{NPL_OP_MATMUL, 13, 2, {S2(3, 4), S2(5, 4)},
		 .refusal = "3x4 times 5x4: 4 columns do not meet 5 rows"},
		{NPL_OP_MATMUL, 13, 2, {S3(2, 3, 4), S3(3, 4, 5)}, .refusal = "do not broadcast"},
		{NPL_OP_MATMUL, 13, 2, {SCALAR, S2(3, 4)}, .refusal = "must not be scalars"},
	};
	/* clang-format on */
	CHECK_ALL(rules);
}

Test(ops_shape, elementwise_and_normalisation)
{
	/* clang-format off */
	const struct rule rules[] = {
		{NPL_OP_ADD, 7, 2, {S4(2, 3, 4, 5), S3(3, 1, 1)}, .out = S4(2, 3, 4, 5)},
		{NPL_OP_MUL, 14, 2, {S2(3, 1), S2(1, 4)}, .out = S2(3, 4)},
		{NPL_OP_ADD, 7, 2, {S2(0, 4), S2(1, 4)}, .out = S2(0, 4)},
		{NPL_OP_ADD, 7, 2, {S2(3, 4), S1(3)}, .refusal = "the shapes 3x4 and 3 do not broadcast"},
		{NPL_OP_ADD, 6, 2, {S4(2, 3, 4, 5), S2(3, 4)}, .out = S4(2, 3, 4, 5),
		 .attr = {ATTR_INT("broadcast", 1), ATTR_INT("axis", 1)}},
		{NPL_OP_ADD, 6, 2, {S4(2, 3, 4, 5), S2(4, 5)}, .out = S4(2, 3, 4, 5),
		 .attr = {ATTR_INT("broadcast", 1)}},
		{NPL_OP_ADD, 6, 2, {S4(2, 3, 4, 5), S1(5)}, .refusal = "the attribute broadcast is not set"},
		{NPL_OP_ADD, 6, 2, {S4(2, 3, 4, 5), S2(3, 4)}, .refusal = "do not broadcast",
		 .attr = {ATTR_INT("broadcast", 1), ATTR_INT("axis", 0)}},
		{NPL_OP_ADD, 6, 2, {S4(2, 3, 4, 5), S2(4, 5)}, .refusal = "axis 3 does not place 4x5 within 2x3x4x5",
		 .attr = {ATTR_INT("broadcast", 1), ATTR_INT("axis", 3)}},
		{NPL_OP_MUL, 6, 2, {S2(1, 5), S2(4, 5)}, .refusal = "4x5 does not broadcast to 1x5",
		 .attr = {ATTR_INT("broadcast", 1)}},
		{NPL_OP_SUM, 8, 3, {S2(3, 1), S1(4), S3(2, 1, 1)}, .out = S3(2, 3, 4)},
		{NPL_OP_SUM, 6, 2, {S2(3, 1), S2(3, 4)}, .refusal = "Sum broadcasts only from opset 8"},
		{NPL_OP_BATCHNORMALIZATION, 9, 5, {S4(2, 3, 4, 5), S1(3), S1(3), S1(3), S1(3)},
		 .out = S4(2, 3, 4, 5)},
		{NPL_OP_BATCHNORMALIZATION, 9, 5, {S4(2, 3, 4, 5), S1(3), S1(3), S1(4), S1(3)},
		 .refusal = "the mean is 4, expected 3 values"},
		{NPL_OP_LRN, 13, 1, {S4(2, 3, 4, 5)}, .out = S4(2, 3, 4, 5), .attr = {ATTR_INT("size", 5)}},
		{NPL_OP_LRN, 13, 1, {S4(2, 3, 4, 5)}, .refusal = "size is required"},
		{NPL_OP_LRN, 13, 1, {S1(2)}, .refusal = "no channel dimension", .attr = {ATTR_INT("size", 5)}},
		{NPL_OP_SOFTMAX, 13, 1, {S3(2, 3, 4)}, .out = S3(2, 3, 4), .attr = {ATTR_INT("axis", -3)}},
		{NPL_OP_SOFTMAX, 13, 1, {S3(2, 3, 4)}, .refusal = "within -3..2 for 3 dimensions, got 3",
		 .attr = {ATTR_INT("axis", 3)}},
		{NPL_OP_SOFTMAX, 13, 1, {S3(2, 3, 4)}, .refusal = "got -4", .attr = {ATTR_INT("axis", -4)}},
	};
	/* clang-format on */
	CHECK_ALL(rules);
	struct npl_attrs attrs;
	check(&(struct rule){NPL_OP_SOFTMAX, 13, 1, {S3(2, 3, 4)}, .out = S3(2, 3, 4)}, &attrs);
	cr_assert_eq(attrs.along.axis, 2);
	check(&(struct rule){NPL_OP_SOFTMAX, 11, 1, {S3(2, 3, 4)}, .out = S3(2, 3, 4)}, &attrs);
	cr_assert_eq(attrs.along.axis, 1);
	check(
		&(struct rule){
			NPL_OP_ADD, 6, 2, {S3(2, 3, 4), S1(4)}, .out = S3(2, 3, 4), .attr = {ATTR_INT("broadcast", 1)}},
		&attrs);
	cr_assert_eq(attrs.binary.axis, 2);
}

Test(ops_shape, shapes_of_moving_operators_are_right_or_refused)
{
	const int64_t huge = (int64_t)1 << 39;
	/* clang-format off */
	const struct rule rules[] = {
		{NPL_OP_CONCAT, 4, 3, {S3(2, 3, 4), S3(2, 1, 4), S3(2, 0, 4)}, .out = S3(2, 4, 4),
		 .attr = {ATTR_INT("axis", -2)}},
		{NPL_OP_CONCAT, 4, 2, {S3(2, 3, 4), S3(2, 3, 5)},
		 .refusal = "input 1 is 2x3x5, which does not join 2x3x4", .attr = {ATTR_INT("axis", 1)}},
		{NPL_OP_CONCAT, 4, 2, {S3(2, 3, 4), S2(2, 3)}, .refusal = "does not join",
		 .attr = {ATTR_INT("axis", 1)}},
		{NPL_OP_CONCAT, 4, 1, {S3(2, 3, 4)}, .refusal = "the axis must be within",
		 .attr = {ATTR_INT("axis", 3)}},
		{NPL_OP_CONCAT, 4, 4, {S1(huge), S1(huge), S1(huge), S1(huge)}, .refusal = "the output would be",
		 .attr = {ATTR_INT("axis", 0)}},
		{NPL_OP_FLATTEN, 9, 1, {S4(2, 3, 4, 5)}, .out = S2(2, 60)},
		{NPL_OP_FLATTEN, 9, 1, {S4(2, 3, 4, 5)}, .out = S2(1, 120), .attr = {ATTR_INT("axis", 0)}},
		{NPL_OP_FLATTEN, 11, 1, {S4(2, 3, 4, 5)}, .out = S2(24, 5), .attr = {ATTR_INT("axis", -1)}},
		{NPL_OP_FLATTEN, 9, 1, {S4(2, 3, 4, 5)}, .out = S2(120, 1), .attr = {ATTR_INT("axis", 4)}},
		{NPL_OP_FLATTEN, 9, 1, {S4(2, 3, 4, 5)}, .refusal = "within -4..4", .attr = {ATTR_INT("axis", 5)}},
		{NPL_OP_TRANSPOSE, 13, 1, {S3(2, 3, 4)}, .out = S3(4, 3, 2)},
		{NPL_OP_TRANSPOSE, 13, 1, {S3(2, 3, 4)}, .out = S3(3, 4, 2), .attr = {ATTR_INTS("perm", 1, 2, 0)}},
		{NPL_OP_TRANSPOSE, 13, 1, {S3(2, 3, 4)}, .refusal = "perm must be an order of the 3 dimensions",
		 .attr = {ATTR_INTS("perm", 1, 1, 0)}},
		{NPL_OP_TRANSPOSE, 13, 1, {S3(2, 3, 4)}, .refusal = "perm must be",
		 .attr = {ATTR_INTS("perm", 1, 0)}},
		{NPL_OP_TRANSPOSE, 13, 1, {S3(2, 3, 4)}, .refusal = "perm must be",
		 .attr = {ATTR_INTS("perm", 0, -1, 3)}},
		{NPL_OP_UNSQUEEZE, 11, 1, {S2(3, 4)}, .out = S4(1, 3, 4, 1), .attr = {ATTR_INTS("axes", -1, 0)}},
		{NPL_OP_UNSQUEEZE, 13, 2, {S2(3, 4), S1(1)}, .out = S3(3, 1, 4), .has_list = true, .list = {1}},
		{NPL_OP_UNSQUEEZE, 13, 2, {S2(3, 4), S1(1)},
		 .refusal = "the axes must be one-dimensional int64, got float32"},
		{NPL_OP_UNSQUEEZE, 11, 1, {S2(3, 4)}, .refusal = "axis 1 is given twice",
		 .attr = {ATTR_INTS("axes", 1, -3)}},
		{NPL_OP_UNSQUEEZE, 11, 1, {S2(3, 4)}, .refusal = "within -3..2", .attr = {ATTR_INTS("axes", 3)}},
		{NPL_OP_UNSQUEEZE, 11, 1, {S2(3, 4)}, .refusal = "has more than 8",
		 .attr = {ATTR_INTS("axes", 0, 1, 2, 3, 4, 5, 6)}},
		{NPL_OP_DROPOUT, 10, 1, {S2(3, 4)}, .out = S2(3, 4)},
		{NPL_OP_CONSTANTOFSHAPE, 9, 1, {S1(3)}, .out = S3(4, 3, 0), .has_list = true, .list = {4, 3, 0}},
		{NPL_OP_CONSTANTOFSHAPE, 9, 1, {S1(0)}, .out = SCALAR, .has_list = true},
		{NPL_OP_CONSTANTOFSHAPE, 9, 1, {S1(2)}, .refusal = "negative", .has_list = true, .list = {4, -3}},
		{NPL_OP_CONSTANTOFSHAPE, 9, 1, {S1(2)}, .refusal = "the output would be", .has_list = true,
		 .list = {huge, 4}},
	};
	/* clang-format on */
	CHECK_ALL(rules);
	struct npl_attrs attrs;
	check(&rules[10], &attrs);
	cr_assert(attrs.transpose.rank == 3 && attrs.transpose.perm[0] == 2 && attrs.transpose.perm[1] == 1 &&
			  attrs.transpose.perm[2] == 0,
		  "the default perm");
}

Test(ops_shape, shapes_of_reshape_are_right_or_refused)
{
	/* clang-format off */
	const struct rule rules[] = {
		{NPL_OP_RESHAPE, 13, 2, {S3(2, 3, 4), S1(2)}, .out = S2(6, 4), .has_list = true, .list = {6, 4}},
		{NPL_OP_RESHAPE, 13, 2, {S3(2, 3, 4), S1(2)}, .out = S2(2, 12), .has_list = true, .list = {0, -1}},
		{NPL_OP_RESHAPE, 13, 2, {S3(1, 1, 1), S1(0)}, .out = SCALAR, .has_list = true},
		{NPL_OP_RESHAPE, 13, 2, {SCALAR, S1(1)}, .out = S1(1), .has_list = true, .list = {-1}},
		{NPL_OP_RESHAPE, 13, 2, {S2(0, 3), S1(2)}, .out = S2(0, 7), .has_list = true, .list = {0, 7}},
		{NPL_OP_RESHAPE, 13, 2, {S2(0, 3), S1(2)}, .out = S2(3, 0), .has_list = true, .list = {3, -1}},
		{NPL_OP_RESHAPE, 14, 2, {S3(0, 3, 4), S1(3)}, .out = S3(3, 4, 0), .has_list = true, .list = {3, 4, 0},
		 .attr = {ATTR_INT("allowzero", 1)}},
		{NPL_OP_RESHAPE, 1, 1, {S3(2, 3, 4)}, .out = S2(2, 12), .attr = {ATTR_INTS("shape", 0, -1)}},
		{NPL_OP_RESHAPE, 14, 2, {S3(0, 3, 4), S1(2)}, .refusal = "[0, -1] has a 0 and a -1", .has_list = true,
		 .list = {0, -1}, .attr = {ATTR_INT("allowzero", 1)}},
		{NPL_OP_RESHAPE, 14, 2, {S3(2, 3, 4), S1(2)}, .refusal = "does not reshape to [0, 12]",
		 .has_list = true, .list = {0, 12}, .attr = {ATTR_INT("allowzero", 1)}},
		{NPL_OP_RESHAPE, 13, 2, {S3(2, 3, 4), S1(2)}, .refusal = "the input 2x3x4 does not reshape to [5, 5]",
		 .has_list = true, .list = {5, 5}},
		{NPL_OP_RESHAPE, 13, 2, {S3(2, 3, 4), S1(2)}, .refusal = "does not reshape to [5, -1]",
		 .has_list = true, .list = {5, -1}},
		{NPL_OP_RESHAPE, 13, 2, {S2(0, 3), S1(2)}, .refusal = "does not reshape to [0, -1]", .has_list = true,
		 .list = {0, -1}},
		{NPL_OP_RESHAPE, 13, 2, {S3(2, 3, 4), S1(2)}, .refusal = "at most one -1", .has_list = true,
		 .list = {-1, -1}},
		{NPL_OP_RESHAPE, 13, 2, {S3(2, 3, 4), S1(2)}, .refusal = "no other negative", .has_list = true,
		 .list = {-2, 12}},
		{NPL_OP_RESHAPE, 13, 2, {S2(4, 6), S1(3)}, .refusal = "keeps dimension 2 of the input 4x6",
		 .has_list = true, .list = {4, 6, 0}},
		{NPL_OP_RESHAPE, 13, 2, {S2(4, 6), S1(3)}, .refusal = "does not reshape", .has_list = true,
		 .list = {(int64_t)1 << 62, 8, -1}},
		{NPL_OP_RESHAPE, 13, 2, {S2(4, 6), S1(9)}, .refusal = "the shape has 9 values", .has_list = true},
		{NPL_OP_RESHAPE, 13, 2, {S2(4, 6), S2(1, 2)}, .refusal = "must be one-dimensional int64",
		 .has_list = true},
		{NPL_OP_RESHAPE, 13, 1, {S2(4, 6)}, .refusal = "input 1 is missing"},
	};
	/* clang-format on */
	CHECK_ALL(rules);
}

Test(ops_shape, slice_split_clip_and_random)
{
	const int64_t far = INT64_MAX, back = INT64_MIN;
	/* clang-format off */
	const struct rule rules[] = {
		{NPL_OP_SLICE, 9, 1, {S3(20, 10, 5)}, .out = S3(3, 10, 5),
		 .attr = {ATTR_INTS("starts", 0, 0), ATTR_INTS("ends", 3, 10)}},
		{NPL_OP_SLICE, 9, 1, {S3(20, 10, 5)}, .out = S3(20, 9, 1),
		 .attr = {ATTR_INTS("starts", -2, 1), ATTR_INTS("ends", -1, far), ATTR_INTS("axes", 2, -2)}},
		{NPL_OP_SLICE, 6, 1, {S2(4, 3)}, .out = S2(0, 3),
		 .attr = {ATTR_INTS("starts", 7), ATTR_INTS("ends", 9)}},
		{NPL_OP_SLICE, 6, 1, {S2(4, 3)}, .out = S2(4, 0),
		 .attr = {ATTR_INTS("starts", back), ATTR_INTS("ends", back), ATTR_INTS("axes", 1)}},
		{NPL_OP_SLICE, 6, 1, {S2(4, 3)}, .refusal = "the axis must be within -2..1",
		 .attr = {ATTR_INTS("starts", 0), ATTR_INTS("ends", 1), ATTR_INTS("axes", 2)}},
		{NPL_OP_SLICE, 6, 1, {S2(4, 3)}, .refusal = "axis 1 is given twice",
		 .attr = {ATTR_INTS("starts", 0, 0), ATTR_INTS("ends", 1, 1), ATTR_INTS("axes", 1, -1)}},
		{NPL_OP_SLICE, 10, 1, {S2(4, 3)}, .refusal = "starts and ends are missing"},
		{NPL_OP_SPLIT, 13, 1, {S2(4, 3)}, .out = S2(4, 3)},
		{NPL_OP_SPLIT, 13, 2, {S2(4, 3), S1(1)}, .out = S2(4, 3), .has_list = true, .list = {3},
		 .attr = {ATTR_INT("axis", -1)}},
		{NPL_OP_SPLIT, 13, 2, {S2(4, 3), S1(2)}, .refusal = "split has 2 sizes, the node 1 output",
		 .has_list = true, .list = {2, 2}},
		{NPL_OP_SPLIT, 13, 2, {S2(4, 3), S1(1)}, .refusal = "sum to 5, axis 0 of 4x3 has 4", .has_list = true,
		 .list = {5}},
		{NPL_OP_SPLIT, 13, 2, {S2(4, 3), S1(1)}, .refusal = "size 0 of split is -4", .has_list = true,
		 .list = {-4}},
		{NPL_OP_SPLIT, 11, 2, {S2(4, 3), S1(1)}, .refusal = "came with opset 13",
		 .has_list = true, .list = {4}},
		{NPL_OP_SPLIT, 13, 2, {S2(4, 3), S1(1)}, .refusal = "must be at most 64 int64 values"},
		{NPL_OP_SPLIT, 2, 1, {S2(4, 3)}, .refusal = "the axis must be within", .attr = {ATTR_INT("axis", 2)}},
		{NPL_OP_CLIP, 6, 1, {S2(4, 3)}, .out = S2(4, 3), .attr = {ATTR_FLOAT("max", 6)}},
		{NPL_OP_CLIP, 6, 2, {S2(4, 3), SCALAR}, .refusal = "came with opset 11"},
		{NPL_OP_CLIP, 11, 3, {S2(4, 3), SCALAR, SCALAR}, .out = S2(4, 3)},
		{NPL_OP_CLIP, 13, 2, {S2(4, 3), S1(2)}, .refusal = "min is 2, expected a scalar"},
		{NPL_OP_SIGMOID, 13, 1, {S2(4, 3)}, .out = S2(4, 3)},
		{NPL_OP_TANH, 13, 1, {SCALAR}, .out = SCALAR},
		{NPL_OP_RANDOMNORMAL, 13, 0, {{0}}, .out = S3(2, 3, 4), .attr = {ATTR_INTS("shape", 2, 3, 4)}},
		{NPL_OP_RANDOMNORMAL, 13, 0, {{0}}, .refusal = "negative dimension",
		 .attr = {ATTR_INTS("shape", 2, -3)}},
		{NPL_OP_RANDOMNORMAL, 13, 0, {{0}}, .refusal = "more than 1099511627776 elements",
		 .attr = {ATTR_INTS("shape", 1 << 30, 1 << 30)}},
	};
	/* clang-format on */
	CHECK_ALL(rules);
}

Test(ops_shape, values_that_must_be_constant)
{
	struct npl_tensor x = {.dtype = NPL_F32, .shape = S2(2, 3)}, list = {.dtype = NPL_I64, .shape = S1(2)},
			  out[2] = {{0}};
	const struct npl_tensor *in[] = {&x, &list};
	struct npl_attrs attrs = {.opset = 13};
	struct npl_err err = {0};
	cr_assert_eq(npl_op_shape(NPL_OP_RESHAPE, &attrs, in, 2, out, 1, &err), NPL_EINPUT);
	cr_assert_str_eq(err.msg, "the shape must be constant, not computed by the network");
	attrs = (struct npl_attrs){.opset = 13};
	cr_assert_eq(npl_op_shape(NPL_OP_UNSQUEEZE, &attrs, in, 2, out, 1, &err), NPL_EINPUT);
	cr_assert_str_eq(err.msg, "the axes must be constant, not computed by the network");
	attrs = (struct npl_attrs){.opset = 13};
	cr_assert_eq(npl_op_shape(NPL_OP_CONSTANTOFSHAPE, &attrs, in + 1, 1, out, 1, &err), NPL_EINPUT);

	unsigned char yes = 1, no = 0;
	struct npl_tensor training = {.dtype = NPL_BOOL, .shape = SCALAR};
	const struct npl_tensor *dropped[] = {&x, NULL, &training};
	attrs = (struct npl_attrs){.opset = 13};
	cr_assert_eq(npl_op_shape(NPL_OP_DROPOUT, &attrs, dropped, 3, out, 1, &err), NPL_EINPUT,
		     "unknown training_mode");
	training.data = &yes;
	cr_assert_eq(npl_op_shape(NPL_OP_DROPOUT, &attrs, dropped, 3, out, 1, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "training_mode must be constant and false"), "%s", err.msg);
	training.data = &no;
	cr_assert_eq(npl_op_shape(NPL_OP_DROPOUT, &attrs, dropped, 3, out, 2, &err), 0, "%s", err.msg);
	cr_assert(out[0].dtype == NPL_F32 && out[1].dtype == NPL_BOOL && npl_shape_equal(&out[1].shape, &x.shape));
}

Test(ops_shape, types_are_checked)
{
	struct npl_tensor f = {.dtype = NPL_F32, .shape = S2(2, 2)}, i = {.dtype = NPL_I64, .shape = S2(2, 2)};
	struct npl_tensor b = {.dtype = NPL_BOOL, .shape = S2(2, 2)}, bad = {.dtype = NPL_F32, .shape = S2(-1, 2)},
			  out[NPL_MAX_OUTPUTS] = {{0}};
	const struct npl_tensor *mixed[] = {&f, &i}, *bools[] = {&b, &b}, *negative[] = {&bad, &bad},
				*absent[] = {&f, NULL};
	for (int op = NPL_OP_NONE + 1; op < NPL_OPS; op++) {
		const struct npl_op_def *def = &npl_op_defs[op];
		bool binary = op == NPL_OP_ADD || op == NPL_OP_MUL || op == NPL_OP_SUM || op == NPL_OP_CONCAT ||
			      op == NPL_OP_GEMM || op == NPL_OP_MATMUL;
		struct npl_attrs attrs = {.opset = 13};
		struct npl_err err = {0};
		if (binary) {
			cr_assert_eq(npl_op_shape((enum npl_op)op, &attrs, mixed, 2, out, 1, &err), NPL_EINPUT, "%s",
				     def->name);
			cr_assert(strstr(err.msg, "input 1 is int64, expected float32"), "%s: %s", def->name, err.msg);
		}
		if (binary && op != NPL_OP_CONCAT)
			cr_assert_eq(npl_op_shape((enum npl_op)op, &attrs, bools, 2, out, 1, &err), NPL_EINPUT,
				     "%s of bools", def->name);
		if (op == NPL_OP_CONCAT)
			cr_assert_eq(npl_op_shape((enum npl_op)op, &attrs, bools, 2, out, 1, &err), 0, "%s", err.msg);
		if (def->min_in >= 1)
			cr_assert_eq(npl_op_shape((enum npl_op)op, &attrs, negative, 2, out, 1, &err), NPL_EINPUT, "%s",
				     def->name);
		if (def->min_in >= 2 || op == NPL_OP_CONCAT || op == NPL_OP_SUM) {
			cr_assert_eq(npl_op_shape((enum npl_op)op, &attrs, absent, 2, out, 1, &err), NPL_EINPUT, "%s",
				     def->name);
			cr_assert(strstr(err.msg, "is missing"), "%s: %s", def->name, err.msg);
		}
	}
}
