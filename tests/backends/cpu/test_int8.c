/* SPDX-License-Identifier: MIT
 *
 * The cpu device in 8 bits. What the program promises: Conv, Gemm, Relu and pooling give the bits of the simulated
 * TPU v1 on the same layer, with one thread and with two; operators without an 8-bit form give what the frontend's
 * own conversions around the float reference give; nothing outside the output is written; time is measured and energy
 * absent; a layer that cannot be held in 8 bits is refused with the reason. No OpenBLAS is needed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/dtype.h"
#include "core/integer.h"
#include "tests/kit/cpu_int8_support.h"

TestSuite(cpu_int8, .init = cpu_int8_open, .fini = cpu_int8_close);

static void check_against_tpu(const struct tpu_config *config, const struct test_layer *t, const char *subject)
{
	struct npl_result result = test_run(config, &t->layer);
	cpu_int8_check(&t->layer, t->y.data, result.saturations, subject);
}

static void dress(struct test_layer *t, enum npl_op op, int64_t channels, uint64_t *rng)
{
	t->x.dtype = test_range(rng, 0, 2) ? NPL_U8 : NPL_I8;
	t->x.quant.zero_point = (int32_t)test_range(rng, npl_dtype_min(t->x.dtype), npl_dtype_max(t->x.dtype));
	t->w.quant.zero_point = test_range(rng, 0, 3) ? 0 : (int32_t)test_range(rng, -128, 127);
	test_fill(&t->x, rng);
	test_fill(&t->w, rng);
	uint64_t macs = t->layer.macs;
	if (test_range(rng, 0, 1)) {
		test_tensor(&t->bias, NPL_I32, npl_shape_of(1, channels), 0.125f, 0);
		for (int64_t i = 0; i < channels; i++)
			((int32_t *)t->bias.data)[i] = (int32_t)test_range(rng, -50000, 50000);
	}
	if (test_range(rng, 0, 2))
		test_requantised(t, NPL_U8, (float)test_range(rng, 10, 900), (int32_t)test_range(rng, 0, 255));
	test_layer_wire(t, op, macs);
	t->layer.activation = t->y.dtype != NPL_I32 && test_range(rng, 0, 1) ? NPL_ACT_RELU : NPL_ACT_NONE;
}

Test(cpu_int8, products_equal_the_tpu)
{
	uint64_t rng = cpu_int8_seed = 0x5eed0301;
	struct tpu_config config = test_tpu_defaults();
	for (int round = 0; round < 60; round++) {
		struct test_layer t;
		char subject[80];
		int64_t rows = test_range(&rng, 1, 60), k = test_range(&rng, 1, 400), n = test_range(&rng, 1, 130);
		test_gemm(&t, rows, k, n);
		dress(&t, NPL_OP_GEMM, n, &rng);
		snprintf(subject, sizeof subject, "gemm %lldx%lldx%lld", (long long)rows, (long long)k, (long long)n);
		check_against_tpu(&config, &t, subject);
		test_layer_free(&t);
	}
}

Test(cpu_int8, convolutions_equal_the_tpu)
{
	uint64_t rng = cpu_int8_seed = 0x5eed0302;
	struct tpu_config config = test_tpu_defaults();
	for (int done = 0; done < 80;) {
		struct test_layer t;
		char subject[80];
		struct test_conv c = test_random_conv(&rng, 20, 24);
		if (test_convolution(&t, &c)) {
			dress(&t, NPL_OP_CONV, c.filters, &rng);
			snprintf(subject, sizeof subject, "conv %d", done++);
			check_against_tpu(&config, &t, subject);
		}
		test_layer_free(&t);
	}
}

/* Makes a layer of one input, which holds random bytes. */
static bool make_unary(struct test_layer *t, enum npl_op op, uint64_t *rng)
{
	struct npl_window window = {.rank = 2}, *w = &window;
	*t = (struct test_layer){.attrs.opset = 13};
	for (int d = 0; d < 2; d++) {
		w->kernel[d] = test_range(rng, 1, 4);
		w->stride[d] = test_range(rng, 1, 3);
		w->dilation[d] = test_range(rng, 1, 2);
		w->pad_begin[d] = test_range(rng, 0, w->kernel[d] - 1);
		w->pad_end[d] = test_range(rng, 0, w->kernel[d] - 1);
	}
	w->count_include_pad = test_range(rng, 0, 1);
	w->ceil_mode = test_range(rng, 0, 1);
	if (npl_op_defs[op].family == NPL_FAMILY_POOL)
		t->attrs.pool.window = window;
	struct npl_tensor plain = {.dtype = NPL_F32,
				   .shape = npl_shape_of(4, test_range(rng, 1, 2), test_range(rng, 1, 6),
							 test_range(rng, 3, 20), test_range(rng, 3, 20))};
	struct npl_tensor y = {0};
	const struct npl_tensor *in[] = {&plain};
	struct npl_err err = {0};
	if (npl_op_shape(op, &t->attrs, in, 1, &y, 1, &err))
		return false;
	enum npl_dtype dtype = test_range(rng, 0, 2) ? NPL_U8 : NPL_I8;
	int32_t zero = (int32_t)test_range(rng, npl_dtype_min(dtype), npl_dtype_max(dtype));
	test_tensor(&t->x, dtype, plain.shape, 0.02f, zero);
	test_tensor(&t->y, dtype, y.shape, 0.02f, zero);
	test_fill(&t->x, rng);
	test_layer_wire(t, op, 0);
	return true;
}

