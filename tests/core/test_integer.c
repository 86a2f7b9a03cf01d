/* SPDX-License-Identifier: MIT
 *
 * Promises of the integer rules (core/integer.h): products equal those of the fast 8-bit kernels, which share no line
 * with them, and of a sum in 64 bits for 16-bit activations; Add, Mul, Sigmoid, Tanh, Concat, Clip and averages give
 * the integer nearest to the real result of the reals that the operands stand for, except the rounding that the rule
 * names; wrapping and saturation are counted; layers that no rule covers are refused with the reason. */
#include <math.h>

#include "core/int8/layer.h"
#include "core/integer.h"
#include "core/ops/ops.h"
#include "sim/systolic/tpu_v1/engine/engine.h"
#include "sim/systolic/tpu_v1/function_table.h"
#include "tests/kit/int8_layer.h"
#include "tests/kit/sim/tpu_v1/support.h"

static uint64_t seed;

static int64_t at(const struct npl_tensor *t, int64_t i)
{
	switch (t->dtype) {
	case NPL_U8:
		return ((const uint8_t *)t->data)[i];
	case NPL_I8:
		return ((const int8_t *)t->data)[i];
	case NPL_I16:
		return ((const int16_t *)t->data)[i];
	default:
		return ((const int32_t *)t->data)[i];
	}
}

static double real(const struct npl_tensor *t, int64_t i)
{
	return (double)t->quant.scale * (double)(at(t, i) - t->quant.zero_point);
}

static double least(enum npl_dtype dtype)
{
	return dtype == NPL_U8 ? 0 : dtype == NPL_I8 ? -128 : -32768;
}

static double most(enum npl_dtype dtype)
{
	return dtype == NPL_U8 ? 255 : dtype == NPL_I8 ? 127 : 32767;
}

static void draw_operand(struct npl_tensor *t, enum npl_dtype dtype, struct npl_shape shape)
{
	float scale = ldexpf((float)test_range(&seed, 100, 200), -(int)test_range(&seed, 8, 14));
	int32_t zero = dtype == NPL_I16 ? 0 : (int32_t)test_range(&seed, (int64_t)least(dtype), (int64_t)most(dtype));
	test_tensor(t, dtype, shape, scale, zero);
	test_fill(t, &seed);
}

static struct npl_integer_counts run(const struct npl_layer *layer)
{
	struct npl_integer_counts counts = {0};
	struct npl_err err = {0};
	char reason[200];
	cr_assert(npl_integer_layer_ok(layer, reason, sizeof reason), "%s", reason);
	cr_assert_eq(npl_run_integer(layer, layer->out, &counts, &err), 0, "%s", err.msg);
	return counts;
}

/* Random types, zero points and form of the result over a layer that is there. */
static void dress(struct test_layer *t, int64_t channels)
{
	t->x.dtype = test_range(&seed, 0, 1) ? NPL_U8 : NPL_I8;
	t->w.dtype = test_range(&seed, 0, 3) ? NPL_I8 : NPL_U8;
	t->x.quant.zero_point = (int32_t)test_range(&seed, (int64_t)least(t->x.dtype), (int64_t)most(t->x.dtype));
	t->w.quant.zero_point = t->w.dtype == NPL_U8 ? (int32_t)test_range(&seed, 0, 255) : 0;
	test_fill(&t->x, &seed);
	test_fill(&t->w, &seed);
	if (test_range(&seed, 0, 1)) {
		test_tensor(&t->bias, NPL_I32, npl_shape_of(1, channels), 0.125f, 0);
		test_fill(&t->bias, &seed); /* full range: sums wrap */
	}
	if (test_range(&seed, 0, 2))
		test_requantised(t, test_range(&seed, 0, 1) ? NPL_U8 : NPL_I8, (float)test_range(&seed, 1, 3000) * 7.0f,
				 (int32_t)test_range(&seed, 0, 127));
	test_layer_wire(t, t->layer.op, t->layer.macs);
	t->layer.activation = test_range(&seed, 0, 1) ? NPL_ACT_RELU : NPL_ACT_NONE;
}

