/* SPDX-License-Identifier: MIT
 *
 * npulab models: lists the networks that ship with npulab. */
#include "common.h"
#include "core/base/refuse.h"
#include "npulab/model.h"
#include "npulab/progress.h"
#include "npulab/report.h"
#include "reports/format/json.h"
#include "reports/format/table.h"
#include "waiting.h"

struct entry {
	struct npl_model_files files;
	uint64_t macs, parameters, activations; /* macs and activations: per sample */
	int layers;
};

static int read_entry(const char *name, struct npl_arena *arena, struct entry *entry, struct npl_err *err)
{
	struct npl_graph *graph;
	if (npl_model_find(name, arena, &entry->files, err) || npl_graph_load(entry->files.path, NULL, &graph, err))
		return err->code;
	const uint64_t samples = graph->batch ? (uint64_t)graph->batch : 1;
	entry->macs = graph->macs / samples;
	entry->activations = graph->activations / samples;
	entry->parameters = graph->parameters;
	entry->layers = graph->n_nodes;
	npl_graph_free(graph);
	return 0;
}

static void put_json(struct npl_json *json, const struct entry *e)
{
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "name", e->files.name);
	npl_json_string(json, "description", e->files.description);
	npl_json_u64(json, "macs_per_sample", e->macs);
	npl_json_u64(json, "parameters", e->parameters);
	npl_json_u64(json, "activations_per_sample", e->activations);
	npl_json_i64(json, "layers", e->layers);
	npl_json_string(json, "license", e->files.license);
	npl_json_string(json, "source", e->files.source);
	npl_json_close(json, '}');
}

/* The data of a report. */
struct listing {
	const struct entry *entry;
	int n;
};

static void write_json(FILE *out, const void *data)
{
	const struct listing *listing = data;
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.models/1");
	npl_json_open(&json, "models", '[');
	for (int i = 0; i < listing->n; i++)
		put_json(&json, &listing->entry[i]);
	npl_json_close(&json, ']');
	npl_json_close(&json, '}');
	putc('\n', out);
}

static int print_table(const struct listing *listing)
{
	static const char *const header[] = {"MODEL",       "MAC/SAMPLE", "PARAMETERS",
					     "ACTIVATIONS", "LAYERS",     "DESCRIPTION"};
	struct npl_table table;
	npl_table_open(&table, "lrrrrl", header);
	for (int i = 0; i < listing->n; i++) {
		const struct entry *e = &listing->entry[i];
		char macs[32], parameters[32], activations[32], layers[16];
		npl_count_text((double)e->macs, "", macs, sizeof macs);
		npl_count_text((double)e->parameters, "", parameters, sizeof parameters);
		npl_count_text((double)e->activations, "", activations, sizeof activations);
		snprintf(layers, sizeof layers, "%d", e->layers);
		const char *cells[] = {e->files.name, macs, parameters, activations, layers, e->files.description};
		npl_table_row(&table, cells);
	}
	npl_table_print(&table, stdout);
	return npl_table_close(&table);
}

static int list_models(const char *json, struct npl_err *err)
{
	struct npl_arena arena = {0};
	const char *const *names;
	int n, rc = npl_model_list(&arena, &names, &n, err);
	struct entry *entries = rc ? NULL : npl_arena_array(&arena, (size_t)n + 1, sizeof *entries);
	if (!rc && !entries)
		rc = npl_no_memory(err);
	for (int i = 0; i < n && !rc; i++) {
		npl_progress_part(names[i], "model", i + 1, n);
		rc = read_entry(names[i], &arena, &entries[i], err);
	}
	cli_waiting_end();
	if (!rc) {
		const struct listing listing = {entries, n};
		rc = cli_write_reports(&(struct cli_report){json, write_json, &listing}, 1, err);
		if (!cli_is_stdout(json))
			rc = cli_table_printed(print_table(&listing), rc, err);
	}
	npl_arena_free(&arena);
	return rc;
}

static int models_main(int argc, char **argv, struct npl_err *err)
{
	const char *json = NULL, *no_words = NULL;
	bool help_printed;
	int n_words;
	int64_t threads = 0; /* --threads, which cli_parse applies; nothing here reads it */
	const struct cli_option options[] = {CLI_JSON_OPTION(&json), CLI_THREADS_OPTION(&threads), {0}};
	if (cli_parse(&cli_models, options, argc, argv, &no_words, 0, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	return list_models(json, err);
}

const struct cli_command cli_models = {"models", "[--json FILE]", "the networks that ship", models_main};
