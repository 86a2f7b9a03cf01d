/* SPDX-License-Identifier: MIT
 *
 * Results in memory (results.h). */
#include "results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "explore/evaluate/wire.h"

/* Returns the kept copy of a key, which is added if it is new; NULL: there is no room for it. */
static const char *keep_key(struct sweep_results *results, const char *key)
{
	for (int i = 0; i < results->n_keys; i++)
		if (!strcmp(results->key[i], key))
			return results->key[i];
	const char *kept = results->n_keys < SWEEP_KEYS ? npl_arena_strdup(&results->arena, key) : NULL;
	if (kept)
		results->key[results->n_keys++] = kept;
	return kept;
}

/* Copies parameters. */
static const struct sweep_parameter *keep_parameters(struct sweep_results *results,
						     const struct sweep_parameter *parameter, int n, bool has_run,
						     struct npl_err *err)
{
	struct sweep_parameter *kept = npl_arena_array(&results->arena, (size_t)n + 1, sizeof *kept);
	if (!kept)
		npl_no_memory(err);
	for (int i = 0; i < n && kept; i++) {
		/* Another program may ask for points with keys that there are not: these fail. */
		kept[i].key = has_run ? keep_key(results, parameter[i].key)
				      : npl_arena_strdup(&results->arena, parameter[i].key);
		kept[i].value = npl_arena_strdup(&results->arena, parameter[i].value);
		if (!kept[i].key || !kept[i].value) {
			npl_fail(err, NPL_EINPUT, "more than %d different parameters", SWEEP_KEYS);
			return NULL;
		}
	}
	return kept;
}

int sweep_results_add(struct sweep_results *results, const struct sweep_result *result, struct npl_err *err)
{
	struct sweep_result *grown = npl_grow(results->result, results->n, &results->capacity, sizeof *results->result);
	if (!grown)
		return npl_no_memory(err);
	results->result = grown;
	struct sweep_result *kept = &grown[results->n++];
	*kept = *result;
	if (result->reason && !(kept->reason = npl_arena_strdup(&results->arena, result->reason)))
		return npl_no_memory(err);
	kept->parameter = keep_parameters(results, result->parameter, result->n_parameters,
					  result->status != SWEEP_FAILED, err);
	return kept->parameter ? 0 : err->code;
}

static int keep_row(void *context, const struct sweep_row *row, struct npl_err *err)
{
	struct npl_arena arena = {0};
	struct sweep_result result = {.id = row->id,
				      .status = row->status,
				      .feasible = row->feasible,
				      .reason = row->reason,
				      .metrics = row->metrics};
	int rc = sweep_read_parameters(row->parameters, &arena, &result.parameter, &result.n_parameters, err);
	if (!rc)
		rc = sweep_results_add(context, &result, err);
	npl_arena_free(&arena);
	return rc;
}

int sweep_results_read(struct sweep_store *store, struct sweep_results *results, struct npl_err *err)
{
	return sweep_store_each(store, 0, INT64_MAX, keep_row, results, err);
}

void sweep_results_free(struct sweep_results *results)
{
	free(results->result);
	npl_arena_free(&results->arena);
	*results = (struct sweep_results){0};
}

bool sweep_results_have(const struct sweep_results *results, enum sweep_metric metric)
{
	for (int64_t r = 0; r < results->n; r++)
		if (results->result[r].feasible && isfinite(results->result[r].metrics.value[metric]))
			return true;
	return false;
}

const char *sweep_result_parameter(const struct sweep_result *result, const char *key)
{
	for (int i = 0; i < result->n_parameters; i++)
		if (!strcmp(result->parameter[i].key, key))
			return result->parameter[i].value;
	return NULL;
}

int sweep_measure_parse(const struct sweep_results *results, const char *text, struct npl_arena *arena,
			struct sweep_measure *measure, struct npl_err *err)
{
	const char *names[SWEEP_METRICS + SWEEP_KEYS];
	struct sweep_expression expression;
	int n = 0;
	if (sweep_expression_parse(sweep_metric_full_name(text), arena, &expression, err))
		return err->code;
	for (int m = 0; m < SWEEP_METRICS; m++)
		names[n++] = sweep_metric_info[m].name;
	for (int k = 0; k < results->n_keys; k++)
		names[n++] = results->key[k];
	*measure = sweep_measure_of(&expression);
	for (int i = 0; i < expression.n_names; i++) {
		const char *name = expression.name[i];
		int k = 0;
		while (k < results->n_keys && strcmp(results->key[k], name) != 0)
			k++;
		if (measure->metric[i] < 0 && k == results->n_keys)
			return npl_fail(err, NPL_EUSAGE, "'%s' is neither a figure nor a parameter that was varied%s",
					name, NPL_NEAREST_ONLY(name, names, n));
	}
	return 0;
}

double sweep_result_value(const struct sweep_measure *measure, const struct sweep_result *result)
{
	return sweep_measure_value(measure, result->parameter, result->n_parameters, &result->metrics);
}
