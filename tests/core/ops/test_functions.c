/* SPDX-License-Identifier: MIT
 *
 * Promises: Sigmoid and Tanh are the nearest float to the true value, or the one beside it where that is all but half
 * way, on the whole range, infinities and NaN included; Clip is the comparison with each limit in turn for every number
 * type, with limits as attributes, as inputs, absent or the wrong way round, and tells which limits are constant. */
#include "tests/kit/ops_support.h"

#include <float.h>
#include <math.h>

#define SEED 0x5eed2001u

static float value_of(enum npl_op op, float x)
{
	struct npl_tensor in = {.dtype = NPL_F32, .shape = npl_shape_of(1, 1), .data = &x};
	const struct npl_tensor *inputs[] = {&in};
	struct npl_attrs attrs = {.opset = 13};
	struct npl_tensor out = test_run(op, &attrs, inputs, 1);
	float y = *(float *)out.data;
	test_release(&out);
	return y;
}

/* Within 0.51 units of the last place. */
static void check_function(enum npl_op op, float x)
{
	long double expected = op == NPL_OP_TANH ? tanhl((long double)x) : 1.0L / (1.0L + expl(-(long double)x));
	float y = value_of(op, x), nearest = (float)expected;
	long double place = (long double)nextafterf(fabsf(nearest), INFINITY) - (long double)fabsf(nearest);
	cr_assert(fabsl((long double)y - expected) <= 0.51L * place, "%s(%a) is %a, expected %La", npl_op_defs[op].name,
		  (double)x, (double)y, expected);
}

Test(ops_functions, sigmoid_and_tanh_are_near_their_definition)
{
	uint64_t seed = SEED;
	for (int i = 0; i < 20000; i++) {
		double size = pow(2, (double)test_range(&seed, -40000, 7000) / 1000);
		float x = (float)(i & 1 ? size : -size);
		check_function(NPL_OP_TANH, x);
		check_function(NPL_OP_SIGMOID, x);
	}
	for (int around = -2; around <= 2; around++) /* where Tanh changes its formula */
		check_function(NPL_OP_TANH, (float)(0x1p-12 * (1 + around * 0x1p-23)));
	cr_assert(value_of(NPL_OP_SIGMOID, INFINITY) == 1 && value_of(NPL_OP_SIGMOID, -INFINITY) == 0);
	cr_assert(value_of(NPL_OP_TANH, INFINITY) == 1 && value_of(NPL_OP_TANH, -INFINITY) == -1);
	cr_assert(isnan(value_of(NPL_OP_SIGMOID, NAN)) && isnan(value_of(NPL_OP_TANH, NAN)));
	cr_assert(value_of(NPL_OP_SIGMOID, 0) == 0.5f && value_of(NPL_OP_SIGMOID, -0.0f) == 0.5f);
	cr_assert(signbit(value_of(NPL_OP_TANH, -0.0f)) && !signbit(value_of(NPL_OP_TANH, 0.0f)));
	cr_assert(value_of(NPL_OP_TANH, FLT_TRUE_MIN) == FLT_TRUE_MIN && value_of(NPL_OP_TANH, -FLT_MIN) == -FLT_MIN);
	cr_assert(value_of(NPL_OP_SIGMOID, -FLT_MAX) == 0 && value_of(NPL_OP_SIGMOID, FLT_MAX) == 1);
}

static double number_at(const struct npl_tensor *t, int64_t i)
{
	switch (t->dtype) {
	case NPL_F32:
		return (double)((float *)t->data)[i];
	case NPL_F64:
		return ((double *)t->data)[i];
	case NPL_I8:
		return ((int8_t *)t->data)[i];
	case NPL_U8:
		return ((uint8_t *)t->data)[i];
	case NPL_I16:
		return ((int16_t *)t->data)[i];
	case NPL_I32:
		return ((int32_t *)t->data)[i];
	default:
		return (double)((int64_t *)t->data)[i];
	}
}

/* Integers of 64 bits are kept below 2^52, so that a double holds them. */
static struct npl_tensor draw(uint64_t *seed, enum npl_dtype dtype, struct npl_shape shape)
{
	struct npl_tensor t = test_random_tensor(seed, dtype, shape);
	for (int64_t i = 0; dtype == NPL_I64 && i < npl_tensor_count(&t); i++)
		((int64_t *)t.data)[i] >>= 12;
	return t;
}

