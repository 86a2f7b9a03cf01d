/* SPDX-License-Identifier: MIT
 *
 * The steps of compare and run (comparison.h). */
#include "comparison.h"

int cli_comparison_open(struct cli_comparison *comparison, const char *model, const char *dump_path,
			const char *devices, struct npl_err *err)
{
	struct cli_common *common = comparison->common;
	comparison->dump_path = dump_path;
	if (cli_check_reports(common, err) || cli_dump_open(&comparison->dump, dump_path, devices, err) ||
	    cli_network_load(model, common, &comparison->inputs, err) ||
	    cli_read_choice(common, comparison->inputs.graph, &comparison->choose, err) ||
	    cli_compare_options(common, &comparison->inputs.arena, &comparison->options, err))
		return err->code;
	comparison->options.programs = dump_path ? &comparison->dump.sink : NULL;
	comparison->options.measure_roofs = common->html != NULL;
	return 0;
}

int cli_comparison_run(struct cli_comparison *comparison, struct npl_err *err)
{
	struct npl_network *inputs = &comparison->inputs;
	int rc = npl_compare(inputs->graph, &inputs->samples, inputs->calibrated ? &inputs->calibration : NULL,
			     &comparison->options, &comparison->result, err);
	cli_waiting_end();
	return rc;
}

int cli_comparison_report(struct cli_comparison *comparison, const struct npl_tensor *outputs, struct npl_err *err)
{
	const struct cli_common *common = comparison->common;
	const struct npl_network *inputs = &comparison->inputs;
	const struct npl_comparison *result = &comparison->result;
	struct npl_layer_choice choice = {0};
	const struct npl_report_context context = {.model_name = inputs->files.name,
						   .description = inputs->files.description,
						   .layers = common->layers,
						   .choice = &choice};
	int rc = npl_layer_choice_make(result, &comparison->choose, &choice, err);
	if (!rc)
		rc = cli_dump_write(&comparison->dump, comparison->options.device_names[0], result->device[0].name,
				    common, err);
	if (!rc)
		rc = cli_report_comparison(result, &context, outputs, common, err);
	if (!rc && !common->quiet)
		cli_warn(inputs->graph->name, inputs->graph->warning, inputs->graph->n_warnings);
	npl_layer_choice_free(&choice);
	return rc;
}

void cli_comparison_close(struct cli_comparison *comparison)
{
	cli_waiting_end();
	npl_comparison_free(&comparison->result);
	cli_dump_close(&comparison->dump);
	npl_network_free(&comparison->inputs);
}
