/* SPDX-License-Identifier: MIT
 *
 * The cpu device's fast ways for 8-bit tensors beside convolutions and constant matrices. What the program promises:
 * Add and Mul give the bits and the saturations of the rule's simple loops whatever is broadcast; operators that work
 * by element on one tensor give those of the frontend's conversions around the float kernel, on every byte there is and
 * on tensors of several pieces, and refuse a NaN only where one is made; MatMul of two tensors is the exact product,
 * rounded once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/dtype.h"
#include "core/integer.h"
#include "tests/kit/cpu_int8_support.h"

TestSuite(cpu_int8_elements, .init = cpu_int8_open, .fini = cpu_int8_close);

static void make_operand(struct npl_tensor *t, struct npl_shape shape, float scale, uint64_t *rng)
{
	bool is_signed = test_range(rng, 0, 1);
	test_tensor(t, is_signed ? NPL_I8 : NPL_U8, shape, scale,
		    (int32_t)test_range(rng, is_signed ? -128 : 0, is_signed ? 127 : 255));
	test_fill(t, rng);
}

/* Draws shapes of up to four dimensions, each of which is repeated in one operand or in none. */
static void draw_shapes(uint64_t *rng, struct npl_shape shape[3])
{
	int rank = (int)test_range(rng, 0, 4);
	for (int k = 0; k < 3; k++)
		shape[k] = (struct npl_shape){.rank = rank};
	for (int d = 0; d < rank; d++) {
		int64_t size = test_range(rng, 0, 3) ? test_range(rng, 1, 9) : test_range(rng, 10, 40);
		int64_t repeated = test_range(rng, 0, 3);
		for (int k = 0; k < 3; k++)
			shape[k].dim[d] = k < 2 && repeated == k ? 1 : size;
	}
	for (int k = (int)test_range(rng, 0, 2); k < 2 && shape[k].rank && shape[k].dim[0] == 1;) /* a lower rank */
		memmove(shape[k].dim, shape[k].dim + 1, (size_t)--shape[k].rank * sizeof shape[k].dim[0]);
}

static void check_pair(enum npl_op op, const struct npl_shape shape[3], uint64_t *rng)
{
	struct npl_attrs attrs = {.opset = 13};
	struct npl_tensor x[2], y, expected;
	struct npl_integer_counts counts = {0};
	struct npl_err err = {0};
	char subject[120], text[2][48];
	for (int k = 0; k < 2; k++)
		make_operand(&x[k], shape[k], 0.0625f * (float)test_range(rng, 1, 3), rng);
	make_operand(&y, shape[2], 0.125f * (float)test_range(rng, 1, 40), rng);
	struct npl_layer layer = {.name = npl_op_defs[op].name,
				  .op = op,
				  .attrs = &attrs,
				  .activation = (enum npl_activation)test_range(rng, NPL_ACT_NONE, NPL_ACT_RELU6),
				  .n_in = 2,
				  .in = {&x[0], &x[1]},
				  .out = &y};
	expected = (struct npl_tensor){.dtype = y.dtype, .shape = y.shape, .quant = y.quant};
	cr_assert_eq(npl_tensor_alloc(&expected, &err), 0);
	cr_assert_eq(npl_run_integer(&layer, &expected, &counts, &err), 0, "%s", err.msg);
	snprintf(subject, sizeof subject, "%s of %s and %s", layer.name,
		 npl_shape_text(&shape[0], text[0], sizeof text[0]),
		 npl_shape_text(&shape[1], text[1], sizeof text[1]));
	cpu_int8_check(&layer, expected.data, counts.saturations, subject);
	npl_tensor_free(&expected);
	npl_tensor_free(&x[0]);
	npl_tensor_free(&x[1]);
	npl_tensor_free(&y);
}

Test(cpu_int8_elements, pairs_of_any_shapes_follow_the_rule)
{
	uint64_t rng = cpu_int8_seed = 0x5eed0311;
	for (int round = 0; round < 300; round++) {
		struct npl_shape shape[3];
		draw_shapes(&rng, shape);
		check_pair(round % 2 ? NPL_OP_ADD : NPL_OP_MUL, shape, &rng);
	}
	for (int round = 0; round < 6; round++) { /* several pieces, of which one ends within a run */
		struct npl_shape whole = npl_shape_of(3, 3, 10, 9001);
		struct npl_shape shape[3] = {whole, whole, whole};
		shape[round % 2].dim[round % 3] = 1;
		check_pair(round < 3 ? NPL_OP_ADD : NPL_OP_MUL, shape, &rng);
	}
}

