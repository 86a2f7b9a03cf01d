/* SPDX-License-Identifier: MIT
 *
 * npulab compare: the main job. It reads the model and its samples, runs them on each device, and reports. */
#include "common.h"
#include "dump_program.h"

static int compare_main(int argc, char **argv, struct npl_err *err)
{
	struct cli_common common = {.seed = 1};
	const char *model = NULL, *dump_path = NULL;
	struct cli_option options[2 + CLI_COMMON_OPTIONS] = {
		CLI_DEVICES_OPTION(&common.devices, "reference," CLI_DEVICES), CLI_DUMP_OPTION(&dump_path)};
	cli_common_options(&common, options + 2);
	struct cli_dump dump = {0};
	struct cli_inputs inputs;
	struct npl_comparison comparison;
	int n_words;
	bool help_printed;
	if (cli_parse(&cli_compare, options, argc, argv, &model, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!common.devices)
		common.devices = common.timing_only ? CLI_SIMULATED_DEVICES : "reference," CLI_DEVICES;
	if (!model)
		return npl_fail(err, NPL_EUSAGE, "compare: which model? usage: npulab compare %s",
				cli_compare.arguments);
	if (cli_check_reports(&common, err) || cli_dump_open(&dump, dump_path, common.devices, err) ||
	    cli_inputs_load(model, &common, &inputs, err))
		return err->code;
	struct npl_layer_choice_options choose;
	struct npl_layer_choice choice = {0};
	int rc = cli_read_choice(&common, inputs.graph, &choose, err);
	struct npl_compare_options compare_options;
	if (!rc)
		rc = cli_compare_options(&common, &inputs.arena, &compare_options, err);
	if (!rc) {
		compare_options.programs = dump_path ? &dump.sink : NULL;
		rc = npl_compare(inputs.graph, &inputs.samples, inputs.calibrated ? &inputs.calibration : NULL,
				 &compare_options, &comparison, err);
	}
	cli_waiting_end();
	if (!rc) {
		struct npl_report_context context = {.model_name = inputs.files.name,
						     .description = inputs.files.description,
						     .layers = common.layers,
						     .choice = &choice};
		rc = npl_layer_choice_make(&comparison, &choose, &choice, err);
		if (!rc)
			rc = cli_dump_write(&dump, compare_options.device_names[0], comparison.device[0].name, &common,
					    err);
		if (!rc)
			rc = cli_report(&comparison, &context, NULL, &common, err);
		if (!rc && !common.quiet)
			cli_warn(inputs.graph->name, inputs.graph->warning, inputs.graph->n_warnings);
		if (!rc)
			rc = cli_missing(&comparison.unavailable, err);
		npl_layer_choice_free(&choice);
		npl_comparison_free(&comparison);
	}
	cli_dump_close(&dump);
	cli_inputs_free(&inputs);
	return rc;
}

const struct cli_command cli_compare = {"compare", "MODEL [--devices A,B,...]",
					"one network on several devices, side by side: time, energy, error",
					compare_main};
