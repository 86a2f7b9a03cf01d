/* SPDX-License-Identifier: MIT
 *
 * npulab compare: the main job. Read the model and its samples, run them on each device, report. */
#include "common.h"

static int compare_main(int argc, char **argv, struct npl_err *err)
{
	struct cli_common common = {.devices = "reference,tpu_v1,diannao,cpu", .seed = 1};
	const struct cli_option options[] = {
	        {"devices", CLI_TEXT, &common.devices, 0, 0, "A,B,...", "devices or machine files (default: reference,tpu_v1,diannao,cpu)"},
	        {"input", CLI_LIST_OF_TEXT, &common.input, 0, 0, "[NAME=]FILE", "samples (.npy, .pb); else the model's own, else random"},
	        {"labels", CLI_TEXT, &common.labels, 0, 0, "FILE", "the samples' classes (.npy)"},
	        {"batch", CLI_INT, &common.batch, 1, 1 << 20, "N", "samples per batch: dimension 0 of the inputs"},
	        {"layers", CLI_FLAG, &common.layers, 0, 0, NULL, "a table of the layers too"},
	        {"set", CLI_LIST_OF_TEXT, &common.set, 0, 0, "DEVICE.KEY=VALUE", "a parameter (`npulab devices DEVICE --yaml` lists them)"},
	        {"timing-only", CLI_FLAG, &common.timing_only, 0, 0, NULL, "cycles and energy without values: much faster"},
	        {"no-accuracy", CLI_FLAG, &common.no_accuracy, 0, 0, NULL, "skip the float reference"},
	        {"seed", CLI_INT, &common.seed, 0, INT64_MAX, "N", "of random samples (default 1)"},
	        {"threads", CLI_INT, &common.threads, 1, 1024, "N", "of the real processor (default: all)"},
	        {"json", CLI_TEXT, &common.json, 0, 0, "FILE", "the machine-readable form; - for standard output"},
	        {"csv", CLI_TEXT, &common.csv, 0, 0, "FILE", "one line per layer and device"},
	        {"quiet", CLI_FLAG, &common.quiet, 0, 0, NULL, "no table, no progress"},
	        {0}};
	const char *model = NULL, **names;
	struct cli_work work;
	struct npl_comparison comparison;
	struct cli_progress progress = {.silent = common.quiet};
	int n_words, n;
	bool helped;
	if (cli_parse(&cli_compare, options, argc, argv, &model, 1, &n_words, &helped, err) || helped)
		return helped ? 0 : err->code;
	if (!model)
		return npl_fail(err, NPL_EUSAGE, "compare: which model? usage: npulab compare %s", cli_compare.arguments);
	progress.silent = common.quiet;
	if (cli_check_reports(&common, err) || cli_work_load(model, &common, &work, err))
		return err->code;
	int rc = cli_split_devices(common.devices, &work.arena, &names, &n, err);
	struct npl_compare_options how = {.device_names = rc ? NULL : names, .n_devices = rc ? 0 : n, .set = common.set.item,
	                                  .n_sets = common.set.n, .threads = (int)common.threads, .no_accuracy = common.no_accuracy,
	                                  .timing_only = common.timing_only, .progress = cli_progress_tell, .user = &progress};
	if (!rc)
		rc = npl_compare(work.graph, &work.samples, work.calibrated ? &work.calibration : NULL, &how, &comparison, err);
	cli_progress_end(&progress);
	if (!rc) {
		struct npl_report_context context = {.model_name = work.files.name, .description = work.files.description,
		                                     .layers = common.layers};
		rc = cli_report(&comparison, &context, &common, err);
		npl_comparison_free(&comparison);
	}
	cli_work_free(&work);
	return rc;
}

const struct cli_command cli_compare = {"compare", "MODEL [--devices A,B,...]",
                                        "one network on several devices, side by side: time, energy, error", compare_main};
