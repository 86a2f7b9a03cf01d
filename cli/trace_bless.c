/* SPDX-License-Identifier: MIT
 *
 * npulab trace bless: makes the runs of traces again, side by side, and records those anew that moved. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"
#include "core/base/refuse.h"
#include "npulab/thread.h"
#include "npulab/version.h"
#include "reports/format/paragraph.h"
#include "trace_jobs.h"
#include "trace_run.h"

struct blessing {
	const char **path;
	int n;
	const char *reason;
	bool quiet;
	int64_t jobs;
	int threads;          /* of each job */
	int broken;           /* traces that could not be blessed */
	struct npl_err first; /* why, of the first of them */
};

/* What a process sends before its verdict. */
enum outcome { LEFT_ALONE, HEAD_MOVED, EVENTS_MOVED };

static bool same_pairs(const struct npl_trace_pairs *a, const struct npl_trace_pairs *b)
{
	bool same = a->n == b->n;
	for (int i = 0; same && i < a->n; i++)
		same = !strcmp(a->pair[i].name, b->pair[i].name) && !strcmp(a->pair[i].value, b->pair[i].value);
	return same;
}

/* Says whether two runs read the same files, on machines with the same parameters. */
static bool same_heads(const struct npl_trace_header *a, const struct npl_trace_header *b)
{
	bool same = a->n_machines == b->n_machines && same_pairs(&a->file, &b->file);
	for (int i = 0; same && i < a->n_machines; i++)
		same = !strcmp(a->machine[i].name, b->machine[i].name) &&
		       same_pairs(&a->machine[i].parameter, &b->machine[i].parameter);
	return same;
}

/* Begins the head of the new trace, with the reasons of before and the new one. */
static int begin_head(const struct npl_trace_header *header, const char *reason, struct npl_trace_header *again,
		      struct npl_err *err)
{
	for (int i = 0; i < header->reason.n; i++)
		if (npl_trace_add(again, &again->reason, header->reason.pair[i].name, header->reason.pair[i].value,
				  err))
			return err->code;
	cli_trace_keep_choice(header, again);
	return npl_trace_add(again, &again->reason, npl_version(), reason, err);
}

/* Makes the run of a trace again, compares, and writes the new trace over the old one where something moved. */
static int bless_one(const char *path, const char *reason, enum outcome *outcome, struct npl_trace_diff *diff,
		     struct npl_err *err)
{
	const struct npl_trace_tolerance none = {0};
	struct npl_trace_header header, again = {0};
	struct npl_trace_recorder *recorder = NULL;
	*outcome = LEFT_ALONE;
	if (cli_trace_need_file(path, err) || npl_trace_header_read(path, &header, err))
		return err->code;
	int rc = begin_head(&header, reason, &again, err);
	if (!rc && npl_trace_recorder_open(&again, NULL, &recorder, err))
		rc = npl_prefix(err, "%s", path);
	if (!rc)
		rc = cli_trace_run_again(path, &header, true, recorder, &again, err);
	if (!rc)
		rc = npl_trace_diff_recorded(path, recorder, &none, diff, err);
	if (!rc)
		*outcome = diff->is_beyond ? EVENTS_MOVED : !same_heads(&header, &again) ? HEAD_MOVED : LEFT_ALONE;
	if (!rc && *outcome != LEFT_ALONE)
		rc = npl_trace_recorder_save(recorder, path, err);
	npl_trace_recorder_close(recorder);
	npl_trace_header_free(&again);
	npl_trace_header_free(&header);
	return rc;
}

/* In a process of its own. */
static void work(void *context, int i, FILE *result)
{
	const struct blessing *blessing = context;
	struct npl_trace_verdict verdict = {.path = blessing->path[i]};
	struct npl_err err;
	enum outcome outcome;
	npl_threads_allow(blessing->threads);
	verdict.code = bless_one(blessing->path[i], blessing->reason, &outcome, &verdict.diff, &err);
	verdict.message = verdict.code ? err.msg : NULL;
	fputc((int)outcome, result);
	cli_trace_verdict_send(result, &verdict);
	npl_trace_diff_free(&verdict.diff);
}

