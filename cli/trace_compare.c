/* SPDX-License-Identifier: MIT
 *
 * npulab trace diff: compares two traces. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "trace_report.h"
#include "trace_run.h"

#define MAX_EVENTS 1000000

/* Returns NPL_EUSAGE, with the nearest name, where no layer of either trace has the text in its name. */
static int check_layer(const struct npl_trace_diff *diff, const char *text, struct npl_err *err)
{
	const char **name = calloc((size_t)diff->n_layers + 1, sizeof *name);
	if (!name)
		return npl_no_memory(err);
	bool found = false;
	for (int i = 0; i < diff->n_layers; i++) {
		name[i] = diff->layer[i].name;
		found = found || strstr(name[i], text);
	}
	const int rc = found ? 0
			     : npl_fail(err, NPL_EUSAGE, "trace diff: no layer of either trace has '%s' in its name%s",
					text, NPL_NEAREST(text, name, diff->n_layers));
	free((void *)name);
	return rc;
}

/* Leaves out of the tables the layers whose name lacks the text (NULL: none). */
static void keep_layers(struct npl_trace_diff *diff, const char *text)
{
	int n = 0;
	for (int i = 0; i < diff->n_layers; i++)
		if (!text || strstr(diff->layer[i].name, text))
			diff->layer[n++] = diff->layer[i];
	diff->n_layers = n;
}

static int diff_main(int argc, char **argv, struct npl_err *err)
{
	const char *word[2] = {NULL}, *text = NULL;
	bool help_printed, quiet = false;
	int64_t events = 1;
	int n_words;
	struct npl_trace_wanted wanted = {0};
	struct npl_trace_tolerance tolerance;
	struct npl_trace_verdict verdict = {.wall_seconds = NAN};
	struct cli_trace_reports reports = {0};
	struct npl_err failure;
	const struct cli_option options[] = {
		CLI_TOLERANCE_OPTION(&text),
		{"layer", CLI_TEXT, &wanted.layer, 0, 0, "TEXT", "show events of layers whose name has this text"},
		{"events", CLI_INT, &events, 1, MAX_EVENTS, "N", "show the first N events that differ (default: 1)"},
		CLI_MARKDOWN_OPTION(&reports.markdown),
		CLI_JSON_OPTION(&reports.json),
		CLI_QUIET_OPTION(&quiet, ""),
		{0}};
	if (cli_parse(&cli_trace_diff, options, argc, argv, word, 2, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (n_words != 2)
		return npl_fail(err, NPL_EUSAGE, "trace diff: expected two traces");
	wanted.events = (int)events;
	if (cli_trace_tolerance(text, &tolerance, err) || cli_trace_check_reports(&reports, err) ||
	    npl_trace_diff_events(word[0], word[1], &tolerance, &wanted, &verdict.diff, err))
		return err->code;
	cli_waiting_end();
	if (wanted.layer && check_layer(&verdict.diff, wanted.layer, err)) {
		npl_trace_diff_free(&verdict.diff);
		return err->code;
	}
	keep_layers(&verdict.diff, wanted.layer);
	verdict.path = word[0];
	verdict.other = word[1];
	int rc = cli_trace_write_reports(&reports, &verdict, 1, &tolerance, err);
	if (!quiet && !cli_trace_reports_on_stdout(&reports))
		rc = cli_table_printed(npl_report_trace_diff(stdout, word[0], word[1], &verdict.diff), rc, err);
	if (verdict.diff.is_beyond) {
		npl_fail(&failure, NPL_ECHECK, "%s and %s differ", word[0], word[1]);
		rc = cli_also_failed(rc, &failure, err);
	}
	npl_trace_diff_free(&verdict.diff);
	return rc;
}

const struct cli_command cli_trace_diff = {"trace diff", "A B [--tolerance KEY=N,...] [--layer TEXT] [--events N]",
					   "compares two traces: the first event that differs, and what moved",
					   diff_main};
