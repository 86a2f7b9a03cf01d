/* SPDX-License-Identifier: MIT
 *
 * The facts of a sweep (facts.h), each a text or a piece of JSON. */
#include "facts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/refuse.h"
#include "core/files/data_names.h"
#include "core/files/file.h"
#include "core/files/path.h"
#include "explore/methods/method.h"
#include "npulab/device.h"
#include "npulab/model.h"
#include "npulab/sha256.h"
#include "npulab/version.h"
#include "reports/format/json.h"

/* Writes a piece of JSON. */
typedef int put_fact(struct npl_json *json, const struct sweep_plan *plan, struct npl_err *err);

static int put_build(struct npl_json *json, const struct sweep_plan *plan, struct npl_err *err)
{
	(void)plan, (void)err;
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "version", npl_version());
	npl_json_string(json, "commit", npl_commit());
	npl_json_close(json, '}');
	return 0;
}

/* Writes the hash of a model's file. */
static int put_model(struct npl_json *json, const struct sweep_plan *plan, const char *name, struct npl_err *err)
{
	const struct npl_load_options options = {.n_dims = plan->n_dims, .dims = plan->dim};
	struct npl_arena arena = {0};
	struct npl_model_files files;
	struct npl_graph *graph = NULL;
	int rc = npl_model_find(name, &arena, &files, err);
	if (!rc)
		rc = npl_graph_load(files.path, &options, &graph, err);
	if (!rc)
		npl_json_string(json, name, graph->file_sha256);
	npl_graph_free(graph);
	npl_arena_free(&arena);
	return rc;
}

static int put_models(struct npl_json *json, const struct sweep_plan *plan, struct npl_err *err)
{
	const struct sweep_axis *axis = &plan->space.axis[SWEEP_MODEL_AXIS];
	int rc = 0;
	npl_json_open(json, NULL, '{');
	for (int i = 0; i < axis->n_levels && !rc; i++)
		rc = put_model(json, plan, axis->value[i], err);
	npl_json_close(json, '}');
	return rc;
}

/* Writes a machine's parameters as its file has them, and the hash that also covers the memory and the table of
 * energies that it names. */
static int put_machine(struct npl_json *json, const char *key, const char *name, struct npl_err *err)
{
	struct npl_device *device = NULL;
	if (npl_device_open(name, NULL, &device, err))
		return err->code;
	npl_json_open(json, key, '{');
	npl_json_string(json, "name", name);
	npl_json_string(json, "sha256", npl_device_sha256(device));
	npl_json_string(json, "yaml", npl_device_yaml(device));
	npl_json_close(json, '}');
	npl_device_close(device);
	return 0;
}

static int put_machines(struct npl_json *json, const struct sweep_plan *plan, struct npl_err *err)
{
	const struct sweep_axis *axis = &plan->space.axis[SWEEP_DEVICE_AXIS];
	int rc = 0;
	npl_json_open(json, NULL, '{');
	for (int i = 0; i < axis->n_levels && !rc; i++)
		rc = put_machine(json, axis->value[i], axis->value[i], err);
	npl_json_close(json, '}');
	return rc;
}

static int put_host(struct npl_json *json, const struct sweep_plan *plan, struct npl_err *err)
{
	return put_machine(json, NULL, plan->host ? plan->host : NPL_HOST_NAME, err);
}