Test(integer, products_equal_the_fast_kernels)
{
	seed = 0x5eed5001;
	struct npl_int8_memory memory = {0};
	for (int round = 0; round < 300; round++) {
		struct test_conv c = test_random_conv(&seed, 9, 9);
		struct test_layer t;
		struct npl_err err = {0};
		if (round & 1) {
			test_gemm(&t, test_range(&seed, 1, 9), test_range(&seed, 1, 60), test_range(&seed, 1, 20));
		} else if (!test_convolution(&t, &c)) {
			test_layer_free(&t);
			continue;
		}
		dress(&t, t.w.shape.dim[0]);
		struct npl_tensor fast = t.y;
		fast.owned = false;
		cr_assert_eq(npl_tensor_alloc(&fast, &err), 0);
		struct npl_layer layer = t.layer;
		struct npl_int8_counts counts = {0};
		layer.out = &fast;
		cr_assert_eq(kit_int8_run_layer(&layer, &memory, &counts, &err), 0, "%s", err.msg);
		struct npl_integer_counts mine = run(&t.layer);
		for (int64_t i = 0; i < npl_tensor_count(&fast); i++)
			cr_assert_eq(at(&t.y, i), at(&fast, i), "round %d, result %d of %s: %d, the kernels give %d",
				     round, (int)i, npl_dtype_name(fast.dtype), (int)at(&t.y, i), (int)at(&fast, i));
		cr_assert_eq(mine.saturations, counts.saturations, "round %d", round);
		npl_tensor_free(&fast);
		test_layer_free(&t);
	}
	npl_int8_memory_free(&memory);
}

/* 16-bit activations: the definition in 64 bits, wrapped, scaled in float32; with each fused activation. */
Test(integer, products_of_16_bits_follow_the_definition)
{
	seed = 0x5eed5002;
	uint64_t wrapped = 0;
	for (int round = 0; round < 200; round++) {
		int64_t rows = test_range(&seed, 1, 6), k = test_range(&seed, 1, 2000), n = test_range(&seed, 1, 9);
		bool huge = round % 4 == 0;
		float scales[9], sixteenth = 0x1p-12f;
		struct test_layer t;
		struct npl_integer_counts counts;
		int16_t points[NPL_FUNCTION_POINTS];
		test_gemm(&t, rows, k, n);
		npl_tensor_free(&t.x);
		test_tensor(&t.x, NPL_I16, npl_shape_of(2, rows, k), 0x1p-13f, 0);
		test_fill(&t.x, &seed);
		test_fill(&t.w, &seed);
		for (int64_t i = 0; huge && i < rows * k; i++)
			((int16_t *)t.x.data)[i] = -32768;
		for (int64_t i = 0; huge && i < n * k; i++)
			((int8_t *)t.w.data)[i] = -128;
		for (int64_t c = 0; c < n; c++)
			scales[c] = (float)test_range(&seed, 1, 100) * 0x1p-14f;
		t.w.quant = (struct npl_quant){.channel_scale = scales};
		test_requantised(&t, NPL_I16, (float)test_range(&seed, 20, 200) * 0x1p-13f, 0);
		test_layer_wire(&t, NPL_OP_GEMM, t.layer.macs);
		t.layer.activation = (enum npl_activation)(round % NPL_ACTIVATIONS);
		bool function = t.layer.activation == NPL_ACT_SIGMOID || t.layer.activation == NPL_ACT_TANH;
		if (function) {
			t.y.quant.scale = 0x1p-15f;
			npl_function_points(t.layer.activation, points);
		}
		counts = run(&t.layer);
		for (int64_t i = 0; i < rows * n; i++) {
			int64_t sum = 0;
			for (int64_t l = 0; l < k; l++)
				sum += at(&t.x, i / n * k + l) * at(&t.w, i % n * k + l);
			int32_t acc = (int32_t)(uint32_t)(uint64_t)sum;
			wrapped += acc != sum;
			volatile float scale_product = t.x.quant.scale * scales[i % n],
				       scale = scale_product / (function ? sixteenth : t.y.quant.scale),
				       v = (float)acc * scale;
			double expected = fmin(fmax(rint((double)v), -32768), 32767);
			if (function)
				expected = npl_function_value(points, (int16_t)expected);
			if (t.layer.activation == NPL_ACT_RELU || t.layer.activation == NPL_ACT_RELU6)
				expected = fmax(expected, 0);
			if (t.layer.activation == NPL_ACT_RELU6)
				expected = fmin(expected, fmin(rint((double)(6.0f / t.y.quant.scale)), 32767));
			cr_assert_eq(at(&t.y, i), (int64_t)expected, "round %d, %s, result %d: %d, expected %d", round,
				     npl_activation_name(t.layer.activation), (int)i, (int)at(&t.y, i), (int)expected);
		}
		cr_assert_eq(counts.overflows > 0, huge && k > 512, "round %d: %d", round, (int)counts.overflows);
		test_layer_free(&t);
	}
	cr_assert_gt(wrapped, 0);
}

