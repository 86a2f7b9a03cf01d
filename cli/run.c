/* SPDX-License-Identifier: MIT
 *
 * npulab run: runs one network once, every layer on one device or on the devices that placement rules name. */
#include "comparison.h"

#include <stdlib.h>

#include "core/base/refuse.h"
#include "npulab/placement.h"
#include "terminal.h"

/* The device or the placement rules of a run. */
struct target {
	const char *device, *rules, *file; /* one of the three is set */
	const char *dump;                  /* --dump-program */
	bool log;
};

/* Makes the device, or the devices that the rules name, those of the comparison. */
static int set_devices(const struct target *target, struct cli_comparison *comparison, struct npl_placement *placement,
		       struct npl_err *err)
{
	const struct npl_graph *graph = comparison->inputs.graph;
	struct npl_arena *arena = &comparison->inputs.arena;
	if (target->rules && npl_placement_parse(graph, target->rules, arena, placement, err))
		return err->code;
	if (target->file && npl_placement_load(graph, target->file, arena, placement, err))
		return err->code;
	comparison->options.device_names = target->device ? &target->device : placement->names;
	comparison->options.n_devices = target->device ? 1 : placement->n_names;
	comparison->options.named_at = placement->named_at;
	comparison->options.place = placement->device;
	comparison->options.placed_by = placement->rule;
	return 0;
}

static int log_placement(const struct npl_comparison *result, struct npl_err *err)
{
	cli_terminal_lay_out_for(stderr);
	const int rc = cli_table_printed(npl_report_placement(stderr, result), 0, err);
	cli_terminal_lay_out_for(stdout);
	return rc;
}

static int run_model(const char *model, const struct target *target, struct cli_common *common, struct npl_err *err)
{
	struct cli_comparison comparison = {.common = common};
	struct npl_placement placement = {0};
	struct npl_tensor *outputs = NULL;
	if (target->dump && !target->device)
		return npl_fail(err, NPL_EUSAGE, "run: --dump-program is of one device, expected --device");
	int rc = cli_comparison_open(&comparison, model, target->dump, target->device, err);
	const int n_outputs = rc ? 0 : comparison.inputs.graph->n_outputs;
	if (!rc)
		rc = set_devices(target, &comparison, &placement, err);
	if (!rc && common->output) {
		outputs = comparison.options.outputs = calloc((size_t)n_outputs + 1, sizeof *outputs);
		rc = outputs ? 0 : npl_no_memory(err);
	}
	if (!rc)
		rc = cli_comparison_run(&comparison, err);
	if (!rc && target->log)
		rc = log_placement(&comparison.result, err);
	if (!rc)
		rc = cli_comparison_report(&comparison, outputs, err);
	if (!rc && !common->quiet)
		cli_warn(NULL, placement.warning, placement.n_warnings);
	for (int i = 0; outputs && i < n_outputs; i++)
		npl_tensor_free(&outputs[i]);
	free(outputs);
	cli_comparison_close(&comparison);
	return rc;
}

static int run_main(int argc, char **argv, struct npl_err *err)
{
	struct cli_common common = {.seed = 1};
	struct target target = {0};
	const char *model = NULL;
	bool help_printed;
	int n_words;
	const struct cli_option options[] = {
		{"device", CLI_TEXT, &target.device, 0, 0, "D", "the device for every layer"},
		{"place", CLI_TEXT, &target.rules, 0, 0, "RULES",
		 "'Conv*=tpu_v1,/fc1/=diannao,*=cpu': first match wins, the rest runs on the host"},
		{"place-file", CLI_TEXT, &target.file, 0, 0, "FILE", "such rules, one a line; # starts a comment"},
		{"output", CLI_OUTPUT, &common.output, 0, 0, "Y.npy",
		 "writes the model's first output, of all samples"},
		{"log-placement", CLI_FLAG, &target.log, 0, 0, NULL,
		 "where and when each layer ran and why, on standard error"},
		{"timeline", CLI_OUTPUT, &common.timeline, 0, 0, "FILE",
		 "the first batch as trace events, for Perfetto or chrome://tracing"},
		CLI_DUMP_OPTION(&target.dump),
#include "comparison_options.def"
		{0}};
	if (cli_parse(&cli_run, options, argc, argv, &model, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!model || !target.device + !target.rules + !target.file != 2)
		return npl_fail(
			err, NPL_EUSAGE,
			"run: expected a model and either --device or --place or --place-file; usage: npulab run %s",
			cli_run.arguments);
	if (common.output && common.timing_only)
		return npl_fail(err, NPL_EUSAGE, "run: --timing-only computes no values for --output");
	return run_model(model, &target, &common, err);
}

const struct cli_command cli_run = {"run", "MODEL --device D | --place RULES | --place-file FILE",
				    "one network, each layer on the device named", run_main};
