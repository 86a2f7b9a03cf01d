/* SPDX-License-Identifier: MIT
 *
 * npulab trace check: makes the runs of traces again, side by side, and reports what moved. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "npulab/thread.h"
#include "reports/format/paragraph.h"
#include "terminal.h"
#include "trace_jobs.h"
#include "trace_report.h"
#include "trace_run.h"
#include "trace_wire.h"

struct check {
	struct npl_trace_tolerance tolerance;
	bool current, quiet;
	int64_t jobs;
	int threads; /* of each job */
	struct cli_trace_reports reports;
	const char **path;
	int n;
	struct npl_trace_verdict *verdict; /* n of them */
	int broken;                        /* verdicts so far that have a code */
};

/* Makes the run of a trace again, and compares. */
static int check_one(const struct check *check, const char *path, struct npl_trace_diff *diff, struct npl_err *err)
{
	struct npl_trace_header header, again = {0};
	struct npl_trace_recorder *recorder = NULL;
	if (cli_trace_need_file(path, err) || npl_trace_header_read(path, &header, err))
		return err->code;
	cli_trace_keep_choice(&header, &again);
	int rc = npl_trace_recorder_open(&again, NULL, &recorder, err) ? npl_prefix(err, "%s", path) : 0;
	if (!rc)
		rc = cli_trace_run_again(path, &header, check->current, recorder, &again, err);
	if (!rc)
		rc = npl_trace_diff_recorded(path, recorder, &check->tolerance, diff, err);
	npl_trace_recorder_close(recorder);
	npl_trace_header_free(&again);
	npl_trace_header_free(&header);
	return rc;
}

/* In a process of its own. */
static void work(void *context, int i, FILE *result)
{
	const struct check *check = context;
	struct npl_trace_verdict verdict = {.path = check->path[i]};
	struct npl_err err;
	npl_threads_allow(check->threads);
	verdict.code = check_one(check, check->path[i], &verdict.diff, &err);
	verdict.message = verdict.code ? err.msg : NULL;
	cli_trace_verdict_send(result, &verdict);
	npl_trace_diff_free(&verdict.diff);
}

static void print_same(const struct npl_trace_verdict *verdict)
{
	char events[60];
	snprintf(events, sizeof events, ", %llu events", (unsigned long long)verdict->diff.events);
	npl_put_toned_line(stdout, (const char *const[]){verdict->path, ": ", "the same", events, NULL}, 2,
			   NPL_TONE_GOOD);
}

static int print_verdict(const struct check *check, const struct npl_trace_verdict *verdict, struct npl_err *err)
{
	int rc = 0;
	if (verdict->code && verdict->code != NPL_EUSAGE && check->n > 1)
		cli_put_error(verdict->message);
	if (verdict->code || check->quiet || cli_trace_reports_on_stdout(&check->reports))
		return 0;
	if (verdict->diff.moved || verdict->diff.n_heads)
		rc = cli_table_printed(npl_report_trace_diff(stdout, verdict->path, NULL, &verdict->diff), 0, err);
	else
		print_same(verdict);
	fflush(stdout);
	return rc;
}

static int done(void *context, int i, const struct cli_job_result *result, struct npl_err *err)
{
	struct check *check = context;
	struct npl_trace_verdict *verdict = &check->verdict[i];
	*verdict = (struct npl_trace_verdict){.path = check->path[i], .wall_seconds = result->seconds};
	if (cli_trace_receive(result, verdict))
		return npl_no_memory(err);
	check->broken += verdict->code != 0;
	cli_waiting_pause();
	cli_trace_print_said(result);
	const int rc = print_verdict(check, verdict, err);
	cli_waiting_continue();
	return rc;
}

