/* SPDX-License-Identifier: MIT
 *
 * npulab place: finds which layer of a network goes on which device, and writes the rules for npulab run. */
#include "common.h"
#include "npulab/report.h"

struct named_placing { /* the argument of a writer */
	const struct npl_placing *placing;
	const char *model, *rules;
};

static void write_json(FILE *out, const void *data)
{
	const struct named_placing *named = data;
	npl_placing_json(out, named->placing, named->model);
}

static void write_rules(FILE *out, const void *data)
{
	fputs(((const struct named_placing *)data)->rules, out);
}

/* What the command line asks for. */
struct wanted {
	const char *minimise;
	enum npl_place_objective objective;
	int64_t max_states;
};

static int report(struct npl_placing *placing, const char *model, const struct cli_common *common, struct npl_err *err)
{
	struct named_placing named = {placing, model, NULL};
	if (common->output && npl_place_rules(placing, placing->best, model, &named.rules, err))
		return err->code;
	const struct cli_report reports[] = {{common->output, write_rules, &named}, {common->json, write_json, &named}};
	int rc = cli_write_reports(reports, 2, err);
	if (!common->quiet && !cli_is_stdout(common->json) && !cli_is_stdout(common->output))
		rc = cli_table_printed(npl_placing_table(stdout, placing, model), rc, err);
	return rc;
}

static int place(const char *model, const struct cli_common *common, const struct wanted *wanted, struct npl_err *err)
{
	const struct cli_destination outputs[] = {{"-o", common->output}, {"--json", common->json}};
	struct npl_compare_options options;
	struct npl_placing placing;
	struct npl_network inputs = {0};
	if (cli_check_stdout(outputs, 2, err) || cli_network_load(model, common, &inputs, err))
		return err->code;
	int rc = cli_compare_options(common, &inputs.arena, &options, err);
	if (!rc)
		rc = npl_place(inputs.graph, &inputs.samples, inputs.calibrated ? &inputs.calibration : NULL, &options,
			       wanted->objective, wanted->max_states, &placing, err);
	cli_waiting_end();
	if (!rc) {
		rc = report(&placing, inputs.files.name, common, err);
		npl_placing_free(&placing);
	}
	if (!rc && !common->quiet)
		cli_warn(inputs.graph->name, inputs.graph->warning, inputs.graph->n_warnings);
	npl_network_free(&inputs);
	return rc;
}

static int place_main(int argc, char **argv, struct npl_err *err)
{
	struct cli_common common = {.seed = 1};
	struct wanted wanted = {.minimise = "time"};
	const char *model = NULL;
	const struct cli_option options[] = {
		{"devices", CLI_TEXT, &common.devices, 0, 0, "A,B,...", "devices, machine files, NAME@KEY=VALUE"},
		{"minimise", CLI_TEXT, &wanted.minimise, 0, 0, "time|energy|edp",
		 "of a batch (default time); edp: the product of energy and time"},
		{"o", CLI_OUTPUT, &common.output, 0, 0, "FILE",
		 "the answer as rules for `npulab run --place-file`; - for standard output"},
		{"states", CLI_INT, &wanted.max_states, 1, 1 << 24, "N",
		 "how many states the search keeps after each layer (default 300)"},
		CLI_INPUT_OPTION(&common.input),
		CLI_BATCH_OPTION(&common.batch),
		CLI_DIM_OPTION(&common.dim),
		CLI_SET_OPTION(&common.set),
		CLI_HOST_OPTION(&common.host),
		{"calibrate", CLI_TEXT, &common.calibrate, 0, 0, "METHOD",
		 "ranges for 8 bits beside a real device: minmax (default), percentile[=99.99], mse"},
		CLI_SEED_OPTION(&common.seed),
		CLI_ENGINE_OPTION(&common.engine),
		CLI_THREADS_OPTION(&common.threads),
		CLI_MEMORY_OPTION(&common.max_memory),
		CLI_JSON_OPTION(&common.json),
		CLI_QUIET_OPTION(&common.quiet, ", no warnings"),
		{0}};
	int n_words;
	bool help_printed;
	if (cli_parse(&cli_place, options, argc, argv, &model, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!model || !common.devices)
		return npl_fail(err, NPL_EUSAGE, "place: expected a model and --devices; usage: npulab place %s",
				cli_place.arguments);
	if (npl_place_objective_parse(wanted.minimise, &wanted.objective, err))
		return npl_prefix(err, "--minimise");
	return place(model, &common, &wanted, err);
}

const struct cli_command cli_place = {"place", "MODEL --devices A,B,... [--minimise time|energy|edp]",
				      "which layer goes where: the placement with the least time or energy",
				      place_main};
