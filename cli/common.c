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

int cli_network_load(const char *model, const struct cli_common *common, struct npl_network *network,
		     struct npl_err *err)
{
	struct npl_arena arena = {0}; /* of the names of dimensions, which are needed only here */
	struct npl_dim dims[CLI_LIST];
	*network = (struct npl_network){0};
	npl_progress_part(model, NULL, 0, 0);
	int rc = cli_read_dims(&common->dim, &arena, dims, err);
	const struct npl_network_options options = {.batch = common->batch,
						    .n_dims = common->dim.n,
						    .dims = dims,
						    .n_inputs = common->input.n,
						    .inputs = common->input.item,
						    .labels = common->labels,
						    .seed = (uint64_t)common->seed,
						    .timing_only = common->timing_only};
	if (!rc)
		rc = npl_network_load(model, &options, network, err);
	npl_arena_free(&arena);
	return rc;
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