Test(ops_functions, clip_with_limits_as_inputs)
{
	static const enum npl_dtype types[] = {NPL_F32, NPL_F64, NPL_I8, NPL_U8, NPL_I16, NPL_I32, NPL_I64};
	uint64_t seed = SEED;
	for (int i = 0; i < 700; i++) {
		enum npl_dtype dtype = types[i % 7];
		struct npl_tensor x = draw(&seed, dtype, npl_shape_of(2, 5, 7));
		struct npl_tensor limit[2] = {draw(&seed, dtype, (struct npl_shape){.rank = 0}),
					      draw(&seed, dtype, npl_shape_of(1, 1))};
		bool has[2] = {test_range(&seed, 0, 3), test_range(&seed, 0, 3)};
		const struct npl_tensor *in[] = {&x, has[0] ? &limit[0] : NULL, has[1] ? &limit[1] : NULL};
		struct npl_attrs attrs = {.opset = (int)test_range(&seed, 11, 13)};
		struct npl_attr_list none = {NULL, 0};
		struct npl_err err = {0};
		cr_assert_eq(npl_op_attrs(NPL_OP_CLIP, &none, &attrs, &err), 0);
		struct npl_tensor out = test_run(NPL_OP_CLIP, &attrs, in, 3);
		cr_assert(attrs.clip.known);
		cr_assert_eq(attrs.clip.min, has[0] ? (float)number_at(&limit[0], 0) : -INFINITY);
		cr_assert_eq(attrs.clip.max, has[1] ? (float)number_at(&limit[1], 0) : INFINITY);
		for (int64_t e = 0; e < npl_tensor_count(&x); e++) {
			double expected = number_at(&x, e);
			if (has[0] && expected < number_at(&limit[0], 0))
				expected = number_at(&limit[0], 0);
			if (has[1] && expected > number_at(&limit[1], 0))
				expected = number_at(&limit[1], 0);
			cr_assert(number_at(&out, e) >= expected && number_at(&out, e) <= expected,
				  "%s, case %d, element %d: %.17g, expected %.17g", npl_dtype_name(dtype), i, (int)e,
				  number_at(&out, e), expected);
		}
		test_release(&out);
		npl_tensor_free(&x);
		npl_tensor_free(&limit[0]);
		npl_tensor_free(&limit[1]);
	}
}

/* The same from attributes and from inputs; a limit that the network computes is not known. */
Test(ops_functions, clip_takes_limits_from_attributes_and_inputs)
{
	float values[] = {-INFINITY, -7, -0.0f, 0.5f, 5.999f, 6, 6.001f, INFINITY, NAN}, low = 0, high = 6;
	float expected[] = {0, 0, -0.0f, 0.5f, 5.999f, 6, 6, 6, NAN};
	struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(1, 9), .data = values},
			  min = {.dtype = NPL_F32, .data = &low}, max = {.dtype = NPL_F32, .data = &high};
	const struct npl_tensor *in[] = {&x, &min, &max};
	struct npl_attr attr[] = {ATTR_FLOAT("min", 0), ATTR_FLOAT("max", 6)};
	for (int form = 0; form < 2; form++) {
		struct npl_attr_list list = {attr, form ? 0 : 2};
		struct npl_attrs attrs = {.opset = form ? 13 : 6};
		struct npl_err err = {0};
		cr_assert_eq(npl_op_attrs(NPL_OP_CLIP, &list, &attrs, &err), 0, "%s", err.msg);
		struct npl_tensor out = test_run(NPL_OP_CLIP, &attrs, in, form ? 3 : 1);
		cr_assert(attrs.clip.known && attrs.clip.min == 0 && attrs.clip.max == 6);
		test_equal_floats(out.data, expected, 9, form ? "inputs" : "attributes", 0);
		test_release(&out);
		min.data = NULL;
		cr_assert_eq(npl_op_shape(NPL_OP_CLIP, &attrs, in, form ? 3 : 1, &out, 1, &err), 0);
		cr_assert_eq(attrs.clip.known, !form);
		min.data = &low;
	}
}
