/* SPDX-License-Identifier: MIT
 *
 * Promises: the operators of one and of two operands give what their formulas say, in every type that they take;
 * integers wrap, divide by zero to 0 and never trap; comparisons and logic answer bool; Min and Max pass NaN on; Where
 * takes elements of every size; what a type or an opset does not allow is refused. */
#include "tests/kit/elementwise_support.h"

#include <math.h>

#include "core/base/half.h"

#define SEED 0x5eed4001u

#define N_INTEGERS 8
static const enum npl_dtype integers[N_INTEGERS] = {NPL_I8,  NPL_U8,  NPL_I16, NPL_U16,
						    NPL_I32, NPL_U32, NPL_I64, NPL_U64};

static long double leaky_relu(long double x)
{
	return x < 0 ? x * (long double)0.01f : x;
}
static long double elu(long double x)
{
	return x < 0 ? expm1l(x) : x;
}
static long double selu(long double x)
{
	return 1.05070102214813232421875L * (x < 0 ? 1.67326319217681884765625L * expm1l(x) : x);
}
static long double hard_sigmoid(long double x)
{
	return fmaxl(0, fminl(1, (long double)0.2f * x + 0.5L));
}
static long double hard_swish(long double x)
{
	return x * fmaxl(0, fminl(1, x / 6 + 0.5L));
}
static long double softplus(long double x)
{
	return log1pl(expl(x));
}
static long double softsign(long double x)
{
	return x / (1 + fabsl(x));
}
static long double thresholded_relu(long double x)
{
	return x > 1 ? x : 0;
}
static long double shrink(long double x)
{
	return fabsl(x) > 0.5L ? x : 0;
}
static long double reciprocal(long double x)
{
	return 1 / x;
}
static long double negated(long double x)
{
	return -x;
}
static long double sign(long double x)
{
	return (x > 0) - (x < 0);
}
static long double logistic(long double x)
{
	return 1 / (1 + expl(-x));
}

static const struct {
	enum npl_op op;
	long double (*formula)(long double);
} formulas[] = {
	{NPL_OP_LEAKYRELU, leaky_relu},
	{NPL_OP_ELU, elu},
	{NPL_OP_SELU, selu},
	{NPL_OP_CELU, elu}, /* the same at alpha 1 */
	{NPL_OP_HARDSIGMOID, hard_sigmoid},
	{NPL_OP_HARDSWISH, hard_swish},
	{NPL_OP_SOFTPLUS, softplus},
	{NPL_OP_SOFTSIGN, softsign},
	{NPL_OP_THRESHOLDEDRELU, thresholded_relu},
	{NPL_OP_SHRINK, shrink},
	{NPL_OP_ERF, erfl},
	{NPL_OP_SQRT, sqrtl},
	{NPL_OP_EXP, expl},
	{NPL_OP_LOG, logl},
	{NPL_OP_RECIPROCAL, reciprocal},
	{NPL_OP_SIN, sinl},
	{NPL_OP_COS, cosl},
	{NPL_OP_TAN, tanl},
	{NPL_OP_ASIN, asinl},
	{NPL_OP_ACOS, acosl},
	{NPL_OP_ATAN, atanl},
	{NPL_OP_SINH, sinhl},
	{NPL_OP_COSH, coshl},
	{NPL_OP_ASINH, asinhl},
	{NPL_OP_ACOSH, acoshl},
	{NPL_OP_ATANH, atanhl},
	{NPL_OP_FLOOR, floorl},
	{NPL_OP_CEIL, ceill},
	{NPL_OP_ROUND, rintl},
	{NPL_OP_ABS, fabsl},
	{NPL_OP_NEG, negated},
	{NPL_OP_SIGN, sign},
	{NPL_OP_SIGMOID, logistic},
	{NPL_OP_TANH, tanhl},
};

