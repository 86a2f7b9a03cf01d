/* SPDX-License-Identifier: MIT
 *
 * Functions that the running commands share (common.h). */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "core/base/refuse.h"
#include "core/files/words.h"
#include "npulab/progress.h"

int cli_read_choice(struct cli_common *common, const struct npl_graph *graph, struct npl_layer_choice_options *choice,
		    struct npl_err *err)
{
	*choice = (struct npl_layer_choice_options){
		.n_match = common->match.n, .match = common->match.item, .top = common->top};
	if (common->sort && npl_layer_sort_parse(common->sort, &choice->sort, err))
		return err->code;
	common->layers = common->layers || common->match.n || common->sort || common->top;
	return npl_layer_choice_check(graph, choice, err);
}

static int read_formats(const struct cli_common *common, struct npl_compare_options *compare_options,
			struct npl_err *err)
{
	const char *scale = common->q16_scale ? common->q16_scale : "on";
	compare_options->plan.q16_plain = !strcmp(scale, "off");
	if (!compare_options->plan.q16_plain && strcmp(scale, "on"))
		return npl_fail(err, NPL_EUSAGE, "--scale-q6.10 %s: expected on or off", scale);
	return npl_calibration_parse(common->calibrate ? common->calibrate : "minmax", &compare_options->calibration,
				     err);
}

int cli_compare_options(const struct cli_common *common, struct npl_arena *arena,
			struct npl_compare_options *compare_options, struct npl_err *err)
{
	const char **names = NULL;
	int n = 0;
	if (common->devices && cli_split_devices(common->devices, arena, &names, &n, err))
		return err->code;
	*compare_options = (struct npl_compare_options){.device_names = names,
							.n_devices = n,
							.set = common->set.item,
							.n_sets = common->set.n,
							.threads = (int)common->threads,
							.engine = common->engine,
							.host = common->host,
							.layer_accuracy = common->layers || common->json || common->csv,
							.no_accuracy = common->no_accuracy,
							.plan.timing_only = common->timing_only};
	return read_formats(common, compare_options, err);
}

int cli_read_dims(const struct cli_list *list, struct npl_arena *arena, struct npl_dim *dims, struct npl_err *err)
{
	for (int i = 0; i < list->n; i++) {
		const char *text = list->item[i], *equals = strrchr(text, '=');
		int64_t value;
		if (!equals || equals == text || !npl_parse_count(equals + 1, &value))
			return npl_fail(err, NPL_EUSAGE, "--dim %s: expected NAME=N, N a whole number from 0 on", text);
		dims[i] = (struct npl_dim){.name = npl_arena_strndup(arena, text, (size_t)(equals - text)),
					   .value = value};
		if (!dims[i].name)
			return npl_no_memory(err);
	}
	return 0;
}

void cli_warn(const char *subject, const char *const *warning, int n)
{
	cli_waiting_end();
	for (int i = 0; i < n; i++) {
		struct npl_err line; /* npl_err makes the text printable */
		npl_fail(&line, NPL_OK, "%s%s%s", subject ? subject : "", subject ? ": " : "", warning[i]);
		fprintf(stderr, "npulab: warning: %s\n", line.msg);
	}
}

static int load_samples(const struct cli_common *common, struct cli_inputs *inputs, struct npl_err *err)
{
	const struct npl_model_files *files = &inputs->files;
	const char *const *paths = common->input.item;
	const char *labels = common->labels, *shipped[1] = {files->input};
	int n_inputs = common->input.n;
	if (!n_inputs && files->input) { /* a shipped model's own samples, with their labels */
		paths = shipped;
		n_inputs = 1;
		labels = labels ? labels : files->labels;
	}
	if (!n_inputs && common->timing_only) {
		if (npl_samples_describe(inputs->graph, labels, &inputs->samples, err))
			return err->code;
	} else if (npl_samples_load(inputs->graph, paths, n_inputs, labels, (uint64_t)common->seed, &inputs->samples,
				    err))
		return err->code;
	if (!files->calibration)
		return 0;
	inputs->calibrated = true;
	const char *calibration[] = {files->calibration};
	return npl_samples_load(inputs->graph, calibration, 1, NULL, 0, &inputs->calibration, err);
}