Test(cpu_int8, relu_and_pooling_equal_the_tpu)
{
	static const enum npl_op ops[] = {NPL_OP_RELU, NPL_OP_MAXPOOL, NPL_OP_AVERAGEPOOL, NPL_OP_GLOBALAVERAGEPOOL};
	uint64_t rng = cpu_int8_seed = 0x5eed0303;
	struct tpu_config config = test_tpu_defaults();
	for (int done = 0; done < 120;) {
		struct test_layer t;
		enum npl_op op = ops[done % 4];
		if (!make_unary(&t, op, &rng))
			continue;
		t.layer.activation = test_range(&rng, 0, 1) ? NPL_ACT_RELU : NPL_ACT_NONE;
		char reason[256];
		if (test_supported(&config, &t.layer, reason, sizeof reason)) {
			check_against_tpu(&config, &t, npl_op_defs[op].name);
			done++;
		}
		test_layer_free(&t);
	}
}

/* What adds up or compares several values and has no rule on integers is better done in float32, as the usual runtimes
 * do it. */
Test(cpu_int8, operators_without_a_rule_are_left_to_floats)
{
	static const enum npl_op ops[] = {NPL_OP_SOFTMAX, NPL_OP_LPNORMALIZATION, NPL_OP_SUB, NPL_OP_REDUCEMEAN,
					  NPL_OP_LOGSOFTMAX};
	static const struct npl_attrs attrs[] = {{.opset = 13, .along.axis = 1},
						 {.opset = 13, .norm = {.axis = 1, .p = 2}},
						 {.opset = 13},
						 {.opset = 13, .reduce.keep_dims = true},
						 {.opset = 13, .along.axis = 1}};
	const struct npl_shape shape = npl_shape_of(4, 2, 3, 6, 6);
	struct npl_tensor x[2], y;
	for (int i = 0; i < 2; i++)
		test_tensor(&x[i], NPL_U8, shape, 0.02f, 100);
	test_tensor(&y, NPL_U8, shape, 0.02f, 100);
	for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
		const struct npl_layer layer = {.name = npl_op_defs[ops[k]].name,
						.op = ops[k],
						.attrs = &attrs[k],
						.n_in = npl_op_defs[ops[k]].min_in,
						.in = {&x[0], &x[1]},
						.out = &y};
		char reason[200], expected[80];
		snprintf(expected, sizeof expected, "there is no rule for %s on integers", layer.name);
		cr_assert_not(npl_driver_cpu.supports(cpu_int8_device[1], &layer, reason, sizeof reason), "%s",
			      layer.name);
		cr_assert_str_eq(reason, expected);
	}
	for (int i = 0; i < 2; i++)
		npl_tensor_free(&x[i]);
	npl_tensor_free(&y);
}

/* By the integer rule, as simple loops have it, with operands of either type, ties among the sums, and Relu
 * after. */
