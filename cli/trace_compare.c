/* SPDX-License-Identifier: MIT
 *
 * npulab trace diff, show and bless. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/refuse.h"
#include "npulab/version.h"
#include "trace_report.h"
#include "trace_run.h"

#define MAX_TRACES 4096
#define MAX_EVENTS 1000000

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

static int show_main(int argc, char **argv, struct npl_err *err)
{
	const char *word = NULL;
	struct npl_trace_choice choice = {0};
	int64_t from = 0, until = 0;
	bool help_printed;
	int n_words;
	const struct cli_option options[] = {
		{"layer", CLI_TEXT, &choice.layer, 0, 0, "TEXT", "only layers whose name has this text"},
		{"unit", CLI_TEXT, &choice.unit, 0, 0, "UNIT", "only instructions of this unit"},
		{"from", CLI_INT, &from, 0, INT64_MAX, "CYCLE", "only instructions that end after this cycle"},
		{"until", CLI_INT, &until, 0, INT64_MAX, "CYCLE", "only instructions that begin before this cycle"},
		{0}};
	if (cli_parse(&cli_trace_show, options, argc, argv, &word, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!word)
		return npl_fail(err, NPL_EUSAGE, "trace show: which trace?");
	cli_waiting_end();
	choice.from = (uint64_t)from;
	choice.until = (uint64_t)until;
	return npl_trace_show(stdout, word, &choice, err);
}

/* Records a trace again, in its own place, and keeps the reasons of before. */
static int bless_one(const char *path, const char *reason, struct npl_err *err)
{
	struct npl_trace_header header, again = {0};
	struct npl_trace_recorder *recorder = NULL;
	if (npl_trace_header_read(path, &header, err))
		return err->code;
	int rc = 0;
	for (int i = 0; i < header.reason.n && !rc; i++)
		rc = npl_trace_add(&again, &again.reason, header.reason.pair[i].name, header.reason.pair[i].value, err);
	if (!rc)
		rc = npl_trace_add(&again, &again.reason, npl_version(), reason, err);
	cli_trace_keep_choice(&header, &again);
	if (!rc)
		rc = npl_trace_recorder_open(&again, path, &recorder, err);
	if (!rc)
		rc = cli_trace_run_again(path, &header, true, recorder, &again, err);
	npl_trace_recorder_close(recorder);
	npl_trace_header_free(&again);
	npl_trace_header_free(&header);
	return rc;
}

static int bless_main(int argc, char **argv, struct npl_err *err)
{
	const char **word = calloc(MAX_TRACES, sizeof *word), *reason = NULL;
	bool help_printed = false, quiet = false;
	int n_words = 0;
	const struct cli_option options[] = {
		{"reason", CLI_TEXT, &reason, 0, 0, "TEXT", "why it is right that they differ"},
		CLI_QUIET_OPTION(&quiet, ""),
		{0}};
	int rc = word ? cli_parse(&cli_trace_bless, options, argc, argv, word, MAX_TRACES, &n_words, &help_printed, err)
		      : npl_no_memory(err);
	if (!rc && !help_printed && (!n_words || !reason || !*reason))
		rc = npl_fail(err, NPL_EUSAGE, "trace bless: expected traces, and --reason TEXT");
	for (int i = 0; i < n_words && !rc && !help_printed; i++)
		rc = bless_one(word[i], reason, err);
	free(word);
	return rc;
}

const struct cli_command cli_trace_diff = {"trace diff", "A B [--tolerance KEY=N,...] [--layer TEXT] [--events N]",
					   "compares two traces: the first event that differs, and what moved",
					   diff_main};
const struct cli_command cli_trace_show = {"trace show", "FILE [--layer TEXT] [--unit UNIT] [--from C] [--until C]",
					   "prints a trace", show_main};
const struct cli_command cli_trace_bless = {"trace bless", "FILE... --reason TEXT",
					    "records traces anew where it is right that they differ", bless_main};
