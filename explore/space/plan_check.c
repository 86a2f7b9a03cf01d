/* SPDX-License-Identifier: MIT
 *
 * Whether the machines of a plan have its parameters, and its expressions name what there is (plan.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "core/files/path.h"
#include "core/files/words.h"
#include "core/quantity.h"
#include "metrics.h"
#include "npulab/compare.h"
#include "npulab/device.h"
#include "plan.h"

#define HOST_PREFIX "host."

/* The machines of the plan, opened as their files have them. */
struct machines {
	int n; /* the devices, and behind them the host */
	struct npl_device **device;
};

static const struct npl_param_value *find(const struct npl_device *device, const char *key)
{
	int n;
	const struct npl_param_value *value = npl_device_settings(device, &n);
	for (int i = 0; i < n; i++)
		if (!strcmp(value[i].key, key))
			return &value[i];
	return NULL;
}

/* Refuses a parameter that a machine does not have. */
static int refuse_key(const char *where, const char *key, const struct npl_device *device, struct npl_err *err)
{
	int n;
	const struct npl_param_value *value = npl_device_settings(device, &n);
	const char **names = malloc(((size_t)n + 1) * sizeof *names);
	if (!names)
		return npl_no_memory(err);
	for (int i = 0; i < n; i++)
		names[i] = value[i].key;
	sweep_fail_at(where, err, "%s has no parameter '%s'%s", npl_device_name(device), key,
		      NPL_NEAREST_ONLY(key, names, n));
	free(names);
	return err->code;
}

static int resolve(const struct machines *machines, const char *where, const char **key, int *device,
		   struct npl_err *err);

/* Resolves a parameter of a memory, "weight_memory.preset@timing.CL": the part before the '@' must name a parameter
 * that names a memory. */
static int resolve_memory(const struct machines *machines, const char *where, const char **key, int *device,
			  struct npl_err *err)
{
	const char *at = strchr(*key, '@');
	char base[200];
	const char *resolved = base;
	snprintf(base, sizeof base, "%.*s", (int)(at - *key), *key);
	if (resolve(machines, where, &resolved, device, err))
		return err->code;
	if (!npl_path_ends_in(resolved, ".preset"))
		return sweep_fail_at(where, err, "'%s': %s is no memory, expected a key such as %s", *key, resolved,
				     "weight_memory.preset@timing.CL");
	*key += resolved - base; /* without the device's name */
	return 0;
}

/* Finds whose parameter a key is: the host's, that of the device whose name stands before it, or each device's. Cuts
 * the device's name off. Refuses a key that a machine concerned does not have. */
static int resolve(const struct machines *machines, const char *where, const char **key, int *device,
		   struct npl_err *err)
{
	*device = -1;
	if (strchr(*key, '@'))
		return resolve_memory(machines, where, key, device, err);
	if (!strncmp(*key, HOST_PREFIX, strlen(HOST_PREFIX))) {
		const char *of_host = *key + strlen(HOST_PREFIX);
		if (!strncmp(of_host, "host_link.", strlen("host_link.")))
			return sweep_fail_at(where, err,
					     "'%s': the host has no link to itself, expected a device's host_link",
					     *key);
		const struct npl_device *host = machines->device[machines->n];
		return find(host, of_host) ? 0 : refuse_key(where, of_host, host, err);
	}
	for (int d = 0; d < machines->n; d++) {
		const char *name = npl_device_name(machines->device[d]);
		const size_t length = strlen(name);
		if (strncmp(*key, name, length) != 0 || (*key)[length] != '.')
			continue;
		*key += length + 1;
		*device = d;
		return find(machines->device[d], *key) ? 0 : refuse_key(where, *key, machines->device[d], err);
	}
	for (int d = 0; d < machines->n; d++)
		if (!find(machines->device[d], *key))
			return refuse_key(where, *key, machines->device[d], err);
	return 0;
}

/* Finds the axis of the first n that moves a parameter of a device (-1: of each) too; returns where the user wrote it,
 * or NULL. Such an axis would list the same machine again and again. */
static const char *where_varied(const struct sweep_space *space, int n, const char *key, int device)
{
	for (int a = SWEEP_FIRST_VARIED; a < n; a++) {
		const struct sweep_axis *axis = &space->axis[a];
		const bool meet = device < 0 || axis->device < 0 || device == axis->device;
		for (int k = 0; k < axis->n_keys && meet; k++)
			if (!strcmp(axis->key[k], key))
				return axis->where;
	}
	return NULL;
}

/* Returns the parameter of a key that has been resolved. */
static const struct npl_param_value *parameter_of(const struct machines *machines, const char *key, int device)
{
	const size_t prefix = strlen(HOST_PREFIX);
	return !strncmp(key, HOST_PREFIX, prefix) ? find(machines->device[machines->n], key + prefix)
						  : find(machines->device[device < 0 ? 0 : device], key);
}

/* Converts a value such as "8 MiB" into the parameter's own unit, so that whoever reads the points finds numbers.
 * Refuses a text where the parameter is a number. */
