/* SPDX-License-Identifier: MIT
 *
 * What a point sets (settings.h). */
#include "settings.h"

#include <math.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/files/settings.h"
#include "core/files/words.h"

#define HOST_PREFIX NPL_HOST_NAME "."

static bool is_of_host(const char *key)
{
	return !strncmp(key, HOST_PREFIX, strlen(HOST_PREFIX));
}

static int add(struct sweep_machine_settings *settings, const char *key, const char *typed, const char *value,
	       struct npl_arena *arena, struct npl_err *err)
{
	if (settings->n == SWEEP_MAX_SETTINGS)
		return npl_fail(err, NPL_EUSAGE, "more than %d settings", SWEEP_MAX_SETTINGS);
	settings->set[settings->n] = npl_arena_printf(arena, "%s=%s", key, value);
	settings->typed[settings->n] = npl_arena_printf(arena, "%s=%s", typed, value);
	if (!settings->set[settings->n] || !settings->typed[settings->n])
		return npl_no_memory(err);
	settings->n++;
	return 0;
}

static int add_to_one(struct sweep_point_settings *settings, const char *key, const char *value,
		      struct npl_arena *arena, struct npl_err *err)
{
	return is_of_host(key) ? add(&settings->of_host, key + strlen(HOST_PREFIX), key, value, arena, err)
			       : add(&settings->of_device, key, key, value, arena, err);
}

/* Returns the word of a point that is no setting; NULL: the key is a setting's. */
static const char **word_of(struct sweep_point_settings *settings, const char *key)
{
	if (!strcmp(key, SWEEP_MODEL))
		return &settings->model;
	if (!strcmp(key, SWEEP_BATCH))
		return &settings->batch;
	return !strcmp(key, SWEEP_DEVICE) ? &settings->device : NULL;
}

/* Returns the last value of a key among settings; NULL: none sets it. */
static const char *value_among(const struct sweep_machine_settings *settings, const char *key)
{
	const size_t length = strlen(key);
	for (int i = settings->n - 1; i >= 0; i--)
		if (!strncmp(settings->set[i], key, length) && settings->set[i][length] == '=')
			return settings->set[i] + length + 1;
	return NULL;
}

/* Returns the value of a name in a derived parameter's expression. */
static struct sweep_operand operand_of(struct sweep_point_settings *settings, const struct npl_device *base,
				       const struct npl_device *host, const char *name)
{
	struct sweep_operand operand = {.number = NAN};
	const char *const *word = word_of(settings, name);
	if (word)
		operand.text = *word;
	else if (is_of_host(name)) {
		name += strlen(HOST_PREFIX);
		operand.text = value_among(&settings->of_host, name);
		operand.number = operand.text ? NAN : npl_device_setting_number(host, name);
		operand.text = operand.text ? operand.text : npl_device_setting(host, name);
	} else {
		operand.text = value_among(&settings->of_device, name);
		operand.number = operand.text ? NAN : npl_device_setting_number(base, name);
		operand.text = operand.text ? operand.text : npl_device_setting(base, name);
	}
	if (operand.text && isnan(operand.number) && !npl_parse_number(operand.text, &operand.number))
		operand.number = NAN;
	return operand;
}

static int add_derived(const struct sweep_plan *plan, const struct npl_device *base, const struct npl_device *host,
		       struct npl_arena *arena, struct sweep_point_settings *settings, struct npl_err *err)
{
	for (int i = 0; i < plan->derived.n; i++) {
		const struct sweep_formula *derived = &plan->derived.formula[i];
		const struct sweep_expression *e = &derived->expression;
		struct sweep_operand operand[SWEEP_EXPRESSION_NAMES];
		char text[40];
		if (derived->device >= 0 && derived->device != settings->device_level)
			continue;
		for (int k = 0; k < e->n_names; k++)
			operand[k] = operand_of(settings, base, host, e->name[k]);
		const double value = sweep_expression_value(e, operand);
		if (!isfinite(value))
			return npl_fail(err, NPL_EUSAGE, "%s: '%s' is no number here", derived->where, e->text);
		if (add_to_one(settings, derived->key, npl_double_text(value, text, sizeof text), arena, err))
			return err->code;
	}
	return 0;
}

/* Puts a parameter of a memory, "weight_memory.preset@timing.CL=12", behind the name of the memory: the setting before
 * it becomes "weight_memory.preset=hbm2@timing.CL=12". */
