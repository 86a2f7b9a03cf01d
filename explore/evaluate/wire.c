/* SPDX-License-Identifier: MIT
 *
 * Lines of JSON about points (wire.h). */
#include "wire.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/files/settings.h"
#include "core/files/words.h"
#include "reports/format/json.h"

#define MAX_PARAMETERS 1000

/* Says whether a text is written as JSON writes numbers, and is none that readers refuse: a whole number beyond 64
 * bits, or one that a double cannot hold. Then it is one. */
static bool is_json_number(const char *text)
{
	const char *c = text + (*text == '-');
	const size_t whole = strspn(c, "0123456789");
	if (!whole || (*c == '0' && whole > 1))
		return false;
	c += whole;
	if (*c == '.') {
		const size_t digits = strspn(c + 1, "0123456789");
		if (!digits)
			return false;
		c += digits + 1;
	}
	if (*c == 'e' || *c == 'E') {
		c += 1 + (c[1] == '-' || c[1] == '+');
		const size_t digits = strspn(c, "0123456789");
		if (!digits)
			return false;
		c += digits;
	}
	errno = 0;
	if (strspn(text, "-0123456789") == strlen(text))
		strtoll(text, NULL, 10);
	return !*c && !errno && isfinite(strtod(text, NULL));
}

void sweep_put_parameter(struct npl_json *json, const char *key, const char *value)
{
	if (value && is_json_number(value))
		npl_json_number(json, key, value);
	else
		npl_json_string(json, key, value);
}

static void put_parameters(struct npl_json *json, const char *key, const struct sweep_parameter *parameter, int n)
{
	npl_json_open(json, key, '{');
	for (int i = 0; i < n; i++)
		sweep_put_parameter(json, parameter[i].key, parameter[i].value);
	npl_json_close(json, '}');
}

void sweep_write_parameters(FILE *out, const struct sweep_parameter *parameter, int n)
{
	struct npl_json json = {.out = out};
	put_parameters(&json, NULL, parameter, n);
}

void sweep_write_request(FILE *out, const struct sweep_request *request)
{
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	if (request->id >= 0)
		npl_json_i64(&json, "id", request->id);
	put_parameters(&json, "parameters", request->parameter, request->n);
	npl_json_close(&json, '}');
	putc('\n', out);
}

static void put_layers(struct npl_json *json, const struct sweep_outcome *outcome)
{
	npl_json_open(json, "layers", '[');
	for (int i = 0; i < outcome->n_layers; i++) {
		const struct sweep_layer *layer = &outcome->layer[i];
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "name", layer->name);
		npl_json_string(json, "op", layer->op);
		npl_json_string(json, "ran_on", layer->ran_on);
		npl_json_double(json, "seconds", layer->seconds);
		npl_json_double(json, "energy_j", layer->energy_j);
		npl_json_u64(json, "cycles", layer->cycles);
		npl_json_u64(json, "macs", layer->macs);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static void put_outcome(struct npl_json *json, const struct sweep_outcome *outcome)
{
	npl_json_string(json, "status", sweep_status_name[outcome->status]);
	npl_json_bool(json, "feasible", outcome->feasible);
	if (outcome->violation > 0)
		npl_json_double(json, "violation", outcome->violation);
	npl_json_text(json, "reason", outcome->reason);
	npl_json_open(json, "metrics", '{');
	for (int m = 0; m < SWEEP_METRICS; m++)
		if (isfinite(outcome->metrics.value[m]))
			npl_json_double(json, sweep_metric_info[m].name, outcome->metrics.value[m]);
	npl_json_close(json, '}');
	if (outcome->n_layers)
		put_layers(json, outcome);
}

void sweep_write_outcome(FILE *out, int64_t id, const struct sweep_outcome *outcome)
{
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	npl_json_i64(&json, "id", id);
	put_outcome(&json, outcome);
	npl_json_close(&json, '}');
	putc('\n', out);
}

void sweep_write_point(FILE *out, const struct sweep_request *request, const struct sweep_outcome *outcome)
{
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	npl_json_i64(&json, "id", request->id);
	put_parameters(&json, "parameters", request->parameter, request->n);
	put_outcome(&json, outcome);
	npl_json_close(&json, '}');
	putc('\n', out);
}

/* Reads an object of JSON; returns NULL for anything else. */
static json_t *load_object(const char *text, size_t n, struct npl_err *err)
{
	json_error_t error;
	json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
	if (json_is_object(json))
		return json;
	if (json)
		npl_fail(err, NPL_EINPUT, "expected an object of JSON, {...}");
	else
		npl_fail(err, NPL_EINPUT, "column %d: this is no JSON: %s", error.column, error.text);
	json_decref(json);
	return NULL;
}

/* Returns a number, a text or a truth value as text in the arena; NULL for anything else, or when memory is short. */
static const char *text_of(const json_t *value, struct npl_arena *arena)
{
	char number[40];
	if (json_is_string(value))
		return npl_arena_strdup(arena, json_string_value(value));
	if (json_is_integer(value))
		return npl_arena_printf(arena, "%lld", (long long)json_integer_value(value));
	if (json_is_real(value))
		return npl_arena_strdup(arena, npl_double_text(json_real_value(value), number, sizeof number));
	return json_is_boolean(value) ? npl_arena_strdup(arena, json_is_true(value) ? "true" : "false") : NULL;
}

static int take_parameters(json_t *object, struct npl_arena *arena, const struct sweep_parameter **parameters,
			   int *n_parameters, struct npl_err *err)
{
	const size_t n = json_object_size(object);
	struct sweep_parameter *parameter = npl_arena_array(arena, n + 1, sizeof *parameter);
	const char *key;
	json_t *value;
	int i = 0;
	if (!parameter)
		return npl_no_memory(err);
	if (n > MAX_PARAMETERS)
		return npl_fail(err, NPL_EINPUT, "%zu parameters, expected at most %d", n, MAX_PARAMETERS);
	json_object_foreach (object, key, value) {
		parameter[i].key = npl_arena_strdup(arena, key);
		parameter[i].value = text_of(value, arena);
		if (!parameter[i].key || !parameter[i].value)
			return npl_fail(err, NPL_EINPUT, "parameter '%s': expected a number or a text", key);
		i++;
	}
	*parameters = parameter;
	*n_parameters = i;
	return 0;
}

int sweep_read_parameters(const char *text, struct npl_arena *arena, const struct sweep_parameter **parameter, int *n,
			  struct npl_err *err)
{
	json_t *object = load_object(text, strlen(text), err);
	const int rc = object ? take_parameters(object, arena, parameter, n, err) : err->code;
	json_decref(object);
	return rc;
}

int sweep_read_request(const char *line, size_t n, struct npl_arena *arena, struct sweep_request *request,
		       struct npl_err *err)
{
	json_t *object = load_object(line, n, err);
	*request = (struct sweep_request){.id = -1};
	if (!object)
		return err->code;
	int rc = 0;
	json_t *id = json_object_get(object, "id"), *parameters = json_object_get(object, "parameters");
	if (id && (!json_is_integer(id) || json_integer_value(id) < 0))
		rc = npl_fail(err, NPL_EINPUT, "id: expected a whole number from 0 on");
	else if (id)
		request->id = json_integer_value(id);
	if (!rc && !json_is_object(parameters))
		rc = npl_fail(err, NPL_EINPUT, "expected \"parameters\", an object with a value for each parameter");
	if (!rc)
		rc = take_parameters(parameters, arena, &request->parameter, &request->n, err);
	json_decref(object);
	return rc;
}

static double number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Reads a whole number from 0 on, what is absent as 0. */
static int take_count(const json_t *object, const char *key, uint64_t *count, struct npl_err *err)
{
	const json_int_t value = json_integer_value(json_object_get(object, key));
	*count = (uint64_t)value;
	return value < 0 ? npl_fail(err, NPL_EINPUT, "%s: expected a whole number from 0 on", key) : 0;
}

static const char *string_of(const json_t *object, const char *key, struct npl_arena *arena)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? npl_arena_strdup(arena, text) : "";
}

