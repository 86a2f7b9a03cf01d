/* SPDX-License-Identifier: MIT
 *
 * npulab run: runs one network once, every layer on one device or on the devices that placement rules name. */
#include "common.h"
#include "dump_program.h"

#include <stdlib.h>

#include "core/base/refuse.h"
#include "npulab/placement.h"

/* The device or the placement rules of a run. */
struct target {
	const char *device, *rules, *file; /* one of the three is set */
	const char *dump;                  /* --dump-program */
	bool log;
};

static int read_placement(const struct target *target, struct cli_inputs *inputs, struct npl_placement *placement,
			  struct npl_err *err)
{
	int rc = 0;
	if (target->rules)
		rc = npl_placement_parse(inputs->graph, target->rules, &inputs->arena, placement, err);
	else if (target->file)
		rc = npl_placement_load(inputs->graph, target->file, &inputs->arena, placement, err);
	return rc;
}

static int run_model(const char *model, const struct target *target, struct cli_common *common, struct npl_err *err)
{
	struct cli_inputs inputs;
	struct npl_comparison comparison;
	struct npl_placement placement = {0};
	struct npl_tensor *outputs = NULL;
	struct cli_dump dump = {0};
	if (target->dump && !target->device)
		return npl_fail(err, NPL_EUSAGE, "run: --dump-program is of one device, expected --device");
	if (cli_check_reports(common, err) || cli_dump_open(&dump, target->dump, target->device, err) ||
	    cli_inputs_load(model, common, &inputs, err))
		return err->code;
	struct npl_layer_choice_options choose;
	struct npl_layer_choice choice = {0};
	int rc = cli_read_choice(common, inputs.graph, &choose, err);
	if (!rc)
		rc = read_placement(target, &inputs, &placement, err);
	if (!rc && common->output) {
		outputs = calloc((size_t)inputs.graph->n_outputs + 1, sizeof *outputs);
		rc = outputs ? 0 : npl_no_memory(err);
	}
	struct npl_compare_options compare_options;
	if (!rc)
		rc = cli_compare_options(common, &inputs.arena, &compare_options, err);
	if (!rc) {
		compare_options.device_names = target->device ? &target->device : placement.names;
		compare_options.n_devices = target->device ? 1 : placement.n_names;
		compare_options.named_at = placement.named_at;
		compare_options.place = placement.device;
		compare_options.placed_by = placement.rule;
		compare_options.outputs = outputs;
		compare_options.programs = target->dump ? &dump.sink : NULL;
		rc = npl_compare(inputs.graph, &inputs.samples, inputs.calibrated ? &inputs.calibration : NULL,
				 &compare_options, &comparison, err);
	}
	cli_waiting_end();
	if (!rc) {
		struct npl_report_context context = {.model_name = inputs.files.name,
						     .description = inputs.files.description,
						     .layers = common->layers,
						     .choice = &choice};
		if (target->log)
			rc = cli_table_printed(npl_report_placement(stderr, &comparison), rc, err);
		if (!rc)
			rc = npl_layer_choice_make(&comparison, &choose, &choice, err);
		if (!rc)
			rc = cli_dump_write(&dump, target->device, comparison.device[0].name, common, err);
		if (!rc)
			rc = cli_report(&comparison, &context, outputs, common, err);
		if (!rc && !common->quiet) {
			cli_warn(inputs.graph->name, inputs.graph->warning, inputs.graph->n_warnings);
			cli_warn(NULL, placement.warning, placement.n_warnings);
		}
		npl_layer_choice_free(&choice);
		npl_comparison_free(&comparison);
	}
	for (int i = 0; outputs && i < inputs.graph->n_outputs; i++)
		npl_tensor_free(&outputs[i]);
	free(outputs);
	cli_dump_close(&dump);
	cli_inputs_free(&inputs);
	return rc;
}

static int run_main(int argc, char **argv, struct npl_err *err)
{
	struct cli_common common = {.seed = 1};
	struct target target = {0};
	const char *model = NULL;
	bool help_printed;
	int n_words;
	struct cli_option options[7 + CLI_COMMON_OPTIONS] = {
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
		CLI_DUMP_OPTION(&target.dump)};
	cli_common_options(&common, options + 7);
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
