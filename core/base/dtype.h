/* SPDX-License-Identifier: MIT
 *
 * Questions about element types that several folders ask. */
#ifndef NPULAB_CORE_BASE_DTYPE_H
#define NPULAB_CORE_BASE_DTYPE_H

#include "npulab/tensor.h"

/* Of NPL_DTYPES, which stands for no type, these are all false. */
bool npl_is_integer(enum npl_dtype dtype); /* bool is none */
bool npl_is_signed(enum npl_dtype dtype);  /* says whether it is an integer type with negative values */
bool npl_is_float(enum npl_dtype dtype);

static inline bool npl_is_byte(enum npl_dtype dtype)
{
	return dtype == NPL_U8 || dtype == NPL_I8;
}

static inline bool npl_is_half(enum npl_dtype dtype)
{
	return npl_is_float(dtype) && npl_dtype_size(dtype) == 2;
}

/* These return the least and the greatest value of an integer type of 8 or 16 bits. */
extern const int32_t npl_dtype_least[NPL_DTYPES], npl_dtype_greatest[NPL_DTYPES];
static inline int32_t npl_dtype_min(enum npl_dtype dtype)
{
	return npl_dtype_least[dtype];
}
static inline int32_t npl_dtype_max(enum npl_dtype dtype)
{
	return npl_dtype_greatest[dtype];
}

/* Says whether a float32 holds every value of the type, which is a float. */
static inline bool npl_is_float32_or_half(enum npl_dtype dtype)
{
	return dtype == NPL_F32 || npl_is_half(dtype);
}

#endif