/* Two computed tensors, one or both of 16 bits, of any size: the exact sum, which never wraps, scaled in float32; what
 * does not fit is saturated and counted. */
Test(integer, wide_products_of_two_tensors)
{
	static const enum npl_dtype wide[] = {NPL_I16, NPL_I16, NPL_I16, NPL_I8, NPL_U8};
	seed = 0x5eed5007;
	uint64_t beyond_32_bits = 0, saturated = 0;
	for (int round = 0; round < 200; round++) {
		const int64_t stack = test_range(&seed, 1, 3), rows = test_range(&seed, 1, 5),
			      k = test_range(&seed, 1, 300), n = test_range(&seed, 1, 5);
		const enum npl_dtype a_type = wide[round % 5],
				     b_type = a_type == NPL_I16 ? wide[round / 5 % 5] : NPL_I16;
		struct npl_tensor a, b, y;
		draw_operand(&a, a_type, npl_shape_of(3, stack, rows, k));
		draw_operand(&b, b_type, npl_shape_of(3, stack, k, n));
		/* of one sign each, as what comes from Softmax is: the sums grow with k */
		for (int64_t i = 0; round % 2 && a_type == NPL_I16 && i < stack * rows * k; i++)
			((int16_t *)a.data)[i] = (int16_t)(((int16_t *)a.data)[i] | 0x4000);
		for (int64_t i = 0; round % 2 && b_type == NPL_I16 && i < stack * k * n; i++)
			((int16_t *)b.data)[i] = (int16_t)(((int16_t *)b.data)[i] & 0x7fff);
		test_tensor(&y, NPL_I16, npl_shape_of(3, stack, rows, n),
			    a.quant.scale * b.quant.scale * (float)test_range(&seed, 1, 400 * k), 0);
		const struct npl_layer layer = {
			.name = "products", .op = NPL_OP_MATMUL, .n_in = 2, .in = {&a, &b}, .out = &y};
		const struct npl_integer_counts counts = run(&layer);
		uint64_t clipped = 0;
		for (int64_t i = 0; i < stack * rows * n; i++) {
			const int64_t m = i / (rows * n), row = i / n % rows, column = i % n;
			int64_t sum = 0;
			for (int64_t l = 0; l < k; l++)
				sum += (at(&a, (m * rows + row) * k + l) - a.quant.zero_point) *
				       (at(&b, (m * k + l) * n + column) - b.quant.zero_point);
			beyond_32_bits += sum > INT32_MAX || sum < INT32_MIN;
			volatile float scale_product = a.quant.scale * b.quant.scale,
				       scale = scale_product / y.quant.scale, value = (float)sum * scale;
			const double rounded = rint((double)value), expected = fmin(fmax(rounded, -32768), 32767);
			clipped += rounded < expected || rounded > expected;
			cr_assert_eq(at(&y, i), (int64_t)expected, "round %d, result %d: %d, expected %d", round,
				     (int)i, (int)at(&y, i), (int)expected);
		}
		cr_assert_eq(counts.overflows, 0);
		cr_assert_eq(counts.saturations, clipped, "round %d: %d, expected %d", round, (int)counts.saturations,
			     (int)clipped);
		saturated += clipped;
		npl_tensor_free(&a);
		npl_tensor_free(&b);
		npl_tensor_free(&y);
	}
	cr_assert(beyond_32_bits > 100 && saturated > 100, "%d and %d", (int)beyond_32_bits, (int)saturated);
}

