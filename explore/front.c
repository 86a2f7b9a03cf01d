/* SPDX-License-Identifier: MIT
 *
 * Finding the Pareto front (front.h). */
#include "front.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"

/* A point with its objectives, turned so that less is better. */
struct candidate {
	int64_t index;
	const char *model; /* "" where the sweep has one */
	double value[SWEEP_OBJECTIVES];
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	const int order = strcmp(x->model, y->model);
	if (order)
		return order;
	for (int i = 0; i < SWEEP_OBJECTIVES; i++)
		if (x->value[i] < y->value[i] || x->value[i] > y->value[i])
			return x->value[i] < y->value[i] ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Says whether a is at least as good as b in all objectives, for the same network. */
static bool covers(const struct candidate *a, const struct candidate *b, int n)
{
	for (int i = 0; i < n; i++)
		if (a->value[i] > b->value[i])
			return false;
	return !strcmp(a->model, b->model);
}

/* Fills the candidates, those that are feasible and have all objectives. */
static void collect(const struct sweep_results *results, struct sweep_front *front, struct candidate *candidate)
{
	for (int64_t r = 0; r < results->n; r++) {
		const struct sweep_result *result = &results->result[r];
		const char *model = sweep_result_parameter(result, SWEEP_MODEL);
		struct candidate *c = &candidate[front->considered];
		bool known = true;
		if (!result->feasible)
			continue;
		*c = (struct candidate){.index = r, .model = model ? model : ""};
		for (int i = 0; i < front->n_objectives && known; i++) {
			const struct sweep_measure *objective = &front->objective[i];
			c->value[i] = sweep_result_value(objective, result);
			known = isfinite(c->value[i]);
			c->value[i] = objective->is_maximised ? -c->value[i] : c->value[i];
		}
		front->considered += known;
		front->unknown += !known;
	}
}

/* Finds the point that is nearest to the best of all objectives; n is not 0. */
static int64_t find_knee(const struct candidate *front, int64_t n, const struct sweep_measure *objective,
			 int n_objectives)
{
	double distance[2] = {INFINITY, 0};
	int64_t knee = 0;
	double low[SWEEP_OBJECTIVES], high[SWEEP_OBJECTIVES];
	bool logarithmic[SWEEP_OBJECTIVES];
	for (int i = 0; i < n_objectives; i++) {
		low[i] = INFINITY;
		high[i] = -INFINITY;
		for (int64_t k = 0; k < n; k++) {
			low[i] = fmin(low[i], front[k].value[i]);
			high[i] = fmax(high[i], front[k].value[i]);
		}
		logarithmic[i] = objective[i].is_maximised ? high[i] < 0 : low[i] > 0; /* the sign of those is turned */
	}
	for (int64_t k = 0; k < n; k++) {
		distance[1] = 0;
		for (int i = 0; i < n_objectives; i++) {
			if (!(high[i] > low[i]))
				continue; /* all points are as good in this one */
			const double v = front[k].value[i];
			const double share = logarithmic[i] ? log(v / low[i]) / log(high[i] / low[i])
							    : (v - low[i]) / (high[i] - low[i]);
			distance[1] += share * share;
		}
		if (distance[1] < distance[0]) {
			distance[0] = distance[1];
			knee = k;
		}
	}
	return knee;
}

int sweep_front_find(const struct sweep_results *results, struct sweep_front *front, struct npl_err *err)
{
	struct candidate *candidate = calloc((size_t)results->n + 1, sizeof *candidate);
	front->index = calloc((size_t)results->n + 1, sizeof *front->index);
	front->is_knee = calloc((size_t)results->n + 1, sizeof *front->is_knee);
	if (!candidate || !front->index || !front->is_knee) {
		free(candidate);
		return npl_no_memory(err);
	}
	front->n = front->considered = front->unknown = 0;
	collect(results, front, candidate);
	qsort(candidate, (size_t)front->considered, sizeof *candidate, compare_candidates);
	/* In this order a point can only be covered by one before it: those of the front are moved to the beginning. */
	for (int64_t i = 0; i < front->considered; i++) {
		bool covered = false;
		for (int64_t k = front->n - 1; k >= 0 && !covered; k--)
			covered = covers(&candidate[k], &candidate[i], front->n_objectives);
		if (!covered)
			candidate[front->n++] = candidate[i];
	}
	for (int64_t k = 0; k < front->n; k++)
		front->index[k] = candidate[k].index;
	for (int64_t first = 0, end; first < front->n; first = end) {
		for (end = first; end < front->n && !strcmp(candidate[end].model, candidate[first].model); end++)
			continue;
		const int64_t knee = find_knee(candidate + first, end - first, front->objective, front->n_objectives);
		front->is_knee[first + knee] = end - first > 2;
	}
	free(candidate);
	return 0;
}

void sweep_front_free(struct sweep_front *front)
{
	free(front->index);
	free(front->is_knee);
	*front = (struct sweep_front){0};
}
