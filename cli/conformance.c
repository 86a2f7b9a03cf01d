/* SPDX-License-Identifier: MIT
 *
 * npulab conformance: ONNX backend test cases on the reference kernels or on a device. */
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "core/base/message.h"
#include "core/base/refuse.h"

static void put_json(FILE *out, const void *data)
{
	npl_conformance_json(out, data);
}

static int report(const struct npl_conformance *c, const char *json, bool quiet, struct npl_err *err)
{
	struct npl_err failure;
	int rc = json ? cli_write_text(json, put_json, c, err) : 0;
	if (!quiet && !(json && !strcmp(json, "-")))
		rc = cli_table_printed(npl_conformance_table(stdout, c), rc, err);
	for (int i = 0; i < c->n_cases; i++) {
		if (c->cases[i].status != NPL_CASE_FAILED)
			continue;
		npl_fail(&failure, NPL_ECHECK, "%d of %d case%s failed; the first is %s: %s", c->count[NPL_CASE_FAILED],
			 c->n_cases, npl_plural(c->n_cases), c->cases[i].name, c->cases[i].reason);
		return cli_also_failed(rc, &failure, err);
	}
	return rc;
}

static int run_cases(const char *const *dirs, int n_dirs, const char *name, const struct cli_common *common,
		     struct npl_err *err)
{
	struct npl_conformance_options options = {0};
	struct npl_conformance conformance;
	if (name && cli_open_machine(name, common, &options.device, err))
		return err->code;
	int rc = npl_conformance_run(dirs, n_dirs, &options, &conformance, err);
	cli_waiting_end();
	if (!rc) {
		rc = report(&conformance, common->json, common->quiet, err);
		npl_conformance_free(&conformance);
	}
	npl_device_close(options.device);
	return rc;
}

static int conformance_main(int argc, char **argv, struct npl_err *err)
{
	struct cli_common common = {0};
	const char *device = NULL;
	bool help_printed;
	int n_dirs;
	const struct cli_option options[] = {
		{"device", CLI_TEXT, &device, 0, 0, "D",
		 "where a node of each case must run (default: the reference kernels)"},
		{"set", CLI_SETTINGS, &common.set, 0, 0, "DEVICE.KEY=VALUE", "a parameter of the device"},
		CLI_THREADS_OPTION(&common.threads),
		CLI_MEMORY_OPTION(&common.max_memory),
		CLI_JSON_OPTION(&common.json),
		CLI_QUIET_OPTION(&common.quiet, ""),
		{0}};
	const char **dirs = calloc((size_t)argc + 1, sizeof *dirs);
	int rc = dirs ? cli_parse(&cli_conformance, options, argc, argv, dirs, argc, &n_dirs, &help_printed, err)
		      : npl_no_memory(err);
	if (!rc && !help_printed && !n_dirs)
		rc = npl_fail(err, NPL_EUSAGE, "conformance: which folders? usage: npulab conformance %s",
			      cli_conformance.arguments);
	if (!rc && !help_printed && common.set.n && !device)
		rc = npl_fail(err, NPL_EUSAGE, "conformance: --set %s needs a --device", common.set.item[0]);
	if (!rc && !help_printed)
		rc = run_cases(dirs, n_dirs, device, &common, err);
	free(dirs);
	return rc;
}

const struct cli_command cli_conformance = {
	"conformance", "DIR... [--device D]",
	"ONNX backend test cases: passed, failed, unsupported, each with its reason\n"
	"An output passes when type and shape are those expected, integers and bools are equal, NaN and infinities "
	"stand in the same places, and else |found - expected| <= 1e-7 + 1e-3 * |expected| (bfloat16: 1e-7 + 2^-7 * "
	"|expected|).",
	conformance_main};
