/* SPDX-License-Identifier: MIT
 *
 * All points of a sweep as columns of a document (front_document.h): ten times shorter, and read ten times faster, than
 * an object for each point. */
#include <math.h>
#include <string.h>

#include "core/files/words.h"
#include "explore/evaluate/wire.h"
#include "front_document.h"

int sweep_columns_of(const struct sweep_front_document *document, struct sweep_column column[SWEEP_COLUMNS])
{
	const struct sweep_results *results = document->results;
	const struct sweep_formulas *derived = &document->recorded->plan->derived;
	int n = 0;
	for (int k = 0; k < results->n_keys; k++)
		column[n++] = (struct sweep_column){results->key[k], -1};
	for (int d = 0; d < derived->n && document->derived; d++) {
		int i = 0;
		while (i < n && strcmp(column[i].key, derived->formula[d].key) != 0)
			i++;
		if (i == n)
			column[n++] = (struct sweep_column){derived->formula[d].key, d};
	}
	return n;
}

const char *sweep_column_value(const struct sweep_front_document *document, const struct sweep_column *column,
			       int64_t point)
{
	if (column->derived >= 0)
		return document->derived[point * document->recorded->plan->derived.n + column->derived];
	return sweep_result_parameter(&document->results->result[point], column->key);
}

static void put_parameters(struct npl_json *json, const struct sweep_front_document *document)
{
	struct sweep_column column[SWEEP_COLUMNS];
	const int n = sweep_columns_of(document, column);
	npl_json_open(json, "parameters", '[');
	for (int i = 0; i < n; i++) {
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "name", column[i].key);
		npl_json_text(json, "unit", sweep_recorded_unit(document->recorded, column[i].key));
		npl_json_bool(json, "derived", column[i].derived >= 0);
		npl_json_open(json, "values", '[');
		for (int64_t r = 0; r < document->results->n; r++)
			sweep_put_parameter(json, NULL, sweep_column_value(document, &column[i], r));
		npl_json_close(json, ']');
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

/* Writes a figure; counts without a point. */
static void put_metric_value(struct npl_json *json, int metric, double value)
{
	if (sweep_metric_info[metric].is_count && value >= 0 && value < 9e15)
		npl_json_u64(json, NULL, (uint64_t)value);
	else
		npl_json_double(json, NULL, value);
}

/* Writes the figures that some point has. */
static void put_metrics(struct npl_json *json, const struct sweep_results *results)
{
	static const char *const better[] = {"less", NULL, "more"};
	npl_json_open(json, "metrics", '[');
	for (int m = 0; m < SWEEP_METRICS; m++) {
		int64_t r = 0;
		while (r < results->n && !isfinite(results->result[r].metrics.value[m]))
			r++;
		if (r == results->n)
			continue;
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "name", sweep_metric_info[m].name);
		npl_json_text(json, "unit", sweep_metric_info[m].unit);
		npl_json_string(json, "meaning", sweep_metric_info[m].meaning);
		npl_json_string(json, "better", better[sweep_metric_info[m].better + 1]);
		npl_json_open(json, "values", '[');
		for (r = 0; r < results->n; r++)
			put_metric_value(json, m, results->result[r].metrics.value[m]);
		npl_json_close(json, ']');
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static void put_points(struct npl_json *json, const struct sweep_results *results)
{
	npl_json_open(json, "points", '{');
	npl_json_open(json, "id", '[');
	for (int64_t r = 0; r < results->n; r++)
		npl_json_i64(json, NULL, results->result[r].id);
	npl_json_close(json, ']');
	npl_json_open(json, "status", '[');
	for (int64_t r = 0; r < results->n; r++)
		npl_json_string(json, NULL, sweep_status_name[results->result[r].status]);
	npl_json_close(json, ']');
	npl_json_open(json, "feasible", '[');
	for (int64_t r = 0; r < results->n; r++)
		npl_json_bool(json, NULL, results->result[r].feasible);
	npl_json_close(json, ']');
	npl_json_open(json, "reason", '[');
	for (int64_t r = 0; r < results->n; r++)
		npl_json_string(json, NULL, results->result[r].reason);
	npl_json_close(json, ']');
	npl_json_close(json, '}');
}

void sweep_put_columns(struct npl_json *json, const struct sweep_front_document *document)
{
	put_parameters(json, document);
	put_metrics(json, document->results);
	put_points(json, document->results);
}
