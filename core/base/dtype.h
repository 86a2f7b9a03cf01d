/* SPDX-License-Identifier: MIT
 *
 * Questions about element types that several folders ask. */
#ifndef NPULAB_CORE_BASE_DTYPE_H
#define NPULAB_CORE_BASE_DTYPE_H

#include "npulab/tensor.h"

static inline bool npl_is_byte(enum npl_dtype dtype)
{
	return dtype == NPL_U8 || dtype == NPL_I8;
}

static inline bool npl_is_half(enum npl_dtype dtype)
{
	return dtype == NPL_F16 || dtype == NPL_BF16;
}

/* Says whether a float32 holds every value of the type, which is a float. */
static inline bool npl_is_float32_or_half(enum npl_dtype dtype)
{
	return dtype == NPL_F32 || npl_is_half(dtype);
}

static inline bool npl_is_float(enum npl_dtype dtype)
{
	return dtype == NPL_F64 || npl_is_float32_or_half(dtype);
}

#endif