Test(cpu_int8, pairs_joins_and_clips_follow_the_rule)
{
	static const enum npl_op ops[] = {NPL_OP_ADD, NPL_OP_MUL, NPL_OP_CONCAT, NPL_OP_CLIP};
	uint64_t rng = cpu_int8_seed = 0x5eed0306;
	for (int round = 0; round < 240; round++) {
		const enum npl_op op = ops[round % 4];
		const bool two = op != NPL_OP_CLIP, wide = test_range(&rng, 0, 3) == 0 && op != NPL_OP_CONCAT && two;
		struct npl_attrs attrs = {.op = op, .opset = 13};
		if (op == NPL_OP_CONCAT)
			attrs.along.axis = 1;
		if (op == NPL_OP_CLIP)
			attrs.clip = (struct npl_clip_attrs){.known = true, .min = -0.3f, .max = 0.7f};
		struct npl_shape shape = npl_shape_of(4, 2, test_range(&rng, 1, 5), 6, 6), result = shape;
		struct npl_tensor x[2], y, expected;
		struct npl_integer_counts counts = {0};
		struct npl_err err = {0};
		const enum npl_dtype type = test_range(&rng, 0, 1) ? NPL_U8 : NPL_I8;
		for (int i = 0; i < 2; i++) {
			struct npl_shape own = shape;
			if (i && wide)
				own = npl_shape_of(3, shape.dim[1], 1, 1);
			test_tensor(&x[i], i ? NPL_U8 : type, own, 0.0625f * (float)test_range(&rng, 1, 3),
				    (int32_t)test_range(&rng, 0, 100));
			test_fill(&x[i], &rng);
		}
		if (op == NPL_OP_CONCAT)
			result.dim[1] *= 2;
		test_tensor(&y, op == NPL_OP_CLIP ? type : NPL_U8, result, 0.125f, (int32_t)test_range(&rng, 0, 100));
		if (op == NPL_OP_CLIP)
			y.quant = x[0].quant;
		struct npl_layer layer = {.name = npl_op_defs[op].name,
					  .op = op,
					  .attrs = &attrs,
					  .activation = test_range(&rng, 0, 1) ? NPL_ACT_RELU : NPL_ACT_NONE,
					  .n_in = two ? 2 : 1,
					  .in = {&x[0], two ? &x[1] : NULL},
					  .out = &y};
		if (op == NPL_OP_CONCAT)
			layer.activation = NPL_ACT_NONE;
		expected = (struct npl_tensor){.dtype = y.dtype, .shape = y.shape, .quant = y.quant};
		cr_assert_eq(npl_tensor_alloc(&expected, &err), 0);
		cr_assert_eq(npl_run_integer(&layer, &expected, &counts, &err), 0, "%s", err.msg);
		cpu_int8_check(&layer, expected.data, counts.saturations, layer.name);
		npl_tensor_free(&expected);
		npl_tensor_free(&x[0]);
		npl_tensor_free(&x[1]);
		npl_tensor_free(&y);
	}
}

Test(cpu_int8, conversions_follow_the_frontend)
{
	uint64_t rng = cpu_int8_seed = 0x5eed0305;
	enum { N = 1000 };
	float x[N], back[N];
	uint8_t q[N];
	uint64_t saturations = 0, clipped = 0;
	for (int round = 0; round < 50; round++) {
		struct npl_quant quant = {.scale = (float)test_range(&rng, 1, 64) / 64, /* ties, with powers of two */
					  .zero_point = (int32_t)test_range(&rng, 0, 255)};
		for (int i = 0; i < N; i++)
			x[i] = (float)test_range(&rng, -4000, 4000) / (test_range(&rng, 0, 1) ? 128.0f : 17.0f);
		x[0] = INFINITY;
		x[1] = -INFINITY;
		x[2] = 3e38f;
		struct npl_tensor plain = {.dtype = NPL_F32, .shape = npl_shape_of(1, N), .data = x}, made, again;
		struct npl_err err = {0};
		cr_assert_eq(npl_quantise_counting(&plain, NPL_FORMAT_INT8, quant, &made, &clipped, &err), 0, "%s",
			     err.msg);
		cr_assert(npl_int8_quantise(x, N, &quant, NPL_U8, q, &saturations));
		cr_assert_arr_eq(q, made.data, N);
		cr_assert_eq(npl_dequantise(&made, &again, &err), 0, "%s", err.msg);
		npl_int8_dequantise(q, N, &quant, NPL_U8, back);
		cr_assert_arr_eq(back, again.data, sizeof back);
		cr_assert_eq(saturations, clipped);
		npl_tensor_free(&made);
		npl_tensor_free(&again);
	}
	x[N / 2] = NAN;
	cr_assert(!npl_int8_quantise(x, N, &(struct npl_quant){.scale = 1}, NPL_I8, q, &saturations));
	int8_t signed_q[4];
	const float ends[4] = {-200, 200, -2.5f, 1.5f};
	cr_assert(npl_int8_quantise(ends, 4, &(struct npl_quant){.scale = 1, .zero_point = -3}, NPL_I8, signed_q,
				    &saturations));
	cr_assert(signed_q[0] == -128 && signed_q[1] == 127 && signed_q[2] == -5 && signed_q[3] == -1);
}

