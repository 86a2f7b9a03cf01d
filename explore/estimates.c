/* SPDX-License-Identifier: MIT
 *
 * Estimates of points that did not run (estimates.h). */
#include "estimates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "explore/methods/draw.h"
#include "neighbours.h"
#include "sweep.h"

/* A point that is on a front, with its objectives turned so that less is better. */
struct rival {
	int model; /* its level: points of different networks are no alternatives */
	bool ran;
	double value[SWEEP_OBJECTIVES];
	double margin[SWEEP_OBJECTIVES]; /* by which it may be worse than it is estimated; of one that ran 0 */
	int level[SWEEP_AXES];
	struct sweep_metrics metrics;
};

struct state {
	const struct sweep_to_estimate *wanted;
	struct sweep_estimates *estimates;
	int n_axes;
	int *level; /* of the points that ran: of result r, level[r * n_axes] and on */
	struct sweep_kriging *kriging[SWEEP_METRICS]; /* of figure i of the estimates */
	struct sweep_kriging *failing;                /* 1 where a point fails, 0 where it runs; NULL: none failed */
	int n_constraints;
	struct sweep_measure constraint[2 * SWEEP_PLAN_LIST];
	struct rival *rival;
	int64_t n_rivals, capacity;
	struct sweep_drawer drawer; /* knows the points that ran */
};

/* ---- What is to be estimated. */

static bool is_varied(const struct sweep_results *results, const char *name)
{
	for (int k = 0; k < results->n_keys; k++)
		if (!strcmp(results->key[k], name))
			return true;
	return false;
}

/* Adds the figures that an expression names. */
static int add_figures(struct state *s, const struct sweep_measure *measure, struct npl_err *err)
{
	struct sweep_estimates *estimates = s->estimates;
	for (int i = 0; i < measure->expression.n_names; i++) {
		const char *name = measure->expression.name[i];
		const int metric = measure->metric[i];
		bool is_new = true;
		if (metric < 0 && !is_varied(s->wanted->results, name))
			return npl_fail(err, NPL_EUSAGE,
					"--estimate: '%s' names '%s', which is neither a figure nor varied",
					measure->expression.text, name);
		for (int k = 0; k < estimates->n_figures; k++)
			is_new = is_new && (int)estimates->figure[k] != metric;
		if (metric >= 0 && is_new)
			estimates->figure[estimates->n_figures++] = (enum sweep_metric)metric;
	}
	return 0;
}

static int find_figures(struct state *s, struct npl_err *err)
{
	const struct sweep_formulas *formulas = &s->wanted->plan->constraints;
	for (int i = 0; i < formulas->n; i++)
		s->constraint[s->n_constraints++] = sweep_measure_of(&formulas->formula[i].expression);
	for (int i = 0; i < s->wanted->n_constraints && i < SWEEP_PLAN_LIST; i++)
		s->constraint[s->n_constraints++] = s->wanted->constraint[i];
	for (int i = 0; i < s->n_constraints; i++)
		if (add_figures(s, &s->constraint[i], err))
			return err->code;
	for (int i = 0; i < s->wanted->front->n_objectives; i++)
		if (add_figures(s, &s->wanted->front->objective[i], err))
			return err->code;
	return 0;
}

/* ---- The points that ran. */

static int find_levels(struct state *s, struct npl_err *err)
{
	const struct sweep_results *results = s->wanted->results;
	s->level = calloc((size_t)results->n * (size_t)s->n_axes + 1, sizeof *s->level);
	if (!s->level)
		return npl_no_memory(err);
	for (int64_t r = 0; r < results->n; r++) {
		const struct sweep_result *result = &results->result[r];
		int *level = s->level + r * s->n_axes;
		if (sweep_levels_of(s->wanted->plan, result->parameter, result->n_parameters, level, err))
			return npl_prefix(err, "--estimate: point %lld", (long long)result->id);
		sweep_add_known(&s->drawer, level);
	}
	return 0;
}

/* Returns a metric of a point, or whether it failed for -1. */
static double figure_of(const struct sweep_result *result, int metric)
{
	return metric < 0 ? result->status == SWEEP_FAILED : result->metrics.value[metric];
}

