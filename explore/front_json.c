/* SPDX-License-Identifier: MIT
 *
 * The document of a Pareto front (front_report.h): what the sweep is of, the front, and all points
 * (front_columns.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "explore/evaluate/wire.h"
#include "front_document.h"

int sweep_front_derive(struct sweep_front_document *document, struct npl_err *err)
{
	const struct sweep_formulas *derived = &document->recorded->plan->derived;
	const int64_t n = document->results->n;
	if (!derived->n)
		return 0;
	document->derived = npl_arena_array(&document->arena, (size_t)(n * derived->n) + 1, sizeof(const char *));
	if (!document->derived)
		return npl_no_memory(err);
	for (int64_t r = 0; r < n; r++) {
		struct npl_err ignored; /* a point whose parameters cannot be computed failed for that reason */
		if (sweep_recorded_settings(document->recorded, &document->results->result[r], &ignored))
			continue;
		for (int d = 0; d < derived->n; d++) {
			const char *value = sweep_recorded_derived(document->recorded, derived->formula[d].key);
			const char **kept = &document->derived[r * derived->n + d];
			if (value && !(*kept = npl_arena_strdup(&document->arena, value)))
				return npl_no_memory(err);
		}
	}
	return 0;
}

void sweep_front_document_free(struct sweep_front_document *document)
{
	npl_arena_free(&document->arena);
	*document = (struct sweep_front_document){0};
}

/* ---- The sweep. */

static void put_axis(struct npl_json *json, const char *key, const struct sweep_recorded *recorded, int axis)
{
	const struct sweep_axis *a = &recorded->plan->space.axis[axis];
	npl_json_open(json, key, '[');
	for (int i = 0; i < a->n_levels; i++)
		if (*a->value[i]) /* a batch of "" is the model's own */
			npl_json_string(json, NULL, a->value[i]);
	npl_json_close(json, ']');
}

static void put_devices(struct npl_json *json, const struct sweep_recorded *recorded)
{
	const struct sweep_axis *axis = &recorded->plan->space.axis[SWEEP_DEVICE_AXIS];
	npl_json_open(json, "devices", '[');
	for (int d = 0; d < axis->n_levels; d++) {
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "name", axis->value[d]);
		npl_json_string(json, "machine", sweep_recorded_machine(recorded, d));
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

/* Returns the device to which something belongs; NULL: to each. */
static const char *device_name(const struct sweep_recorded *recorded, int level)
{
	const struct sweep_axis *axis = &recorded->plan->space.axis[SWEEP_DEVICE_AXIS];
	return level >= 0 && level < axis->n_levels ? axis->value[level] : NULL;
}

static void put_setting(struct npl_json *json, const char *key, const char *value, const char *device)
{
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "key", key);
	npl_json_string(json, "value", value);
	npl_json_string(json, "device", device);
	npl_json_close(json, '}');
}