static void check_elements(enum npl_op op, const struct npl_attrs *attrs, struct npl_tensor *x, int n_in,
			   const struct npl_shape *result, uint64_t *rng)
{
	struct npl_tensor y, expected;
	make_operand(&y, *result, 0.03f, rng);
	struct npl_layer layer = {
		.name = npl_op_defs[op].name, .op = op, .attrs = attrs, .n_in = n_in, .in = {&x[0], &x[1]}, .out = &y};
	uint64_t saturations = cpu_int8_by_conversions(&layer, &expected);
	cpu_int8_check(&layer, expected.data, saturations, layer.name);
	npl_tensor_free(&expected);
	npl_tensor_free(&y);
}

Test(cpu_int8_elements, tables_equal_the_float_kernel_between_conversions)
{
	static const enum npl_op one[] = {NPL_OP_ERF, NPL_OP_SIN,      NPL_OP_TANH, NPL_OP_SIGMOID, NPL_OP_ABS,
					  NPL_OP_COS, NPL_OP_SOFTPLUS, NPL_OP_ELU,  NPL_OP_FLOOR},
				 two[] = {NPL_OP_SUB, NPL_OP_MAX, NPL_OP_MIN};
	const struct npl_attrs unary = {.opset = 13, .unary.alpha = 0.7f}, binary = {.opset = 13};
	uint64_t rng = cpu_int8_seed = 0x5eed0312;
	for (int round = 0; round < 60; round++) {
		struct npl_shape shape = npl_shape_of(2, test_range(&rng, 1, 7), test_range(&rng, 1, 3) * 4000 + 3);
		struct npl_tensor x[2];
		bool pair = round % 2;
		enum npl_op op = pair ? two[(size_t)round / 2 % 3] : one[(size_t)round / 2 % 9];
		if (round % 10 == 0)
			shape = npl_shape_of(2, 1, 1);
		/* beside a single number on either side */
		int64_t single = test_range(&rng, 0, 1);
		for (int k = 0; k < 2; k++)
			make_operand(&x[k], pair && single == k ? npl_shape_of(1, 1) : shape, 0.02f * (float)(k + 1),
				     &rng);
		check_elements(op, pair ? &binary : &unary, x, pair ? 2 : 1, &shape, &rng);
		npl_tensor_free(&x[0]);
		npl_tensor_free(&x[1]);
	}
}

Test(cpu_int8_elements, a_nan_is_refused_only_where_it_is_made)
{
	enum { N = 9000 };
	static uint8_t from[N], to[N];
	const struct npl_attrs attrs = {.opset = 13};
	struct npl_tensor x = {.dtype = NPL_U8,
			       .shape = npl_shape_of(1, N),
			       .data = from,
			       .quant = {.scale = 0.5f, .zero_point = 10}},
			  y = {.dtype = NPL_U8, .shape = x.shape, .data = to, .quant = {.scale = 0.5f}};
	struct npl_layer layer = {.name = "root", .op = NPL_OP_SQRT, .attrs = &attrs, .n_in = 1, .in = {&x}, .out = &y};
	struct npl_result result = {0};
	struct npl_err err = {0};
	for (int i = 0; i < N; i++)
		from[i] = (uint8_t)(10 + i % 200);
	for (int threads = 1; threads <= 2; threads++) {
		cr_assert_eq(npl_driver_cpu.run(cpu_int8_device[threads], &layer, &result, &err), 0, "%s", err.msg);
		cr_assert_eq(to[8], 4, "the root of 4 is 2");
	}
	from[N - 1] = 9; /* -0.5 */
	for (int threads = 1; threads <= 2; threads++) {
		cr_assert_eq(npl_driver_cpu.run(cpu_int8_device[threads], &layer, &result, &err), NPL_EINPUT);
		cr_assert(strstr(err.msg, "'root' holds a NaN"), "%s", err.msg);
	}
}

static int32_t number(const struct npl_tensor *t, int64_t i)
{
	return (t->dtype == NPL_I8 ? ((const int8_t *)t->data)[i] : ((const uint8_t *)t->data)[i]) -
	       t->quant.zero_point;
}

/* The definition: for each of `stack` products, of which operand k has but one where repeats[k]. */
static uint64_t multiply(const struct npl_layer *layer, const bool repeats[2], int64_t stack, int64_t m, int64_t k,
			 int64_t n, struct npl_tensor *expected)
{
	const struct npl_tensor *a = layer->in[0], *b = layer->in[1];
	const float scale = npl_int8_scale(a->quant.scale, b->quant.scale, expected->quant.scale),
		    six = fminf(rintf(6 / expected->quant.scale) + (float)expected->quant.zero_point,
				(float)npl_dtype_max(expected->dtype));
	const bool relu = layer->activation != NPL_ACT_NONE, relu6 = layer->activation == NPL_ACT_RELU6;
	uint64_t saturations = 0;
	for (int64_t s = 0; s < stack; s++)
		for (int64_t i = 0; i < m; i++)
			for (int64_t j = 0; j < n; j++) {
				int32_t sum = 0;
				for (int64_t l = 0; l < k; l++)
					sum += number(a, ((repeats[0] ? 0 : s) * m + i) * k + l) *
					       number(b, ((repeats[1] ? 0 : s) * k + l) * n + j);
				if (relu && sum < 0)
					sum = 0;
				float value = rintf((float)sum * scale) + (float)expected->quant.zero_point,
				      low = (float)npl_dtype_min(expected->dtype),
				      high = (float)npl_dtype_max(expected->dtype);
				if (relu6 && value > six)
					value = six;
				saturations += value < low || value > high;
				((uint8_t *)expected->data)[(s * m + i) * n + j] = (uint8_t)(int32_t)(value < low ? low
												      : value > high
													      ? high
													      : value);
			}
	return saturations;
}