/* Opens the estimate of a metric, or of whether points fail for -1, from all points of which it is known. */
static int open_figure(struct state *s, int metric, struct sweep_kriging **kriging, struct npl_err *err)
{
	const struct sweep_results *results = s->wanted->results;
	int *level = malloc(((size_t)results->n * (size_t)s->n_axes + 1) * sizeof *level);
	double *value = malloc(((size_t)results->n + 1) * sizeof *value);
	int64_t n = 0;
	int rc = level && value ? 0 : npl_no_memory(err);
	for (int64_t r = 0; r < results->n && !rc; r++) {
		const double figure = figure_of(&results->result[r], metric);
		if (!isfinite(figure))
			continue;
		memcpy(level + n * s->n_axes, s->level + r * s->n_axes, (size_t)s->n_axes * sizeof *level);
		value[n++] = figure;
	}
	if (!rc && sweep_kriging_open(&s->wanted->plan->space, n, level, value, kriging, err))
		rc = npl_prefix(err, "--estimate: %s",
				metric < 0 ? "which points fail" : sweep_metric_info[metric].name);
	free(level);
	free(value);
	return rc;
}

/* Opens all estimates, and finds their errors for each network. */
static int open_figures(struct state *s, struct npl_err *err)
{
	struct sweep_estimates *estimates = s->estimates;
	bool has_failed = false;
	estimates->n_models = s->wanted->plan->space.axis[SWEEP_MODEL_AXIS].n_levels;
	estimates->error = calloc((size_t)estimates->n_figures * (size_t)estimates->n_models + 1,
				  sizeof *estimates->error);
	int rc = estimates->error ? 0 : npl_no_memory(err);
	for (int f = 0; f < estimates->n_figures && !rc; f++) {
		rc = open_figure(s, (int)estimates->figure[f], &s->kriging[f], err);
		if (!rc)
			rc = sweep_kriging_error(s->kriging[f], SWEEP_MODEL_AXIS, estimates->n_models,
						 estimates->error + f * estimates->n_models, err);
	}
	for (int64_t r = 0; r < s->wanted->results->n; r++)
		has_failed = has_failed || s->wanted->results->result[r].status == SWEEP_FAILED;
	return rc || !has_failed ? rc : open_figure(s, -1, &s->failing, err);
}

/* ---- Rivals. */

static struct rival *add_rival(struct state *s, struct npl_err *err)
{
	struct rival *grown = npl_grow(s->rival, s->n_rivals, &s->capacity, sizeof *s->rival);
	if (!grown) {
		npl_no_memory(err);
		return NULL;
	}
	s->rival = grown;
	return &grown[s->n_rivals++];
}

/* Returns the median error of an objective, relative to it: the sum of those of the figures that it names. */
static double error_of(const struct state *s, const struct sweep_measure *objective, int model)
{
	const struct sweep_estimates *estimates = s->estimates;
	double sum = 1e-6; /* rounding */
	for (int i = 0; i < objective->expression.n_names; i++)
		for (int f = 0; f < estimates->n_figures; f++)
			if ((int)estimates->figure[f] == objective->metric[i]) {
				const double median = estimates->error[f * estimates->n_models + model].median;
				sum += isfinite(median) ? median : 0;
			}
	return sum;
}

/* Fills the objectives of a point; returns false where one is not known. */
static bool value_rival(const struct state *s, const struct sweep_parameter *parameter, int n, struct rival *rival)
{
	const struct sweep_front *front = s->wanted->front;
	for (int i = 0; i < front->n_objectives; i++) {
		const struct sweep_measure *m = &front->objective[i];
		const double value = sweep_measure_value(m, parameter, n, &rival->metrics);
		if (!isfinite(value))
			return false;
		rival->value[i] = m->is_maximised ? -value : value;
		rival->margin[i] = rival->ran ? 0 : fabs(value) * error_of(s, m, rival->model);
	}
	return true;
}

static int add_front(struct state *s, struct npl_err *err)
{
	const struct sweep_front *front = s->wanted->front;
	for (int64_t k = 0; k < front->n; k++) {
		const struct sweep_result *result = &s->wanted->results->result[front->index[k]];
		struct rival *rival = add_rival(s, err);
		if (!rival)
			return err->code;
		*rival = (struct rival){.ran = true, .metrics = result->metrics};
		memcpy(rival->level, s->level + front->index[k] * s->n_axes, (size_t)s->n_axes * sizeof(int));
		rival->model = rival->level[SWEEP_MODEL_AXIS];
		value_rival(s, result->parameter, result->n_parameters, rival);
	}
	return 0;
}

/* Says whether a is at least as good as b, of which the estimate may be too good, in all objectives. */
static bool covers(const struct rival *a, const struct rival *b, int n)
{
	for (int i = 0; i < n; i++)
		if (a->value[i] > b->value[i] + b->margin[i])
			return false;
	return a->model == b->model;
}

