/* SPDX-License-Identifier: MIT
 *
 * The alignment of allocations in the GPU's memory. */
#ifndef NPULAB_BACKENDS_CUDA_LOAD_ALIGNMENT_H
#define NPULAB_BACKENDS_CUDA_LOAD_ALIGNMENT_H

#include <stddef.h>

#include "core/base/arith.h"

#define CU_ALIGNMENT ((size_t)256) /* bytes; cuMemAlloc aligns so, and products are chosen for it */

static inline size_t cu_aligned(size_t bytes)
{
	return npl_round_up_u64(bytes, CU_ALIGNMENT);
}

#endif
