/* SPDX-License-Identifier: MIT
 *
 * npulab roofline: shows the roofs of each device, and the layers of a network below them. */
#include <string.h>

#include "common.h"
#include "npulab/report.h"
#include "page.h"

struct named_roofline { /* the argument of a writer */
	const struct npl_roofline *roofline;
	const char *model;
};

static void write_json(FILE *out, const void *data)
{
	const struct named_roofline *named_roofline = data;
	npl_roofline_json(out, named_roofline->roofline, named_roofline->model);
}

static void write_csv(FILE *out, const void *data)
{
	const struct named_roofline *named_roofline = data;
	npl_roofline_csv(out, named_roofline->roofline, named_roofline->model);
}

static int report(const struct cli_common *common, const struct named_roofline *named_roofline, struct npl_err *err)
{
	const struct cli_report reports[] = {{common->json, write_json, named_roofline},
					     {common->csv, write_csv, named_roofline}};
	struct npl_err failure;
	int rc = cli_write_reports(reports, 2, err);
	if (common->html && cli_write_page(common->html, write_json, named_roofline, &failure))
		rc = cli_also_failed(rc, &failure, err);
	if (!common->quiet && !cli_is_stdout(common->json) && !cli_is_stdout(common->csv) &&
	    !cli_is_stdout(common->html))
		rc = cli_table_printed(npl_roofline_table(stdout, named_roofline->roofline, named_roofline->model), rc,
				       err);
	return rc;
}

static int read_intensity(const char *text, enum npl_intensity *intensity, struct npl_err *err)
{
	*intensity = !strcmp(text, "weights") ? NPL_INTENSITY_WEIGHTS : NPL_INTENSITY_MEMORY;
	if (*intensity == NPL_INTENSITY_MEMORY && strcmp(text, "memory"))
		return npl_fail(err, NPL_EUSAGE, "roofline: --intensity is memory or weights, got '%s'", text);
	return 0;
}

static int run(const char *model, const struct cli_common *common, enum npl_intensity intensity, struct npl_err *err)
{
	struct npl_network inputs = {0};
	struct npl_roofline roofline;
	struct npl_compare_options compare_options;
	int rc = cli_check_reports(common, err);
	if (!rc && model)
		rc = cli_network_load(model, common, &inputs, err);
	if (rc)
		return rc;
	rc = cli_compare_options(common, &inputs.arena, &compare_options, err);
	if (!rc)
		rc = npl_roofline(inputs.graph, &inputs.samples, inputs.calibrated ? &inputs.calibration : NULL,
				  &compare_options, intensity, &roofline, err);
	cli_waiting_end();
	if (!rc) {
		const struct named_roofline named_roofline = {&roofline, model ? inputs.files.name : NULL};
		rc = report(common, &named_roofline, err);
		if (!rc)
			rc = cli_missing(&roofline.unavailable, err);
		npl_roofline_free(&roofline);
	}
	if ((!rc || rc == NPL_EDEVICE) && inputs.graph && !common->quiet)
		cli_warn(inputs.graph->name, inputs.graph->warning, inputs.graph->n_warnings);
	npl_network_free(&inputs);
	return rc;
}

static int roofline_main(int argc, char **argv, struct npl_err *err)
{
	struct cli_common common = {.seed = 1, .devices = CLI_DEVICES};
	const char *model = NULL, *intensity = "memory";
	enum npl_intensity intensity_kind;
	const struct cli_option options[] = {
		CLI_DEVICES_OPTION(&common.devices, CLI_DEVICES),
		{"intensity", CLI_TEXT, &intensity, 0, 0, "memory|weights",
		 "MACs per byte that must cross the device's memory (default), or per byte of weights"},
		CLI_BATCH_OPTION(&common.batch),
		CLI_DIM_OPTION(&common.dim),
		CLI_INPUT_OPTION(&common.input),
		CLI_SEED_OPTION(&common.seed),
		CLI_SET_OPTION(&common.set),
		CLI_HOST_OPTION(&common.host),
		CLI_THREADS_OPTION(&common.threads),
		CLI_MEMORY_OPTION(&common.max_memory),
		CLI_ENGINE_OPTION(&common.engine),
		CLI_JSON_OPTION(&common.json),
		CLI_CSV_OPTION(&common.csv),
		CLI_HTML_OPTION(&common.html),
		CLI_QUIET_OPTION(&common.quiet, ", no warnings"),
		{0}};
	bool help_printed;
	int n_words;
	if (cli_parse(&cli_roofline, options, argc, argv, &model, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	bool sets_host = common.host != NULL;
	for (int i = 0; i < common.set.n; i++)
		sets_host |= npl_device_sets(NPL_HOST_NAME, &common.set.item[i], 1, &(const char *){NULL}) > 0;
	if (!model && (common.batch || common.dim.n || common.input.n || sets_host))
		return npl_fail(
			err, NPL_EUSAGE,
			"roofline: --batch, --dim, --input, --host and --set host.KEY are of a model, and there is "
			"none");
	return read_intensity(intensity, &intensity_kind, err) ? err->code : run(model, &common, intensity_kind, err);
}

const struct cli_command cli_roofline = {"roofline", "[MODEL] [--devices A,B,...]",
					 "peak and memory rate of devices, and a model's layers below them",
					 roofline_main};
