/* SPDX-License-Identifier: MIT
 *
 * Cast, to the type that its attribute names, and CastLike, to that of its second input: all numeric types and bool
 * (cast.h has the rules), by way of integers of 64 bits or doubles, a block at a time. */
#include "cast.h"

#include <string.h>

#include "core/base/half.h"
#include "elements.h"
#include "ops.h"

#define BLOCK 1024 /* elements; 8 KB */

OP_ATTRS(op_cast_attrs)
{
	if (!op_before(out, 19))
		op_attr_accept(list, "saturate"); /* concerns results in 8-bit floats, which npulab does not have */
	if (out->op == NPL_OP_CASTLIKE)
		return 0;
	if (op_attr_type(list, "to", &out->cast.to, err))
		return NPL_EINPUT;
	return out->cast.to == NPL_DTYPES ? npl_fail(err, NPL_EINPUT, "the attribute to is missing") : 0;
}

OP_SHAPE(op_cast_shape)
{
	if (op_inputs(in, n_in, attrs->op == NPL_OP_CASTLIKE ? 2 : 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	out->dtype = attrs->op == NPL_OP_CASTLIKE ? in[1]->dtype : attrs->cast.to;
	out->shape = in[0]->shape;
	return 0;
}

/* Returns the nearest bfloat16. Rounding to float first must not create a tie, so an inexact float is made odd. */
static uint16_t bf16_of(double x)
{
	float rounded = (float)x;
	uint32_t bits;
	if (x != x || (double)rounded == x)
		return npl_bf16_of_float(rounded);
	memcpy(&bits, &rounded, sizeof bits);
	if ((rounded < 0.0f ? -(double)rounded : (double)rounded) > (x < 0.0 ? -x : x))
		bits--; /* towards zero */
	bits |= 1;
	memcpy(&rounded, &bits, sizeof bits);
	return npl_bf16_of_float(rounded);
}

/* Returns a double that rounds to a 16-bit float as the integer does: the low bits of a large integer are kept as one
 * sticky bit. */
static double sticky(uint64_t bits, bool is_unsigned)
{
	bool large = (bits >> 32) != 0 && (is_unsigned || (bits >> 32) != 0xffffffff);
	if (large)
		bits = (bits & ~(uint64_t)0x1ffff) | (bits & 0x1ffff ? 0x10000 : 0);
	return is_unsigned ? (double)bits : (double)(int64_t)bits;
}

#define FROM_INTEGER(dtype, type)                                                                                      \
	case dtype:                                                                                                    \
		for (int64_t i = 0; i < n; i++)                                                                        \
			((type *)results)[i] = (type)from[i];                                                          \
		return;
#define FLOAT_FROM_INTEGER(dtype, type)                                                                                \
	case dtype:                                                                                                    \
		for (int64_t i = 0; i < n; i++)                                                                        \
			((type *)results)[i] = is_unsigned ? (type)from[i] : (type)(int64_t)from[i];                   \
		return;
void op_narrow_integers(const uint64_t *from, bool is_unsigned, int64_t n, enum npl_dtype to, void *results)
{
	uint16_t *half = results;
	switch (to) {
		OP_EACH_INTEGER(FROM_INTEGER)
		OP_EACH_FLOAT(FLOAT_FROM_INTEGER)
	case NPL_F16:
		for (int64_t i = 0; i < n; i++)
			half[i] = npl_f16_of_double(sticky(from[i], is_unsigned));
		return;
	case NPL_BF16:
		for (int64_t i = 0; i < n; i++)
			half[i] = bf16_of(sticky(from[i], is_unsigned));
		return;
	default:
		for (int64_t i = 0; i < n; i++)
			((uint8_t *)results)[i] = from[i] != 0;
	}
}

/* LIMIT is 2^bits of the magnitude; casting a double beyond it would be undefined. */
#define CUT_OFF(dtype, type, LEAST, MOST, LIMIT)                                                                       \
	case dtype:                                                                                                    \
		for (int64_t i = 0; i < n; i++)                                                                        \
			((type *)results)[i] = from[i] >= (LIMIT)           ? (type)(MOST)                             \
					       : from[i] <= (double)(LEAST) ? (type)(LEAST)                            \
					       : from[i] == from[i]         ? (type)from[i]                            \
									    : (type)0;                                         \
		return;
void op_narrow_reals(const double *from, int64_t n, enum npl_dtype to, void *results)
{
	uint16_t *half = results;
	switch (to) {
		CUT_OFF(NPL_I8, int8_t, INT8_MIN, INT8_MAX, 0x1p7)
		CUT_OFF(NPL_U8, uint8_t, 0, UINT8_MAX, 0x1p8)
		CUT_OFF(NPL_I16, int16_t, INT16_MIN, INT16_MAX, 0x1p15)
		CUT_OFF(NPL_U16, uint16_t, 0, UINT16_MAX, 0x1p16)
		CUT_OFF(NPL_I32, int32_t, INT32_MIN, INT32_MAX, 0x1p31)
		CUT_OFF(NPL_U32, uint32_t, 0, UINT32_MAX, 0x1p32)
		CUT_OFF(NPL_I64, int64_t, INT64_MIN, INT64_MAX, 0x1p63)
		CUT_OFF(NPL_U64, uint64_t, 0, UINT64_MAX, 0x1p64)
	case NPL_F32:
		for (int64_t i = 0; i < n; i++)
			((float *)results)[i] = (float)from[i];
		return;
	case NPL_F64:
		memcpy(results, from, (size_t)n * sizeof *from);
		return;
	case NPL_F16:
		for (int64_t i = 0; i < n; i++)
			half[i] = npl_f16_of_double(from[i]);
		return;
	case NPL_BF16:
		for (int64_t i = 0; i < n; i++)
			half[i] = bf16_of(from[i]);
		return;
	default:
		for (int64_t i = 0; i < n; i++)
			((uint8_t *)results)[i] = from[i] != 0.0;
	}
}

/* Reads n elements from index `first` on. Returns true with integers in whole[], or false with doubles in real[]. */
static bool widen(const struct npl_tensor *x, int64_t first, int64_t n, uint64_t *whole, double *real)
{
#define TO_INTEGER(dtype, type)                                                                                        \
	case dtype:                                                                                                    \
		for (int64_t i = 0; i < n; i++)                                                                        \
			whole[i] = (uint64_t)((const type *)x->data)[first + i];                                       \
		return true;
#define TO_REAL(dtype, type)                                                                                           \
	case dtype:                                                                                                    \
		for (int64_t i = 0; i < n; i++)                                                                        \
			real[i] = (double)((const type *)x->data)[first + i];                                          \
		return false;
	switch (x->dtype) {
		OP_EACH_INTEGER(TO_INTEGER)
		OP_EACH_FLOAT(TO_REAL)
	case NPL_BOOL:
		for (int64_t i = 0; i < n; i++)
			whole[i] = ((const uint8_t *)x->data)[first + i] != 0;
		return true;
	default:
		for (int64_t i = 0; i < n; i++)
			real[i] = npl_tensor_real(x, first + i);
		return false;
	}
}

OP_RUN(op_cast_run)
{
	uint64_t whole[BLOCK];
	double real[BLOCK];
	int64_t count = npl_tensor_count(out), element = (int64_t)npl_dtype_size(out->dtype);
	if (in[0]->dtype == out->dtype)
		return op_copy_bytes(in[0], out);
	for (int64_t first = 0; first < count; first += BLOCK) {
		int64_t n = count - first < BLOCK ? count - first : BLOCK;
		char *to = (char *)out->data + first * element;
		if (widen(in[0], first, n, whole, real))
			op_narrow_integers(whole, in[0]->dtype == NPL_U64, n, out->dtype, to);
		else
			op_narrow_reals(real, n, out->dtype, to);
	}
	return 0;
}
