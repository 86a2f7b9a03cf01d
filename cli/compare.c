/* SPDX-License-Identifier: MIT
 *
 * npulab compare: the main job. It reads the model and its samples, runs them on each device, and reports. */
#include "comparison.h"

static int compare_main(int argc, char **argv, struct npl_err *err)
{
	struct cli_common common = {.seed = 1};
	const char *model = NULL, *dump_path = NULL;
	const struct cli_option options[] = {CLI_DEVICES_OPTION(&common.devices, "reference," CLI_DEVICES),
					     CLI_DUMP_OPTION(&dump_path),
#include "comparison_options.def"
					     {0}};
	int n_words;
	bool help_printed;
	if (cli_parse(&cli_compare, options, argc, argv, &model, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!common.devices)
		common.devices = common.timing_only ? CLI_SIMULATED_DEVICES : "reference," CLI_DEVICES;
	if (!model)
		return npl_fail(err, NPL_EUSAGE, "compare: which model? usage: npulab compare %s",
				cli_compare.arguments);
	struct cli_comparison comparison = {.common = &common};
	int rc = cli_comparison_open(&comparison, model, dump_path, common.devices, err);
	if (!rc)
		rc = cli_comparison_run(&comparison, err);
	if (!rc)
		rc = cli_comparison_report(&comparison, NULL, err);
	if (!rc)
		rc = cli_missing(&comparison.result.unavailable, err);
	cli_comparison_close(&comparison);
	return rc;
}

const struct cli_command cli_compare = {"compare", "MODEL [--devices A,B,...]",
					"one network on several devices, side by side: time, energy, error",
					compare_main};