/* The 257 points are the function's; between them the interpolation stays within h^2/8 max|f''|; it never falls. */
Test(integer, the_table_of_a_function_is_near_it_and_never_falls)
{
	static const struct {
		enum npl_activation function;
		double curve; /* max|f''| */
	} cases[] = {{NPL_ACT_SIGMOID, 0.0963}, {NPL_ACT_TANH, 0.7699}};
	for (int c = 0; c < 2; c++) {
		int16_t point[NPL_FUNCTION_POINTS];
		bool tangent = cases[c].function == NPL_ACT_TANH;
		double bound = 32768 * cases[c].curve / 8 / 256 + 1;
		npl_function_points(cases[c].function, point);
		for (int i = 0; i < NPL_FUNCTION_POINTS; i++) {
			double x = (i - 128) / 16.0, f = tangent ? tanh(x) : 1 / (1 + exp(-x));
			cr_assert_eq(point[i], fmin(rint(32768 * f), 32767), "point %d", i);
		}
		for (int q = -32768, before = -32768; q < 32768; q++) {
			double x = q / 4096.0, f = 32768 * (tangent ? tanh(x) : 1 / (1 + exp(-x)));
			int actual = npl_function_value(point, (int16_t)q);
			cr_assert(fabs(actual - f) <= bound && actual >= before, "%d: %d, expected %g", q, actual, f);
			before = actual;
		}
		cr_assert_eq(npl_function_value(point, 0), tangent ? 0 : 16384);
	}
}

/* The systolic machines have a table of their own making: the same points. */
Test(integer, function_table_of_the_systolic_machines)
{
	struct tpu_function_table table;
	int16_t point[NPL_FUNCTION_POINTS];
	tpu_sigmoid_points(&table);
	npl_function_points(NPL_ACT_SIGMOID, point);
	cr_assert_arr_eq(table.point, point, sizeof point);
	tpu_tanh_points(&table);
	npl_function_points(NPL_ACT_TANH, point);
	cr_assert_arr_eq(table.point, point, sizeof point);
}

static const enum npl_dtype types[] = {NPL_U8, NPL_I8, NPL_I16};

/* Add and Mul of any types, broadcast: within half a step, and a hair for float32, of the real result. */
Test(integer, sums_and_products_of_two)
{
	seed = 0x5eed5003;
	uint64_t saturated = 0;
	for (int round = 0; round < 300; round++) {
		struct npl_tensor a, b, y;
		bool add = round & 1;
		draw_operand(&a, types[test_range(&seed, 0, 2)], npl_shape_of(3, 3, 4, 5));
		draw_operand(&b, types[test_range(&seed, 0, 2)],
			     round % 3 ? npl_shape_of(3, 3, 4, 5) : npl_shape_of(2, 4, 1));
		draw_operand(&y, types[test_range(&seed, 0, 2)], npl_shape_of(3, 3, 4, 5));
		double step = add ? (double)a.quant.scale : (double)a.quant.scale * (double)b.quant.scale;
		y.quant.scale = (float)(step * (double)test_range(&seed, 1, 4000));
		struct npl_attrs attrs = {.opset = 13};
		struct npl_layer layer = {.name = "pair",
					  .op = add ? NPL_OP_ADD : NPL_OP_MUL,
					  .attrs = &attrs,
					  .n_in = 2,
					  .in = {&a, &b},
					  .out = &y,
					  .activation = round % 5 ? NPL_ACT_NONE : NPL_ACT_RELU};
		saturated += run(&layer).saturations;
		for (int64_t i = 0; i < npl_tensor_count(&y); i++) {
			int64_t j = round % 3 ? i : i / 5 % 4;
			double exact = add ? real(&a, i) + real(&b, j) : real(&a, i) * real(&b, j);
			double expected = exact / (double)y.quant.scale + y.quant.zero_point,
			       slack = 0.5 + 1e-6 * fabs(expected);
			slack += add ? 1e-6 * (fabs(real(&a, i)) + fabs(real(&b, j))) / (double)y.quant.scale : 0;
			expected = fmin(fmax(expected, least(y.dtype)), most(y.dtype));
			if (layer.activation == NPL_ACT_RELU)
				expected = fmax(expected, y.quant.zero_point);
			cr_assert(fabs((double)at(&y, i) - expected) <= slack, "round %d, element %d: %d, expected %g",
				  round, (int)i, (int)at(&y, i), expected);
		}
		npl_tensor_free(&a);
		npl_tensor_free(&b);
		npl_tensor_free(&y);
	}
	cr_assert_gt(saturated, 0);
}

