/* SPDX-License-Identifier: MIT
 *
 * An arena: many small allocations, freed together. A graph and everything in it live in one. Memory is
 * zeroed and aligned to 64 bytes for blocks of 64 bytes or more, to 16 otherwise. Not thread-safe.
 */
#ifndef NPULAB_ARENA_H
#define NPULAB_ARENA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct npl_arena_block;

struct npl_arena { /* zero-initialise before use */
	struct npl_arena_block *first;
	size_t bytes; /* total handed out */
};

/* Allocates zeroed bytes; returns NULL when memory is short. A size of 0 gives a valid, distinct pointer. */
void *npl_arena_alloc(struct npl_arena *arena, size_t bytes);
/* Allocates as npl_arena_alloc does, without zeroing: for large blocks that are filled at once, perhaps by several
 * threads. */
void *npl_arena_raw(struct npl_arena *arena, size_t bytes);
/* Allocates count * bytes as npl_arena_alloc does; returns NULL when the product overflows too. */
void *npl_arena_array(struct npl_arena *arena, size_t count, size_t bytes);
char *npl_arena_strndup(struct npl_arena *arena, const char *text, size_t length);
char *npl_arena_strdup(struct npl_arena *arena, const char *text);
char *npl_arena_printf(struct npl_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void npl_arena_free(struct npl_arena *arena); /* frees everything at once; the arena can be used again */

#ifdef __cplusplus
}
#endif

#endif