/* float, double and, rounded once more, the 16-bit floats */
Test(ops_elementwise, results_are_near_the_formulas)
{
	uint64_t seed = SEED;
	static const struct {
		enum npl_dtype dtype;
		long double step;
	} types[] = {{NPL_F32, 0x1p-23L}, {NPL_F64, 0x1p-52L}, {NPL_F16, 0x1p-10L}, {NPL_BF16, 0x1p-7L}};
	for (size_t f = 0; f < 4 * (sizeof formulas / sizeof *formulas); f++) {
		enum npl_op op = formulas[f / 4].op;
		enum npl_dtype dtype = types[f % 4].dtype;
		struct npl_tensor x = test_tensor(dtype, npl_shape_of(2, 9, 11));
		for (int64_t i = 0; i < 99; i++) {
			double v = i < 13 ? (double)(i - 6) / 2 : (double)test_range(&seed, -4000, 4000) / 1000;
			const float single = (float)v;
			if (dtype == NPL_F64)
				((double *)x.data)[i] = v;
			else if (dtype == NPL_F32)
				((float *)x.data)[i] = single;
			else
				npl_half_narrow(dtype, &single, 1, (uint16_t *)x.data + i);
		}
		struct npl_tensor out = result_of(op, &x, NULL);
		cr_assert(out.dtype == dtype && npl_shape_equal(&out.shape, &x.shape));
		for (int64_t i = 0; i < 99; i++) {
			long double expected = formulas[f / 4].formula((long double)npl_tensor_real(&x, i)),
				    actual = (long double)npl_tensor_real(&out, i);
			if (dtype == NPL_F16 && fabsl(expected) >= 65520.0L)
				expected = copysignl(INFINITY, expected);
			/* two roundings where the loop computes in the type itself; small results lose to a sum */
			cr_assert(actual == expected || (isnan(actual) && isnan(expected)) ||
					  fabsl(actual - expected) <=
						  3 * types[f % 4].step *
							  (fabsl(expected) +
							   (op == NPL_OP_HARDSWISH || op == NPL_OP_HARDSIGMOID)),
				  "%s of %s %.17Lg is %.17Lg, expected %.17Lg", npl_op_defs[op].name,
				  npl_dtype_name(dtype), (long double)npl_tensor_real(&x, i), actual, expected);
		}
		test_release(&out);
		npl_tensor_free(&x);
	}
}

Test(ops_elementwise, attributes_change_the_formula)
{
	const struct {
		enum npl_op op;
		struct npl_attr attr[2];
		int n;
		float expected[4]; /* of -2, -0.5, 0.5, 2 */
	} cases[] = {
		{NPL_OP_LEAKYRELU, {ATTR_FLOAT("alpha", 0.5f)}, 1, {-1, -0.25f, 0.5f, 2}},
		{NPL_OP_ELU, {ATTR_FLOAT("alpha", 2)}, 1, {-1.72932943f, -0.786938681f, 0.5f, 2}},
		{NPL_OP_SELU,
		 {ATTR_FLOAT("alpha", 2), ATTR_FLOAT("gamma", 3)},
		 2,
		 {-5.1879883f, -2.36081604f, 1.5f, 6}},
		{NPL_OP_CELU, {ATTR_FLOAT("alpha", 2)}, 1, {-1.26424112f, -0.442398434f, 0.5f, 2}},
		{NPL_OP_HARDSIGMOID, {ATTR_FLOAT("alpha", 0.5f), ATTR_FLOAT("beta", 0.25f)}, 2, {0, 0, 0.5f, 1}},
		{NPL_OP_THRESHOLDEDRELU, {ATTR_FLOAT("alpha", -1)}, 1, {0, -0.5f, 0.5f, 2}},
		{NPL_OP_SHRINK, {ATTR_FLOAT("lambd", 1), ATTR_FLOAT("bias", 0.25f)}, 2, {-1.75f, 0, 0, 1.75f}},
	};
	struct npl_tensor x = vector(NPL_F32, 4, (float[]){-2, -0.5f, 0.5f, 2});
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_attr attr[2] = {cases[i].attr[0], cases[i].attr[1]};
		struct npl_attrs attrs = attrs_of(cases[i].op, 13, attr, cases[i].n);
		struct npl_tensor out = test_run(cases[i].op, &attrs, (const struct npl_tensor *[]){&x}, 1);
		test_equal_floats(out.data, cases[i].expected, 4, npl_op_defs[cases[i].op].name, 0);
		test_release(&out);
	}
	struct npl_attr zero = ATTR_FLOAT("alpha", 0);
	struct npl_attrs attrs = {.opset = 13};
	cr_assert_eq(npl_op_attrs(NPL_OP_CELU, &(struct npl_attr_list){&zero, 1}, &attrs, NULL), NPL_EINPUT);
}

