/* SPDX-License-Identifier: MIT
 *
 * Reading the entries of a plan (plan.h). */
#include "plan.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "core/files/settings.h"
#include "core/files/words.h"
#include "metrics.h"
#include "values.h"

const char *const sweep_method_name[SWEEP_METHODS] = {"grid",      "random",    "sobol", "latin-hypercube",
						      "evolution", "narrowing", "asked"};

/* Says whether a place is a line of a file. Options begin with dashes; a file's name that does so has a folder before
 * it. */
static bool is_in_file(const char *where)
{
	return *where != '-' && strchr(where, ':');
}

int sweep_fail_at(const char *where, struct npl_err *err, const char *format, ...)
{
	char message[sizeof err->msg];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	return npl_fail(err, is_in_file(where) ? NPL_EINPUT : NPL_EUSAGE, "%s: %s", where, message);
}

int sweep_fail_there(const char *where, struct npl_err *err)
{
	if (err->code == NPL_EUSAGE && is_in_file(where))
		err->code = NPL_EINPUT;
	return npl_prefix(err, "%s", where);
}

int sweep_plan_entries(const char *path, struct sweep_plan *plan, struct sweep_entry **entries, int *n,
		       struct npl_err *err)
{
	struct npl_setting *setting;
	plan->path = path;
	if (npl_settings_load_lists(path, &plan->arena, &setting, n, err))
		return err->code;
	*entries = npl_arena_array(&plan->arena, (size_t)*n + 1, sizeof **entries);
	for (int i = 0; *entries && i < *n; i++) {
		const char *where = npl_arena_printf(&plan->arena, "%s%s:%d", *path == '-' ? "./" : "", path,
						     setting[i].line);
		if (!where)
			return npl_no_memory(err);
		(*entries)[i] = (struct sweep_entry){setting[i].key, setting[i].value, where, true};
	}
	return *entries ? 0 : npl_no_memory(err);
}

/* Cuts "a = b" into keys. */
static int cut_keys(const char *text, const char *where, struct npl_arena *arena, struct sweep_axis *axis,
		    struct npl_err *err)
{
	for (const char *key = text;; key++) {
		size_t length = strcspn(key, "=");
		const char *next = key + length;
		while (length && *key == ' ')
			key++, length--;
		while (length && key[length - 1] == ' ')
			length--;
		if (!length)
			return sweep_fail_at(where, err, "'%s': expected a parameter, or several with '=' between them",
					     text);
		for (int k = 0; k < axis->n_keys; k++)
			if (!strncmp(axis->key[k], key, length) && !axis->key[k][length])
				return sweep_fail_at(where, err, "'%s' stands twice", axis->key[k]);
		if (axis->n_keys == SWEEP_AXIS_KEYS)
			return sweep_fail_at(where, err, "'%s': expected at most %d parameters that move together",
					     text, SWEEP_AXIS_KEYS);
		if (!(axis->key[axis->n_keys++] = npl_arena_strndup(arena, key, length)))
			return npl_no_memory(err);
		key = next;
		if (!*next)
			return 0;
	}
}

/* Spreads values over the keys of an axis: each of them has the same, or its own part of "64:4". */
static int spread_values(const struct sweep_values *values, struct npl_arena *arena, struct sweep_axis *axis,
			 struct npl_err *err)
{
	const char **spread = npl_arena_array(arena, (size_t)values->n * (size_t)axis->n_keys, sizeof *spread);
	if (!spread)
		return npl_no_memory(err);
	for (int i = 0; i < values->n; i++) {
		const char *part = values->text[i];
		int parts = 1;
		for (const char *c = part; *c; c++)
			parts += *c == ':';
		if (axis->n_keys > 1 && parts > 1 && parts != axis->n_keys)
			return sweep_fail_at(axis->where, err, "'%s' has %d parts, expected one or %d: %s...",
					     values->text[i], parts, axis->n_keys, axis->key[0]);
		for (int k = 0; k < axis->n_keys; k++) {
			const bool has_parts = axis->n_keys > 1 && parts > 1;
			const size_t length = has_parts ? strcspn(part, ":") : strlen(part);
			spread[i * axis->n_keys + k] = npl_arena_strndup(arena, part, length);
			if (!spread[i * axis->n_keys + k])
				return npl_no_memory(err);
			part += has_parts ? length + 1 : 0;
		}
	}
	axis->value = spread;
	axis->n_levels = values->n;
	return 0;
}

static int read_axis(const char *keys, const struct sweep_entry *entry, struct sweep_plan *plan,
		     struct sweep_axis *axis, struct npl_err *err)
{
	struct sweep_values values;
	*axis = (struct sweep_axis){.device = -1, .where = entry->where};
	if (cut_keys(keys, entry->where, &plan->arena, axis, err))
		return err->code;
	if (sweep_values_read(entry->value, &plan->arena, &values, err))
		return err->code == NPL_ENOMEM ? err->code : sweep_fail_there(entry->where, err);
	return spread_values(&values, &plan->arena, axis, err);
}

