/* SPDX-License-Identifier: MIT
 *
 * npulab trace show: prints a trace. */
#include <stdio.h>

#include "core/base/refuse.h"
#include "trace_run.h"
#include "trace_window.h"

static int show_main(int argc, char **argv, struct npl_err *err)
{
	const char *word = NULL;
	struct npl_trace_choice choice = {0};
	int64_t from = 0, until = 0, line = 0;
	bool help_printed;
	int n_words;
	const struct cli_option options[] = {
		{"layer", CLI_TEXT, &choice.layer, 0, 0, "TEXT", "only layers whose name has this text"},
		{"unit", CLI_TEXT, &choice.unit, 0, 0, "UNIT",
		 "only instructions of this unit, and signals whose names begin with it"},
		CLI_FROM_OPTION(&from),
		CLI_UNTIL_OPTION(&until),
		{"line", CLI_INT, &line, 1, INT64_MAX, "N", "only the events around line N of the file"},
		{"parameters", CLI_FLAG, &choice.parameters, 0, 0, NULL, "also the parameters of each machine"},
		{0}};
	if (cli_parse(&cli_trace_show, options, argc, argv, &word, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!word)
		return npl_fail(err, NPL_EUSAGE, "trace show: which trace? (- is standard input)");
	if (cli_trace_check_window(&cli_trace_show, from, until, err))
		return err->code;
	cli_waiting_end();
	choice.from = (uint64_t)from;
	choice.until = (uint64_t)until;
	choice.line = (uint64_t)line;
	return npl_trace_show(stdout, word, &choice, err);
}

const struct cli_command cli_trace_show = {"trace show",
					   "FILE [--layer TEXT] [--unit UNIT] [--from C] [--until C] [--line N]",
					   "prints a trace", show_main};
