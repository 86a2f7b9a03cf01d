/* SPDX-License-Identifier: MIT
 *
 * Arenas as space for work (core/base/arena_scratch.h): what came before a mark stays as it was, whatever was allocated
 * and freed after it. */
#include "core/base/arena_scratch.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "tests/kit/support.h"

Test(arena, rewinding_frees_only_what_came_after_the_mark)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		uint64_t rng = seed;
		struct npl_arena arena = {0};
		const size_t before = (size_t)test_range(&rng, 0, 200000);
		char *kept = before ? npl_arena_alloc(&arena, before) : NULL;
		cr_assert(!before || kept);
		if (kept)
			memset(kept, 7, before);
		const struct npl_arena_mark mark = npl_arena_mark(&arena);
		const size_t bytes = arena.bytes;
		for (int round = 0; round < 3; round++) {
			for (int i = 0; i < 20; i++) {
				const size_t n = (size_t)test_range(&rng, 1, 50000);
				char *freed = npl_arena_raw_array(&arena, n, 2);
				cr_assert(freed);
				memset(freed, 9, 2 * n);
			}
			npl_arena_rewind(&arena, &mark);
			cr_assert_eq(arena.bytes, bytes, "seed %llu", (unsigned long long)seed);
			for (size_t i = 0; i < before; i++)
				cr_assert_eq(kept[i], 7, "seed %llu", (unsigned long long)seed);
		}
		cr_assert_null(npl_arena_raw_array(&arena, SIZE_MAX, 2));
		npl_arena_free(&arena);
		cr_assert_null(arena.first);
	}
}