int cli_inputs_load(const char *model, const struct cli_common *common, struct cli_inputs *inputs, struct npl_err *err)
{
	*inputs = (struct cli_inputs){0};
	npl_progress_part(model, NULL, 0, 0);
	int rc = npl_model_find(model, &inputs->arena, &inputs->files, err);
	struct npl_dim dims[CLI_LIST];
	struct npl_load_options options = {.batch = common->batch,
					   .usual_batch = inputs->files.batch,
					   .n_dims = common->dim.n,
					   .dims = dims,
					   .n_files = common->input.n,
					   .files = common->input.item};
	if (!common->input.n && inputs->files.input) {
		options.n_files = 1;
		options.files = &inputs->files.input;
	}
	if (!rc)
		rc = cli_read_dims(&common->dim, &inputs->arena, dims, err);
	if (!rc)
		rc = npl_graph_load(inputs->files.path, &options, &inputs->graph, err);
	if (!rc)
		rc = load_samples(common, inputs, err);
	/* A shipped model's batch suits its own samples. Where the user gives fewer samples, the batch is smaller, not
	 * padded. */
	if (!rc && !common->batch && inputs->samples.count < inputs->graph->batch) {
		options.usual_batch = inputs->samples.count;
		npl_samples_free(&inputs->samples);
		npl_samples_free(&inputs->calibration);
		npl_graph_free(inputs->graph);
		inputs->graph = NULL;
		rc = npl_graph_load(inputs->files.path, &options, &inputs->graph, err);
		if (!rc)
			rc = load_samples(common, inputs, err);
	}
	if (rc)
		cli_inputs_free(inputs);
	return rc;
}

void cli_inputs_free(struct cli_inputs *inputs)
{
	npl_samples_free(&inputs->samples);
	npl_samples_free(&inputs->calibration);
	npl_graph_free(inputs->graph);
	npl_arena_free(&inputs->arena);
	*inputs = (struct cli_inputs){0};
}

const char *cli_names_text(const char *const *names, int n, const char *last, char *buf, size_t size)
{
	*buf = '\0';
	for (int i = 0; i < n; i++)
		npl_append(buf, size, i == n - 1 ? last : ", ", "%s", names[i]);
	return buf;
}

int cli_split_devices(const char *text, struct npl_arena *arena, const char ***names, int *n, struct npl_err *err)
{
	size_t max_names = 1;
	for (const char *c = text; *c; c++)
		max_names += *c == ',';
	*names = npl_arena_array(arena, max_names, sizeof **names);
	*n = 0;
	if (!*names)
		return npl_no_memory(err);
	for (const char *cursor = text;; cursor++) {
		size_t length = strcspn(cursor, ",");
		const char *name = npl_arena_strndup(arena, cursor, length);
		if (!name)
			return npl_no_memory(err);
		if (!length)
			return npl_fail(err, NPL_EUSAGE,
					"--devices %s: an empty name, expected names separated by commas", text);
		for (int i = 0; i < *n; i++)
			if (!strcmp((*names)[i], name))
				return npl_fail(err, NPL_EUSAGE, "--devices %s: '%s' is given twice", text, name);
		(*names)[(*n)++] = name;
		cursor += length;
		if (!*cursor)
			return 0;
	}
}

void cli_warn_of_machine(const struct npl_device *device)
{
	int n;
	const char *const *notes = npl_device_notes(device, &n);
	cli_warn(npl_device_name(device), notes, n);
}

/* Opens a machine with the settings of --set. Those of a machine file are addressed by the machine's name, which is
 * known only once the file is open. */
int cli_open_machine(const char *name, const struct cli_common *common, struct npl_device **device, struct npl_err *err)
{
	const char *sets[CLI_LIST];
	const struct cli_list *set = &common->set;
	struct npl_device_options options = {.set = sets, .threads = (int)common->threads};
	int rc = npl_device_open(name, &options, device, err);
	if (rc || !set->n)
		return rc;
	options.n_sets = npl_device_sets(npl_device_name(*device), set->item, set->n, sets);
	for (int i = 0; i < set->n && !rc; i++)
		if (!npl_device_sets(npl_device_name(*device), &set->item[i], 1, &(const char *){NULL}))
			rc = npl_fail(err, NPL_EUSAGE, "--set %s: expected %s.KEY=VALUE", set->item[i],
				      npl_device_name(*device));
	npl_device_close(*device);
	*device = NULL;
	return rc ? rc : npl_device_open(name, &options, device, err);
}
