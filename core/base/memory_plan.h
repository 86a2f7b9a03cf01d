/* SPDX-License-Identifier: MIT
 *
 * Pieces of one memory by their lifetimes: those that are not needed at the same step may lie at the same place. */
#ifndef NPULAB_CORE_BASE_MEMORY_PLAN_H
#define NPULAB_CORE_BASE_MEMORY_PLAN_H

#include <stddef.h>

#include "npulab/error.h"

struct npl_memory_piece {
	size_t bytes;
	int first, last; /* steps at which it is needed, both included */
	size_t offset;   /* the plan's answer, a multiple of the alignment */
};

/* Gives n pieces their offsets, the largest first, each the lowest that is free over its steps. *total: bytes of all.
 * NPL_ENOMEM where the pieces are more than memory can count. */
int npl_plan_memory(struct npl_memory_piece *piece, int n, size_t alignment, size_t *total, struct npl_err *err);

#endif
