/* SPDX-License-Identifier: MIT
 *
 * What several folders ask of an element type. */
#ifndef NPULAB_CORE_BASE_DTYPE_H
#define NPULAB_CORE_BASE_DTYPE_H

#include "npulab/tensor.h"

static inline bool npl_is_byte(enum npl_dtype dtype)
{
	return dtype == NPL_U8 || dtype == NPL_I8;
}

#endif
