/* SPDX-License-Identifier: MIT
 *
 * Promises: pieces of memory that are needed at the same step never overlap, and the total is neither less than what
 * any step needs nor more than all of them side by side. */
#include <criterion/criterion.h>

#include "core/base/memory_plan.h"
#include "tests/kit/support.h"

#define ALIGNMENT ((size_t)256)

/* Random pieces: none that live together overlap, and the total is no less than what lives at any step. */
Test(memory_plan, pieces_do_not_overlap)
{
	uint64_t rng = 0xc4a1000a;
	for (int round = 0; round < 200; round++) {
		struct npl_memory_piece piece[60];
		const int n = (int)test_range(&rng, 0, 60), steps = (int)test_range(&rng, 1, 30);
		size_t total, together = 0, all = 0;
		struct npl_err err;
		for (int i = 0; i < n; i++) {
			const int first = (int)test_range(&rng, 0, steps - 1);
			piece[i] = (struct npl_memory_piece){.bytes = (size_t)test_range(&rng, 0, 5000),
							     .first = first,
							     .last = (int)test_range(&rng, first, steps - 1)};
		}
		cr_assert_eq(npl_plan_memory(piece, n, ALIGNMENT, &total, &err), 0, "%s", err.msg);
		for (int i = 0; i < n; i++) {
			cr_assert_eq(piece[i].offset % ALIGNMENT, 0);
			cr_assert_leq(piece[i].offset + piece[i].bytes, total);
			all += (piece[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
			for (int k = 0; k < i; k++)
				cr_assert(piece[i].last < piece[k].first || piece[k].last < piece[i].first ||
						  piece[i].offset + piece[i].bytes <= piece[k].offset ||
						  piece[k].offset + piece[k].bytes <= piece[i].offset,
					  "round %d: pieces %d and %d", round, i, k);
		}
		for (int s = 0; s < steps; s++) {
			size_t now = 0;
			for (int i = 0; i < n; i++)
				now += piece[i].first <= s && s <= piece[i].last ? piece[i].bytes : 0;
			together = now > together ? now : together;
		}
		cr_assert(total >= together && total <= all, "round %d", round);
	}
}

/* Pieces of one size in a row share two places. */
Test(memory_plan, a_row_of_layers_needs_two_places)
{
	struct npl_memory_piece piece[20];
	size_t total;
	struct npl_err err;
	for (int i = 0; i < 20; i++)
		piece[i] = (struct npl_memory_piece){.bytes = 1000, .first = i, .last = i + 1};
	cr_assert_eq(npl_plan_memory(piece, 20, ALIGNMENT, &total, &err), 0, "%s", err.msg);
	cr_assert_eq(total, 2048);
}