Test(cpu_int8_elements, products_of_two_tensors_are_exact)
{
	uint64_t rng = cpu_int8_seed = 0x5eed0313;
	const struct npl_attrs attrs = {.opset = 13};
	for (int round = 0; round < 120; round++) {
		int64_t stack = test_range(&rng, 1, 4), m = test_range(&rng, 1, 70), k = test_range(&rng, 1, 90),
			n = test_range(&rng, 1, 70);
		if (round == 0)
			stack = 3, m = 300, n = 400; /* several blocks of rows */
		const bool repeats[2] = {test_range(&rng, 0, 3) == 0, test_range(&rng, 0, 3) == 0};
		struct npl_shape shape[3] = {npl_shape_of(3, repeats[0] ? 1 : stack, m, k),
					     npl_shape_of(3, repeats[1] ? 1 : stack, k, n),
					     npl_shape_of(3, repeats[0] && repeats[1] ? 1 : stack, m, n)};
		struct npl_tensor x[2], y, expected;
		struct npl_err err = {0};
		make_operand(&x[0], shape[0], 0.01f, &rng);
		make_operand(&x[1], shape[1], 0.02f, &rng);
		make_operand(&y, shape[2], 0.02f * (float)test_range(&rng, 1, 30), &rng);
		struct npl_layer layer = {
			.name = "product",
			.op = NPL_OP_MATMUL,
			.attrs = &attrs,
			.activation = (enum npl_activation)test_range(&rng, NPL_ACT_NONE, NPL_ACT_RELU6),
			.n_in = 2,
			.in = {&x[0], &x[1]},
			.out = &y,
			.macs = (uint64_t)(shape[2].dim[0] * m * k * n)};
		expected = (struct npl_tensor){.dtype = y.dtype, .shape = y.shape, .quant = y.quant};
		cr_assert_eq(npl_tensor_alloc(&expected, &err), 0);
		uint64_t saturations = multiply(&layer, repeats, shape[2].dim[0], m, k, n, &expected);
		cpu_int8_check(&layer, expected.data, saturations, "MatMul");
		struct npl_integer_counts counts = {0};
		char reason[200];
		cr_assert(npl_integer_layer_ok(&layer, reason, sizeof reason), "%s", reason);
		cr_assert_eq(npl_run_integer(&layer, &y, &counts, &err), 0, "%s", err.msg);
		cr_assert_eq(counts.saturations, saturations, "the rule's simple loops");
		cr_assert_arr_eq(y.data, expected.data, npl_tensor_bytes(&expected));
		npl_tensor_free(&expected);
		npl_tensor_free(&x[0]);
		npl_tensor_free(&x[1]);
		npl_tensor_free(&y);
	}
}

/* A vector on either side, and scales that no float holds the ratio of. */
Test(cpu_int8_elements, products_of_vectors_and_of_extreme_scales)
{
	const struct npl_attrs attrs = {.opset = 13};
	uint8_t a[3] = {1, 2, 3}, b[3] = {4, 5, 6}, c[1];
	struct npl_tensor x = {.dtype = NPL_U8, .shape = npl_shape_of(1, 3), .data = a, .quant = {.scale = 0.5f}},
			  w = x, y = {.dtype = NPL_U8, .shape = {.rank = 0}, .data = c, .quant = {.scale = 1}};
	struct npl_layer layer = {
		.op = NPL_OP_MATMUL, .attrs = &attrs, .n_in = 2, .in = {&x, &w}, .out = &y, .macs = 3};
	struct npl_result result = {0};
	struct npl_err err = {0};
	w.data = b;
	cr_assert_eq(npl_driver_cpu.run(cpu_int8_device[1], &layer, &result, &err), 0, "%s", err.msg);
	cr_assert_eq(c[0], 8, "32 / 4");
	x.quant.scale = w.quant.scale = 1e30f;
	cr_assert_eq(npl_driver_cpu.run(cpu_int8_device[1], &layer, &result, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "1e+30 * 1e+30 / 1"), "%s", err.msg);
}
