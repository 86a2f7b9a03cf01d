/* SPDX-License-Identifier: MIT
 *
 * Plans that databases have recorded (recorded.h). */
#include "recorded.h"

#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* Copies a text; NULL for what is none. */
static const char *keep(struct sweep_plan *plan, const char *text)
{
	return text && *text ? npl_arena_strdup(&plan->arena, text) : NULL;
}

static int fail_damaged(struct npl_err *err)
{
	return npl_fail(err, NPL_EINPUT, "the axes in its database are damaged");
}

/* Copies the texts of a list; NULL when one is none or memory is short. */
static const char **keep_texts(const json_t *list, struct sweep_plan *plan, const char **text)
{
	for (size_t i = 0; i < json_array_size(list) && text; i++) {
		const char *one = json_string_value(json_array_get(list, i));
		text = one && (text[i] = npl_arena_strdup(&plan->arena, one)) ? text : NULL;
	}
	return text;
}

static int read_axis(const json_t *from, struct sweep_plan *plan, struct sweep_axis *axis, struct npl_err *err)
{
	const json_t *keys = json_object_get(from, "keys"), *values = json_object_get(from, "values");
	const size_t n_keys = json_array_size(keys), n = json_array_size(values);
	const struct sweep_axis *devices = &plan->space.axis[SWEEP_DEVICE_AXIS];
	const char *name = text_of(from, "device");
	*axis = (struct sweep_axis){.n_keys = (int)n_keys, .device = -1, .n_levels = (int)n, .where = "the results"};
	if (!n || n > INT_MAX || !n_keys || n_keys > SWEEP_AXIS_KEYS || !keep_texts(keys, plan, axis->key))
		return fail_damaged(err);
	const char **value = npl_arena_array(&plan->arena, n * n_keys, sizeof *value);
	if (!value)
		return npl_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		const json_t *level = json_array_get(values, i);
		if (json_array_size(level) != n_keys || !keep_texts(level, plan, value + i * n_keys))
			return fail_damaged(err);
	}
	axis->value = value;
	for (int d = 0; d < devices->n_levels && name && axis != devices; d++)
		axis->device = strcmp(devices->value[d], name) ? axis->device : d;
	return name && axis->device < 0 ? fail_damaged(err) : 0;
}

static int read_axes(const json_t *axes, struct sweep_plan *plan, struct npl_err *err)
{
	const size_t n = json_array_size(axes);
	if (n < SWEEP_FIRST_VARIED || n > SWEEP_AXES)
		return fail_damaged(err);
	plan->space.axis = npl_arena_array(&plan->arena, n, sizeof *plan->space.axis);
	if (!plan->space.axis)
		return npl_no_memory(err);
	plan->space.n_axes = (int)n;
	plan->space.device_axis = SWEEP_DEVICE_AXIS;
	for (int a = 0; a < plan->space.n_axes; a++)
		if (read_axis(json_array_get(axes, (size_t)a), plan, &plan->space.axis[a], err))
			return err->code;
	for (int a = 0; a < SWEEP_FIRST_VARIED; a++)
		if (plan->space.axis[a].n_keys != 1)
			return fail_damaged(err);
	return 0;
}

/* Returns the level of the axis of devices to which something belongs; -1: it belongs to each. */
static int device_of(const json_t *object)
{
	const json_t *device = json_object_get(object, "device");
	return json_is_integer(device) ? (int)json_integer_value(device) : -1;
}

static int add_setting(struct sweep_plan *plan, const char *key, const char *value, int device, struct npl_err *err)
{
	struct sweep_setting *setting = &plan->setting[plan->n_settings++];
	if (!key || !value)
		return npl_fail(err, NPL_EINPUT, "the settings in its database are damaged");
	*setting = (struct sweep_setting){keep(plan, key), keep(plan, value), "set", device};
	return setting->key && setting->value ? 0 : npl_no_memory(err);
}

static int read_settings(const json_t *list, struct sweep_plan *plan, struct npl_err *err)
{
	for (size_t i = 0; i < json_array_size(list) && i < SWEEP_PLAN_LIST; i++) {
		const json_t *one = json_array_get(list, i);
		if (add_setting(plan, text_of(one, "key"), text_of(one, "value"), device_of(one), err))
			return err->code;
	}
	return 0;
}