Test(ops_elementwise, not_a_number_and_infinity)
{
	float data[] = {NAN, INFINITY, -INFINITY, 0, -1};
	struct npl_tensor x = vector(NPL_F32, 5, data), out = result_of(NPL_OP_ISNAN, &x, NULL);
	cr_assert(out.dtype == NPL_BOOL);
	cr_assert_arr_eq(out.data, ((const uint8_t[]){1, 0, 0, 0, 0}), 5);
	test_release(&out);
	for (int64_t variant = 0; variant < 4; variant++) {
		struct npl_attr attr[] = {ATTR_INT("detect_negative", variant & 1),
					  ATTR_INT("detect_positive", variant >> 1)};
		struct npl_attrs attrs = attrs_of(NPL_OP_ISINF, 10, attr, 2);
		out = test_run(NPL_OP_ISINF, &attrs, (const struct npl_tensor *[]){&x}, 1);
		cr_assert_arr_eq(out.data, ((const uint8_t[]){0, (uint8_t)(variant >> 1), variant & 1, 0, 0}), 5);
		test_release(&out);
	}
	static const enum npl_op passing[] = {NPL_OP_LEAKYRELU, NPL_OP_ELU,      NPL_OP_CELU, NPL_OP_HARDSIGMOID,
					      NPL_OP_SIGN,      NPL_OP_SOFTPLUS, NPL_OP_ABS,  NPL_OP_SQRT,
					      NPL_OP_ERF,       NPL_OP_RELU};
	for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
		out = result_of(passing[i], &x, NULL);
		cr_assert(isnan(*(float *)out.data), "%s of NaN", npl_op_defs[passing[i]].name);
		test_release(&out);
	}
}

/* Operators on integers, in 128 bits; `other` is Mod's fmod, BitShift's left. */
static int128 whole_result(enum npl_op op, int128 x, int128 y, int bits, bool other)
{
	switch (op) {
	case NPL_OP_SUB:
		return x - y;
	case NPL_OP_DIV:
		return y ? x / y : 0;
	case NPL_OP_MOD:
		return !y ? 0 : other || x % y == 0 || (x < 0) == (y < 0) ? x % y : x % y + y;
	case NPL_OP_MIN:
		return x < y ? x : y;
	case NPL_OP_MAX:
		return x > y ? x : y;
	case NPL_OP_EQUAL:
		return x == y;
	case NPL_OP_LESS:
		return x < y;
	case NPL_OP_LESSOREQUAL:
		return x <= y;
	case NPL_OP_GREATER:
		return x > y;
	case NPL_OP_GREATEROREQUAL:
		return x >= y;
	case NPL_OP_ABS:
		return x < 0 ? -x : x;
	case NPL_OP_NEG:
		return -x;
	case NPL_OP_SIGN:
		return (x > 0) - (x < 0);
	case NPL_OP_PRELU:
		return x < 0 ? x * y : x;
	case NPL_OP_BITSHIFT:
		return y >= bits ? 0 : other ? x << (int)y : x >> (int)y;
	default:
		return -1;
	}
}

