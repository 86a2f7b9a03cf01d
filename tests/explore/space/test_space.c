/* SPDX-License-Identifier: MIT
 *
 * Promises of spaces: the numbers below that of the points are the points of the grid, each once, in the order of
 * counting; axes that belong to one device move in its points alone. */
#include "explore/space/space.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/support.h"

/* A space of axes with these levels and devices; device_axis -1: there is none. */
static struct sweep_space space_of(struct sweep_axis *axis, int n, const int *levels, const int *device,
				   int device_axis)
{
	for (int a = 0; a < n; a++)
		axis[a] = (struct sweep_axis){.n_keys = 1, .device = device[a], .n_levels = levels[a]};
	return (struct sweep_space){.n_axes = n, .axis = axis, .device_axis = device_axis};
}

Test(sweep_space, counts_with_the_last_axis_fastest)
{
	static const int expected[][3] = {{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 1}, {0, 2, 0}, {0, 2, 1},
					  {1, 0, 0}, {1, 0, 1}, {1, 1, 0}, {1, 1, 1}, {1, 2, 0}, {1, 2, 1}};
	struct sweep_axis axis[3];
	const struct sweep_space space = space_of(axis, 3, (const int[]){2, 3, 2}, (const int[]){-1, -1, -1}, -1);
	cr_assert_eq(sweep_space_points(&space), 12);
	for (uint64_t i = 0; i < 12; i++) {
		int level[3];
		sweep_space_point(&space, i, level);
		cr_assert_arr_eq(level, expected[i], sizeof level);
	}
}

/* The second axis is that of the devices; the third is the first device's, the fourth the second's. */
Test(sweep_space, moves_the_axes_of_a_device_in_its_points_alone)
{
	static const int expected[][4] = {{0, 0, 0, 0}, {0, 0, 1, 0}, {1, 0, 0, 0}, {1, 0, 1, 0},
					  {0, 1, 0, 0}, {0, 1, 0, 1}, {0, 1, 0, 2}, {1, 1, 0, 0},
					  {1, 1, 0, 1}, {1, 1, 0, 2}, {0, 2, 0, 0}, {1, 2, 0, 0}};
	struct sweep_axis axis[4];
	const struct sweep_space space = space_of(axis, 4, (const int[]){2, 3, 2, 3}, (const int[]){-1, -1, 0, 1}, 1);
	cr_assert_eq(sweep_space_points(&space), 12);
	for (uint64_t i = 0; i < 12; i++) {
		int level[4];
		sweep_space_point(&space, i, level);
		cr_assert_arr_eq(level, expected[i], sizeof level, "point %d", (int)i);
	}
	int level[4] = {1, 2, 1, 2};
	sweep_space_reduce(&space, level);
	cr_assert_arr_eq(level, expected[11], sizeof level, "neither axis has an effect on the third device");
	cr_assert(sweep_axis_has_effect(&space, 0, level));
	cr_assert_not(sweep_axis_has_effect(&space, 3, level));
}

/* Compares the levels of two points in the order of the grid: by device, then by the axes. */
static int compare_points(const struct sweep_space *space, const int *a, const int *b)
{
	const int d = space->device_axis;
	if (d >= 0 && a[d] != b[d])
		return a[d] - b[d];
	for (int i = 0; i < space->n_axes; i++)
		if (a[i] != b[i])
			return a[i] - b[i];
	return 0;
}

/* Random spaces: every number is a valid point that is its own reduction and comes behind the one before it. So all are
 * different, and their number, counted by a walk over all levels, says that none is left out. */
Test(sweep_space, lists_each_point_of_random_ones_once)
{
	uint64_t rng = 5;
	for (int round = 0; round < TEST_TIMES(500); round++) {
		const int n = (int)test_range(&rng, 1, 6), device_axis = (int)test_range(&rng, -1, n - 1);
		int levels[6], device[6], before[6], level[6], walk[6] = {0};
		for (int a = 0; a < n; a++)
			levels[a] = (int)test_range(&rng, 1, 4);
		for (int a = 0; a < n; a++)
			device[a] = device_axis < 0 || a == device_axis
					    ? -1
					    : (int)test_range(&rng, -1, levels[device_axis] - 1);
		struct sweep_axis axis[6];
		const struct sweep_space space = space_of(axis, n, levels, device, device_axis);
		int reduced = 0;
		for (bool more = true; more;) {
			memcpy(level, walk, sizeof level);
			sweep_space_reduce(&space, level);
			reduced += !memcmp(level, walk, (size_t)n * sizeof *level);
			more = false;
			for (int a = 0; a < n && !more; a++) {
				more = ++walk[a] < levels[a];
				walk[a] = more ? walk[a] : 0;
			}
		}
		cr_assert_eq(sweep_space_points(&space), reduced, "round %d of seed 5", round);
		for (int i = 0; i < reduced; i++) {
			sweep_space_point(&space, (uint64_t)i, level);
			for (int a = 0; a < n; a++)
				cr_assert(level[a] >= 0 && level[a] < levels[a]);
			memcpy(walk, level, sizeof walk);
			sweep_space_reduce(&space, walk);
			cr_assert_arr_eq(walk, level, (size_t)n * sizeof *level);
			cr_assert(!i || compare_points(&space, before, level) < 0, "round %d of seed 5: point %d",
				  round, i);
			memcpy(before, level, sizeof before);
		}
	}
}

Test(sweep_space, is_exact_where_it_is_large)
{
	struct sweep_axis axis[3];
	const int many = 1 << 20;
	const struct sweep_space space = space_of(axis, 3, (const int[]){many, 3, many}, (const int[]){-1, -1, -1}, -1);
	const uint64_t points = 3 * (UINT64_C(1) << 40);
	int level[3];
	cr_assert_eq(sweep_space_points(&space), (double)points);
	sweep_space_point(&space, points - 1, level);
	cr_assert_arr_eq(level, ((int[]){many - 1, 2, many - 1}), sizeof level);
	sweep_space_point(&space, UINT64_C(123456789012), level);
	cr_assert_eq(((uint64_t)level[0] * 3 + (uint64_t)level[1]) * (uint64_t)many + (uint64_t)level[2],
		     UINT64_C(123456789012));
}
