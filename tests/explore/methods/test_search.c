/* SPDX-License-Identifier: MIT
 *
 * Promises of the search (search.h): no point twice; the same plan and seed give the same points, in whatever order
 * results are told, and also where some were told before, as from the database of a sweep that goes on; a search of as
 * many points as the grid has is the whole grid; axes of one machine are moved in its points alone; and what it
 * refuses. */
#include "explore/methods/search.h"

#include <string.h>

#include "tests/kit/search_run.h"

#define FOUR_AXES                                                                                                      \
	"model: digits\ndevice: tpu_v1\nvary: {array.rows: 1..12, array.columns: 1..12, accumulators.rows: 1..12, "    \
	"weight_memory.preset: [fixed, ideal, hbm2]}\n"
#define TWO_MACHINES                                                                                                   \
	"model: digits\ndevice: [tpu_v1, diannao]\nbatch: 1..4\n"                                                      \
	"vary: {tpu_v1.array.rows: 16..176+16, diannao.clock_hz: [500e6, 1e9, 2e9]}\n"

static struct sweep_plan *search_plan(const char *axes, int points, int seed, const char *more)
{
	char text[900];
	snprintf(text, sizeof text, "%smethod: evolution\npoints: %d\nseed: %d\nminimise: [seconds, energy_j]\n%s",
		 axes, points, seed, more);
	return plan_of(text);
}

/* Two objectives that oppose each other. Some points fail, some break constraints, of some a figure is not known. */
static struct sweep_told mixed(const struct sweep_plan *plan, const int *level)
{
	uint64_t rng = 1;
	double sum = 0;
	for (int a = 0; a < plan->space.n_axes; a++) {
		rng = rng * 31 + (uint64_t)level[a] + 1;
		sum += level[a];
	}
	const int64_t kind = test_range(&rng, 0, 19);
	struct sweep_told told = {.ran = kind != 0, .violation = kind > 14 ? 0.1 * (double)kind : 0};
	told.objective[0] = kind == 1 ? NAN : 1 + sum;
	told.objective[1] = 100 - sum + (double)test_range(&rng, 0, 5);
	return told;
}

static struct sweep_told failed(const struct sweep_plan *plan, const int *level)
{
	(void)plan, (void)level;
	return (struct sweep_told){.objective = {NAN, NAN}};
}

static struct sweep_told all_the_same(const struct sweep_plan *plan, const int *level)
{
	(void)plan, (void)level;
	return (struct sweep_told){.ran = true, .objective = {1, 1}};
}

static search_figures *const kinds[] = {mixed, failed, all_the_same};
#define KINDS 3

static void check_different(const struct searched *s, const char *label)
{
	const size_t grid = 12 * 12 * 12 * 12 * 3;
	bool *met = calloc(grid, 1);
	cr_assert(met);
	for (int64_t id = 0; id < s->n; id++) {
		const int *level = searched_level(s, id);
		const int64_t key = searched_key(s, id);
		cr_assert(key >= 0 && key < (int64_t)grid);
		cr_assert_not(met[key], "%s: point %d again", label, (int)id);
		met[key] = true;
		for (int a = 0; a < s->plan->space.n_axes; a++) {
			cr_assert(level[a] >= 0 && level[a] < s->plan->space.axis[a].n_levels, "%s", label);
			cr_assert(sweep_axis_has_effect(&s->plan->space, a, level) || !level[a],
				  "%s: an axis of another machine", label);
		}
	}
	free(met);
}

Test(sweep_search, gives_no_point_twice)
{
	static const char *const axes[] = {FOUR_AXES, TWO_MACHINES};
	static const char *const populations[] = {"", "population: 8\n", "population: 64\n"};
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < KINDS; k++)
			for (int p = 0; p < 3; p++)
				for (int seed = 0; seed < 4; seed++) {
					char label[100];
					const int points = i ? 40 + p : 300 + p;
					struct sweep_plan *plan = search_plan(axes[i], points, seed, populations[p]);
					struct searched s = search_run(plan, kinds[k], 5);
					snprintf(label, sizeof label, "axes %d, figures %d, population %d, seed %d", i,
						 k, p, seed);
					cr_assert_eq(s.n, points, "%s: %d points", label, (int)s.n);
					check_different(&s, label);
					searched_free(&s);
					plan_free(plan);
				}
}

/* The grid of two machines has 4 x 11 + 4 x 3 points. */
Test(sweep_search, of_all_points_is_the_whole_grid)
{
	static const int asked[] = {56, 57, 5000};
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < KINDS; k++) {
			struct sweep_plan *plan = search_plan(TWO_MACHINES, asked[i], i + 1, "");
			struct searched s = search_run(plan, kinds[k], 6);
			cr_assert_eq(s.n, 56, "%d points", (int)s.n);
			check_different(&s, "the grid");
			searched_free(&s);
			plan_free(plan);
		}
	struct sweep_plan *plan = search_plan(FOUR_AXES, 12 * 12 * 12 * 3, 3, "population: 512\n");
	struct searched s = search_run(plan, mixed, 6);
	cr_assert_eq(s.n, 12 * 12 * 12 * 3);
	check_different(&s, "the larger grid");
	searched_free(&s);
	plan_free(plan);
}

static bool are_alike(const struct searched *a, const struct searched *b)
{
	return a->n == b->n && !memcmp(a->level, b->level, (size_t)(a->n * a->plan->space.n_axes) * sizeof *a->level);
}