static int join_memory(struct sweep_machine_settings *settings, int i, struct npl_arena *arena, struct npl_err *err)
{
	const char *at = strchr(settings->set[i], '@');
	const size_t length = (size_t)(at - settings->set[i]);
	int base = i - 1;
	while (base >= 0 &&
	       (strncmp(settings->set[base], settings->set[i], length) != 0 || settings->set[base][length] != '='))
		base--;
	if (base < 0)
		return npl_fail(err, NPL_EUSAGE, "%s: which memory? expected a value of %.*s too", settings->typed[i],
				(int)length, settings->set[i]);
	settings->set[base] = npl_arena_printf(arena, "%s%s", settings->set[base], at);
	settings->typed[base] = npl_arena_printf(arena, "%s%s", settings->typed[base], at);
	if (!settings->set[base] || !settings->typed[base])
		return npl_no_memory(err);
	settings->n--;
	memmove(settings->set + i, settings->set + i + 1, (size_t)(settings->n - i) * sizeof *settings->set);
	memmove(settings->typed + i, settings->typed + i + 1, (size_t)(settings->n - i) * sizeof *settings->typed);
	return 0;
}

/* Says whether a setting's key has an '@', as those of memories. */
static bool is_of_memory(const char *set)
{
	return set[strcspn(set, "@=")] == '@';
}

/* Moves the parameters of memories behind all others, and puts them behind the names of their memories. */
static int join_memories(struct sweep_machine_settings *settings, struct npl_arena *arena, struct npl_err *err)
{
	for (int k = 0, n = settings->n, i = 0; k < n; k++) {
		if (!is_of_memory(settings->set[i])) {
			i++;
			continue;
		}
		const char *set = settings->set[i], *typed = settings->typed[i];
		const size_t rest = (size_t)(settings->n - i - 1);
		memmove(settings->set + i, settings->set + i + 1, rest * sizeof *settings->set);
		memmove(settings->typed + i, settings->typed + i + 1, rest * sizeof *settings->typed);
		settings->set[settings->n - 1] = set;
		settings->typed[settings->n - 1] = typed;
	}
	for (int i = 0; i < settings->n;)
		if (!is_of_memory(settings->set[i]))
			i++;
		else if (join_memory(settings, i, arena, err))
			return err->code;
	return 0;
}

/* Adds the settings of the plan. */
static int add_settings(const struct sweep_plan *plan, struct npl_arena *arena, struct sweep_point_settings *settings,
			struct npl_err *err)
{
	for (int i = 0; i < plan->n_settings; i++) {
		const struct sweep_setting *set = &plan->setting[i];
		if ((set->device < 0 || set->device == settings->device_level) &&
		    add_to_one(settings, set->key, set->value, arena, err))
			return err->code;
	}
	return 0;
}

/* Adds the values of axes that have only one, which requests do not name. */
static int add_only_levels(const struct sweep_plan *plan, struct npl_arena *arena,
			   struct sweep_point_settings *settings, struct npl_err *err)
{
	for (int a = SWEEP_FIRST_VARIED; a < plan->space.n_axes; a++) {
		const struct sweep_axis *axis = &plan->space.axis[a];
		const bool has_effect = axis->device < 0 || axis->device == settings->device_level;
		for (int k = 0; k < axis->n_keys && axis->n_levels == 1 && has_effect; k++)
			if (add_to_one(settings, axis->key[k], axis->value[k], arena, err))
				return err->code;
	}
	return 0;
}

int sweep_settings_of(const struct sweep_plan *plan, const struct sweep_request *request, const struct npl_device *base,
		      const struct npl_device *host, struct npl_arena *arena, struct sweep_point_settings *settings,
		      struct npl_err *err)
{
	const struct sweep_axis *axis = plan->space.axis, *devices = &axis[SWEEP_DEVICE_AXIS];
	*settings = (struct sweep_point_settings){.model = axis[SWEEP_MODEL_AXIS].value[0],
						  .batch = axis[SWEEP_BATCH_AXIS].value[0],
						  .device = devices->value[0],
						  .device_level = -1};
	for (int i = 0; i < request->n; i++) {
		const char **word = word_of(settings, request->parameter[i].key);
		if (word)
			*word = request->parameter[i].value;
		if (!strcmp(request->parameter[i].key, SWEEP_LABEL))
			settings->label = request->parameter[i].value;
	}
	for (int d = 0; d < devices->n_levels && settings->device_level < 0; d++)
		if (!strcmp(settings->device, devices->value[d]))
			settings->device_level = d;
	if (add_settings(plan, arena, settings, err) || add_only_levels(plan, arena, settings, err))
		return err->code;
	for (int i = 0; i < request->n; i++) {
		const struct sweep_parameter *p = &request->parameter[i];
		if (!word_of(settings, p->key) && strcmp(p->key, SWEEP_LABEL) != 0 &&
		    add_to_one(settings, p->key, p->value, arena, err))
			return err->code;
	}
	if (base && add_derived(plan, base, host, arena, settings, err))
		return err->code;
	return join_memories(&settings->of_device, arena, err);
}