/* Sigmoid and Tanh on their own: Q4.12 in between. */
Test(integer, sigmoid_and_tanh_follow_the_rule)
{
	seed = 0x5eed5004;
	for (int round = 0; round < 200; round++) {
		struct npl_tensor x, y;
		bool tangent = round & 1;
		draw_operand(&x, types[test_range(&seed, 0, 2)], npl_shape_of(2, 4, 25));
		draw_operand(&y, types[test_range(&seed, 0, 2)], npl_shape_of(2, 4, 25));
		y.quant.scale = y.dtype == NPL_I16 ? 0x1p-15f : 0x1p-7f;
		struct npl_attrs attrs = {.opset = 13};
		struct npl_layer layer = {.name = "function",
					  .op = tangent ? NPL_OP_TANH : NPL_OP_SIGMOID,
					  .attrs = &attrs,
					  .n_in = 1,
					  .in = {&x},
					  .out = &y};
		run(&layer);
		for (int64_t i = 0; i < npl_tensor_count(&y); i++) {
			double v = fmin(fmax(real(&x, i), -8), 8), slope = 0x1p-13, table = 0x1p-15 * 14;
			double f = tangent ? tanh(v) : 1 / (1 + exp(-v)), step = (double)y.quant.scale;
			double expected = fmin(fmax(f / step + y.quant.zero_point, least(y.dtype)), most(y.dtype));
			cr_assert(fabs((double)at(&y, i) - expected) <= 0.5 + (slope + table) / step,
				  "round %d: %g gives %d, expected %g", round, v, (int)at(&y, i), expected);
		}
		npl_tensor_free(&x);
		npl_tensor_free(&y);
	}
}

/* Joined inputs are brought to the output's scale; those that have it are copied. */
Test(integer, concat_converts_inputs_of_another_scale)
{
	seed = 0x5eed5005;
	for (int round = 0; round < 100; round++) {
		struct npl_tensor in[3], y;
		enum npl_dtype dtype = types[round % 3];
		struct npl_attrs attrs = {.opset = 13, .along.axis = 1};
		int64_t wide[3], sum = 0;
		draw_operand(&y, dtype, npl_shape_of(2, 1, 1));
		for (int k = 0; k < 3; k++) {
			sum += wide[k] = test_range(&seed, 1, 5);
			draw_operand(&in[k], dtype, npl_shape_of(2, 3, wide[k]));
			if (k == 1)
				in[k].quant = y.quant;
		}
		struct npl_quant quant = y.quant;
		npl_tensor_free(&y);
		test_tensor(&y, dtype, npl_shape_of(2, 3, sum), quant.scale, quant.zero_point);
		struct npl_layer layer = {.name = "joined",
					  .op = NPL_OP_CONCAT,
					  .attrs = &attrs,
					  .n_in = 3,
					  .in = {&in[0], &in[1], &in[2]},
					  .out = &y};
		run(&layer);
		for (int64_t r = 0, i = 0; r < 3; r++)
			for (int k = 0; k < 3; k++)
				for (int64_t c = 0; c < wide[k]; c++, i++) {
					int64_t from = r * wide[k] + c;
					double expected = real(&in[k], from) / (double)quant.scale + quant.zero_point;
					expected = fmin(fmax(expected, least(dtype)), most(dtype));
					cr_assert(fabs((double)at(&y, i) - expected) <= 0.5 + 1e-6 * fabs(expected));
					cr_assert(k != 1 || at(&y, i) == at(&in[k], from));
				}
		for (int k = 0; k < 3; k++)
			npl_tensor_free(&in[k]);
		npl_tensor_free(&y);
	}
}