static int read_formulas(const json_t *list, struct sweep_plan *plan, struct sweep_formulas *formulas,
			 struct npl_err *err)
{
	for (size_t i = 0; i < json_array_size(list) && i < SWEEP_PLAN_LIST; i++) {
		const json_t *one = json_array_get(list, i);
		const char *text = keep(plan, text_of(one, "expression"));
		struct sweep_formula *formula = &formulas->formula[formulas->n++];
		*formula = (struct sweep_formula){.key = keep(plan, text_of(one, "key")),
						  .where = "derive",
						  .device = device_of(one),
						  .is_maximised = json_is_true(json_object_get(one, "maximise"))};
		if (sweep_expression_parse(text ? text : "", &plan->arena, &formula->expression, err))
			return err->code;
	}
	return 0;
}

static void read_method(const json_t *method, struct sweep_recorded *recorded)
{
	recorded->method = keep(recorded->plan, text_of(method, "name"));
	recorded->plan->points = json_integer_value(json_object_get(method, "points"));
	recorded->plan->seed = (uint64_t)json_integer_value(json_object_get(method, "seed"));
}

static void read_samples(const json_t *samples, struct sweep_plan *plan)
{
	const json_t *input = json_object_get(samples, "input");
	const char *key;
	json_t *value;
	plan->values = json_is_true(json_object_get(samples, "values"));
	plan->labels = keep(plan, text_of(samples, "labels"));
	for (size_t i = 0; i < json_array_size(input) && i < SWEEP_PLAN_LIST; i++)
		plan->inputs.text[plan->inputs.n++] = keep(plan, json_string_value(json_array_get(input, i)));
	json_object_foreach ((json_t *)samples, key, value)
		if (json_is_integer(value) && plan->n_dims < SWEEP_PLAN_LIST)
			plan->dim[plan->n_dims++] = (struct npl_dim){keep(plan, key), json_integer_value(value)};
}

static int read_plan(const json_t *facts, struct sweep_recorded *recorded, struct npl_err *err)
{
	struct sweep_plan *plan = recorded->plan;
	if (read_axes(json_object_get(facts, "axes"), plan, err) ||
	    read_settings(json_object_get(facts, "settings"), plan, err) ||
	    read_formulas(json_object_get(facts, "derived"), plan, &plan->derived, err) ||
	    read_formulas(json_object_get(facts, "constraints"), plan, &plan->constraints, err) ||
	    read_formulas(json_object_get(facts, "objectives"), plan, &plan->objectives, err))
		return err->code;
	read_method(json_object_get(facts, "method"), recorded);
	read_samples(json_object_get(facts, "samples"), plan);
	plan->host = keep(plan, text_of(json_object_get(facts, "host"), "name"));
	recorded->version = keep(plan, text_of(json_object_get(facts, "npulab"), "version"));
	recorded->commit = keep(plan, text_of(json_object_get(facts, "npulab"), "commit"));
	return 0;
}

/* Opens the machines, for the units of their parameters and for derived ones. A device that cannot be opened here is
 * left out: its points are there all the same. */
static int open_devices(struct sweep_recorded *recorded, struct npl_err *err)
{
	const struct sweep_axis *axis = &recorded->plan->space.axis[SWEEP_DEVICE_AXIS];
	const char *host = recorded->plan->host ? recorded->plan->host : NPL_HOST_NAME;
	struct npl_err ignored;
	recorded->device = calloc((size_t)axis->n_levels, sizeof *recorded->device);
	if (!recorded->device)
		return npl_no_memory(err);
	for (int d = 0; d < axis->n_levels; d++)
		if (npl_device_open(axis->value[d], NULL, &recorded->device[d], &ignored))
			recorded->device[d] = NULL;
	if (npl_device_open(host, NULL, &recorded->host, &ignored))
		recorded->host = NULL;
	return 0;
}

