/* SPDX-License-Identifier: MIT
 *
 * Promises: Cast and CastLike follow their rules (cast.h) for every pair of types, Pow those of its own for integers;
 * element types that are not supported are refused by name. */
#include "tests/kit/elementwise_support.h"

#include <math.h>

#include "core/base/dtype.h"
#include "core/base/half.h"

#define SEED 0x5eed5001u

Test(ops_cast, powers_of_integers_are_exact_or_wrap)
{
	static const struct {
		enum npl_dtype base, exponent;
		double x, y;
		uint64_t expected;
	} cases[] = {
		{NPL_I64, NPL_I64, 3, 39, 4052555153018976267},
		{NPL_I64, NPL_F32, 3, 39, 4052555153018976267},
		{NPL_I32, NPL_I64, -3, 3, (uint32_t)-27},
		{NPL_I8, NPL_I8, 2, 7, 128},  /* wraps to -128 */
		{NPL_U8, NPL_U64, 3, 6, 217}, /* 729 - 512 */
		{NPL_I32, NPL_I32, 2, -1, 0},
		{NPL_I32, NPL_I32, -1, -3, UINT32_MAX},
		{NPL_I32, NPL_F64, -1, -4, 1},
		{NPL_I32, NPL_I32, 0, -2, 0},
		{NPL_I32, NPL_I32, 0, 0, 1},
		{NPL_U16, NPL_I8, 65535, -1, 0},
		{NPL_U64, NPL_I8, 1, -5, 1},
		{NPL_I32, NPL_F32, 9, 0.5, 3},
		{NPL_I32, NPL_F64, 10, 1.5, 31},
		{NPL_I32, NPL_F64, -8, 0.5, 0}, /* NaN */
		{NPL_I32, NPL_F16, 7, 2, 49},
		{NPL_F32, NPL_I64, -2, 3, 0xc1000000},
		{NPL_F16, NPL_F32, 3, 2, 0x4880},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_tensor number = {.dtype = NPL_F64}, a, b;
		struct npl_attrs cast = {.opset = 13};
		number.data = (double[]){cases[i].x};
		cast.cast.to = cases[i].base;
		a = test_run(NPL_OP_CAST, &cast, (const struct npl_tensor *[]){&number}, 1);
		number.data = (double[]){cases[i].y};
		cast.cast.to = cases[i].exponent;
		b = test_run(NPL_OP_CAST, &cast, (const struct npl_tensor *[]){&number}, 1);
		struct npl_tensor out = result_of(NPL_OP_POW, &a, &b);
		cr_assert_eq(out.dtype, cases[i].base);
		cr_assert_eq(bits_of(&out, 0), cases[i].expected, "case %zu: %g ^ %g is %llx", i, cases[i].x,
			     cases[i].y, (unsigned long long)bits_of(&out, 0));
		if (cases[i].base != cases[i].exponent)
			refused(NPL_OP_POW, (struct npl_attrs){.opset = 7, .binary.axis = -1}, &a, &b,
				"came with opset 12");
		test_release(&a);
		test_release(&b);
		test_release(&out);
	}
}

/* What Cast's rules say of x, in long double, which holds every value of every type; the nearest of a float is the work
 * of the compiler's own cast, or of a search among the 16-bit floats. */
static uint64_t half_nearest(enum npl_dtype to, long double x)
{
	uint64_t best = 0;
	long double minimum = INFINITY;
	if (isnan(x))
		return UINT64_MAX;
	for (uint64_t bits = 0; bits < 0x8000; bits++) { /* of two equally near ones the even one */
		float v = to == NPL_F16 ? npl_f16_to_float((uint16_t)bits) : npl_bf16_to_float((uint16_t)bits);
		bool over = isinf(v);
		long double size = !over ? (long double)v : to == NPL_F16 ? 65536.0L : 0x1p128L, off;
		if (isnan(v))
			break;
		off = fabsl(size - fabsl(x));
		if (isinf(x) ? over : off < minimum || (off == minimum && !(bits & 1))) {
			minimum = off;
			best = bits;
		}
		if (over)
			break;
	}
	return best | (signbit(x) ? 0x8000 : 0);
}