static int put_axes(struct npl_json *json, const struct sweep_plan *plan, struct npl_err *err)
{
	const struct sweep_space *space = &plan->space;
	(void)err;
	npl_json_open(json, NULL, '[');
	for (int a = 0; a < space->n_axes; a++) {
		const struct sweep_axis *axis = &space->axis[a];
		npl_json_open(json, NULL, '{');
		npl_json_texts(json, "keys", axis->key, axis->n_keys);
		npl_json_string(json, "device",
				axis->device < 0 ? NULL : space->axis[space->device_axis].value[axis->device]);
		npl_json_open(json, "values", '[');
		for (int i = 0; i < axis->n_levels; i++)
			npl_json_texts(json, NULL, axis->value + (size_t)i * (size_t)axis->n_keys, axis->n_keys);
		npl_json_close(json, ']');
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
	return 0;
}

static int put_settings(struct npl_json *json, const struct sweep_plan *plan, struct npl_err *err)
{
	(void)err;
	npl_json_open(json, NULL, '[');
	for (int i = 0; i < plan->n_settings; i++) {
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "key", plan->setting[i].key);
		npl_json_string(json, "value", plan->setting[i].value);
		npl_json_i64(json, "device", plan->setting[i].device);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
	return 0;
}

static void put_formulas(struct npl_json *json, const struct sweep_formulas *list)
{
	npl_json_open(json, NULL, '[');
	for (int i = 0; i < list->n; i++) {
		const struct sweep_formula *formula = &list->formula[i];
		npl_json_open(json, NULL, '{');
		if (formula->key)
			npl_json_string(json, "key", formula->key);
		if (formula->key)
			npl_json_i64(json, "device", formula->device);
		npl_json_string(json, "expression", formula->expression.text);
		npl_json_bool(json, "maximise", formula->is_maximised);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static int put_derived(struct npl_json *json, const struct sweep_plan *plan, struct npl_err *err)
{
	(void)err;
	put_formulas(json, &plan->derived);
	return 0;
}

static int put_constraints(struct npl_json *json, const struct sweep_plan *plan, struct npl_err *err)
{
	(void)err;
	put_formulas(json, &plan->constraints);
	return 0;
}

static int put_objectives(struct npl_json *json, const struct sweep_plan *plan, struct npl_err *err)
{
	(void)err;
	put_formulas(json, &plan->objectives);
	return 0;
}

static int put_method(struct npl_json *json, const struct sweep_plan *plan, struct npl_err *err)
{
	int64_t points;
	if (sweep_method_points(plan, &points, err))
		return err->code;
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "name", sweep_method_name[plan->method]);
	npl_json_i64(json, "points", points);
	npl_json_i64(json, "population", plan->population);
	npl_json_u64(json, "seed", plan->seed);
	npl_json_close(json, '}');
	return 0;
}

/* Writes the hash of a file. */
static int put_hash(struct npl_json *json, const char *key, const char *path, struct npl_err *err)
{
	struct npl_file file;
	char hex[NPL_SHA256_HEX];
	if (npl_file_map(path, SIZE_MAX, &file, err))
		return err->code;
	npl_sha256_hex(file.data, file.bytes, hex);
	npl_json_string(json, key, hex);
	npl_file_unmap(&file);
	return 0;
}

/* Returns the path of "FILE" or "NAME=FILE". */
static const char *path_of_samples(const char *spec)
{
	const char *equals = access(spec, F_OK) ? strchr(spec, '=') : NULL;
	return equals ? equals + 1 : spec;
}

/* Writes the hash of the file that a value names, such as a memory's; nothing where it names none. */
static int put_value_file(struct npl_json *json, const char *value, struct npl_err *err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%.*s", (int)npl_data_name_length(value), value);
	if (!(npl_is_yaml_path(path) || npl_path_ends_in(path, ".csv")) || access(path, F_OK))
		return 0;
	return put_hash(json, value, path, err);
}

/* Writes the files that settings and values of axes name. */
static int put_files(struct npl_json *json, const struct sweep_plan *plan, struct npl_err *err)
{
	int rc = 0;
	npl_json_open(json, NULL, '{');
	for (int i = 0; i < plan->n_settings && !rc; i++)
		rc = put_value_file(json, plan->setting[i].value, err);
	for (int a = SWEEP_FIRST_VARIED; a < plan->space.n_axes; a++) {
		const struct sweep_axis *axis = &plan->space.axis[a];
		for (int i = 0; i < axis->n_levels * axis->n_keys && !rc; i++)
			rc = put_value_file(json, axis->value[i], err);
	}
	npl_json_close(json, '}');
	return rc;
}

static int put_samples(struct npl_json *json, const struct sweep_plan *plan, struct npl_err *err)
{
	int rc = 0;
	npl_json_open(json, NULL, '{');
	npl_json_bool(json, "values", plan->values);
	npl_json_texts(json, "input", plan->inputs.text, plan->inputs.n);
	npl_json_string(json, "labels", plan->labels);
	npl_json_open(json, "sha256", '[');
	for (int i = 0; i < plan->inputs.n && !rc; i++)
		rc = put_hash(json, NULL, path_of_samples(plan->inputs.text[i]), err);
	if (plan->labels && !rc)
		rc = put_hash(json, NULL, plan->labels, err);
	npl_json_close(json, ']');
	for (int i = 0; i < plan->n_dims; i++)
		npl_json_i64(json, plan->dim[i].name, plan->dim[i].value);
	npl_json_close(json, '}');
	return rc;
}

static const struct {
	const char *key;
	put_fact *put;
} pieces[] = {{"npulab", put_build},
	      {"models", put_models},
	      {"machines", put_machines},
	      {"host", put_host},
	      {"axes", put_axes},
	      {"settings", put_settings},
	      {"derived", put_derived},
	      {"constraints", put_constraints},
	      {"objectives", put_objectives},
	      {"method", put_method},
	      {"samples", put_samples},
	      {"files", put_files}};
#define N_PIECES ((int)(sizeof pieces / sizeof *pieces))

/* Makes a piece of JSON in the plan's arena. */
static int make_piece(struct sweep_plan *plan, put_fact *put, const char **text, struct npl_err *err)
{
	char *data = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&data, &bytes);
	struct npl_json json = {.out = out};
	if (!out)
		return npl_no_memory(err);
	int rc = put(&json, plan, err);
	if (fclose(out) && !rc)
		rc = npl_no_memory(err);
	if (!rc && !(*text = npl_arena_strdup(&plan->arena, data)))
		rc = npl_no_memory(err);
	free(data);
	return rc;
}

int sweep_facts(struct sweep_plan *plan, const char *shard, struct sweep_fact fact[SWEEP_FACTS], int *n,
		struct npl_err *err)
{
	*n = 0;
	fact[(*n)++] = (struct sweep_fact){"format", "npulab.sweep/1"};
	for (int i = 0; i < N_PIECES; i++) {
		fact[*n].key = pieces[i].key;
		if (make_piece(plan, pieces[i].put, &fact[*n].value, err))
			return err->code;
		++*n;
	}
	fact[(*n)++] = (struct sweep_fact){"name", plan->name ? plan->name : ""};
	fact[(*n)++] = (struct sweep_fact){"description", plan->description ? plan->description : ""};
	fact[(*n)++] = (struct sweep_fact){"engine", plan->engine ? plan->engine : ""};
	fact[(*n)++] = (struct sweep_fact){"layers", plan->layers ? "true" : "false"};
	fact[(*n)++] = (struct sweep_fact){"shard", shard};
	return 0;
}