static int add_axis(const char *keys, const struct sweep_entry *entry, struct sweep_plan *plan, struct npl_err *err)
{
	struct sweep_space *space = &plan->space;
	struct sweep_axis axis;
	static const char *const of_axes[] = {SWEEP_MODEL, SWEEP_DEVICE, SWEEP_BATCH};
	if (read_axis(keys, entry, plan, &axis, err))
		return err->code;
	for (int i = SWEEP_MODEL_AXIS; i < SWEEP_FIRST_VARIED; i++)
		if (axis.n_keys == 1 && !strcmp(axis.key[0], of_axes[i])) {
			space->axis[i] = axis;
			return 0;
		}
	for (int a = SWEEP_FIRST_VARIED; a < space->n_axes; a++)
		for (int k = 0; k < space->axis[a].n_keys; k++)
			for (int j = 0; j < axis.n_keys; j++)
				if (!strcmp(space->axis[a].key[k], axis.key[j]))
					return sweep_fail_at(entry->where, err, "'%s' is varied twice, first at %s",
							     axis.key[j], space->axis[a].where);
	if (space->n_axes == SWEEP_AXES)
		return sweep_fail_at(entry->where, err, "expected at most %d axes", SWEEP_AXES - SWEEP_FIRST_VARIED);
	space->axis[space->n_axes++] = axis;
	return 0;
}

static int add_formula(struct sweep_formulas *list, const char *text, const struct sweep_entry *entry,
		       struct sweep_plan *plan, struct npl_err *err)
{
	if (list->n == SWEEP_PLAN_LIST)
		return sweep_fail_at(entry->where, err, "expected at most %d of them", SWEEP_PLAN_LIST);
	struct sweep_formula *formula = &list->formula[list->n];
	*formula = (struct sweep_formula){.where = entry->where, .device = -1};
	if (sweep_expression_parse(text, &plan->arena, &formula->expression, err))
		return err->code == NPL_ENOMEM ? err->code : sweep_fail_there(entry->where, err);
	list->n++;
	return 0;
}

/* Adds each expression of the list that the value is. */
static int add_formulas(struct sweep_formulas *list, const struct sweep_entry *entry, bool is_maximised,
			struct sweep_plan *plan, struct npl_err *err)
{
	for (const char *rest = entry->value; rest;) {
		const char *text = sweep_expression_cut(&rest, &plan->arena);
		if (!text)
			return npl_no_memory(err);
		if (list == &plan->objectives && list->n == SWEEP_OBJECTIVES)
			return sweep_fail_at(entry->where, err, "expected at most %d objectives", SWEEP_OBJECTIVES);
		if (add_formula(list, sweep_metric_full_name(text), entry, plan, err))
			return err->code;
		list->formula[list->n - 1].is_maximised = is_maximised;
	}
	return 0;
}

static int add_setting(const char *key, const struct sweep_entry *entry, struct sweep_plan *plan, struct npl_err *err)
{
	int i = 0;
	while (i < plan->n_settings && strcmp(plan->setting[i].key, key) != 0)
		i++;
	if (i == SWEEP_PLAN_LIST)
		return sweep_fail_at(entry->where, err, "expected at most %d settings", SWEEP_PLAN_LIST);
	plan->n_settings += i == plan->n_settings;
	plan->setting[i] = (struct sweep_setting){key, entry->value, entry->where, -1};
	return 0;
}

static int add_texts(struct sweep_texts *list, const struct sweep_entry *entry, struct sweep_plan *plan,
		     struct npl_err *err)
{
	for (const char *c = entry->value;; c++) {
		const size_t length = strcspn(c, "\n");
		if (list->n == SWEEP_PLAN_LIST)
			return sweep_fail_at(entry->where, err, "expected at most %d of them", SWEEP_PLAN_LIST);
		if (!(list->text[list->n++] = npl_arena_strndup(&plan->arena, c, length)))
			return npl_no_memory(err);
		c += length;
		if (!*c)
			return 0;
	}
}

static int add_dim(const char *name, const struct sweep_entry *entry, struct sweep_plan *plan, struct npl_err *err)
{
	int64_t value;
	if (!npl_parse_count(entry->value, &value))
		return sweep_fail_at(entry->where, err, "'%s': expected a whole number from 0 on", entry->value);
	if (plan->n_dims == SWEEP_PLAN_LIST)
		return sweep_fail_at(entry->where, err, "expected at most %d dimensions", SWEEP_PLAN_LIST);
	plan->dim[plan->n_dims++] = (struct npl_dim){.name = name, .value = value};
	return 0;
}

