/* SPDX-License-Identifier: MIT
 *
 * Promises of the methods: the grid is whole; random points are different ones, and all where so many are asked for;
 * the images of a permutation are all numbers; a Latin hypercube meets each stratum once; a seed gives its points
 * again, and another one others; the seed of Sobol's sequence changes no balance. */
#include "explore/methods/method.h"

#include <string.h>

#include "explore/methods/permutation.h"
#include "explore/methods/sobol.h"
#include "tests/kit/support.h"
#include "tests/kit/sweep_plan.h"

Test(sweep_methods, permutations_are_bijections)
{
	static bool met[5000];
	uint64_t rng = 3;
	for (uint64_t n = 1; n <= 5000; n += n < 300 ? 1 : (uint64_t)test_range(&rng, 1, 500)) {
		const uint64_t seed = n % 3 ? test_rng(&rng) : n;
		int fixed = 0;
		memset(met, 0, sizeof met);
		for (uint64_t i = 0; i < n; i++) {
			const uint64_t image = sweep_permute(i, n, seed);
			cr_assert_lt(image, n);
			cr_assert_not(met[image], "%d of %d twice", (int)image, (int)n);
			met[image] = true;
			fixed += image == i;
		}
		cr_assert(n < 300 || fixed < 20, "%d of %d stay where they are", fixed, (int)n);
	}
}

Test(sweep_methods, permutations_of_many_stay_below_their_number)
{
	static const uint64_t sizes[] = {(UINT64_C(1) << 32) - 1, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1,
					 UINT64_C(1000000007),    UINT64_C(1) << 61, UINT64_C(1) << 62};
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
		for (uint64_t i = 0; i < 2000; i++) {
			const uint64_t a = sweep_permute(i, sizes[k], 7),
				       b = sweep_permute(sizes[k] - 1 - i, sizes[k], 7);
			cr_assert(a < sizes[k] && b < sizes[k] && a != b);
		}
}

/* A plan of 4 x 5 points of tpu_v1 and 4 x 3 of diannao, with a method. */
static struct sweep_plan *two_machines(const char *method, int points, int seed)
{
	char text[400], chosen[60] = "";
	if (points)
		snprintf(chosen, sizeof chosen, "points: %d\n", points);
	snprintf(text, sizeof text,
		 "model: digits\ndevice: [tpu_v1, diannao]\nbatch: 1..4\nmethod: %s\n%sseed: %d\n"
		 "vary: {tpu_v1.array.rows: 16..80+16, diannao.clock_hz: [500e6, 1e9, 2e9]}\n",
		 method, chosen, seed);
	return plan_of(text);
}

/* The levels of a point as one number. */
static int64_t key_of(const struct sweep_plan *plan, int64_t points, int64_t id)
{
	int level[SWEEP_AXES];
	int64_t key = 0;
	sweep_method_point(plan, points, id, level);
	for (int a = 0; a < plan->space.n_axes; a++) {
		cr_assert(level[a] >= 0 && level[a] < plan->space.axis[a].n_levels);
		cr_assert(sweep_axis_has_effect(&plan->space, a, level) || !level[a]);
		key = key * plan->space.axis[a].n_levels + level[a];
	}
	return key;
}

/* Counts the different points that a plan runs; *points: how many it runs. */
static int different(const struct sweep_plan *plan, int64_t *points)
{
	static int met[1000];
	struct npl_err err;
	int n = 0;
	memset(met, 0, sizeof met);
	cr_assert_eq(sweep_method_points(plan, points, &err), 0, "%s", err.msg);
	for (int64_t id = 0; id < *points; id++)
		n += !met[key_of(plan, *points, id)]++;
	return n;
}

Test(sweep_methods, grids_and_random_points_are_different_ones)
{
	static const struct {
		const char *method;
		int asked, points;
	} cases[] = {{"grid", 0, 32},    {"random", 1, 1},   {"random", 17, 17},
		     {"random", 31, 31}, {"random", 32, 32}, {"random", 1000, 32}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int seed = 0; seed < 20; seed++) {
			struct sweep_plan *plan = two_machines(cases[i].method, cases[i].asked, seed);
			int64_t points;
			const int n = different(plan, &points);
			cr_assert_eq(points, cases[i].points);
			cr_assert_eq(n, points, "%s %d: %d different", cases[i].method, cases[i].asked, n);
			plan_free(plan);
		}
}

/* Whether two plans run the same points in the same order. */
static bool are_alike(const struct sweep_plan *a, const struct sweep_plan *b, int64_t points)
{
	for (int64_t id = 0; id < points; id++)
		if (key_of(a, points, id) != key_of(b, points, id))
			return false;
	return true;
}