static void print_outcome(const char *path, enum outcome outcome, const struct npl_trace_diff *diff)
{
	char moved[100];
	const bool is_left = outcome != EVENTS_MOVED && outcome != HEAD_MOVED;
	const char *what = outcome == EVENTS_MOVED ? npl_trace_moved_text(diff->moved, moved, sizeof moved)
			   : outcome == HEAD_MOVED ? "other files or parameters, and the same events"
			   : diff->moved           ? "within the tolerance of another environment, left alone"
						   : "the same, left alone";
	npl_put_line(stdout, (const char *const[]){path, is_left ? ": " : ": blessed: ", what,
						   outcome == EVENTS_MOVED ? " moved" : "", NULL});
	fflush(stdout);
}

static int done(void *context, int i, const struct cli_job_result *result, struct npl_err *err)
{
	struct blessing *blessing = context;
	struct npl_trace_verdict verdict = {.path = blessing->path[i]};
	struct cli_job_result rest = *result;
	const enum outcome outcome = result->bytes ? (enum outcome)result->data[0] : LEFT_ALONE;
	rest.data += result->bytes > 0;
	rest.bytes -= result->bytes > 0;
	if (cli_trace_receive(&rest, &verdict))
		return npl_no_memory(err);
	cli_waiting_pause();
	cli_trace_print_said(result);
	if (verdict.code && !blessing->broken++)
		npl_fail(&blessing->first, verdict.code, "%s", verdict.message);
	if (verdict.code && blessing->n > 1)
		fprintf(stderr, "npulab: %s\n", verdict.message);
	else if (!verdict.code && !blessing->quiet)
		print_outcome(verdict.path, outcome, &verdict.diff);
	cli_waiting_continue();
	npl_trace_diff_free(&verdict.diff);
	return 0;
}

static int bless_all(struct blessing *blessing, struct npl_err *err)
{
	const struct cli_jobs jobs = {.name = "trace",
				      .n = blessing->n,
				      .at_a_time = cli_trace_jobs(blessing->jobs, blessing->n, &blessing->threads),
				      .work = work,
				      .done = done,
				      .context = blessing};
	const int rc = cli_jobs_run(&jobs, err);
	cli_waiting_end();
	if (rc || !blessing->broken)
		return rc;
	if (blessing->n == 1)
		return npl_fail(err, blessing->first.code, "%s", blessing->first.msg);
	return npl_fail(err, blessing->first.code, "%d of %d traces could not be made again, and are left alone",
			blessing->broken, blessing->n);
}

static int bless_main(int argc, char **argv, struct npl_err *err)
{
	const char **path = calloc(CLI_TRACES_MOST, sizeof *path);
	struct blessing blessing = {.path = path};
	bool help_printed = false;
	const struct cli_option options[] = {
		{"reason", CLI_TEXT, &blessing.reason, 0, 0, "TEXT", "why it is right that they differ"},
		CLI_TRACE_JOBS_OPTION(&blessing.jobs),
		CLI_QUIET_OPTION(&blessing.quiet, ""),
		{0}};
	int rc = path ? cli_parse(&cli_trace_bless, options, argc, argv, path, CLI_TRACES_MOST, &blessing.n,
				  &help_printed, err)
		      : npl_no_memory(err);
	if (!rc && !help_printed && (!blessing.n || !blessing.reason || !*blessing.reason))
		rc = npl_fail(err, NPL_EUSAGE, "trace bless: expected traces, and --reason TEXT");
	if (!rc && !help_printed)
		rc = bless_all(&blessing, err);
	free(path);
	return rc;
}

const struct cli_command cli_trace_bless = {"trace bless", "FILE... --reason TEXT",
					    "makes the runs of traces again, and records anew those that moved",
					    bless_main};
