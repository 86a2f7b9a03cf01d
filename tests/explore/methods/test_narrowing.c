/* SPDX-License-Identifier: MIT
 *
 * Promises of narrowing (narrowing.h): no point twice; the same plan and seed give the same points, in whatever order
 * results are told and where some were told before; as many points as the grid has are the whole grid; and with
 * estimates it finds nearly all of a front that estimates tell well, also in a grid that is too large to estimate
 * whole. test_searches.c compares it with chance. */
#include <string.h>

#include "tests/kit/search_run.h"

enum { X0 = SWEEP_FIRST_VARIED };

static struct sweep_plan *problem(int levels, int points, int seed)
{
	char text[500];
	snprintf(text, sizeof text,
		 "model: digits\ndevice: tpu_v1\nvary: {array.rows: 1..%d, array.columns: 1..%d, accumulators.rows: "
		 "1..%d}\nmethod: narrowing\npoints: %d\nseed: %d\nminimise: [seconds, energy_j]\n",
		 levels, levels, levels, points, seed);
	return plan_of(text);
}

/* Two objectives that oppose each other along the first axis, and are least where the others are 1/3. */
static struct sweep_told opposed(const struct sweep_plan *plan, const int *level)
{
	const double x = search_share(plan, level, X0);
	double factor = 1;
	for (int a = X0 + 1; a < plan->space.n_axes; a++)
		factor *= 1 + fabs(search_share(plan, level, a) - 1.0 / 3);
	return (struct sweep_told){.ran = true, .objective = {(1 + x) * factor, (2 - x) * factor}};
}

/* Some points fail, some break constraints, of some a figure is not known. */
static struct sweep_told mixed(const struct sweep_plan *plan, const int *level)
{
	struct sweep_told told = opposed(plan, level);
	uint64_t rng = 1;
	for (int a = 0; a < plan->space.n_axes; a++)
		rng = rng * 31 + (uint64_t)level[a] + 1;
	const int64_t kind = test_range(&rng, 0, 19);
	told.ran = kind != 0;
	told.violation = kind > 14 ? 0.1 * (double)kind : 0;
	told.objective[0] = kind == 1 ? NAN : told.objective[0];
	return told;
}

static struct sweep_told failed(const struct sweep_plan *plan, const int *level)
{
	(void)plan, (void)level;
	return (struct sweep_told){.objective = {NAN, NAN}};
}

static search_figures *const kinds[] = {opposed, mixed, failed};
#define KINDS 3

static void check_different(const struct searched *s, int levels)
{
	bool *met = calloc((size_t)(levels * levels * levels), 1);
	cr_assert(met);
	for (int64_t id = 0; id < s->n; id++) {
		const int64_t key = searched_key(s, id);
		cr_assert(key >= 0 && key < (int64_t)levels * levels * levels);
		cr_assert_not(met[key], "point %d again", (int)id);
		met[key] = true;
	}
	free(met);
}

static bool are_alike(const struct searched *a, const struct searched *b)
{
	return a->n == b->n && !memcmp(a->level, b->level, (size_t)(a->n * a->plan->space.n_axes) * sizeof *a->level);
}

Test(sweep_narrowing, gives_no_point_twice)
{
	static const int points[] = {1, 7, 8, 9, 100, 511, 512, 600};
	for (int k = 0; k < KINDS; k++)
		for (int i = 0; i < 8; i++) {
			struct sweep_plan *plan = problem(8, points[i], k + 1);
			struct searched s = search_run(plan, kinds[k], 5);
			cr_assert_eq(s.n, points[i] < 512 ? points[i] : 512, "%d of %d points", (int)s.n, points[i]);
			check_different(&s, 8);
			searched_free(&s);
			plan_free(plan);
		}
}

Test(sweep_narrowing, follows_from_its_seed_in_any_order_of_results)
{
	for (int k = 0; k < KINDS; k++) {
		struct sweep_plan *plan = problem(12, 200, 7), *other = problem(12, 200, 8);
		struct searched first = search_run(plan, kinds[k], 1), seeded = search_run(other, kinds[k], 1);
		for (uint64_t order = 2; order < 4; order++) {
			struct searched again = search_run(plan, kinds[k], order);
			cr_assert(are_alike(&first, &again), "another order of results gives other points");
			searched_free(&again);
		}
		cr_assert_not(are_alike(&first, &seeded), "another seed gives the same points");
		searched_free(&first);
		searched_free(&seeded);
		plan_free(plan);
		plan_free(other);
	}
}

Test(sweep_narrowing, goes_on_where_it_was)
{
	struct sweep_plan *plan = problem(12, 200, 3);
	struct searched whole = search_run(plan, mixed, 1);
	uint64_t rng = 8;
	for (int64_t stored = 0; stored < 200; stored += 31) {
		struct sweep_search *search = search_open(plan);
		for (int64_t id = 0; id < sweep_search_known(search) && id < stored; id++)
			search_tell(search, id, &whole.told[id]);
		struct searched rest = search_finish(plan, search, mixed, rng++);
		cr_assert(are_alike(&whole, &rest), "from %d points on", (int)stored);
		searched_free(&rest);
		sweep_search_close(search);
	}
	searched_free(&whole);
	plan_free(plan);
}

/* Counts the levels of the first axis whose best point, that nearest to 1/3 on the others, was found. */
static int found(const struct searched *s)
{
	const struct sweep_plan *plan = s->plan;
	const int n_levels = plan->space.axis[X0].n_levels;
	int n = 0;
	for (int i = 0; i < n_levels; i++) {
		double best = INFINITY, least = INFINITY;
		int level[SWEEP_AXES] = {0};
		level[X0] = i;
		for (int other = 0; other < n_levels; other++) {
			for (int a = X0 + 1; a < plan->space.n_axes; a++)
				level[a] = other;
			best = fmin(best, opposed(plan, level).objective[0]);
		}
		for (int64_t id = 0; id < s->n; id++)
			if (searched_level(s, id)[X0] == i)
				least = fmin(least, s->told[id].objective[0]);
		n += least <= best * (1 + 1e-9);
	}
	return n;
}

/* The front has a point for each level of the first axis. Of 27,000 points 300 run; of 216,000, of which less than half
 * are estimated, 600. */
Test(sweep_narrowing, finds_the_front)
{
	static const struct {
		int levels, points;
	} cases[] = {{30, 300}, {60, 600}};
	for (int i = 0; i < 2; i++) {
		struct sweep_plan *plan = problem(cases[i].levels, cases[i].points, 1);
		struct searched s = search_run(plan, opposed, 3);
		cr_expect_gt(found(&s), cases[i].levels * 9 / 10, "%d of %d", found(&s), cases[i].levels);
		searched_free(&s);
		plan_free(plan);
	}
}