int sweep_recorded_read(struct sweep_store *store, struct sweep_recorded *recorded, struct npl_err *err)
{
	static const char *const keys[] = {"npulab",     "axes",   "settings", "derived", "constraints",
					   "objectives", "method", "samples",  "host"};
	struct sweep_plan *plan = recorded->plan = calloc(1, sizeof *plan);
	json_t *facts = json_object();
	recorded->settings = calloc(1, sizeof *recorded->settings);
	int rc = plan && facts && recorded->settings ? 0 : npl_no_memory(err);
	for (size_t i = 0; i < sizeof keys / sizeof *keys && !rc; i++) {
		const char *text = sweep_store_fact(store, keys[i], &plan->arena);
		json_t *value = text ? json_loads(text, 0, NULL) : NULL;
		if (value && json_object_set_new(facts, keys[i], value))
			rc = npl_no_memory(err);
	}
	if (!rc)
		plan->engine = keep(plan, sweep_store_fact(store, "engine", &plan->arena));
	if (!rc)
		rc = read_plan(facts, recorded, err);
	if (!rc)
		rc = open_devices(recorded, err);
	json_decref(facts);
	return rc;
}

void sweep_recorded_free(struct sweep_recorded *recorded)
{
	const int n = recorded->device ? recorded->plan->space.axis[SWEEP_DEVICE_AXIS].n_levels : 0;
	for (int d = 0; d < n; d++)
		npl_device_close(recorded->device[d]);
	npl_device_close(recorded->host);
	free(recorded->device);
	free(recorded->settings);
	npl_arena_free(&recorded->settings_arena);
	if (recorded->plan)
		sweep_plan_free(recorded->plan);
	free(recorded->plan);
	*recorded = (struct sweep_recorded){0};
}

int sweep_recorded_settings(struct sweep_recorded *recorded, const struct sweep_result *result, struct npl_err *err)
{
	const struct sweep_plan *plan = recorded->plan;
	const struct sweep_request request = {
		.id = result->id, .n = result->n_parameters, .parameter = result->parameter};
	struct sweep_point_settings *settings = recorded->settings;
	npl_arena_free(&recorded->settings_arena);
	if (sweep_settings_of(plan, &request, NULL, NULL, &recorded->settings_arena, settings, err))
		return err->code;
	if (!plan->derived.n)
		return 0;
	const struct npl_device *base = settings->device_level < 0 ? NULL : recorded->device[settings->device_level];
	if (!base || !recorded->host)
		return npl_fail(err, NPL_EUSAGE, "%s: cannot be opened here", settings->device);
	return sweep_settings_of(plan, &request, base, recorded->host, &recorded->settings_arena, settings, err);
}

const char *sweep_recorded_derived(const struct sweep_recorded *recorded, const char *key)
{
	const struct sweep_point_settings *settings = recorded->settings;
	const struct sweep_machine_settings *const both[] = {&settings->of_device, &settings->of_host};
	const size_t length = strlen(key);
	for (int b = 0; b < 2; b++)
		for (int i = both[b]->n - 1; i >= 0; i--)
			if (!strncmp(both[b]->typed[i], key, length) && both[b]->typed[i][length] == '=')
				return both[b]->typed[i] + length + 1;
	return NULL;
}

const char *sweep_recorded_machine(const struct sweep_recorded *recorded, int device_level)
{
	if (device_level >= 0 && recorded->device[device_level])
		return npl_device_name(recorded->device[device_level]);
	return device_level < 0 ? "" : recorded->plan->space.axis[SWEEP_DEVICE_AXIS].value[device_level];
}

/* Returns the unit of a device's parameter; NULL: it has none of this key. */
static const char *unit_of(const struct npl_device *device, const char *key)
{
	int n = 0;
	const struct npl_param_value *value = device ? npl_device_settings(device, &n) : NULL;
	for (int i = 0; i < n; i++)
		if (!strcmp(value[i].key, key))
			return value[i].unit;
	return NULL;
}

const char *sweep_recorded_unit(const struct sweep_recorded *recorded, const char *key)
{
	const size_t prefix = strlen(NPL_HOST_NAME ".");
	const char *unit = NULL;
	if (!strncmp(key, NPL_HOST_NAME ".", prefix))
		unit = unit_of(recorded->host, key + prefix);
	for (int d = 0; d < recorded->plan->space.axis[SWEEP_DEVICE_AXIS].n_levels && !unit; d++)
		unit = unit_of(recorded->device[d], key);
	return unit ? unit : "";
}