Test(ops_elementwise, integers_follow_their_definitions)
{
	static const enum npl_op ops[] = {
		NPL_OP_SUB,   NPL_OP_DIV,  NPL_OP_MOD,         NPL_OP_MIN,     NPL_OP_MAX,
		NPL_OP_EQUAL, NPL_OP_LESS, NPL_OP_LESSOREQUAL, NPL_OP_GREATER, NPL_OP_GREATEROREQUAL,
		NPL_OP_ABS,   NPL_OP_NEG,  NPL_OP_SIGN,        NPL_OP_PRELU,   NPL_OP_BITSHIFT};
	uint64_t seed = SEED + 1;
	for (int i = 0; i < 15 * N_INTEGERS * 4; i++) {
		enum npl_op op = ops[i % 15];
		enum npl_dtype dtype = integers[i / 15 % N_INTEGERS];
		bool other = i / 15 / N_INTEGERS & 1; /* Mod fmod, BitShift left */
		int bits = 8 * (int)npl_dtype_size(dtype);
		if (op == NPL_OP_BITSHIFT && i / 15 % 2 == 0)
			continue; /* signed */
		struct npl_tensor a = test_random_tensor(&seed, dtype, npl_shape_of(2, 6, 20)),
				  b = test_random_tensor(&seed, dtype, npl_shape_of(1, i & 16 ? 20 : 1));
		for (int64_t k = 0; k < npl_tensor_count(&b); k++) { /* 0, -1 and shifts in range turn up */
			uint64_t small = (uint64_t)test_range(&seed, -3, 9);
			if (test_range(&seed, 0, 1))
				memcpy((char *)b.data + (size_t)k * npl_dtype_size(dtype), &small,
				       npl_dtype_size(dtype));
		}
		uint64_t minimum = (uint64_t)1 << (bits - 1);
		memcpy(a.data, &minimum, npl_dtype_size(dtype));
		bool unary = npl_op_defs[op].max_in == 1;
		struct npl_attr attr = op == NPL_OP_MOD ? ATTR_INT("fmod", other)
							: ATTR_STRING("direction", other ? "LEFT" : "RIGHT");
		struct npl_attrs attrs = attrs_of(op, 17, &attr, op == NPL_OP_MOD || op == NPL_OP_BITSHIFT);
		struct npl_tensor out = test_run(op, &attrs, (const struct npl_tensor *[]){&a, &b}, unary ? 1 : 2);
		for (int64_t k = 0; k < 120; k++) {
			int128 expected = whole_result(op, whole_at(&a, k), whole_at(&b, k % b.shape.dim[0]), bits,
						       other);
			uint64_t mask = out.dtype == NPL_BOOL ? 255
					: bits == 64          ? UINT64_MAX
							      : ((uint64_t)1 << bits) - 1;
			cr_assert_eq(bits_of(&out, k), (uint64_t)expected & mask, "%s of %s %lld and %lld",
				     npl_op_defs[op].name, npl_dtype_name(dtype), (long long)op_whole(&a, k),
				     (long long)op_whole(&b, k % b.shape.dim[0]));
		}
		test_release(&out);
		npl_tensor_free(&a);
		npl_tensor_free(&b);
	}
}

