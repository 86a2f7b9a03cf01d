/* SPDX-License-Identifier: MIT
 *
 * Reading the results of a sweep (sweep_results.h). */
#include "sweep_results.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "common.h"
#include "core/base/refuse.h"
#include "explore/estimates.h"
#include "explore/recorded.h"
#include "reports/format/table.h"

/* Makes points that break a constraint points that are not feasible, for that reason. */
static int apply(const char *constraint, struct sweep_results *results, struct npl_err *err)
{
	struct sweep_measure measure;
	if (sweep_measure_parse(results, constraint, &results->arena, &measure, err))
		return npl_prefix(err, "--constraint");
	for (int64_t r = 0; r < results->n; r++) {
		struct sweep_result *result = &results->result[r];
		if (!result->feasible)
			continue;
		const double value = sweep_result_value(&measure, result);
		result->feasible = !isnan(value) && value != 0;
		if (!result->feasible)
			result->reason = measure.expression.text;
	}
	return 0;
}

int cli_results_read(struct sweep_store *store, const struct cli_list *constraints, struct sweep_results *results,
		     struct npl_err *err)
{
	int rc = sweep_results_read(store, results, err);
	for (int i = 0; i < constraints->n && !rc; i++)
		rc = apply(constraints->item[i], results, err);
	return rc;
}

int cli_results_open(const char *path, const struct cli_list *constraints, struct sweep_results *results,
		     struct npl_err *err)
{
	struct sweep_store *store;
	int rc = sweep_store_read(path, &store, err);
	if (!rc)
		rc = cli_results_read(store, constraints, results, err);
	sweep_store_close(store);
	return rc;
}

void cli_hint_at_models(const struct sweep_results *results)
{
	const char *first = NULL;
	for (int64_t r = 0; r < results->n; r++) {
		const char *model = results->result[r].feasible
					    ? sweep_result_parameter(&results->result[r], SWEEP_MODEL)
					    : NULL;
		if (model && first && strcmp(model, first) != 0) {
			npl_table_text(
				"Points of several networks are here: --constraint \"model == 'NAME'\" takes those of "
				"one.",
				stdout);
			return;
		}
		first = model ? model : first;
	}
}

int cli_print_estimates(struct sweep_store *store, const struct cli_list *constraints, struct sweep_results *results,
			const struct sweep_front *front, struct npl_err *err)
{
	struct sweep_measure *constraint = npl_arena_array(&results->arena, (size_t)constraints->n + 1,
							   sizeof *constraint);
	struct sweep_recorded recorded = {0};
	struct sweep_estimates estimates = {0};
	int rc = constraint ? sweep_recorded_read(store, &recorded, err) : npl_no_memory(err);
	for (int i = 0; i < constraints->n && !rc; i++)
		rc = sweep_measure_parse(results, constraints->item[i], &results->arena, &constraint[i], err);
	const struct sweep_to_estimate wanted = {.plan = recorded.plan,
						 .results = results,
						 .front = front,
						 .n_constraints = constraints->n,
						 .constraint = constraint};
	if (!rc)
		rc = sweep_estimate(&wanted, &estimates, err);
	cli_waiting_end();
	if (!rc)
		rc = cli_table_printed(sweep_estimates_table(stdout, &wanted, &estimates, err), 0, err);
	sweep_estimates_free(&estimates);
	sweep_recorded_free(&recorded);
	return rc;
}

/* Says whether the last measure stands in the list before. */
static bool is_listed(const struct cli_measures *measures)
{
	const int last = measures->n - 1;
	for (int i = 0; i < last; i++)
		if (!strcmp(measures->measure[i].expression.text, measures->measure[last].expression.text))
			return true;
	return false;
}

int cli_measures_add(const char *list, enum cli_direction direction, const char *option, struct sweep_results *results,
		     struct cli_measures *measures, struct npl_err *err)
{
	for (const char *rest = list; rest;) {
		const char *text = sweep_expression_cut(&rest, &results->arena);
		if (!text)
			return npl_no_memory(err);
		if (!measures->measure)
			measures->measure = npl_arena_array(&results->arena, SWEEP_METRICS, sizeof *measures->measure);
		if (!measures->measure)
			return npl_no_memory(err);
		if (measures->n == SWEEP_METRICS)
			return npl_fail(err, NPL_EUSAGE, "%s: expected at most %d of them", option, SWEEP_METRICS);
		struct sweep_measure *measure = &measures->measure[measures->n++];
		if (sweep_measure_parse(results, text, &results->arena, measure, err))
			return npl_prefix(err, "%s", option);
		if (direction != CLI_AS_BETTER)
			measure->is_maximised = direction == CLI_MOST;
		if (is_listed(measures))
			measures->n--;
	}
	return 0;
}

int cli_objectives_of(struct sweep_store *store, struct sweep_results *results, struct cli_measures *measures,
		      struct npl_err *err)
{
	const char *text = sweep_store_fact(store, "objectives", &results->arena);
	json_t *list = text ? json_loads(text, 0, NULL) : NULL;
	int rc = 0;
	for (size_t i = 0; i < json_array_size(list) && !rc; i++) {
		const json_t *objective = json_array_get(list, i);
		const char *expression = json_string_value(json_object_get(objective, "expression"));
		const bool most = json_is_true(json_object_get(objective, "maximise"));
		if (expression)
			rc = cli_measures_add(expression, most ? CLI_MOST : CLI_LEAST, "the plan", results, measures,
					      err);
	}
	json_decref(list);
	if (rc || measures->n)
		return rc;
	const bool has_energy = sweep_results_have(results, SWEEP_METRIC_energy_j);
	return cli_measures_add(has_energy ? "seconds,energy_j" : "seconds", CLI_LEAST, "the plan", results, measures,
				err);
}

int cli_front_of(const struct sweep_results *results, const struct cli_measures *objectives, struct sweep_front *front,
		 struct npl_err *err)
{
	if (objectives->n > SWEEP_OBJECTIVES)
		return npl_fail(err, NPL_EUSAGE, "pareto: expected at most %d objectives", SWEEP_OBJECTIVES);
	front->n_objectives = objectives->n;
	memcpy(front->objective, objectives->measure, (size_t)objectives->n * sizeof *front->objective);
	return sweep_front_find(results, front, err);
}
