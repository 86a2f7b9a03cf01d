/* SPDX-License-Identifier: MIT
 *
 * What the methods find that choose by results, beside random points of the same number: of two objectives more of the
 * hypervolume; of few feasible points more, whether a constraint is looked at after the run or before it; of several
 * networks the front of each. Seeds are fixed, and limits generous. */
#include <stdlib.h>
#include <string.h>

#include "tests/kit/search_run.h"

#define SEEDS 5
static const char *const methods[] = {"evolution", "narrowing"};
#define METHODS 2
enum { X0 = SWEEP_FIRST_VARIED, X1, X2, X3 };

/* A plan of four axes with 20 levels each. */
static struct sweep_plan *problem(const char *models, const char *method, int points, int seed)
{
	char text[500];
	snprintf(text, sizeof text,
		 "model: %s\ndevice: tpu_v1\nvary: {array.rows: 1..20, array.columns: 1..20, accumulators.rows: 1..20, "
		 "weight_fifo.tiles: 1..20}\nmethod: %s\npoints: %d\nseed: %d\nminimise: [seconds, energy_j]\n",
		 models, method, points, seed);
	return plan_of(text);
}

/* ---- Hypervolume. */

static int compare_first(const void *a, const void *b)
{
	const struct sweep_told *x = a, *y = b;
	return x->objective[0] < y->objective[0] ? -1 : x->objective[0] > y->objective[0];
}

/* The area that the points of a model dominate below (limit, limit); model -1: of all. */
static double hypervolume(const struct searched *s, int model, double limit)
{
	struct sweep_told *told = calloc((size_t)s->n, sizeof *told);
	int64_t n = 0;
	double volume = 0, least = limit;
	cr_assert(told);
	for (int64_t id = 0; id < s->n; id++)
		if (s->told[id].ran && s->told[id].violation <= 0 &&
		    (model < 0 || searched_level(s, id)[SWEEP_MODEL_AXIS] == model))
			told[n++] = s->told[id];
	qsort(told, (size_t)n, sizeof *told, compare_first);
	for (int64_t i = 0; i < n; i++)
		if (told[i].objective[0] < limit && told[i].objective[1] < least) {
			volume += (limit - told[i].objective[0]) * (least - told[i].objective[1]);
			least = told[i].objective[1];
		}
	free(told);
	return volume;
}

/* The front lies where the last three shares are 1/4: then the objectives are 1 + x and 2 - sqrt(x). */
static struct sweep_told bent(const struct sweep_plan *plan, const int *level)
{
	const double x = search_share(plan, level, X0);
	double away = 0;
	for (int a = X1; a <= X3; a++)
		away += fabs(search_share(plan, level, a) - 0.25);
	return (struct sweep_told){.ran = true,
				   .objective = {1 + x + 0.3 * away, 1 + (1 - sqrt(x)) * (1 + away) + away}};
}

/* The mean hypervolume over the seeds. */
static double mean_volume(const char *method, int points, search_figures *figures)
{
	double sum = 0;
	for (int seed = 1; seed <= SEEDS; seed++) {
		struct sweep_plan *plan = problem("digits", method, points, seed);
		if (!strcmp(method, "random")) { /* told to nobody */
			struct sweep_search *search = search_open(plan);
			struct searched s = {.plan = plan, .n = points};
			s.level = calloc((size_t)(points * plan->space.n_axes), sizeof *s.level);
			s.told = calloc((size_t)points, sizeof *s.told);
			for (int64_t id = 0; id < points; id++) {
				sweep_search_point(search, id, s.level + id * plan->space.n_axes);
				s.told[id] = figures(plan, searched_level(&s, id));
			}
			sum += hypervolume(&s, -1, 3);
			searched_free(&s);
			sweep_search_close(search);
		} else {
			struct searched s = search_run(plan, figures, 3);
			sum += hypervolume(&s, -1, 3);
			searched_free(&s);
		}
		plan_free(plan);
	}
	return sum / SEEDS;
}

/* The whole front: one point for each level of the first axis, as near to 1/4 as the levels are. */
static double best_volume(const struct sweep_plan *plan)
{
	struct searched s = {
		.plan = plan, .n = 20, .level = calloc((size_t)(20 * plan->space.n_axes), sizeof *s.level)};
	s.told = calloc(20, sizeof *s.told);
	for (int i = 0; i < 20; i++) {
		int *level = s.level + i * plan->space.n_axes;
		level[X0] = i;
		level[X1] = level[X2] = level[X3] = 5;
		s.told[i] = bent(plan, level);
	}
	const double volume = hypervolume(&s, -1, 3);
	searched_free(&s);
	return volume;
}