static int read_method(const struct sweep_entry *entry, struct sweep_plan *plan, struct npl_err *err)
{
	for (int m = 0; m < SWEEP_ASKED; m++)
		if (!strcmp(entry->value, sweep_method_name[m])) {
			plan->method = (enum sweep_method)m;
			return 0;
		}
	return sweep_fail_at(entry->where, err, "there is no method '%s'%s", entry->value,
			     NPL_NEAREST(entry->value, sweep_method_name, SWEEP_ASKED));
}

static int read_number(const struct sweep_entry *entry, int64_t least, int64_t *number, struct npl_err *err)
{
	double value;
	/* Above 2^53 a double would be another number than the one that was written. */
	if (!npl_parse_number(entry->value, &value) || value != rint(value) || value < (double)least || value > 0x1p53)
		return sweep_fail_at(entry->where, err, "'%s': expected a whole number from %lld to 2^53", entry->value,
				     (long long)least);
	*number = (int64_t)value;
	return 0;
}

static int read_flag(const struct sweep_entry *entry, bool *flag, struct npl_err *err)
{
	*flag = !strcmp(entry->value, "true") || !strcmp(entry->value, "yes");
	if (!*flag && strcmp(entry->value, "false") != 0 && strcmp(entry->value, "no") != 0)
		return sweep_fail_at(entry->where, err, "'%s': expected true or false", entry->value);
	return 0;
}

/* The keys with one text, and where the plan has it. */
static const struct {
	const char *key;
	size_t offset;
} texts[] = {{"name", offsetof(struct sweep_plan, name)},
	     {"description", offsetof(struct sweep_plan, description)},
	     {"engine", offsetof(struct sweep_plan, engine)},
	     {"host", offsetof(struct sweep_plan, host)},
	     {"labels", offsetof(struct sweep_plan, labels)}};

/* All words that a key may begin with, for messages. */
static const char *const words[] = {"batch",  "constraint", "derive", "description", "device", "dim",
				    "engine", "host",       "input",  "labels",      "layers", "maximise",
				    "method", "minimise",   "model",  "name",        "points", "population",
				    "seed",   "set",        "values", "vary"};
#define N_WORDS ((int)(sizeof words / sizeof *words))

/* Returns what stands behind the group's name and a dot; NULL: the key belongs to no such group. */
static const char *in_group(const char *key, const char *group)
{
	const size_t length = strlen(group);
	return !strncmp(key, group, length) && key[length] == '.' ? key + length + 1 : NULL;
}

static int read_grouped(const struct sweep_entry *entry, struct sweep_plan *plan, bool *is_read, struct npl_err *err)
{
	const char *key;
	*is_read = true;
	if ((key = in_group(entry->key, "vary")))
		return add_axis(key, entry, plan, err);
	if ((key = in_group(entry->key, "set")))
		return add_setting(key, entry, plan, err);
	if ((key = in_group(entry->key, "dim")))
		return add_dim(key, entry, plan, err);
	if ((key = in_group(entry->key, "derive"))) {
		if (add_formula(&plan->derived, entry->value, entry, plan, err))
			return err->code;
		plan->derived.formula[plan->derived.n - 1].key = key;
		return 0;
	}
	*is_read = false;
	return 0;
}

static int refuse_key(const struct sweep_entry *entry, struct sweep_plan *plan, struct npl_err *err)
{
	const char *word = npl_arena_strndup(&plan->arena, entry->key, strcspn(entry->key, "."));
	if (!word)
		return npl_no_memory(err);
	if (!strcmp(word, "vary") || !strcmp(word, "set") || !strcmp(word, "derive") || !strcmp(word, "dim"))
		return sweep_fail_at(entry->where, err, "'%s': expected keys below it", word);
	return sweep_fail_at(entry->where, err, "a plan has no key '%s'%s", entry->key,
			     NPL_NEAREST_ONLY(word, words, N_WORDS));
}

