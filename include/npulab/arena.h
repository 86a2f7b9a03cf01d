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

/* NULL when memory is short. A size of 0 gives a valid, distinct pointer. */
void *npl_arena_alloc(struct npl_arena *arena, size_t bytes);
/* The same, not zeroed: for much memory that is filled at once, perhaps by several threads. */
void *npl_arena_raw(struct npl_arena *arena, size_t bytes);
/* count * bytes, refused (NULL) when the product overflows. */
void *npl_arena_array(struct npl_arena *arena, size_t count, size_t bytes);
char *npl_arena_strndup(struct npl_arena *arena, const char *text, size_t length);
char *npl_arena_strdup(struct npl_arena *arena, const char *text);
char *npl_arena_printf(struct npl_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void npl_arena_free(struct npl_arena *arena); /* everything at once; the arena can be used again */

#ifdef __cplusplus
}
#endif

#endif