Test(sweep_search, follows_from_its_seed_in_any_order_of_results)
{
	for (int k = 0; k < KINDS; k++) {
		struct sweep_plan *plan = search_plan(FOUR_AXES, 250, 7, "");
		struct sweep_plan *other = search_plan(FOUR_AXES, 250, 8, "");
		struct searched first = search_run(plan, kinds[k], 1), seeded = search_run(other, kinds[k], 1);
		for (uint64_t order = 2; order < 7; order++) {
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

/* Results of other points give other points from the second generation on, and the same first one. */
Test(sweep_search, follows_from_results)
{
	struct sweep_plan *plan = search_plan(FOUR_AXES, 160, 7, "population: 16\n");
	struct searched a = search_run(plan, mixed, 1), b = search_run(plan, all_the_same, 1);
	const size_t generation = 16 * (size_t)plan->space.n_axes * sizeof *a.level;
	cr_assert_eq(memcmp(a.level, b.level, generation), 0);
	cr_assert_neq(memcmp((char *)a.level + generation, (char *)b.level + generation, generation), 0);
	searched_free(&a);
	searched_free(&b);
	plan_free(plan);
}

/* A search that is told the points of a store goes on as the one that chose them. The store has whole generations and
 * some points of the next. */
Test(sweep_search, goes_on_where_it_was)
{
	struct sweep_plan *plan = search_plan(FOUR_AXES, 200, 3, "population: 24\n");
	struct searched whole = search_run(plan, mixed, 1);
	uint64_t rng = 8;
	for (int64_t stored = 0; stored < 200; stored += 7) {
		struct sweep_search *search = search_open(plan);
		for (int64_t id = 0; id < sweep_search_known(search) && id < stored; id++)
			if (id < stored / 24 * 24 || test_range(&rng, 0, 1))
				search_tell(search, id, &whole.told[id]);
		cr_assert_eq(sweep_search_known(search), (stored / 24 + 1) * 24 < 200 ? (stored / 24 + 1) * 24 : 200);
		struct searched rest = search_finish(plan, search, mixed, rng);
		cr_assert(are_alike(&whole, &rest), "from %d points on", (int)stored);
		searched_free(&rest);
		sweep_search_close(search);
	}
	searched_free(&whole);
	plan_free(plan);
}

Test(sweep_search, takes_the_first_that_it_is_told_of_a_point)
{
	struct sweep_plan *plan = search_plan(FOUR_AXES, 64, 3, "population: 16\n");
	struct searched whole = search_run(plan, mixed, 1);
	struct sweep_search *search = search_open(plan);
	const struct sweep_told other = {.ran = true, .objective = {0, 0}};
	cr_assert(sweep_search_listens(search));
	search_tell(search, 16, &other); /* not chosen yet */
	cr_assert_not(sweep_search_was_told(search, 0));
	for (int64_t id = 0; id < 15; id++) {
		search_tell(search, id, &whole.told[id]);
		search_tell(search, id, &other);
	}
	cr_assert_eq(sweep_search_known(search), 16, "15 points were told");
	search_tell(search, 15, &whole.told[15]);
	cr_assert_eq(sweep_search_known(search), 32);
	struct searched rest = search_finish(plan, search, mixed, 2);
	cr_assert(are_alike(&whole, &rest));
	searched_free(&rest);
	searched_free(&whole);
	sweep_search_close(search);
	plan_free(plan);
}

/* The other methods know all points from the beginning, and need not be told. */
Test(sweep_search, of_other_methods_does_not_listen)
{
	static const char *const methods[] = {"method: grid\n", "method: random\npoints: 30\n",
					      "method: sobol\npoints: 30\n"};
	for (int i = 0; i < 3; i++) {
		char text[600];
		snprintf(text, sizeof text, TWO_MACHINES "%s", methods[i]);
		struct sweep_plan *plan = plan_of(text);
		struct sweep_search *search = search_open(plan);
		const struct sweep_told told = {.ran = true};
		cr_assert_not(sweep_search_listens(search));
		cr_assert_eq(sweep_search_known(search), sweep_search_points(search));
		cr_assert_eq(sweep_search_points(search), i ? 30 : 56);
		search_tell(search, 0, &told);
		cr_assert_not(sweep_search_was_told(search, 0));
		sweep_search_close(search);
		plan_free(plan);
	}
}

Test(sweep_search, refuses_what_it_cannot_search)
{
	static const struct {
		const char *text, *expected;
		bool is_of_plan; /* the plan itself is refused */
	} cases[] = {{"points: 20\n", "method evolution: expected objectives, as minimise: [seconds, energy_j]", false},
		     {"points: 20\npopulation: 12\nminimise: seconds\n", ":6: '12': expected a multiple of 8", true},
		     {"points: 20\npopulation: 0\nminimise: seconds\n", "'0'", true},
		     {"minimise: seconds\n", "evolution: expected points", true},
		     {"points: 2000000000\nminimise: seconds\n", "2000000000 points, expected at most 1e+09", false},
		     {"points: 20\nminimise: [seconds, energy_j, area_mm2, power_w, cycles, dram_bytes, link_bytes, "
		      "edp_js, host_seconds]\n",
		      ":6: expected at most 8 objectives", true}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[600];
		struct sweep_plan *plan = calloc(1, sizeof *plan);
		struct sweep_search *search = (struct sweep_search *)plan;
		struct npl_err err = {0};
		snprintf(text, sizeof text,
			 "model: digits\ndevice: tpu_v1\nvary: {array.rows: 1..9}\nmethod: evolution\n%s",
			 cases[i].text);
		int rc = plan_read(text, true, plan, &err);
		cr_assert_eq(rc != 0, cases[i].is_of_plan, "%s%s", cases[i].text, err.msg);
		if (!rc) {
			rc = sweep_search_open(plan, &search, &err);
			cr_assert_eq(rc, NPL_EUSAGE, "%s", cases[i].text);
			cr_assert_null(search);
		}
		cr_assert(strstr(err.msg, cases[i].expected), "%s: %s", cases[i].text, err.msg);
		plan_free(plan);
	}
}