static int read_entry(const struct sweep_entry *entry, struct sweep_plan *plan, struct npl_err *err)
{
	const char *key = entry->key;
	int64_t seed = 0;
	bool is_read;
	int rc = read_grouped(entry, plan, &is_read, err);
	if (rc || is_read)
		return rc;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!strcmp(key, texts[i].key)) {
			*(const char **)((char *)plan + texts[i].offset) = entry->value;
			return 0;
		}
	if (!strcmp(key, SWEEP_MODEL) || !strcmp(key, SWEEP_DEVICE) || !strcmp(key, SWEEP_BATCH))
		return add_axis(key, entry, plan, err);
	if (!strcmp(key, "method"))
		return read_method(entry, plan, err);
	if (!strcmp(key, "points") && !strcmp(entry->value, "-")) {
		plan->method = SWEEP_ASKED;
		return 0;
	}
	if (!strcmp(key, "points"))
		return read_number(entry, 1, &plan->points, err);
	if (!strcmp(key, "population")) {
		rc = read_number(entry, SWEEP_CHUNK, &plan->population, err);
		return rc || plan->population % SWEEP_CHUNK == 0
			       ? rc
			       : sweep_fail_at(entry->where, err, "'%s': expected a multiple of %d", entry->value,
					       SWEEP_CHUNK);
	}
	if (!strcmp(key, "seed")) {
		rc = read_number(entry, 0, &seed, err);
		plan->seed = (uint64_t)seed;
		return rc;
	}
	if (!strcmp(key, "input"))
		return add_texts(&plan->inputs, entry, plan, err);
	if (!strcmp(key, "values"))
		return read_flag(entry, &plan->values, err);
	if (!strcmp(key, "layers"))
		return read_flag(entry, &plan->layers, err);
	if (!strcmp(key, "minimise") || !strcmp(key, "maximise"))
		return add_formulas(&plan->objectives, entry, key[1] == 'a', plan, err);
	if (!strcmp(key, "constraint"))
		return add_formulas(&plan->constraints, entry, false, plan, err);
	return refuse_key(entry, plan, err);
}

/* Says whether two keys are the same but for blanks, as "a = b" and "a=b" are. */
static bool is_same_key(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, " ");
		b += strspn(b, " ");
		if (*a != *b || !*a)
			return *a == *b;
	}
}

/* Says whether an entry of the file is replaced by one of the command line. Constraints add up. */
static bool is_replaced(const struct sweep_entry *entry, int i, int n)
{
	if (!entry[i].from_file || !strcmp(entry[i].key, "constraint"))
		return false;
	for (int j = i + 1; j < n; j++)
		if (!entry[j].from_file && is_same_key(entry[i].key, entry[j].key))
			return true;
	return false;
}

static int check_batches(const struct sweep_axis *axis, struct npl_err *err)
{
	int64_t batch;
	for (int i = 0; i < axis->n_levels; i++)
		if (!npl_parse_count(axis->value[i], &batch) || batch < 1 || batch > 1 << 20)
			return sweep_fail_at(axis->where, err, "batch '%s': expected a whole number from 1 to %d",
					     axis->value[i], 1 << 20);
	return 0;
}

/* Fails for the plan as a whole. */
static int fail_plan(const struct sweep_plan *plan, struct npl_err *err, const char *subject, const char *message)
{
	return plan->path ? npl_fail(err, NPL_EINPUT, "%s: %s%s", plan->path, subject, message)
			  : npl_fail(err, NPL_EUSAGE, "%s%s", subject, message);
}

/* Fills in what no entry gave, and refuses what does not go together. */
static int complete(struct sweep_plan *plan, struct npl_err *err)
{
	static const char *const model_batch[] = {""};
	struct sweep_axis *axis = plan->space.axis;
	if (!axis[SWEEP_MODEL_AXIS].n_levels || !axis[SWEEP_DEVICE_AXIS].n_levels)
		return fail_plan(plan, err, "the plan names no ", axis[SWEEP_MODEL_AXIS].n_levels ? "device" : "model");
	if (!axis[SWEEP_BATCH_AXIS].n_levels)
		axis[SWEEP_BATCH_AXIS] = (struct sweep_axis){.n_keys = 1,
							     .key = {SWEEP_BATCH},
							     .device = -1,
							     .n_levels = 1,
							     .value = model_batch,
							     .where = "--batch"};
	else if (check_batches(&axis[SWEEP_BATCH_AXIS], err))
		return err->code;
	if (plan->method == SWEEP_GRID && plan->points)
		return fail_plan(plan, err, "points: ", "the method grid runs every point, the others choose so many");
	if (plan->method != SWEEP_EVOLUTION && plan->population)
		return fail_plan(plan, err, "population: ", "only the method evolution has generations");
	if (plan->method != SWEEP_GRID && plan->method != SWEEP_ASKED && !plan->points)
		return fail_plan(plan, err, sweep_method_name[plan->method],
				 ": expected points (--points), how many the method shall choose");
	return 0;
}

int sweep_plan_read(const struct sweep_entry *entry, int n, struct sweep_plan *plan, struct npl_err *err)
{
	plan->space.axis = npl_arena_array(&plan->arena, SWEEP_AXES, sizeof *plan->space.axis);
	plan->space.n_axes = SWEEP_FIRST_VARIED;
	plan->space.device_axis = SWEEP_DEVICE_AXIS;
	plan->seed = 1;
	if (!plan->space.axis)
		return npl_no_memory(err);
	for (int i = 0; i < n; i++)
		if (!is_replaced(entry, i, n) && read_entry(&entry[i], plan, err))
			return err->code;
	return complete(plan, err);
}

void sweep_plan_free(struct sweep_plan *plan)
{
	npl_arena_free(&plan->arena);
	*plan = (struct sweep_plan){0};
}