/* Turns the verdicts into the end of the command. */
static int conclude(const struct check *check, struct npl_err *err)
{
	const struct npl_trace_verdict *first_broken = NULL;
	int moved = 0;
	for (int i = 0; i < check->n; i++) {
		const struct npl_trace_verdict *verdict = &check->verdict[i];
		moved += !verdict->code && verdict->diff.is_beyond;
		if (verdict->code && !first_broken)
			first_broken = verdict;
	}
	if (first_broken && check->n == 1)
		return npl_fail(err, first_broken->code, "%s", first_broken->message);
	if (first_broken)
		return npl_fail(err, first_broken->code, "%d of %d traces could not be checked, and %d %s",
				check->broken, check->n, moved, moved == 1 ? "differs" : "differ");
	return moved ? npl_fail(err, NPL_ECHECK, "%d of %d traces %s from what happens now", moved, check->n,
				moved == 1 ? "differs" : "differ")
		     : 0;
}

/* Writes the reports. A report over a file of a run, which the run's process refused to read, is not written, and no
 * other is. */
static int write_reports(const struct check *check, struct npl_err *err)
{
	for (int i = 0; i < check->n; i++)
		if (check->verdict[i].code == NPL_EUSAGE)
			return npl_fail(err, NPL_EUSAGE, "%s", check->verdict[i].message);
	return cli_trace_write_reports(&check->reports, check->verdict, check->n, &check->tolerance, err);
}

static int check_all(struct check *check, struct npl_err *err)
{
	const int at_a_time = cli_trace_jobs(check->jobs, check->n, &check->threads);
	struct npl_err failure;
	const struct cli_jobs jobs = {
		.name = "trace", .n = check->n, .at_a_time = at_a_time, .work = work, .done = done, .context = check};
	check->verdict = calloc((size_t)check->n, sizeof *check->verdict);
	if (!check->quiet)
		cli_trace_stop_commands(&check->reports);
	int rc = check->verdict ? cli_jobs_run(&jobs, err) : npl_no_memory(err);
	cli_waiting_end();
	if (!check->quiet)
		cli_trace_resume_commands(&check->reports);
	if (!rc) {
		rc = write_reports(check, err);
		if (rc != NPL_EUSAGE && conclude(check, &failure))
			rc = cli_also_failed(rc, &failure, err);
	}
	for (int i = 0; check->verdict && i < check->n; i++)
		npl_trace_diff_free(&check->verdict[i].diff);
	free(check->verdict);
	return rc;
}

static int check_main(int argc, char **argv, struct npl_err *err)
{
	const char **path = calloc(CLI_TRACES_MOST, sizeof *path), *text = NULL;
	struct check check = {.path = path};
	bool help_printed = false;
	const struct cli_option options[] = {CLI_TOLERANCE_OPTION(&text),
					     {"current", CLI_FLAG, &check.current, 0, 0, NULL,
					      "with the machines and files as they are now, not as in the trace"},
					     CLI_TRACE_JOBS_OPTION(&check.jobs),
					     CLI_JUNIT_OPTION(&check.reports.junit),
					     CLI_MARKDOWN_OPTION(&check.reports.markdown),
					     CLI_GITHUB_OPTION(&check.reports.github),
					     CLI_JSON_OPTION(&check.reports.json),
					     CLI_QUIET_OPTION(&check.quiet, ""),
					     {0}};
	int rc = path ? cli_parse(&cli_trace_check, options, argc, argv, path, CLI_TRACES_MOST, &check.n, &help_printed,
				  err)
		      : npl_no_memory(err);
	if (!rc && !help_printed && !check.n)
		rc = npl_fail(err, NPL_EUSAGE, "trace check: expected one or more traces");
	if (!rc && !help_printed)
		rc = cli_trace_tolerance(text, &check.tolerance, err);
	if (!rc && !help_printed)
		rc = cli_trace_check_reports(&check.reports, err);
	if (!rc && !help_printed)
		rc = check_all(&check, err);
	free(path);
	return rc;
}

const struct cli_command cli_trace_check = {"trace check", "FILE... [--tolerance KEY=N,...]",
					    "makes the runs of traces again, and says whether anything moved",
					    check_main};