/* Averages are exact: half to even of the sum over the count. Clip compares with the limits' integers. */
Test(integer, averages_are_exact_and_clip_compares_integers)
{
	seed = 0x5eed5006;
	for (int round = 0; round < 200; round++) {
		struct npl_tensor x, y;
		enum npl_dtype dtype = types[round % 3];
		draw_operand(&x, dtype, npl_shape_of(4, 2, 3, 6, 5));
		const struct npl_attrs attrs = {.pool.window = {.rank = 2,
								.kernel = {2, 3},
								.stride = {2, 1},
								.dilation = {1, 1},
								.pad_begin = {1, 1},
								.pad_end = {1, 0},
								.count_include_pad = round & 1}},
				       clip = {.clip = {.known = true, .min = -1, .max = 2}};
		struct npl_layer layer = {
			.name = "average", .op = NPL_OP_AVERAGEPOOL, .attrs = &attrs, .n_in = 1, .in = {&x}, .out = &y};
		test_tensor(&y, dtype, npl_shape_of(4, 2, 3, 4, 4), x.quant.scale, x.quant.zero_point);
		run(&layer);
		for (int64_t i = 0; i < npl_tensor_count(&y); i++) {
			int64_t plane = i / 16, top = i / 4 % 4 * 2 - 1, left = i % 4 - 1, sum = 0, count = 0;
			for (int64_t r = top; r < top + 2; r++)
				for (int64_t c = left; c < left + 3; c++)
					if (r >= 0 && r < 6 && c >= 0 && c < 5) {
						sum += at(&x, (plane * 6 + r) * 5 + c) - x.quant.zero_point;
						count++;
					}
			count = attrs.pool.window.count_include_pad ? 6 : count;
			double expected = rint((double)sum / (double)count) +
					  x.quant.zero_point; /* exact: small integers */
			cr_assert_eq(at(&y, i), (int64_t)expected, "round %d, %d: sum %d of %d", round, (int)i,
				     (int)sum, (int)count);
		}
		npl_tensor_free(&y);
		test_tensor(&y, dtype, x.shape, x.quant.scale, x.quant.zero_point);
		layer.op = NPL_OP_CLIP;
		layer.attrs = &clip;
		run(&layer);
		for (int64_t i = 0; i < npl_tensor_count(&y); i++) {
			double expected = fmin(fmax(real(&x, i), -1), 2), step = (double)x.quant.scale;
			expected = fmin(fmax(expected / step + x.quant.zero_point, least(dtype)), most(dtype));
			cr_assert(fabs((double)at(&y, i) - expected) <= 0.5 + 1e-4, "round %d", round);
		}
		npl_tensor_free(&x);
		npl_tensor_free(&y);
	}
}

Test(integer, layers_without_a_rule_say_why)
{
	struct test_layer good;
	char reason[200];
	test_gemm(&good, 2, 3, 4);
	test_requantised(&good, NPL_I8, 1, 0);
	test_layer_wire(&good, NPL_OP_GEMM, 24);
	cr_assert(npl_integer_layer_ok(&good.layer, reason, sizeof reason), "%s", reason);
	const struct test_layer keep = good;
#define REFUSED(change, word)                                                                                          \
	do {                                                                                                           \
		struct test_layer t = keep;                                                                            \
		t.layer.in[0] = &t.x;                                                                                  \
		t.layer.in[1] = &t.w;                                                                                  \
		t.layer.out = &t.y;                                                                                    \
		change;                                                                                                \
		cr_assert(!npl_integer_layer_ok(&t.layer, reason, sizeof reason), #change);                            \
		cr_assert(strstr(reason, word), #change ": '%s'", reason);                                             \
	} while (0)
	REFUSED(t.x.dtype = NPL_F32, "its input is not an integer");
	REFUSED(t.x.quant.zero_point = 256, "its input is not an integer");
	REFUSED(t.w.dtype = NPL_I32, "its weights are not integers");
	REFUSED(t.layer.n_in = 1, "its weights are not integers");
	REFUSED(t.y.quant.scale = 0, "its output is not a quantised tensor");
	REFUSED(t.y.dtype = NPL_I16; t.y.quant.zero_point = 1, "its output is not a quantised tensor");
	REFUSED(t.y.dtype = NPL_I32; t.layer.activation = NPL_ACT_TANH, "no activation follows raw sums");
	REFUSED(t.layer.n_in = 3; t.layer.in[2] = &t.x, "its bias is not one 32-bit integer");
	REFUSED(t.layer.op = NPL_OP_ADD; t.layer.n_in = 1, "it has 1 inputs, expected 2");
	REFUSED(t.layer.op = NPL_OP_RELU, "input and output differ");
	REFUSED(t.layer.op = NPL_OP_RELU; t.y.dtype = NPL_U8; t.y.quant = t.x.quant;
		t.layer.activation = NPL_ACT_TANH, "no function follows it");
	REFUSED(t.layer.op = NPL_OP_TANH; t.layer.activation = NPL_ACT_RELU, "no activation follows Tanh on integers");
	REFUSED(t.layer.op = NPL_OP_CONCAT;
		t.layer.activation = NPL_ACT_RELU, "no activation follows Concat on integers");
	REFUSED(t.layer.op = NPL_OP_SOFTMAX, "there is no rule for Softmax on integers");
#undef REFUSED
	test_layer_free(&good);
}