Test(ops_elementwise, floats_of_two_operands)
{
	float x[] = {1, NAN, -3, INFINITY, 5.5f, -5.5f, 7, 0}, y[] = {2, 1, NAN, INFINITY, -2, 2, 0, 0};
	struct npl_tensor a = vector(NPL_F32, 8, x), b = vector(NPL_F32, 8, y);
	static const struct {
		enum npl_op op;
		float expected[8];
	} cases[] = {
		{NPL_OP_SUB, {-1, NAN, NAN, NAN, 7.5f, -7.5f, 7, 0}},
		{NPL_OP_DIV, {0.5f, NAN, NAN, NAN, -2.75f, -2.75f, INFINITY, NAN}},
		{NPL_OP_MIN, {1, NAN, NAN, INFINITY, -2, -5.5f, 0, 0}},
		{NPL_OP_MAX, {2, NAN, NAN, INFINITY, 5.5f, 2, 7, 0}},
		{NPL_OP_MEAN, {1.5f, NAN, NAN, INFINITY, 1.75f, -1.75f, 3.5f, 0}},
		{NPL_OP_MOD, {1, NAN, NAN, NAN, 1.5f, -1.5f, NAN, NAN}},
		{NPL_OP_POW, {1, NAN, NAN, INFINITY, 1 / 30.25f, 30.25f, 1, 1}},
		{NPL_OP_PRELU, {1, NAN, NAN, INFINITY, 5.5f, -11, 7, 0}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_attr fmod = ATTR_INT("fmod", 1);
		struct npl_attrs attrs = attrs_of(cases[i].op, 13, &fmod, cases[i].op == NPL_OP_MOD);
		struct npl_tensor out = test_run(cases[i].op, &attrs, (const struct npl_tensor *[]){&a, &b}, 2);
		test_equal_floats(out.data, cases[i].expected, 8, npl_op_defs[cases[i].op].name, 0);
		test_release(&out);
	}
	struct npl_tensor out = result_of(NPL_OP_LESS, &a, &b);
	cr_assert_arr_eq(out.data, ((const uint8_t[]){1, 0, 0, 0, 0, 1, 0, 0}), 8);
	test_release(&out);
	out = result_of(NPL_OP_GREATEROREQUAL, &a, &b);
	cr_assert_arr_eq(out.data, ((const uint8_t[]){0, 0, 0, 1, 1, 0, 1, 1}), 8);
	test_release(&out);
	refused(NPL_OP_MOD, attrs_of(NPL_OP_MOD, 13, NULL, 0), &a, &b, "inputs are float32, expected integers");
}

Test(ops_elementwise, logic_follows_its_tables)
{
	uint8_t x[] = {0, 0, 1, 255}, y[] = {0, 2, 0, 1};
	struct npl_tensor a = vector(NPL_BOOL, 4, x), b = vector(NPL_BOOL, 4, y);
	static const struct {
		enum npl_op op;
		uint8_t expected[4];
	} cases[] = {{NPL_OP_AND, {0, 0, 0, 1}},
		     {NPL_OP_OR, {0, 1, 1, 1}},
		     {NPL_OP_XOR, {0, 1, 1, 0}},
		     {NPL_OP_EQUAL, {1, 0, 0, 1}},
		     {NPL_OP_NOT, {1, 1, 0, 0}}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_tensor out = result_of(cases[i].op, &a, cases[i].op == NPL_OP_NOT ? NULL : &b);
		cr_assert(out.dtype == NPL_BOOL);
		cr_assert_arr_eq(out.data, cases[i].expected, 4, "%s", npl_op_defs[cases[i].op].name);
		test_release(&out);
	}
	refused(NPL_OP_LESS, (struct npl_attrs){.opset = 13}, &a, &b, "inputs are bool, expected numbers");
	refused(NPL_OP_BITSHIFT, (struct npl_attrs){.opset = 13}, &a, &b, "expected unsigned integers");
	refused(NPL_OP_ERF, (struct npl_attrs){.opset = 13}, &a, NULL, "input 0 is bool, expected floats");
	refused(NPL_OP_ABS, (struct npl_attrs){.opset = 13}, &a, NULL, "input 0 is bool, expected numbers");
	a.dtype = NPL_F32;
	refused(NPL_OP_NOT, (struct npl_attrs){.opset = 13}, &a, NULL, "input 0 is float32, expected bool");
}

/* Min, Max and Mean of three that broadcast; none broadcasts before opset 8. */
Test(ops_elementwise, min_max_and_mean_broadcast_from_opset_8)
{
	struct npl_tensor a = {.dtype = NPL_F64, .shape = npl_shape_of(2, 2, 1), .data = (double[]){1, 8}},
			  b = {.dtype = NPL_F64, .shape = npl_shape_of(1, 3), .data = (double[]){0, 3, 9}},
			  c = {.dtype = NPL_F64, .data = (double[]){5}};
	const struct npl_tensor *in[] = {&a, &b, &c};
	static const enum npl_op ops[] = {NPL_OP_MIN, NPL_OP_MAX, NPL_OP_MEAN};
	static const double expected[3][6] = {
		{0, 1, 1, 0, 3, 5}, {5, 5, 9, 8, 8, 9}, {2, 3, 5, 13 / 3.0, 16 / 3.0, 22 / 3.0}};
	for (int i = 0; i < 3; i++) {
		struct npl_attrs attrs = {.opset = 8};
		struct npl_tensor out = test_run(ops[i], &attrs, in, 3), one = test_run(ops[i], &attrs, in, 1);
		cr_assert_arr_eq(out.data, expected[i], sizeof expected[i], "%s", npl_op_defs[ops[i]].name);
		cr_assert_arr_eq(one.data, a.data, 16);
		test_release(&out);
		test_release(&one);
		refused(ops[i], (struct npl_attrs){.opset = 7}, &a, &b, "broadcasts only from opset 8");
	}
	a.dtype = NPL_I32;
	refused(NPL_OP_MEAN, (struct npl_attrs){.opset = 13}, &a, &a, "inputs are int32, expected floats");
}

/* Before opset 7 slopes are one for each channel; from then on they broadcast to the input, never the other way. */
/* The first two operands both repeat along a dimension that only the third has. */
Test(ops_elementwise, variadic_that_a_third_operand_widens)
{
	float a[] = {1}, b[] = {10}, c[] = {100, 200, 300};
	struct npl_tensor x = vector(NPL_F32, 1, a), y = vector(NPL_F32, 1, b), z = vector(NPL_F32, 3, c);
	struct npl_attrs attrs = attrs_of(NPL_OP_SUM, 13, NULL, 0);
	struct npl_tensor out = test_run(NPL_OP_SUM, &attrs, (const struct npl_tensor *[]){&x, &y, &z}, 3);
	for (int i = 0; i < 3; i++)
		cr_assert_eq((int)((float *)out.data)[i], 111 + 100 * i);
	test_release(&out);
}

Test(ops_elementwise, prelu_places_slopes_by_opset)
{
	uint64_t seed = SEED + 2;
	struct npl_tensor x = test_random_tensor(&seed, NPL_F32, npl_shape_of(3, 2, 3, 4)),
			  slope = test_random_tensor(&seed, NPL_F32, npl_shape_of(1, 3)),
			  placed = {.dtype = NPL_F32, .shape = npl_shape_of(2, 3, 1), .data = slope.data};
	for (int opset = 6; opset <= 7; opset++) {
		struct npl_attrs attrs = {.opset = opset};
		struct npl_tensor out = test_run(NPL_OP_PRELU, &attrs,
						 (const struct npl_tensor *[]){&x, opset == 6 ? &slope : &placed}, 2);
		for (int64_t i = 0; i < 24; i++) {
			float v = ((float *)x.data)[i], expected = v < 0 ? v * ((float *)slope.data)[i / 4 % 3] : v;
			test_equal_floats((float *)out.data + i, &expected, 1, "PRelu", SEED + 2);
		}
		test_release(&out);
	}
	refused(NPL_OP_PRELU, (struct npl_attrs){.opset = 7}, &x, &slope, "do not broadcast");
	refused(NPL_OP_PRELU, (struct npl_attrs){.opset = 7}, &slope, &x, "do not broadcast");
	refused(NPL_OP_PRELU, (struct npl_attrs){.opset = 7}, &placed, &x, "broadcast");
	npl_tensor_free(&x);
	npl_tensor_free(&slope);
}

/* All three broadcast against each other, elements of every size. */
Test(ops_elementwise, where_broadcasts_all_three)
{
	static const enum npl_dtype types[] = {NPL_BOOL, NPL_I8, NPL_F16, NPL_F32, NPL_F64, NPL_I64};
	uint64_t seed = SEED + 3;
	for (int i = 0; i < 300; i++) {
		struct npl_shape full = npl_shape_of(4, test_range(&seed, 1, 3), test_range(&seed, 1, 4),
						     test_range(&seed, 1, 3), test_range(&seed, 0, 5)),
				 shape[3];
		for (int k = 0; k < 3; k++) {
			shape[k] = full;
			for (int d = 0; d < 4; d++)
				if (k != i % 3 && test_range(&seed, 0, 1))
					shape[k].dim[d] = 1;
		}
		struct npl_tensor t[3] = {test_random_tensor(&seed, NPL_BOOL, shape[0]),
					  test_random_tensor(&seed, types[i % 6], shape[1]),
					  test_random_tensor(&seed, types[i % 6], shape[2])};
		for (int64_t e = 0; e < npl_tensor_count(&t[0]); e++)
			((uint8_t *)t[0].data)[e] &= 2;
		struct npl_attrs attrs = {.opset = 16};
		struct npl_tensor out = test_run(NPL_OP_WHERE, &attrs,
						 (const struct npl_tensor *[]){&t[0], &t[1], &t[2]}, 3);
		cr_assert(npl_shape_equal(&out.shape, &full) && out.dtype == types[i % 6]);
		for (int64_t e = 0; e < npl_tensor_count(&out); e++) {
			int64_t index[NPL_MAX_RANK];
			test_unravel(&full, e, index);
			const struct npl_tensor *from = bits_of(&t[0], test_ravel(&shape[0], &full, index)) ? &t[1]
													    : &t[2];
			cr_assert_eq(bits_of(&out, e), bits_of(from, test_ravel(&from->shape, &full, index)), "case %d",
				     i);
		}
		test_release(&out);
		for (int k = 0; k < 3; k++)
			npl_tensor_free(&t[k]);
	}
	struct npl_tensor f = vector(NPL_F32, 1, NULL), b = vector(NPL_BOOL, 1, NULL);
	refused(NPL_OP_WHERE, (struct npl_attrs){.opset = 16}, &f, &f, "input 0 is float32, expected bool");
	b.shape.dim[0] = 3;
	f.shape.dim[0] = 2;
	refused(NPL_OP_WHERE, (struct npl_attrs){.opset = 16}, &b, &f, "do not broadcast");
}

/* Tensors without elements and scalars go through all of them. */
Test(ops_elementwise, empty_tensors_and_scalars)
{
	for (int op = NPL_OP_NONE + 1; op < NPL_OPS; op++) {
		const struct npl_op_def *def = &npl_op_defs[op];
		const bool of_bits = op == NPL_OP_BITSHIFT || op == NPL_OP_BITWISEAND || op == NPL_OP_BITWISEOR ||
				     op == NPL_OP_BITWISEXOR || op == NPL_OP_BITWISENOT;
		if (op < NPL_OP_LEAKYRELU || op > NPL_OP_CASTLIKE || of_bits)
			continue;
		for (int rank = 0; rank < 2; rank++) {
			bool logic = op == NPL_OP_AND || op == NPL_OP_OR || op == NPL_OP_XOR || op == NPL_OP_NOT;
			struct npl_tensor x = test_tensor(logic ? NPL_BOOL : NPL_F32, (struct npl_shape){.rank = rank});
			struct npl_tensor condition = test_tensor(NPL_BOOL, (struct npl_shape){.rank = 0});
			const struct npl_tensor *in[] = {op == NPL_OP_WHERE ? &condition : &x, &x, &x};
			struct npl_attr attr[] = {ATTR_INT("to", 7), ATTR_INT("fmod", 1)};
			struct npl_attrs attrs = attrs_of((enum npl_op)op, 17, op == NPL_OP_MOD ? &attr[1] : attr,
							  op == NPL_OP_CAST || op == NPL_OP_MOD);
			struct npl_tensor out = test_run((enum npl_op)op, &attrs, in,
							 def->max_in < 0 ? 3 : def->max_in);
			cr_assert_eq(npl_tensor_count(&out), !rank, "%s", def->name);
			test_release(&out);
			npl_tensor_free(&x);
			npl_tensor_free(&condition);
		}
	}
}
