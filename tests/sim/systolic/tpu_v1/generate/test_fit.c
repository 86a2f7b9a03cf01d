/* SPDX-License-Identifier: MIT
 *
 * Rows of the unified buffer are given to allocations as by looking along all other allocations again and again,
 * whatever the order. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/systolic/tpu_v1/generate/impl.h"
#include "tests/kit/sim/tpu_v1/support.h"

enum { MAX_ALLOCATIONS = 40, GROUPS = 25 };

/* The next allocation in the order asked for, the first of those alike; NULL: all have a place. */
static struct tpu_gen_allocation *next_allocation(struct tpu_gen *gen, bool largest_first)
{
	struct tpu_gen_allocation *next = NULL;
	for (int r = 0; r < gen->n_allocations; r++) {
		struct tpu_gen_allocation *allocation = &gen->allocation[r];
		if (allocation->base >= 0 || allocation->held_to < 0)
			continue;
		if (!next || (largest_first ? allocation->rows > next->rows : allocation->held_from < next->held_from))
			next = allocation;
	}
	return next;
}

static int place_simply(struct tpu_gen *gen, bool largest_first)
{
	for (int r = 0; r < gen->n_allocations; r++)
		gen->allocation[r].base = -1;
	for (struct tpu_gen_allocation *next; (next = next_allocation(gen, largest_first));) {
		next->base = tpu_gen_first_fit(gen, next);
		if (next->base < 0)
			return next->held_from;
	}
	return -1;
}

static int64_t peak_simply(const struct tpu_gen *gen)
{
	int64_t peak = 0;
	for (int g = 0; g <= gen->n_groups; g++) {
		int64_t rows = 0;
		for (int r = 0; r < gen->n_allocations; r++)
			if (gen->allocation[r].held_from <= g && g <= gen->allocation[r].held_to)
				rows += gen->allocation[r].rows;
		peak = rows > peak ? rows : peak;
	}
	return peak;
}

Test(tpu_generate_fit, fits_equal_those_of_a_search_of_all_allocations)
{
	uint64_t rng = 2311;
	int fitted = 0, refused = 0;
	for (int n = 0; n < 4000; n++) {
		struct tpu_gen_allocation allocation[MAX_ALLOCATIONS] = {0}, simple[MAX_ALLOCATIONS];
		struct tpu_gen gen = {.allocation = allocation,
				      .n_allocations = (int)test_range(&rng, 1, MAX_ALLOCATIONS),
				      .n_groups = GROUPS,
				      .reuse_delay = (int)test_range(&rng, 0, 2),
				      .buffer_rows = test_range(&rng, 20, 79)};
		const int64_t longest = test_range(&rng, 0, GROUPS - 1), largest = test_range(&rng, 0, 11);
		for (int r = 0; r < gen.n_allocations; r++) {
			allocation[r].held_from = (int)test_range(&rng, 0, GROUPS);
			allocation[r].held_to = allocation[r].held_from + (int)test_range(&rng, 0, longest);
			allocation[r].held_to = allocation[r].held_to > GROUPS ? GROUPS : allocation[r].held_to;
			allocation[r].rows = test_range(&rng, 0, largest);
			if (test_range(&rng, 0, 15) == 0) { /* nobody uses it */
				allocation[r].held_from = GROUPS;
				allocation[r].held_to = -1;
			}
		}
		const bool largest_first = test_range(&rng, 0, 1);
		memcpy(simple, allocation, sizeof allocation);
		const int failed = tpu_gen_place_all(&gen, largest_first);
		cr_assert_eq(tpu_gen_peak_rows(&gen), peak_simply(&gen), "case %d", n);
		gen.allocation = simple;
		cr_assert_eq(failed, place_simply(&gen, largest_first), "case %d", n);
		for (int r = 0; r < gen.n_allocations; r++)
			cr_assert_eq(allocation[r].base, simple[r].base, "case %d, allocation %d: %lld for %lld", n, r,
				     (long long)allocation[r].base, (long long)simple[r].base);
		fitted += failed < 0;
		refused += failed >= 0;
	}
	cr_assert_gt(fitted, 400);
	cr_assert_gt(refused, 400);
}