/* Writes what all points have: settings, and the values of axes that have only one. */
static void put_settings(struct npl_json *json, const struct sweep_recorded *recorded)
{
	const struct sweep_plan *plan = recorded->plan;
	npl_json_open(json, "settings", '[');
	for (int i = 0; i < plan->n_settings; i++)
		put_setting(json, plan->setting[i].key, plan->setting[i].value,
			    device_name(recorded, plan->setting[i].device));
	for (int a = SWEEP_FIRST_VARIED; a < plan->space.n_axes; a++) {
		const struct sweep_axis *axis = &plan->space.axis[a];
		for (int k = 0; k < axis->n_keys && axis->n_levels == 1; k++)
			if (strcmp(axis->key[k], SWEEP_LABEL) != 0)
				put_setting(json, axis->key[k], axis->value[k], device_name(recorded, axis->device));
	}
	npl_json_close(json, ']');
	npl_json_open(json, "derived", '[');
	for (int i = 0; i < plan->derived.n; i++) {
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "key", plan->derived.formula[i].key);
		npl_json_string(json, "expression", plan->derived.formula[i].expression.text);
		npl_json_string(json, "device", device_name(recorded, plan->derived.formula[i].device));
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static void put_sweep(struct npl_json *json, const struct sweep_recorded *recorded)
{
	const struct sweep_plan *plan = recorded->plan;
	const char *option[SWEEP_RECORDED_OPTIONS];
	int n = 0;
	struct npl_err ignored;
	npl_json_open(json, "sweep", '{');
	npl_json_open(json, "npulab", '{');
	npl_json_string(json, "version", recorded->version ? recorded->version : "");
	npl_json_string(json, "commit", recorded->commit ? recorded->commit : "");
	npl_json_close(json, '}');
	put_axis(json, "models", recorded, SWEEP_MODEL_AXIS);
	put_devices(json, recorded);
	put_axis(json, "batches", recorded, SWEEP_BATCH_AXIS);
	npl_json_string(json, "method", recorded->method ? recorded->method : "");
	npl_json_i64(json, "points", plan->points);
	npl_json_u64(json, "seed", plan->seed);
	put_settings(json, recorded);
	npl_json_open(json, "constraints", '[');
	for (int i = 0; i < plan->constraints.n; i++)
		npl_json_string(json, NULL, plan->constraints.formula[i].expression.text);
	npl_json_close(json, ']');
	if (sweep_recorded_options(recorded, option, &n, &ignored))
		n = 0;
	npl_json_texts(json, "options", option, n);
	npl_json_close(json, '}');
}

static void put_counts(struct npl_json *json, const struct sweep_front_document *document)
{
	int64_t of_status[SWEEP_STATUSES] = {0}, feasible = 0;
	for (int64_t r = 0; r < document->results->n; r++) {
		of_status[document->results->result[r].status]++;
		feasible += document->results->result[r].feasible;
	}
	npl_json_open(json, "counts", '{');
	npl_json_i64(json, "points", document->results->n);
	for (int s = 0; s < SWEEP_STATUSES; s++)
		npl_json_i64(json, sweep_status_name[s], of_status[s]);
	npl_json_i64(json, "feasible", feasible);
	npl_json_i64(json, "considered", document->front->considered);
	npl_json_close(json, '}');
}

/* ---- The front. */

static void put_objectives(struct npl_json *json, const struct sweep_front_document *document)
{
	const struct sweep_front *front = document->front;
	npl_json_open(json, "objectives", '[');
	for (int i = 0; i < front->n_objectives; i++) {
		const char *text = front->objective[i].expression.text;
		const int metric = sweep_metric_of(text);
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "expression", text);
		npl_json_string(json, "direction", front->objective[i].is_maximised ? "maximise" : "minimise");
		npl_json_text(json, "unit", metric >= 0 ? sweep_metric_info[metric].unit : "");
		npl_json_open(json, "values", '[');
		for (int64_t r = 0; r < document->results->n; r++)
			npl_json_double(json, NULL,
					sweep_result_value(&front->objective[i], &document->results->result[r]));
		npl_json_close(json, ']');
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static void put_command(struct npl_json *json, struct sweep_recorded *recorded, const struct sweep_result *result)
{
	struct npl_err ignored;
	char *command = sweep_recorded_settings(recorded, result, &ignored) ? NULL : sweep_recorded_command(recorded);
	npl_json_string(json, "command", command);
	free(command);
}

static void put_point(struct npl_json *json, const struct sweep_front_document *document, int64_t k)
{
	const struct sweep_front *front = document->front;
	const int64_t r = front->index[k];
	const struct sweep_result *result = &document->results->result[r];
	struct sweep_column column[SWEEP_COLUMNS];
	const int n = sweep_columns_of(document, column);
	npl_json_open(json, NULL, '{');
	npl_json_i64(json, "id", result->id);
	npl_json_bool(json, "knee", front->is_knee[k]);
	npl_json_open(json, "parameters", '{');
	for (int i = 0; i < n; i++) {
		const char *value = sweep_column_value(document, &column[i], r);
		if (value)
			sweep_put_parameter(json, column[i].key, value);
	}
	npl_json_close(json, '}');
	npl_json_open(json, "objectives", '[');
	for (int i = 0; i < front->n_objectives; i++)
		npl_json_double(json, NULL, sweep_result_value(&front->objective[i], result));
	npl_json_close(json, ']');
	npl_json_open(json, "metrics", '{');
	for (int m = 0; m < SWEEP_METRICS; m++)
		if (isfinite(result->metrics.value[m]))
			npl_json_double(json, sweep_metric_info[m].name, result->metrics.value[m]);
	npl_json_close(json, '}');
	put_command(json, document->recorded, result);
	npl_json_close(json, '}');
}

void sweep_front_json(FILE *out, const void *data)
{
	const struct sweep_front_document *document = data;
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.pareto/1");
	npl_json_build(&json);
	put_sweep(&json, document->recorded);
	put_counts(&json, document);
	npl_json_open(&json, "front", '[');
	for (int64_t k = 0; k < document->front->n; k++)
		put_point(&json, document, k);
	npl_json_close(&json, ']');
	put_objectives(&json, document);
	sweep_put_columns(&json, document);
	npl_json_close(&json, '}');
	putc('\n', out);
}
