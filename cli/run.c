/* SPDX-License-Identifier: MIT
 *
 * npulab run: one network once, every layer on one device or on the devices that placement rules name. */
#include "common.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../reports/table.h"
#include "npulab/placement.h"

static void log_placement(const struct npl_comparison *c)
{
	static const char *const header[] = {"LAYER", "OPERATOR", "RAN ON", "TRANSFERS", "BYTES", "NOTE"};
	const struct npl_device_report *r = &c->device[0];
	struct npl_table table;
	npl_table_open(&table, "lllrrl", header);
	for (int i = 0; i < r->run.n_layers; i++) {
		const struct npl_layer_run *row = &r->run.layer[i];
		const struct npl_node *node = &c->graph->node[row->node];
		char transfers[24] = "", bytes[24] = "";
		if (row->transfers) {
			snprintf(transfers, sizeof transfers, "%d", row->transfers);
			snprintf(bytes, sizeof bytes, "%" PRIu64, row->link_bytes);
		}
		const char *cells[] = {node->name,
				       npl_op_defs[node->op].name,
				       row->role == NPL_VIEW ? "view" : row->ran_on,
				       transfers,
				       bytes,
				       row->note};
		npl_table_row(&table, cells);
	}
	npl_table_print(&table, stderr);
	npl_table_close(&table);
}

static int run_model(const char *model, const char *device, const char *rules, bool log,
		     const struct cli_common *common, struct npl_err *err)
{
	struct cli_work work;
	struct npl_comparison comparison;
	struct npl_placement placement = {0};
	struct cli_progress progress = {.silent = common->quiet};
	struct npl_tensor *outputs = NULL;
	if (cli_check_reports(common, err) || cli_work_load(model, common, &work, err))
		return err->code;
	int rc = rules ? npl_placement_parse(work.graph, rules, &work.arena, &placement, err) : 0;
	if (!rc && common->output) {
		outputs = calloc((size_t)work.graph->n_outputs + 1, sizeof *outputs);
		rc = outputs ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory");
	}
	struct npl_compare_options how = {.device_names = rules ? placement.names : &device,
					  .n_devices = rules ? placement.n_names : 1,
					  .set = common->set.item,
					  .n_sets = common->set.n,
					  .threads = (int)common->threads,
					  .engine = common->engine,
					  .no_accuracy = common->no_accuracy,
					  .timing_only = common->timing_only,
					  .place = rules ? placement.device : NULL,
					  .progress = cli_progress_tell,
					  .user = &progress,
					  .outputs = outputs};
	if (!rc)
		rc = cli_protect_machines(common, how.device_names, how.n_devices, err);
	if (!rc)
		rc = npl_calibrate_parse(common->calibrate ? common->calibrate : "minmax", &how.calibrate, err);
	if (!rc)
		rc = npl_compare(work.graph, &work.samples, work.calibrated ? &work.calibration : NULL, &how,
				 &comparison, err);
	cli_progress_end(&progress);
	if (!rc) {
		struct npl_report_context context = {
			.model_name = work.files.name, .description = work.files.description, .layers = common->layers};
		if (log)
			log_placement(&comparison);
		rc = common->output ? npl_tensor_save_npy(common->output, &outputs[0], err) : 0;
		if (!rc)
			rc = cli_report(&comparison, &context, common, err);
		npl_comparison_free(&comparison);
	}
	for (int i = 0; outputs && i < work.graph->n_outputs; i++)
		npl_tensor_free(&outputs[i]);
	free(outputs);
	cli_work_free(&work);
	return rc;
}

static int run_main(int argc, char **argv, struct npl_err *err)
{
	struct cli_common common = {.seed = 1};
	const char *model = NULL, *device = NULL, *rules = NULL;
	bool log = false, helped;
	int n_words;
	struct cli_option options[4 + CLI_COMMON_OPTIONS] = {
		{"device", CLI_TEXT, &device, 0, 0, "D", "the device for every layer"},
		{"place", CLI_TEXT, &rules, 0, 0, "RULES",
		 "'Conv*=tpu_v1,/fc1/=diannao,*=cpu': first match wins, the rest is the host's"},
		{"output", CLI_TEXT, &common.output, 0, 0, "Y.npy", "the first output of all samples"},
		{"log-placement", CLI_FLAG, &log, 0, 0, NULL, "where each layer ran and why, on standard error"}};
	cli_common_options(&common, options + 4);
	if (cli_parse(&cli_run, options, argc, argv, &model, 1, &n_words, &helped, err) || helped)
		return helped ? 0 : err->code;
	if (!model || !device == !rules)
		return npl_fail(err, NPL_EUSAGE,
				"run: expected a model and either --device or --place; usage: npulab run %s",
				cli_run.arguments);
	if (common.output && common.timing_only)
		return npl_fail(err, NPL_EUSAGE, "run: --timing-only computes no values for --output");
	return run_model(model, device, rules, log, &common, err);
}

const struct cli_command cli_run = {"run", "MODEL --device D | --place RULES",
				    "one network, each layer on the device named", run_main};
