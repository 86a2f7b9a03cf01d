/* SPDX-License-Identifier: MIT
 *
 * npulab compare: the main job. Read the model and its samples, run them on each device, report. */
#include "common.h"
#include "dump_program.h"

static int compare_main(int argc, char **argv, struct npl_err *err)
{
	struct cli_common common = {.seed = 1};
	const char *model = NULL, **names, *dump_path = NULL;
	struct cli_option options[2 + CLI_COMMON_OPTIONS] = {
		{"devices", CLI_TEXT, &common.devices, 0, 0, "A,B,...",
		 "devices, machine files, NAME@KEY=VALUE (default: reference,tpu_v1,diannao,cpu)"},
		CLI_DUMP_OPTION(&dump_path)};
	cli_common_options(&common, options + 2);
	struct cli_dump dump = {0};
	struct cli_work work;
	struct npl_comparison comparison;
	int n_words, n;
	bool helped;
	if (cli_parse(&cli_compare, options, argc, argv, &model, 1, &n_words, &helped, err) || helped)
		return helped ? 0 : err->code;
	if (!common.devices) /* a measured device has no time without values */
		common.devices = common.timing_only ? "tpu_v1,diannao" : "reference,tpu_v1,diannao,cpu";
	if (!model)
		return npl_fail(err, NPL_EUSAGE, "compare: which model? usage: npulab compare %s",
				cli_compare.arguments);
	if (cli_check_reports(&common, err) || cli_dump_open(&dump, dump_path, common.devices, err) ||
	    cli_work_load(model, &common, &work, err))
		return err->code;
	struct npl_layer_choice_options choose;
	struct npl_layer_choice choice = {0};
	int rc = cli_read_choice(&common, work.graph, &choose, err);
	if (!rc)
		rc = cli_split_devices(common.devices, &work.arena, &names, &n, err);
	struct npl_compare_options how = {.device_names = rc ? NULL : names,
					  .n_devices = rc ? 0 : n,
					  .set = common.set.item,
					  .n_sets = common.set.n,
					  .threads = (int)common.threads,
					  .engine = common.engine,
					  .host = common.host,
					  .layer_accuracy = common.layers || common.json || common.csv,
					  .no_accuracy = common.no_accuracy,
					  .timing_only = common.timing_only,
					  .programs = dump_path ? &dump.taker : NULL};
	if (!rc)
		rc = cli_read_formats(&common, &how, err);
	if (!rc)
		rc = npl_compare(work.graph, &work.samples, work.calibrated ? &work.calibration : NULL, &how,
				 &comparison, err);
	cli_waiting_end();
	if (!rc) {
		struct npl_report_context context = {.model_name = work.files.name,
						     .description = work.files.description,
						     .layers = common.layers,
						     .choice = &choice};
		rc = npl_layer_choice_make(&comparison, &choose, &choice, err);
		if (!rc)
			rc = cli_dump_write(&dump, names[0], comparison.device[0].name, &common, err);
		if (!rc)
			rc = cli_report(&comparison, &context, NULL, &common, err);
		if (!rc && !common.quiet)
			cli_warn(work.graph->name, work.graph->warning, work.graph->n_warnings);
		if (!rc)
			rc = cli_missing(&comparison.unavailable, err);
		npl_layer_choice_free(&choice);
		npl_comparison_free(&comparison);
	}
	cli_dump_close(&dump);
	cli_work_free(&work);
	return rc;
}

const struct cli_command cli_compare = {"compare", "MODEL [--devices A,B,...]",
					"one network on several devices, side by side: time, energy, error",
					compare_main};
