/* SPDX-License-Identifier: MIT
 *
 * Arenas (npulab/arena.h) as space for work: arrays that are not zeroed, and marks, after which what was allocated can
 * be freed before the rest.
 *
 *     const struct npl_arena_mark mark = npl_arena_mark(&arena);
 *     ...                                    allocations that turn out to be of no use
 *     npl_arena_rewind(&arena, &mark); */
#ifndef NPULAB_CORE_BASE_ARENA_SCRATCH_H
#define NPULAB_CORE_BASE_ARENA_SCRATCH_H

#include "npulab/arena.h"

struct npl_arena_mark {
	struct npl_arena_block *block; /* the block that was being filled; NULL: there was none */
	size_t used, bytes;            /* of that block, of the arena */
};

/* Allocates as npl_arena_array does, without zeroing: for arrays whose elements are written before they are read, of
 * which perhaps few are used. Memory that is never written costs nothing. */
void *npl_arena_raw_array(struct npl_arena *arena, size_t count, size_t bytes);
struct npl_arena_mark npl_arena_mark(const struct npl_arena *arena);
/* Frees what was allocated after the mark. Marks that were made later are no longer valid. */
void npl_arena_rewind(struct npl_arena *arena, const struct npl_arena_mark *mark);

#endif
