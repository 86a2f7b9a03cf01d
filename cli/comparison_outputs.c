/* SPDX-License-Identifier: MIT
 *
 * Where the reports of a comparison go (common.h). */
#include "common.h"
#include "npulab/report.h"
#include "page.h"

static bool has_stdout(const struct cli_common *common)
{
	return cli_is_stdout(common->json) || cli_is_stdout(common->csv) || cli_is_stdout(common->html) ||
	       cli_is_stdout(common->timeline);
}

struct comparison_report { /* the argument of the writers of these reports */
	const struct npl_comparison *comparison;
	const struct npl_report_context *context;
};

static void write_json(FILE *out, const void *data)
{
	const struct comparison_report *comparison_report = data;
	npl_report_json(out, comparison_report->comparison, comparison_report->context);
}

static void write_csv(FILE *out, const void *data)
{
	const struct comparison_report *comparison_report = data;
	npl_report_csv(out, comparison_report->comparison, comparison_report->context);
}

static void write_timeline(FILE *out, const void *data)
{
	const struct comparison_report *comparison_report = data;
	npl_report_timeline(out, comparison_report->comparison, comparison_report->context);
}

int cli_report_comparison(const struct npl_comparison *comparison, const struct npl_report_context *context,
			  const struct npl_tensor *output, const struct cli_common *common, struct npl_err *err)
{
	const struct comparison_report comparison_report = {comparison, context};
	const struct cli_report report[] = {{common->json, write_json, &comparison_report},
					    {common->csv, write_csv, &comparison_report},
					    {common->timeline, write_timeline, &comparison_report}};
	struct npl_err failure;
	int rc = 0;
	if (common->output && cli_write_tensor(common->output, output, &failure))
		rc = cli_also_failed(rc, &failure, err);
	if (cli_write_reports(report, 3, &failure))
		rc = cli_also_failed(rc, &failure, err);
	if (common->html && cli_write_page(common->html, write_json, &comparison_report, &failure))
		rc = cli_also_failed(rc, &failure, err);
	if (!common->quiet && !has_stdout(common))
		rc = cli_table_printed(npl_report_table(stdout, comparison, context), rc, err);
	return rc;
}