static int take_layers(const json_t *layers, struct npl_arena *arena, struct sweep_outcome *outcome,
		       struct npl_err *err)
{
	const size_t n = json_array_size(layers);
	outcome->layer = npl_arena_array(arena, n + 1, sizeof *outcome->layer);
	if (!outcome->layer)
		return npl_no_memory(err);
	outcome->n_layers = (int)n;
	for (size_t i = 0; i < n; i++) {
		const json_t *layer = json_array_get(layers, i);
		outcome->layer[i] = (struct sweep_layer){.name = string_of(layer, "name", arena),
							 .op = string_of(layer, "op", arena),
							 .ran_on = string_of(layer, "ran_on", arena),
							 .seconds = number_of(layer, "seconds"),
							 .energy_j = number_of(layer, "energy_j")};
		if (take_count(layer, "cycles", &outcome->layer[i].cycles, err) ||
		    take_count(layer, "macs", &outcome->layer[i].macs, err))
			return err->code;
		if (!outcome->layer[i].name || !outcome->layer[i].op || !outcome->layer[i].ran_on)
			return npl_no_memory(err);
	}
	return 0;
}

int sweep_read_outcome(const char *line, size_t n, struct npl_arena *arena, int64_t *id, struct sweep_outcome *outcome,
		       struct npl_err *err)
{
	json_t *object = load_object(line, n, err);
	*outcome = (struct sweep_outcome){.status = SWEEP_STATUSES};
	if (!object)
		return err->code;
	const char *status = json_string_value(json_object_get(object, "status"));
	const char *reason = json_string_value(json_object_get(object, "reason"));
	const json_t *metrics = json_object_get(object, "metrics");
	for (int s = 0; s < SWEEP_STATUSES && status; s++)
		if (!strcmp(status, sweep_status_name[s]))
			outcome->status = (enum sweep_status)s;
	*id = json_integer_value(json_object_get(object, "id"));
	outcome->feasible = json_is_true(json_object_get(object, "feasible"));
	outcome->violation = json_number_value(json_object_get(object, "violation"));
	snprintf(outcome->reason, sizeof outcome->reason, "%s", reason ? reason : "");
	for (int m = 0; m < SWEEP_METRICS; m++)
		outcome->metrics.value[m] = number_of(metrics, sweep_metric_info[m].name);
	int rc = outcome->status == SWEEP_STATUSES ? npl_fail(err, NPL_EINPUT, "expected the outcome of a point") : 0;
	if (!rc)
		rc = take_layers(json_object_get(object, "layers"), arena, outcome, err);
	json_decref(object);
	return rc;
}