/* Adds a point to the rivals unless one covers it, and takes away the estimated ones that it covers. */
static int contest(struct state *s, const struct rival *one, struct npl_err *err)
{
	const int n = s->wanted->front->n_objectives;
	int64_t kept = 0;
	for (int64_t i = s->n_rivals - 1; i >= 0; i--)
		if (covers(&s->rival[i], one, n))
			return 0;
	for (int64_t i = 0; i < s->n_rivals; i++)
		if (s->rival[i].ran || !covers(one, &s->rival[i], n))
			s->rival[kept++] = s->rival[i];
	s->n_rivals = kept;
	struct rival *rival = add_rival(s, err);
	if (rival)
		*rival = *one;
	return rival ? 0 : err->code;
}

static bool meets_constraints(const struct state *s, const struct sweep_parameter *parameter, int n,
			      const struct sweep_metrics *metrics)
{
	for (int i = 0; i < s->n_constraints; i++) {
		const double value = sweep_measure_value(&s->constraint[i], parameter, n, metrics);
		if (isnan(value) || !(fabs(value) > 0))
			return false;
	}
	return true;
}

/* ---- The grid. */

static int estimate_point(struct state *s, const int *level, struct npl_err *err)
{
	struct sweep_parameter parameter[SWEEP_KEYS];
	struct rival rival = {.model = level[SWEEP_MODEL_AXIS]};
	s->estimates->n++;
	if (s->failing && sweep_kriging_at(s->failing, level) > 0.5)
		return 0;
	for (int m = 0; m < SWEEP_METRICS; m++)
		rival.metrics.value[m] = NAN;
	for (int f = 0; f < s->estimates->n_figures; f++)
		rival.metrics.value[s->estimates->figure[f]] = sweep_kriging_at(s->kriging[f], level);
	const int n = sweep_parameters_of(s->wanted->plan, level, parameter);
	if (!value_rival(s, parameter, n, &rival) || !meets_constraints(s, parameter, n, &rival.metrics))
		return 0;
	memcpy(rival.level, level, (size_t)s->n_axes * sizeof *level);
	return contest(s, &rival, err);
}

/* Puts the estimated rivals into the results. */
static int keep_points(struct state *s, struct npl_err *err)
{
	struct sweep_results *points = &s->estimates->points;
	for (int64_t i = 0; i < s->n_rivals; i++) {
		struct sweep_parameter parameter[SWEEP_KEYS];
		if (s->rival[i].ran)
			continue;
		const struct sweep_result result = {
			.id = -1,
			.status = SWEEP_DONE,
			.feasible = true,
			.n_parameters = sweep_parameters_of(s->wanted->plan, s->rival[i].level, parameter),
			.parameter = parameter,
			.metrics = s->rival[i].metrics};
		if (sweep_results_add(points, &result, err))
			return err->code;
	}
	return 0;
}

static int estimate_all(struct state *s, struct npl_err *err)
{
	const struct sweep_space *space = &s->wanted->plan->space;
	const double grid = sweep_space_points(space);
	int level[SWEEP_AXES], rc = 0;
	if (grid > SWEEP_MOST_ESTIMATED)
		return npl_fail(err, NPL_EUSAGE, "--estimate: the grid has %.3g points, expected at most %.0e", grid,
				SWEEP_MOST_ESTIMATED);
	if (find_figures(s, err) || find_levels(s, err) || open_figures(s, err) || add_front(s, err))
		return err->code;
	for (uint64_t i = 0; i < (uint64_t)grid && !rc; i++) {
		sweep_space_point(space, i, level);
		if (!sweep_is_known(&s->drawer, level))
			rc = estimate_point(s, level, err);
	}
	return rc ? rc : keep_points(s, err);
}

int sweep_estimate(const struct sweep_to_estimate *wanted, struct sweep_estimates *estimates, struct npl_err *err)
{
	const struct sweep_space *space = &wanted->plan->space;
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return npl_no_memory(err);
	*s = (struct state){.wanted = wanted, .estimates = estimates, .n_axes = space->n_axes};
	int rc = sweep_drawer_open(&s->drawer, space, wanted->results->n, 0, 0, err);
	if (!rc)
		rc = estimate_all(s, err);
	for (int f = 0; f < estimates->n_figures; f++)
		sweep_kriging_close(s->kriging[f]);
	sweep_kriging_close(s->failing);
	sweep_drawer_close(&s->drawer);
	free(s->level);
	free(s->rival);
	free(s);
	return rc;
}

void sweep_estimates_free(struct sweep_estimates *estimates)
{
	free(estimates->error);
	sweep_results_free(&estimates->points);
	*estimates = (struct sweep_estimates){0};
}