static uint64_t cast_of(enum npl_dtype from, enum npl_dtype to, long double x)
{
	bool whole = npl_is_integer(from) || from == NPL_BOOL;
	uint64_t bits = 0;
	if (to == NPL_BOOL)
		return x != 0;
	if (npl_is_integer(to)) {
		int width = 8 * (int)npl_dtype_size(to);
		bool is_signed = to == NPL_I8 || to == NPL_I16 || to == NPL_I32 || to == NPL_I64;
		long double end = ldexpl(1, width - is_signed), low = is_signed ? -end : 0;
		uint64_t mask = UINT64_MAX >> (64 - width);
		if (!whole)
			x = isnan(x) ? 0 : x < low ? low : x > end - 1 ? end - 1 : truncl(x);
		return (x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x) & mask;
	}
	if (to == NPL_F32)
		memcpy(&bits, &(float){(float)x}, 4);
	else if (to == NPL_F64)
		memcpy(&bits, &(double){(double)x}, 8);
	else
		bits = half_nearest(to, x);
	return bits;
}

static long double exact_at(const struct npl_tensor *t, int64_t i)
{
	return npl_is_integer(t->dtype) ? (long double)whole_at(t, i) : (long double)npl_tensor_real(t, i);
}

/* Every pair of types, on the ends of ranges, halves, infinities, NaN and random bits. */
Test(ops_cast, casts_of_every_pair_of_types_are_right)
{
	static const double at[] = {
		0,        -0.0,         0.5,           -0.5,    1,       -1,         127.9,        128,   -128.5,
		255.9,    256,          32768,         65519.9, 65520,   2147483647, 2147483648.0, -3e9,  4294967296.0,
		0x1p63,   -0x1p63,      0x1.fffffep63, 0x1p64,  -0x1p64, 1e30,       -1e30,        1e300, 3.4e38,
		0x1.01p0, 0x1.010001p0, 0x1.03p-3,     1e-8,    1e-40};
	uint64_t seed = SEED + 4;
	for (int from = 0; from < NPL_DTYPES; from++) {
		struct npl_tensor x = test_random_tensor(&seed, (enum npl_dtype)from, npl_shape_of(1, 48));
		if (from == NPL_BOOL)
			for (int i = 0; i < 48; i++)
				((uint8_t *)x.data)[i] &= 1;
		for (size_t i = 0; i < sizeof at / sizeof *at && (from == NPL_F32 || from == NPL_F64); i++) {
			if (from == NPL_F32)
				((float *)x.data)[i] = (float)at[i];
			else
				((double *)x.data)[i] = at[i];
		}
		if (from == NPL_F32)
			memcpy((float *)x.data + 40, (float[]){NAN, INFINITY, -INFINITY}, 12);
		else if (from == NPL_F64)
			memcpy((double *)x.data + 40, (double[]){NAN, INFINITY, -INFINITY}, 24);
		else if (from == NPL_I64 || from == NPL_U64) /* ties except the last bit */
			memcpy(x.data,
			       (uint64_t[]){0x4080000000000001, 0x4080000000000000, 0x0180800000000001,
					    0xffffffffff000001},
			       32);
		for (int to = 0; to < NPL_DTYPES; to++) {
			struct npl_attrs attrs = {.opset = 13, .cast.to = (enum npl_dtype)to};
			struct npl_tensor like = {.dtype = (enum npl_dtype)to},
					  out = test_run(NPL_OP_CAST, &attrs, (const struct npl_tensor *[]){&x}, 1),
					  same = result_of(NPL_OP_CASTLIKE, &x, &like);
			cr_assert(out.dtype == (enum npl_dtype)to && npl_shape_equal(&out.shape, &x.shape));
			cr_assert(same.dtype == out.dtype && !memcmp(same.data, out.data, npl_tensor_bytes(&out)));
			for (int64_t i = 0; i < 48; i++) {
				long double value = exact_at(&x, i);
				if (isnan(value) && !npl_is_integer(out.dtype) && to != NPL_BOOL)
					cr_assert(isnan(npl_tensor_real(&out, i)));
				else
					cr_assert_eq(
						bits_of(&out, i), cast_of((enum npl_dtype)from, out.dtype, value),
						"%s %.21Lg to %s is %llx, expected %llx", npl_dtype_name(x.dtype),
						value, npl_dtype_name(out.dtype), (unsigned long long)bits_of(&out, i),
						(unsigned long long)cast_of((enum npl_dtype)from, out.dtype, value));
			}
			test_release(&out);
			test_release(&same);
		}
		npl_tensor_free(&x);
	}
}

