/* SPDX-License-Identifier: MIT
 *
 * Sets of intervals (sim/common/intervals.h). What they promise: after any additions a set meets just the intervals
 * that have a number of the set, as an array with a flag for each number says. */
#include "sim/common/intervals.h"

#include <criterion/criterion.h>

#include "tests/kit/support.h"

enum { NUMBERS = 60 };

static bool any(const bool *held, int64_t first, int64_t end)
{
	for (int64_t i = first; i < end; i++)
		if (held[i])
			return true;
	return false;
}

Test(sim_intervals, overlaps_equal_those_of_an_array_of_flags)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		uint64_t rng = seed;
		struct sim_intervals set = {0};
		bool held[NUMBERS] = {false};
		const bool is_short = seed % 2;
		for (int n = 0; n < (is_short ? 80 : 20); n++) {
			const int64_t first = test_range(&rng, 0, NUMBERS - 1),
				      end = is_short ? first + 1 : test_range(&rng, first + 1, NUMBERS);
			if (test_range(&rng, 0, is_short ? 1 : 2) == 0) {
				cr_assert(sim_intervals_add(&set, first, end));
				for (int64_t i = first; i < end; i++)
					held[i] = true;
			}
			for (int64_t a = 0; a < NUMBERS; a++)
				for (int64_t b = a + 1; b <= NUMBERS; b += 7)
					cr_assert_eq(sim_intervals_meet(&set, a, b), any(held, a, b),
						     "seed %llu: %lld to %lld", (unsigned long long)seed, (long long)a,
						     (long long)b);
			if (test_range(&rng, 0, is_short ? 60 : 15) == 0) {
				sim_intervals_clear(&set);
				for (int i = 0; i < NUMBERS; i++)
					held[i] = false;
			}
		}
		sim_intervals_clear(&set);
	}
}
