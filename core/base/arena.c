/* SPDX-License-Identifier: MIT
 *
 * The arena of arena.h: a list of blocks, each filled from its start; large requests get a block of their own. */
#include "arena_scratch.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES  ((size_t)64 << 10)
#define HEADER_BYTES 64 /* keeps the payload 64-byte aligned */

struct npl_arena_block {
	struct npl_arena_block *next;
	size_t capacity, used; /* bytes of the payload */
};
_Static_assert(sizeof(struct npl_arena_block) <= HEADER_BYTES, "the payload must start at HEADER_BYTES");

static struct npl_arena_block *add_block(struct npl_arena *arena, size_t bytes)
{
	size_t capacity = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
	if (capacity > SIZE_MAX - HEADER_BYTES - 63)
		return NULL;
	size_t total = (HEADER_BYTES + capacity + 63) & ~(size_t)63;
	struct npl_arena_block *block = aligned_alloc(64, total);
	if (!block)
		return NULL;
	block->capacity = total - HEADER_BYTES;
	block->used = 0;
	block->next = arena->first;
	arena->first = block;
	return block;
}

void *npl_arena_raw(struct npl_arena *arena, size_t bytes)
{
	size_t align = bytes >= 64 ? 64 : 16;
	size_t payload_bytes = bytes ? bytes : 1;
	struct npl_arena_block *block = arena->first;
	size_t start = block ? (block->used + align - 1) & ~(align - 1) : 0;
	if (!block || start > block->capacity || block->capacity - start < payload_bytes) {
		block = add_block(arena, payload_bytes);
		if (!block)
			return NULL;
		start = 0;
	}
	block->used = start + payload_bytes;
	arena->bytes += payload_bytes;
	return (char *)block + HEADER_BYTES + start;
}

void *npl_arena_alloc(struct npl_arena *arena, size_t bytes)
{
	void *memory = npl_arena_raw(arena, bytes);
	return memory ? memset(memory, 0, bytes ? bytes : 1) : NULL;
}

void *npl_arena_array(struct npl_arena *arena, size_t count, size_t bytes)
{
	size_t total;
	if (__builtin_mul_overflow(count, bytes, &total))
		return NULL;
	return npl_arena_alloc(arena, total);
}

void *npl_arena_raw_array(struct npl_arena *arena, size_t count, size_t bytes)
{
	size_t total;
	if (__builtin_mul_overflow(count, bytes, &total))
		return NULL;
	return npl_arena_raw(arena, total);
}

char *npl_arena_strndup(struct npl_arena *arena, const char *text, size_t length)
{
	if (length == SIZE_MAX)
		return NULL;
	char *copy = npl_arena_alloc(arena, length + 1);
	if (copy && length)
		memcpy(copy, text, length);
	return copy;
}

char *npl_arena_strdup(struct npl_arena *arena, const char *text)
{
	return npl_arena_strndup(arena, text, strlen(text));
}

char *npl_arena_printf(struct npl_arena *arena, const char *format, ...)
{
	va_list args, args_copy;
	va_start(args, format);
	va_copy(args_copy, args);
	int n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	char *text = n < 0 ? NULL : npl_arena_alloc(arena, (size_t)n + 1);
	if (text)
		vsnprintf(text, (size_t)n + 1, format, args_copy);
	va_end(args_copy);
	return text;
}

struct npl_arena_mark npl_arena_mark(const struct npl_arena *arena)
{
	return (struct npl_arena_mark){arena->first, arena->first ? arena->first->used : 0, arena->bytes};
}

void npl_arena_rewind(struct npl_arena *arena, const struct npl_arena_mark *mark)
{
	while (arena->first != mark->block) {
		struct npl_arena_block *next = arena->first->next;
		free(arena->first);
		arena->first = next;
	}
	if (arena->first)
		arena->first->used = mark->used;
	arena->bytes = mark->bytes;
}

void npl_arena_free(struct npl_arena *arena)
{
	npl_arena_rewind(arena, &(struct npl_arena_mark){0});
}