/* Wherever an operator makes an integer of a real number, Cast's rule holds: the nearest end of the range, not some
 * other bits. */
Test(ops_cast, other_operators_keep_the_rule)
{
	struct npl_attrs attrs = {.opset = 13, .reduce = {.n_axes = 1, .axes = {0}}};
	struct npl_tensor x = {.dtype = NPL_I32, .shape = npl_shape_of(1, 3)};
	x.data = (int32_t[]){INT32_MAX, INT32_MAX, 7};
	struct npl_tensor out = test_run(NPL_OP_REDUCEL2, &attrs, (const struct npl_tensor *[]){&x}, 1);
	cr_assert_eq(((int32_t *)out.data)[0], INT32_MAX, "the root is 3.04e9, the result %d",
		     ((int32_t *)out.data)[0]);
	test_release(&out);
	attrs = (struct npl_attrs){.opset = 13, .one_hot.axis = -1};
	struct npl_tensor index = {.dtype = NPL_F32, .shape = npl_shape_of(1, 4)};
	struct npl_tensor depth = {.dtype = NPL_F32}, values = {.dtype = NPL_I8, .shape = npl_shape_of(1, 2)};
	index.data = (float[]){1e30f, -1e30f, 1.9f, -1};
	depth.data = (float[]){3};
	values.data = (int8_t[]){0, 1};
	out = test_run(NPL_OP_ONEHOT, &attrs, (const struct npl_tensor *[]){&index, &depth, &values}, 3);
	cr_assert_eq(memcmp(out.data, (int8_t[]){0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1}, 12), 0,
		     "an index beyond the depth marks nothing");
	test_release(&out);
}

Test(ops_cast, wrong_attributes_are_refused)
{
	static const struct {
		enum npl_op op;
		struct npl_attr attr;
		const char *expected;
	} cases[] = {
		{NPL_OP_CAST, {.name = "to", .type = NPL_ATTR_INT, .i = 8}, "attribute to is STRING, an element type"},
		{NPL_OP_CAST, {.name = "to", .type = NPL_ATTR_INT, .i = 14}, "attribute to is COMPLEX64"},
		{NPL_OP_CAST, {.name = "to", .type = NPL_ATTR_INT, .i = 0}, "attribute to is UNDEFINED"},
		{NPL_OP_CAST,
		 {.name = "to", .type = NPL_ATTR_INT, .i = 17},
		 "FLOAT8E4M3FN, an element type that is not supported: quantise"},
		{NPL_OP_CAST, {.name = "to", .type = NPL_ATTR_INT, .i = -1}, "attribute to is -1"},
		{NPL_OP_CAST, {.name = "other", .type = NPL_ATTR_INT}, "the attribute to is missing"},
		{NPL_OP_BITSHIFT, {.name = "direction", .type = NPL_ATTR_STRING, .s = "UP"}, "is 'UP'"},
		{NPL_OP_BITSHIFT, {.name = "other", .type = NPL_ATTR_INT}, "the attribute direction is missing"},
		{NPL_OP_ELU, {.name = "alpha", .type = NPL_ATTR_FLOAT, .f = NAN}, "must be a finite number"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_attr attr = cases[i].attr;
		struct npl_attrs attrs = {.opset = 13};
		struct npl_err err = {0};
		cr_assert_eq(npl_op_attrs(cases[i].op, &(struct npl_attr_list){&attr, 1}, &attrs, &err), NPL_EINPUT);
		cr_assert(strstr(err.msg, cases[i].expected), "'%s', expected '%s'", err.msg, cases[i].expected);
	}
}