static int convert(const struct npl_param_value *parameter, const char *where, struct npl_arena *arena,
		   const char **value, struct npl_err *err)
{
	char buf[64];
	double ignored;
	if (!parameter || !parameter->is_number)
		return 0;
	const char *text = npl_quantity_in(*value, parameter->unit, buf, sizeof buf);
	if (!npl_parse_number(text, &ignored))
		return sweep_fail_at(where, err, "%s '%s': expected a number%s%s", parameter->key, *value,
				     *parameter->unit ? " in " : "", parameter->unit);
	if (text != *value && !(*value = npl_arena_strdup(arena, text)))
		return npl_no_memory(err);
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* Refuses two texts of one number, such as 7e8 and 700e6: they would be the same machine. */
static int check_numbers(const struct sweep_axis *axis, struct npl_err *err)
{
	const size_t n = (size_t)axis->n_levels;
	int rc = 0;
	if (axis->n_keys > 1 || !sweep_axis_is_ordered(axis))
		return 0;
	double *number = malloc(n * sizeof *number);
	if (!number)
		return npl_no_memory(err);
	for (size_t i = 0; i < n; i++)
		npl_parse_number(axis->value[i], &number[i]);
	qsort(number, n, sizeof *number, compare_numbers);
	for (size_t i = 1; i < n && !rc; i++)
		if (!(number[i - 1] < number[i]))
			rc = sweep_fail_at(axis->where, err, "%s: two of the values are %.9g", axis->key[0], number[i]);
	free(number);
	return rc;
}

/* Converts the values of an axis, whose keys have been resolved. */
static int convert_axis(const struct machines *machines, struct sweep_axis *axis, struct npl_arena *arena,
			struct npl_err *err)
{
	const size_t n = (size_t)axis->n_levels * (size_t)axis->n_keys;
	const char **value = npl_arena_array(arena, n, sizeof *value);
	if (!value)
		return npl_no_memory(err);
	memcpy(value, axis->value, n * sizeof *value);
	axis->value = value;
	for (int k = 0; k < axis->n_keys; k++) {
		const bool is_label = !strcmp(axis->key[k], SWEEP_LABEL);
		const struct npl_param_value *parameter = is_label ? NULL
								   : parameter_of(machines, axis->key[k], axis->device);
		for (size_t i = (size_t)k; i < n && parameter; i += (size_t)axis->n_keys)
			if (convert(parameter, axis->where, arena, &value[i], err))
				return err->code;
	}
	return check_numbers(axis, err);
}

static int check_axis(const struct machines *machines, const struct sweep_space *space, int a, struct npl_err *err)
{
	struct sweep_axis *axis = &space->axis[a];
	bool is_first = true;
	for (int k = 0; k < axis->n_keys; k++) {
		int device;
		if (!strcmp(axis->key[k], SWEEP_LABEL))
			continue;
		if (!strcmp(axis->key[k], SWEEP_MODEL) || !strcmp(axis->key[k], SWEEP_BATCH) ||
		    !strcmp(axis->key[k], SWEEP_DEVICE))
			return sweep_fail_at(axis->where, err, "'%s' cannot move together with a parameter",
					     axis->key[k]);
		if (resolve(machines, axis->where, &axis->key[k], &device, err))
			return err->code;
		if (!is_first && device != axis->device)
			return sweep_fail_at(axis->where, err,
					     "'%s' and '%s' are of different machines, and cannot move together",
					     axis->key[0], axis->key[k]);
		axis->device = device;
		const char *first = where_varied(space, a, axis->key[k], device);
		if (first)
			return sweep_fail_at(axis->where, err, "'%s' is varied twice, first at %s", axis->key[k],
					     first);
		is_first = false;
	}
	return 0;
}

/* Says whether a name is the host's parameter, or one of any device. */
static bool is_parameter(const struct machines *machines, const char *name)
{
	struct npl_err ignored;
	int device;
	if (!resolve(machines, "--", &name, &device, &ignored))
		return true;
	for (int d = 0; d < machines->n; d++)
		if (find(machines->device[d], name))
			return true;
	return false;
}

/* Which names an expression may have. */
enum names {
	PARAMETERS,             /* of derived parameters */
	PARAMETERS_AND_RESULTS, /* of constraints */
	AXES_AND_RESULTS        /* of objectives, which must be found in the results alone */
};

/* Refuses a name in an expression, with the nearest result or parameter. */
static int refuse_name(const struct sweep_plan *plan, const struct machines *machines,
		       const struct sweep_formula *formula, const char *name, enum names names, struct npl_err *err)
{
	int n_parameters, n = 0;
	const struct npl_param_value *value = npl_device_settings(machines->device[0], &n_parameters);
	const char **known = malloc(((size_t)n_parameters + SWEEP_METRICS + SWEEP_AXES * SWEEP_AXIS_KEYS) *
				    sizeof *known);
	if (!known)
		return npl_no_memory(err);
	for (int m = 0; m < SWEEP_METRICS && names != PARAMETERS; m++)
		known[n++] = sweep_metric_info[m].name;
	for (int i = 0; i < n_parameters && names != AXES_AND_RESULTS; i++)
		known[n++] = value[i].key;
	for (int a = 0; a < plan->space.n_axes && names == AXES_AND_RESULTS; a++)
		for (int k = 0; k < plan->space.axis[a].n_keys && plan->space.axis[a].n_levels > 1; k++)
			known[n++] = plan->space.axis[a].key[k];
	sweep_fail_at(formula->where, err, "'%s': there is no %s '%s'%s", formula->expression.text,
		      names == PARAMETERS               ? "parameter"
		      : names == PARAMETERS_AND_RESULTS ? "parameter or result"
							: "result or varied parameter",
		      name, NPL_NEAREST_ONLY(name, known, n));
	free(known);
	return err->code;
}

/* Says whether a name is known of each point: points have the parameters of axes with several values. */
static bool is_known_of_points(const struct sweep_plan *plan, const char *name, enum names names)
{
	for (int a = 0; a < plan->space.n_axes; a++) {
		const struct sweep_axis *axis = &plan->space.axis[a];
		const bool has_value = names == AXES_AND_RESULTS ? axis->n_levels > 1 : *axis->value[0] != '\0';
		for (int k = 0; k < axis->n_keys && has_value; k++)
			if (!strcmp(axis->key[k], name))
				return true;
	}
	return false;
}

static int check_names(const struct sweep_plan *plan, const struct machines *machines,
		       const struct sweep_formulas *list, enum names names, struct npl_err *err)
{
	for (int i = 0; i < list->n; i++) {
		const struct sweep_expression *e = &list->formula[i].expression;
		for (int k = 0; k < e->n_names; k++) {
			const char *name = e->name[k];
			bool is_known = is_known_of_points(plan, name, names);
			if (names != PARAMETERS)
				is_known = is_known || sweep_metric_of(name) >= 0;
			if (names != AXES_AND_RESULTS)
				is_known = is_known || is_parameter(machines, name);
			if (!is_known)
				return refuse_name(plan, machines, &list->formula[i], name, names, err);
		}
	}
	return 0;
}

static int check(struct sweep_plan *plan, const struct machines *machines, struct npl_err *err)
{
	for (int d = 0; d < machines->n; d++) {
		const enum npl_device_kind kind = npl_device_get_info(machines->device[d])->kind;
		plan->is_measured = plan->is_measured || kind == NPL_KIND_CPU || kind == NPL_KIND_GPU;
		if (!plan->values && !npl_device_kind_is_modelled(kind))
			return sweep_fail_at(
				plan->space.axis[SWEEP_DEVICE_AXIS].where, err,
				"%s has no model of its time: expected a run with values (values: true, or "
				"--values)",
				npl_device_name(machines->device[d]));
	}
	for (int a = SWEEP_FIRST_VARIED; a < plan->space.n_axes; a++)
		if (check_axis(machines, &plan->space, a, err) ||
		    convert_axis(machines, &plan->space.axis[a], &plan->arena, err))
			return err->code;
	for (int i = 0; i < plan->n_settings; i++) {
		struct sweep_setting *set = &plan->setting[i];
		if (resolve(machines, set->where, &set->key, &set->device, err) ||
		    convert(parameter_of(machines, set->key, set->device), set->where, &plan->arena, &set->value, err))
			return err->code;
	}
	for (int i = 0; i < plan->derived.n; i++) {
		struct sweep_formula *derived = &plan->derived.formula[i];
		if (resolve(machines, derived->where, &derived->key, &derived->device, err))
			return err->code;
		const char *varied = where_varied(&plan->space, plan->space.n_axes, derived->key, derived->device);
		if (varied)
			return sweep_fail_at(derived->where, err, "'%s' cannot be derived: it is varied at %s",
					     derived->key, varied);
	}
	if (check_names(plan, machines, &plan->derived, PARAMETERS, err) ||
	    check_names(plan, machines, &plan->constraints, PARAMETERS_AND_RESULTS, err))
		return err->code;
	return check_names(plan, machines, &plan->objectives, AXES_AND_RESULTS, err);
}

int sweep_plan_check(struct sweep_plan *plan, struct npl_err *err)
{
	const struct sweep_axis *axis = &plan->space.axis[SWEEP_DEVICE_AXIS];
	struct machines machines = {.n = axis->n_levels,
				    .device = calloc((size_t)axis->n_levels + 1, sizeof *machines.device)};
	int rc = machines.device ? 0 : npl_no_memory(err);
	for (int d = 0; d < machines.n && !rc; d++) {
		const struct npl_device_options options = {.engine = plan->engine};
		rc = npl_device_open(axis->value[d], &options, &machines.device[d], err);
		if (rc)
			rc = sweep_fail_there(axis->where, err);
	}
	if (!rc)
		rc = npl_host_open(&(struct npl_compare_options){.host = plan->host}, &machines.device[machines.n],
				   err);
	if (!rc)
		rc = check(plan, &machines, err);
	for (int d = 0; machines.device && d <= machines.n; d++)
		npl_device_close(machines.device[d]);
	free(machines.device);
	return rc;
}
