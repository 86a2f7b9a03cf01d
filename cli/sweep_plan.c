/* SPDX-License-Identifier: MIT
 *
 * Plans of sweeps from the command line (sweep_plan.h). */
#include "sweep_plan.h"

#include <string.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "core/files/data_names.h"

/* The entries in the making. */
struct entries {
	struct sweep_plan *plan;
	struct sweep_entry *entry;
	int n;
};

static void add(struct entries *entries, const char *key, const char *value, const char *where)
{
	if (value)
		entries->entry[entries->n++] = (struct sweep_entry){key, value, where, false};
}

/* Adds "KEY=VALUE", or "KEY=KEY=VALUE" for parameters that move together. Values of settings and of the
 * axes of models and devices may contain '='. */
static int add_pair(struct entries *entries, const char *group, const char *text, const char *where,
		    struct npl_err *err)
{
	struct npl_arena *arena = &entries->plan->arena;
	const bool has_one_key = strcmp(group, "vary") != 0 || !strncmp(text, "device=", 7) ||
				 !strncmp(text, "model=", 6);
	const char *equals = strchr(text, '=');
	/* Keys have no commas: what stands behind one is of the values. */
	const char *end = text + strcspn(text, ",");
	for (const char *next = equals; next && next < end && !has_one_key; next = strchr(next + 1, '='))
		equals = next;
	if (!equals || equals == text || !equals[1])
		return npl_fail(err, NPL_EUSAGE, "%s %s: expected KEY=VALUE%s", where, text,
				strcmp(group, "vary") != 0 ? "" : "S, as array.rows=64..512*2");
	const char *key = npl_arena_printf(arena, "%s.%.*s", group, (int)(equals - text), text);
	if (!key)
		return npl_no_memory(err);
	add(entries, key, equals + 1, where);
	return 0;
}

static int add_pairs(struct entries *entries, const char *group, const struct cli_list *list, const char *where,
		     struct npl_err *err)
{
	for (int i = 0; i < list->n; i++)
		if (add_pair(entries, group, list->item[i], where, err))
			return err->code;
	return 0;
}

static int add_options(struct entries *entries, const struct cli_sweep_options *options, struct npl_err *err)
{
	add(entries, SWEEP_DEVICE, options->device, "--device");
	add(entries, SWEEP_BATCH, options->batch, "--batch");
	if (add_pairs(entries, "vary", &options->vary, "--vary", err) ||
	    add_pairs(entries, "set", &options->set, "--set", err) ||
	    add_pairs(entries, "dim", &options->dim, "--dim", err))
		return err->code;
	for (int i = 0; i < options->constraint.n; i++)
		add(entries, "constraint", options->constraint.item[i], "--constraint");
	for (int i = 0; i < options->input.n; i++)
		add(entries, "input", options->input.item[i], "--input");
	add(entries, "minimise", options->minimise, "--minimise");
	add(entries, "maximise", options->maximise, "--maximise");
	add(entries, "method", options->method, "--method");
	add(entries, "points", options->points, "--points");
	add(entries, "seed", options->seed, "--seed");
	add(entries, "engine", options->engine, "--engine");
	add(entries, "host", options->host, "--host");
	add(entries, "labels", options->labels, "--labels");
	add(entries, "values", options->values ? "true" : NULL, "--values");
	add(entries, "layers", options->layers ? "true" : NULL, "--layers");
	return 0;
}

/* Finds the file of a plan: the word itself, or that of a shipped plan of this name. *path NULL: it is no plan's. */
static int find_plan(const char *word, struct npl_arena *arena, const char **path, struct npl_err *err)
{
	char shipped[4096];
	bool exists = false;
	*path = NULL;
	if (npl_is_yaml_path(word)) {
		/* The path of a model may have a '/' too. */
		const char *end = strrchr(word, '.');
		*path = end && (!strcmp(end, ".yaml") || !strcmp(end, ".yml")) ? word : NULL;
		return 0;
	}
	if (npl_data_path("plans", word, shipped, sizeof shipped, &exists, err) || !exists)
		return 0; /* without the folder there are models still */
	*path = npl_arena_strdup(arena, shipped);
	return *path ? 0 : npl_no_memory(err);
}

/* Refuses a word that is no plan, without the device that a model needs. */
static int refuse_word(const char *word, struct npl_arena *arena, struct npl_err *err)
{
	const char *const *names;
	int n;
	if (npl_data_names("plans", NULL, 0, arena, &names, &n, err))
		return err->code;
	return npl_fail(err, NPL_EUSAGE, "sweep: there is no plan '%s'%s; a model needs --device too", word,
			NPL_NEAREST(word, names, n));
}

int cli_sweep_plan(const char *word, const struct cli_sweep_options *options, struct sweep_plan *plan,
		   struct npl_err *err)
{
	struct sweep_entry *of_file = NULL;
	struct entries entries = {.plan = plan};
	int n_of_file = 0;
	const char *path;
	if (find_plan(word, &plan->arena, &path, err) ||
	    (path && sweep_plan_entries(path, plan, &of_file, &n_of_file, err)))
		return err->code;
	if (!path && !options->device)
		return refuse_word(word, &plan->arena, err);
	entries.entry = npl_arena_array(&plan->arena, (size_t)n_of_file + 5 * CLI_LIST + 20, sizeof *entries.entry);
	if (!entries.entry)
		return npl_no_memory(err);
	for (int i = 0; i < n_of_file; i++)
		entries.entry[entries.n++] = of_file[i];
	if (!of_file)
		add(&entries, SWEEP_MODEL, word, "sweep");
	if (add_options(&entries, options, err) || sweep_plan_read(entries.entry, entries.n, plan, err))
		return err->code;
	return sweep_plan_check(plan, err);
}
