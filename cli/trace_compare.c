/* SPDX-License-Identifier: MIT
 *
 * npulab trace check, diff, show and bless. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/refuse.h"
#include "npulab/version.h"
#include "trace_run.h"

#define MAX_TRACES 4096

/* Reads "cycles=0.5%,energy=1%". */
static int read_tolerance(const char *text, struct npl_trace_tolerance *tolerance, struct npl_err *err)
{
	*tolerance = (struct npl_trace_tolerance){0};
	for (const char *at = text; at && *at;) {
		const size_t key = strcspn(at, "=,");
		char *end;
		const double percent = at[key] == '=' ? strtod(at + key + 1, &end) : -1;
		double *share = key == 6 && !strncmp(at, "cycles", key)   ? &tolerance->cycles
				: key == 6 && !strncmp(at, "energy", key) ? &tolerance->energy
									  : NULL;
		if (!share || !(percent >= 0 && percent <= 100) || *end != '%' || (end[1] && end[1] != ','))
			return npl_fail(err, NPL_EUSAGE,
					"--tolerance %s: expected percentages of cycles, of energy or of both: "
					"cycles=0.5%%,energy=1%%",
					text);
		*share = percent / 100;
		at = end + 1 + (end[1] == ',');
	}
	return 0;
}

static int diff_main(int argc, char **argv, struct npl_err *err)
{
	const char *word[2] = {NULL}, *text = NULL;
	bool help_printed, quiet = false;
	int n_words;
	struct npl_trace_tolerance tolerance;
	struct npl_trace_diff diff;
	const struct cli_option options[] = {{"tolerance", CLI_TEXT, &text, 0, 0, "cycles=P%,energy=P%",
					      "differences of layers and batches that count as none"},
					     CLI_QUIET_OPTION(&quiet, ""),
					     {0}};
	if (cli_parse(&cli_trace_diff, options, argc, argv, word, 2, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (n_words != 2)
		return npl_fail(err, NPL_EUSAGE, "trace diff: expected two traces");
	if (read_tolerance(text, &tolerance, err) || npl_trace_diff(word[0], word[1], &tolerance, &diff, err))
		return err->code;
	cli_waiting_end();
	int rc = quiet ? 0 : cli_table_printed(npl_report_trace_diff(stdout, word[0], word[1], &diff), 0, err);
	if (!rc && diff.is_beyond)
		rc = npl_fail(err, NPL_ECHECK, "%s and %s differ", word[0], word[1]);
	npl_trace_diff_free(&diff);
	return rc;
}

/* Makes a temporary file for a trace, which the caller removes. */
static int temporary_trace(char path[PATH_MAX], struct npl_err *err)
{
	const char *folder = getenv("TMPDIR");
	snprintf(path, PATH_MAX, "%s/npulab-check-XXXXXX", folder && *folder ? folder : "/tmp");
	const int file = mkstemp(path);
	if (file < 0)
		return npl_fail(err, NPL_EOUTPUT, "%s: %s", path, strerror(errno));
	close(file);
	return 0;
}

struct check_options {
	struct npl_trace_tolerance tolerance;
	bool current, quiet;
};

/* Checks one trace. *same: what it says still happens. */
static int check_one(const char *path, const struct check_options *o, bool *same, struct npl_err *err)
{
	struct npl_trace_header header, again = {0};
	struct npl_trace_diff diff = {0};
	char temporary[PATH_MAX];
	if (npl_trace_header_read(path, &header, err))
		return err->code;
	int rc = temporary_trace(temporary, err);
	if (rc) {
		npl_trace_header_free(&header);
		return rc;
	}
	rc = cli_trace_run_again(path, &header, o->current, temporary, &again, err);
	if (!rc)
		rc = npl_trace_diff(path, temporary, &o->tolerance, &diff, err);
	if (!rc) {
		*same = !diff.is_beyond;
		if (!o->quiet && diff.moved)
			rc = cli_table_printed(npl_report_trace_diff(stdout, path, "the run now", &diff), 0, err);
		else if (!o->quiet)
			printf("%s: the same, %llu events\n", path, (unsigned long long)diff.events);
	}
	unlink(temporary);
	npl_trace_diff_free(&diff);
	npl_trace_header_free(&again);
	npl_trace_header_free(&header);
	return rc;
}

static int check_main(int argc, char **argv, struct npl_err *err)
{
	const char **word = calloc(MAX_TRACES, sizeof *word), *text = NULL;
	struct check_options o = {.quiet = false};
	bool help_printed = false;
	int n_words = 0, failed = 0, broken = 0;
	struct npl_err failure = {0};
	const struct cli_option options[] = {{"tolerance", CLI_TEXT, &text, 0, 0, "cycles=P%,energy=P%",
					      "differences of layers and batches that count as none"},
					     {"current", CLI_FLAG, &o.current, 0, 0, NULL,
					      "with the machines and files as they are now, not as in the trace"},
					     CLI_QUIET_OPTION(&o.quiet, ""),
					     {0}};
	int rc = word ? cli_parse(&cli_trace_check, options, argc, argv, word, MAX_TRACES, &n_words, &help_printed, err)
		      : npl_no_memory(err);
	if (!rc && !help_printed && !n_words)
		rc = npl_fail(err, NPL_EUSAGE, "trace check: expected one or more traces");
	if (!rc)
		rc = read_tolerance(text, &o.tolerance, err);
	for (int i = 0; i < n_words && !rc && !help_printed; i++) {
		bool same = true;
		struct npl_err one;
		if (check_one(word[i], &o, &same, &one)) {
			if (!broken++)
				failure = one;
			else
				fprintf(stderr, "npulab: %s\n", one.msg);
		}
		failed += !same;
	}
	if (!rc && broken)
		rc = npl_fail_as(err, &failure);
	else if (!rc && failed)
		rc = npl_fail(err, NPL_ECHECK, "%d of %d traces differ from what happens now", failed, n_words);
	free(word);
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
	if (npl_trace_header_read(path, &header, err))
		return err->code;
	int rc = 0;
	for (int i = 0; i < header.reason.n && !rc; i++)
		rc = npl_trace_add(&again, &again.reason, header.reason.pair[i].name, header.reason.pair[i].value, err);
	if (!rc)
		rc = npl_trace_add(&again, &again.reason, npl_version(), reason, err);
	if (!rc)
		rc = cli_trace_run_again(path, &header, true, path, &again, err);
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

const struct cli_command cli_trace_check = {"trace check", "FILE... [--tolerance cycles=P%,energy=P%]",
					    "makes the runs of traces again, and says whether anything moved",
					    check_main};
const struct cli_command cli_trace_diff = {"trace diff", "A B [--tolerance cycles=P%,energy=P%]",
					   "compares two traces: the first event that differs, and what moved",
					   diff_main};
const struct cli_command cli_trace_show = {"trace show", "FILE [--layer TEXT] [--unit UNIT] [--from C] [--until C]",
					   "prints a trace", show_main};
const struct cli_command cli_trace_bless = {"trace bless", "FILE... --reason TEXT",
					    "records traces anew where it is right that they differ", bless_main};
