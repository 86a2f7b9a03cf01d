/* SPDX-License-Identifier: MIT
 *
 * Searches over points whose figures follow from a formula, for tests: nothing is simulated. */
#ifndef NPULAB_TESTS_KIT_SEARCH_RUN_H
#define NPULAB_TESTS_KIT_SEARCH_RUN_H

#include <math.h>

#include "explore/methods/search.h"
#include "support.h"
#include "sweep_plan.h"

/* What comes of a point with these levels. */
typedef struct sweep_told search_figures(const struct sweep_plan *plan, const int *level);

/* The points of a search in the order of their ids. */
struct searched {
	const struct sweep_plan *plan;
	int64_t n;
	int *level;
	struct sweep_told *told;
};

static inline struct sweep_search *search_open(const struct sweep_plan *plan)
{
	struct sweep_search *search;
	struct npl_err err = {0};
	cr_assert_eq(sweep_search_open(plan, &search, &err), 0, "%s", err.msg);
	return search;
}

static inline void search_tell(struct sweep_search *search, int64_t id, const struct sweep_told *told)
{
	struct npl_err err = {0};
	cr_assert_eq(sweep_search_tell(search, id, told, &err), 0, "%s", err.msg);
}

/* Tells all points that are known and were not told, in a random order, until there are no more. */
static inline struct searched search_finish(const struct sweep_plan *plan, struct sweep_search *search,
					    search_figures *figures, uint64_t seed)
{
	const int n_axes = plan->space.n_axes;
	const int64_t most = sweep_search_points(search);
	struct searched s = {.plan = plan,
			     .level = calloc((size_t)(most * n_axes), sizeof *s.level),
			     .told = calloc((size_t)most, sizeof *s.told)};
	int64_t *waiting = calloc((size_t)most, sizeof *waiting);
	uint64_t rng = seed;
	cr_assert(s.level && s.told && waiting);
	for (int64_t n_waiting; s.n < sweep_search_points(search);) {
		const int64_t known = sweep_search_known(search);
		cr_assert(known > s.n && known <= most);
		n_waiting = 0;
		for (int64_t id = s.n; id < known; id++) {
			sweep_search_point(search, id, s.level + id * n_axes);
			s.told[id] = figures(plan, s.level + id * n_axes);
			if (!sweep_search_was_told(search, id))
				waiting[n_waiting++] = id;
		}
		for (s.n = known; n_waiting > 0;) {
			const int64_t w = test_range(&rng, 0, n_waiting - 1), id = waiting[w];
			cr_assert_eq(sweep_search_known(search), known, "it grows when all have been told");
			search_tell(search, id, &s.told[id]);
			cr_assert(sweep_search_was_told(search, id));
			waiting[w] = waiting[--n_waiting];
		}
	}
	free(waiting);
	return s;
}

static inline struct searched search_run(const struct sweep_plan *plan, search_figures *figures, uint64_t seed)
{
	struct sweep_search *search = search_open(plan);
	const struct searched s = search_finish(plan, search, figures, seed);
	sweep_search_close(search);
	return s;
}

static inline void searched_free(struct searched *s)
{
	free(s->level);
	free(s->told);
	*s = (struct searched){0};
}

static inline const int *searched_level(const struct searched *s, int64_t id)
{
	return s->level + id * s->plan->space.n_axes;
}

/* The levels as one number, in the plan's grid. */
static inline int64_t searched_key(const struct searched *s, int64_t id)
{
	int64_t key = 0;
	for (int a = 0; a < s->plan->space.n_axes; a++)
		key = key * s->plan->space.axis[a].n_levels + searched_level(s, id)[a];
	return key;
}

/* A level as a number from 0 to 1. */
static inline double search_share(const struct sweep_plan *plan, const int *level, int axis)
{
	return (double)level[axis] / (double)(plan->space.axis[axis].n_levels - 1);
}

#endif