Test(sweep_methods, a_seed_gives_its_points_again_and_another_gives_others)
{
	static const char *const methods[] = {"random", "sobol", "latin-hypercube"};
	for (int m = 0; m < 3; m++) {
		struct sweep_plan *first = two_machines(methods[m], 24, 1), *again = two_machines(methods[m], 24, 1);
		struct sweep_plan *other = two_machines(methods[m], 24, 2), *none = two_machines(methods[m], 24, 0);
		cr_assert(are_alike(first, again, 24), "%s", methods[m]);
		cr_assert_not(are_alike(first, other, 24), "%s", methods[m]);
		cr_assert_not(are_alike(first, none, 24), "%s", methods[m]);
		plan_free(first);
		plan_free(again);
		plan_free(other);
		plan_free(none);
	}
}

/* A plan of three axes with so many levels each. */
static struct sweep_plan *three_axes(const char *method, int points, int seed, int levels)
{
	char text[400];
	snprintf(text, sizeof text,
		 "model: digits\ndevice: tpu_v1\nmethod: %s\npoints: %d\nseed: %d\n"
		 "vary: {array.rows: 1..%d, array.columns: 1..%d, accumulators.rows: 1..%d}\n",
		 method, points, seed, levels, levels, levels);
	return plan_of(text);
}

/* How many of the points have each level of an axis, at least and at most. */
static void count_levels(const struct sweep_plan *plan, int points, int axis, int *least, int *most)
{
	const int n_levels = plan->space.axis[axis].n_levels;
	int *n = calloc((size_t)n_levels, sizeof *n);
	cr_assert(n);
	for (int id = 0; id < points; id++) {
		int level[SWEEP_AXES];
		sweep_method_point(plan, points, id, level);
		n[level[axis]]++;
	}
	*least = *most = n[0];
	for (int i = 1; i < n_levels; i++) {
		*least = n[i] < *least ? n[i] : *least;
		*most = n[i] > *most ? n[i] : *most;
	}
	free(n);
}

/* With as many strata as levels each level is met once; with k times as many, k times. */
Test(sweep_methods, latin_hypercubes_meet_each_stratum_once)
{
	static const int sizes[][2] = {{1, 1}, {7, 7}, {100, 100}, {343, 49}, {1000, 10}, {997, 997}, {64, 32}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int seed = 1; seed < 6; seed++) {
			struct sweep_plan *plan = three_axes("latin-hypercube", sizes[i][0], seed, sizes[i][1]);
			for (int a = SWEEP_FIRST_VARIED; a < plan->space.n_axes; a++) {
				int least, most;
				count_levels(plan, sizes[i][0], a, &least, &most);
				cr_assert(least == sizes[i][0] / sizes[i][1] && most == least,
					  "%d points, %d levels: %d to %d of each", sizes[i][0], sizes[i][1], least,
					  most);
			}
			plan_free(plan);
		}
}

/* The shift by the seed is one of binary digits, which keeps the balance of 2^k points over 2^j levels. */
Test(sweep_methods, sobol_is_balanced_with_every_seed)
{
	for (int seed = 0; seed < 10; seed++)
		for (int k = 3; k <= 8; k++) {
			struct sweep_plan *plan = three_axes("sobol", 1 << k, seed, 8);
			for (int a = SWEEP_FIRST_VARIED; a < plan->space.n_axes; a++) {
				int least, most;
				count_levels(plan, 1 << k, a, &least, &most);
				cr_assert(least == 1 << k >> 3 && most == least, "2^%d points, seed %d", k, seed);
			}
			plan_free(plan);
		}
}

/* Point `id` of Sobol's sequence does not depend on how many follow it: more points add to those that ran. */
Test(sweep_methods, sobol_goes_on_where_it_ended)
{
	struct sweep_plan *few = three_axes("sobol", 50, 4, 100), *many = three_axes("sobol", 500, 4, 100);
	for (int64_t id = 0; id < 50; id++)
		cr_assert_eq(key_of(few, 50, id), key_of(many, 500, id));
	plan_free(few);
	plan_free(many);
}

Test(sweep_methods, refuse_what_is_too_large)
{
	struct npl_err err = {0};
	int64_t points;
	struct sweep_plan *plan = plan_of(
		"model: digits\ndevice: tpu_v1\nvary: {array.rows: 1..4000, array.columns: 1..4000, "
		"accumulators.rows: 1..4000}\n");
	cr_assert_eq(sweep_method_points(plan, &points, &err), NPL_EUSAGE);
	cr_assert(strstr(err.msg, "the grid has 6.4e+10 points, expected at most 1e+09"), "%s", err.msg);
	plan->method = SWEEP_RANDOM;
	plan->points = SWEEP_MOST_POINTS + 1;
	cr_assert_eq(sweep_method_points(plan, &points, &err), NPL_EUSAGE);
	cr_assert(strstr(err.msg, "1000000001 points, expected at most 1e+09"), "%s", err.msg);
	plan->points = SWEEP_MOST_POINTS;
	cr_assert_eq(sweep_method_points(plan, &points, &err), 0);
	cr_assert_eq(points, SWEEP_MOST_POINTS);
	plan_free(plan);
}
