/* SPDX-License-Identifier: MIT
 *
 * Elements of tensors whatever their type. OP_EACH_NUMBER lists the numeric types with their C types, for kernels and
 * tables of kernels with one body:
 *
 *     #define KERNEL(dtype, type) case dtype: loop_##type(...); break;
 *     switch (out->dtype) { OP_EACH_NUMBER(KERNEL) default: break; }
 *
 * The 16-bit floats are not among them: they come as float32 (npl_op_run).
 */
#ifndef NPULAB_CORE_OPS_ELEMENTS_H
#define NPULAB_CORE_OPS_ELEMENTS_H

#include <string.h>

#include "npulab/tensor.h"

#define OP_EACH_SIGNED(X)                                                                                              \
	X(NPL_I8, int8_t)                                                                                              \
	X(NPL_I16, int16_t)                                                                                            \
	X(NPL_I32, int32_t)                                                                                            \
	X(NPL_I64, int64_t)
#define OP_EACH_UNSIGNED(X)                                                                                            \
	X(NPL_U8, uint8_t)                                                                                             \
	X(NPL_U16, uint16_t)                                                                                           \
	X(NPL_U32, uint32_t)                                                                                           \
	X(NPL_U64, uint64_t)
#define OP_EACH_FLOAT(X)                                                                                               \
	X(NPL_F32, float)                                                                                              \
	X(NPL_F64, double)
#define OP_EACH_INTEGER(X)                                                                                             \
	OP_EACH_SIGNED(X)                                                                                              \
	OP_EACH_UNSIGNED(X)
#define OP_EACH_NUMBER(X)                                                                                              \
	OP_EACH_FLOAT(X)                                                                                               \
	OP_EACH_INTEGER(X)

bool op_is_number(enum npl_dtype dtype); /* says whether the type is one of OP_EACH_NUMBER */

/* Returns element i as an integer, converting floats as Cast does (cast.h, which also stores elements). Any type,
 * including the 16-bit floats and bool (0, 1). npl_tensor_real returns it as a double. */
int64_t op_whole(const struct npl_tensor *tensor, int64_t i);

/* Defines op_choose_TYPE, which computes condition ? a : b by bits. Both are computed beforehand: a loop with such a
 * choice is vectorised, unlike a branch around an operation that may trap. */
#define OP_CHOOSE(type, bits_type)                                                                                     \
	static inline type op_choose_##type(bool condition, type a, type b)                                            \
	{                                                                                                              \
		bits_type mask = condition ? (bits_type)-1 : 0, x, y;                                                  \
		memcpy(&x, &a, sizeof x);                                                                              \
		memcpy(&y, &b, sizeof y);                                                                              \
		x = (x & mask) | (y & ~mask);                                                                          \
		memcpy(&a, &x, sizeof x);                                                                              \
		return a;                                                                                              \
	}
OP_CHOOSE(float, uint32_t)
OP_CHOOSE(double, uint64_t)

#endif
