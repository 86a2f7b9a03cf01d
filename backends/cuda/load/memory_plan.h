/* SPDX-License-Identifier: MIT
 *
 * Who shares the GPU's memory with whom: pieces that are not needed at the same step may lie at the same place.
 */
#ifndef NPULAB_BACKENDS_CUDA_LOAD_MEMORY_PLAN_H
#define NPULAB_BACKENDS_CUDA_LOAD_MEMORY_PLAN_H

#include <stddef.h>

#include "core/base/arith.h"
#include "npulab/error.h"

#define CU_ALIGNMENT ((size_t)256) /* that cuMemAlloc gives, and that the products are chosen for */

static inline size_t cu_aligned(size_t bytes)
{
	return npl_round_up_u64(bytes, CU_ALIGNMENT);
}

struct cu_piece {
	size_t bytes;
	int first, last; /* steps at which it is needed, both included */
	size_t offset;   /* the plan's answer; a multiple of CU_ALIGNMENT */
};

/* Gives n pieces their places, the largest first, each at the lowest that is free over its steps. *total: bytes of all.
 * NPL_ENOMEM where the pieces are more than memory can count. */
int cu_plan_memory(struct cu_piece *piece, int n, size_t *total, struct npl_err *err);

#endif