/* What is missing of the hypervolume is at most a third of what random points miss. */
Test(sweep_searches, finds_more_of_a_front_than_chance)
{
	struct sweep_plan *plan = problem("digits", "random", 1, 1);
	const double best = best_volume(plan);
	plan_free(plan);
	const double by_chance = best - mean_volume("random", 400, bent);
	for (int m = 0; m < METHODS; m++) {
		const double missed = best - mean_volume(methods[m], 400, bent);
		cr_assert(missed >= -1e-9 && by_chance > 0, "%g and %g", missed, by_chance);
		cr_assert_lt(missed, by_chance / 3, "%s: %.3g of %.3g is missing, and by chance %.3g", methods[m],
			     missed, best, by_chance);
	}
}

/* ---- Constraints. */

/* How far a point is outside of a box that has 2 of 20 levels on each axis: 16 of 160,000 points are within. */
static double outside(const int *level)
{
	static const int low[] = {3, 15, 9, 1};
	double sum = 0;
	for (int a = X0; a <= X3; a++) {
		const int below = low[a - X0] - level[a], above = level[a] - low[a - X0] - 1;
		sum += below > 0 ? below : above > 0 ? above : 0;
	}
	return sum / 80;
}

static struct sweep_told boxed(const struct sweep_plan *plan, const int *level)
{
	struct sweep_told told = bent(plan, level);
	told.violation = outside(level);
	return told;
}

/* What breaks the constraint does not run, and has no figures. */
static struct sweep_told excluded(const struct sweep_plan *plan, const int *level)
{
	struct sweep_told told = boxed(plan, level);
	if (told.violation > 0)
		told = (struct sweep_told){.violation = told.violation, .objective = {NAN, NAN}};
	return told;
}

static void check_method(const char *method, search_figures *figures)
{
	int met = 0;
	for (int seed = 1; seed <= SEEDS; seed++) {
		struct sweep_plan *plan = problem("digits", method, 400, seed);
		struct searched s = search_run(plan, figures, 3);
		int feasible = 0;
		for (int64_t id = 0; id < s.n; id++)
			feasible += outside(searched_level(&s, id)) <= 0;
		met += feasible > 0;
		cr_assert(feasible > 0, "%s, seed %d: none of 400 points is feasible", method, seed);
		searched_free(&s);
		plan_free(plan);
	}
	/* Of 5 x 400 random points 0.2 are feasible. */
	cr_assert_eq(met, SEEDS);
}

static void check_feasible(search_figures *figures)
{
	for (int m = 0; m < METHODS; m++)
		check_method(methods[m], figures);
}

Test(sweep_searches, finds_what_meets_constraints_on_results)
{
	check_feasible(boxed);
}

Test(sweep_searches, finds_what_meets_constraints_on_parameters)
{
	check_feasible(excluded);
}

/* ---- Networks. */

/* The second network takes a hundred times as long as the first. */
static struct sweep_told by_model(const struct sweep_plan *plan, const int *level)
{
	struct sweep_told told = bent(plan, level);
	if (level[SWEEP_MODEL_AXIS]) {
		told.objective[0] *= 100;
		told.objective[1] *= 100;
	}
	return told;
}

static void check_networks(const char *method, int seed)
{
	struct sweep_plan *plan = problem("[digits, lenet5]", method, 600, seed);
	const double best = best_volume(plan);
	struct searched s = search_run(plan, by_model, 3);
	int of_second = 0;
	for (int64_t id = 0; id < s.n; id++)
		of_second += searched_level(&s, id)[SWEEP_MODEL_AXIS];
	cr_assert(of_second > 200 && of_second < 400, "%s, seed %d: %d of 600 points are of the second network", method,
		  seed, of_second);
	cr_assert_gt(hypervolume(&s, 0, 3), 0.9 * best);
	cr_assert_gt(hypervolume(&s, 1, 300), 0.9 * 10000 * best);
	searched_free(&s);
	plan_free(plan);
}

Test(sweep_searches, lets_networks_not_compete)
{
	for (int m = 0; m < METHODS; m++)
		for (int seed = 1; seed <= SEEDS; seed++)
			check_networks(methods[m], seed);
}