Test(cpu_int8, describes_itself)
{
	for (int threads = 1; threads <= 2; threads++) {
		struct npl_device_info info = {0};
		const char *library = npl_int8_library(NULL);
		char plural[32];
		npl_driver_cpu.describe(cpu_int8_device[threads], &info);
		cr_assert_eq(info.kind, NPL_KIND_CPU);
		cr_assert_eq(info.format, NPL_FORMAT_INT8);
		snprintf(plural, sizeof plural, "%d thread%s,", threads, threads == 1 ? "" : "s");
		cr_assert(strstr(info.detail, npl_int8_kernel_name(0)), "%s", info.detail);
		cr_assert(strstr(info.detail, library ? library : "without oneDNN"), "%s", info.detail);
		cr_assert(strstr(info.detail, plural), "%s", info.detail);
		cr_assert_lt(strlen(info.detail), sizeof info.detail - 1, "cut short");
	}
}

Test(cpu_int8, refusals_say_the_reason)
{
	struct npl_attrs attrs = {.opset = 13};
	struct npl_tensor x = {.dtype = NPL_U8, .shape = npl_shape_of(2, 3, 4), .quant = {.scale = 0.5f}}, z = x, y = x;
	struct npl_layer layer = {
		.name = "sum", .op = NPL_OP_ADD, .attrs = &attrs, .n_in = 2, .in = {&x, &z}, .out = &y};
	char reason[200] = "";
#define WHY_NOT(change, word)                                                                                          \
	do {                                                                                                           \
		const struct npl_layer keep = layer;                                                                   \
		const struct npl_tensor keep_x = x, keep_z = z, keep_y = y;                                            \
		change;                                                                                                \
		cr_assert(!npl_driver_cpu.supports(cpu_int8_device[1], &layer, reason, sizeof reason), #change);       \
		cr_assert(strstr(reason, word), #change ": %s", reason);                                               \
		layer = keep;                                                                                          \
		x = keep_x;                                                                                            \
		z = keep_z;                                                                                            \
		y = keep_y;                                                                                            \
	} while (0)
	cr_assert(npl_driver_cpu.supports(cpu_int8_device[1], &layer, reason, sizeof reason), "%s", reason);
	WHY_NOT(z.quant.scale = 1, "range of an operand is not known");
	WHY_NOT(z.quant.scale = 0, "an input is not");
	WHY_NOT(x.dtype = NPL_F32, "an input is not");
	WHY_NOT(x.quant.zero_point = 256, "an input is not");
	WHY_NOT(y.dtype = NPL_F32, "its output is not");
	WHY_NOT(layer.op = NPL_OP_LRN; layer.n_in = 1, "float32");
	WHY_NOT(layer.activation = NPL_ACT_TANH, "no other activation");
	WHY_NOT(layer.op = NPL_OP_SUB; layer.activation = NPL_ACT_RELU6, "no other activation");
	WHY_NOT(layer.op = NPL_OP_RESHAPE, "no function of 8-bit numbers");
	WHY_NOT(layer.op = NPL_OP_GEMM; x.dtype = NPL_F32, "8-bit integers");
	struct npl_result result = {0};
	struct npl_err err = {0};
	cr_assert_eq(npl_driver_cpu.run(cpu_int8_device[1], &layer, &result, &err), NPL_EINTERNAL);
	cr_assert(strstr(err.msg, "no data"), "%s", err.msg);
}
