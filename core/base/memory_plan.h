/* SPDX-License-Identifier: MIT
 *
 * Pieces of one memory by their lifetimes: pieces that are not needed at the same step may share a place. */
#ifndef NPULAB_CORE_BASE_MEMORY_PLAN_H
#define NPULAB_CORE_BASE_MEMORY_PLAN_H

#include <stddef.h>

#include "npulab/error.h"

struct npl_memory_piece {
	size_t bytes;
	int first, last; /* first and last step at which the piece is needed */
	size_t offset;   /* set by npl_plan_memory: a multiple of the alignment */
};

/* Gives n pieces their offsets, the largest first, each the lowest that is free over its steps. *total: the bytes of
 * the whole plan. Returns NPL_ENOMEM when memory is short or the sum of the pieces overflows. */
int npl_plan_memory(struct npl_memory_piece *piece, int n, size_t alignment, size_t *total, struct npl_err *err);

#endif
