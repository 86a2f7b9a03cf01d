/* SPDX-License-Identifier: MIT
 *
 * Choosing points one after the other (search.h). */
#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "evolution.h"
#include "method.h"
#include "narrowing.h"

/* Greater than all figures; ratios of it to them are finite. */
#define BEHIND_ALL 1e200

struct sweep_search {
	const struct sweep_plan *plan;
	int64_t n_points, n_known;
	/* Of a method that listens: */
	int64_t generation; /* how many were chosen */
	int64_t n_told;
	int *level;              /* of the known points, n_axes each */
	struct sweep_told *told; /* of the known points */
	bool *was_told;
};

static bool listens(const struct sweep_plan *plan)
{
	return plan->method == SWEEP_EVOLUTION || plan->method == SWEEP_NARROWING;
}

/* Returns the points of a generation. Those of an evolution are about as many as there are generations, and at most
 * 128, in whole chunks, which processes take at once. */
static int64_t points_of_generation(const struct sweep_plan *plan, int64_t n_points, int64_t generation)
{
	if (plan->method == SWEEP_NARROWING)
		return sweep_narrowing_points(n_points, generation);
	if (plan->population)
		return plan->population;
	const int64_t chunks = (int64_t)(sqrt((double)n_points) / SWEEP_CHUNK + 0.5);
	return SWEEP_CHUNK * (chunks < 1 ? 1 : chunks > 16 ? 16 : chunks);
}

/* Chooses the next generation, when all points before it have been told. */
static int choose(struct sweep_search *s, struct npl_err *err)
{
	const struct sweep_plan *plan = s->plan;
	if (s->n_told < s->n_known || s->n_known == s->n_points)
		return 0;
	const struct sweep_history history = {.space = &plan->space,
					      .n = s->n_known,
					      .level = s->level,
					      .told = s->told,
					      .n_objectives = plan->objectives.n};
	const int64_t left = s->n_points - s->n_known;
	const int64_t whole = points_of_generation(plan, s->n_points, s->generation);
	const int64_t wanted = left < whole ? left : whole;
	const int64_t n = (plan->method == SWEEP_NARROWING ? sweep_narrow : sweep_evolve)(
		&history, s->level, wanted, s->generation++, plan->seed, err);
	if (n < 0)
		return err->code;
	s->n_known += n;
	if (n < wanted)
		s->n_points = s->n_known;
	return 0;
}

static int open_listening(struct sweep_search *s, struct npl_err *err)
{
	const struct sweep_plan *plan = s->plan;
	const double grid = sweep_space_points(&plan->space);
	if (!plan->objectives.n)
		return npl_fail(err, NPL_EUSAGE, "method %s: expected objectives, as minimise: [seconds, energy_j]",
				sweep_method_name[plan->method]);
	if (plan->objectives.n > SWEEP_OBJECTIVES)
		return npl_fail(err, NPL_EUSAGE, "%d objectives, expected at most %d", plan->objectives.n,
				SWEEP_OBJECTIVES);
	if (grid < (double)s->n_points)
		s->n_points = (int64_t)grid;
	s->level = calloc((size_t)s->n_points * (size_t)plan->space.n_axes, sizeof *s->level);
	s->told = calloc((size_t)s->n_points, sizeof *s->told);
	s->was_told = calloc((size_t)s->n_points, sizeof *s->was_told);
	return s->level && s->told && s->was_told ? choose(s, err) : npl_no_memory(err);
}

int sweep_search_open(const struct sweep_plan *plan, struct sweep_search **search, struct npl_err *err)
{
	struct sweep_search *s = *search = calloc(1, sizeof *s);
	if (!s)
		return npl_no_memory(err);
	s->plan = plan;
	int rc = sweep_method_points(plan, &s->n_points, err);
	if (!rc && listens(plan))
		rc = open_listening(s, err);
	else
		s->n_known = s->n_points;
	if (rc) {
		sweep_search_close(s);
		*search = NULL;
	}
	return rc;
}

void sweep_search_close(struct sweep_search *s)
{
	if (!s)
		return;
	free(s->level);
	free(s->told);
	free(s->was_told);
	free(s);
}

int64_t sweep_search_points(const struct sweep_search *s)
{
	return s->n_points;
}

int64_t sweep_search_known(const struct sweep_search *s)
{
	return s->n_known;
}

void sweep_search_point(const struct sweep_search *s, int64_t id, int *level)
{
	const int n_axes = s->plan->space.n_axes;
	if (s->level)
		memcpy(level, s->level + id * n_axes, (size_t)n_axes * sizeof *level);
	else
		sweep_method_point(s->plan, s->n_points, id, level);
}

bool sweep_search_listens(const struct sweep_search *s)
{
	return s->level != NULL;
}

bool sweep_search_was_told(const struct sweep_search *s, int64_t id)
{
	return s->was_told && s->was_told[id];
}

int sweep_search_tell(struct sweep_search *s, int64_t id, const struct sweep_told *told, struct npl_err *err)
{
	if (!s->level || id >= s->n_known || s->was_told[id])
		return 0;
	s->told[id] = *told;
	/* A point that was excluded has no figures. It is a parent all the same where none is nearer to the
	 * constraints, behind those that break them as much and have figures. */
	for (int i = 0; i < s->plan->objectives.n && !told->ran && told->violation > 0; i++)
		s->told[id].objective[i] = BEHIND_ALL;
	s->was_told[id] = true;
	s->n_told++;
	return choose(s, err);
}
