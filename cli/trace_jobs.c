/* SPDX-License-Identifier: MIT
 *
 * Runs of traces side by side (trace_jobs.h). */
#include "trace_jobs.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/refuse.h"
#include "npulab/thread.h"

int cli_trace_jobs(int64_t wanted, int n, int *threads)
{
	const int processors = npl_processors(), at_a_time = wanted ? (int)wanted : processors,
		  running = at_a_time < n ? at_a_time : n;
	*threads = processors > running ? processors / running : 1;
	return at_a_time;
}

int cli_trace_need_file(const char *path, struct npl_err *err)
{
	struct stat status;
	if (stat(path, &status) || S_ISREG(status.st_mode))
		return 0;
	if (S_ISDIR(status.st_mode))
		return npl_fail(err, NPL_EINPUT, "%s: is a folder, expected the traces in it, as %s%s*", path, path,
				path[strlen(path) - 1] == '/' ? "" : "/");
	return npl_fail(err, NPL_EINPUT, "%s: is no file, expected one: its trace is read twice", path);
}

/* Gives a verdict the code and the message of an error. */
static int give_up(struct npl_trace_verdict *verdict, const struct npl_err *err)
{
	npl_trace_diff_free(&verdict->diff);
	verdict->code = err->code;
	verdict->message = npl_arena_strdup(&verdict->diff.arena, err->msg);
	return verdict->message ? 0 : NPL_ENOMEM;
}

int cli_trace_receive(const struct cli_job_result *result, struct npl_trace_verdict *verdict)
{
	struct npl_err failure;
	if (result->status == -SIGKILL)
		npl_fail(&failure, NPL_ENOMEM,
			 "%s: its run was killed, as happens where memory is short: --jobs 1 "
			 "needs least",
			 verdict->path);
	else if (result->status < 0)
		npl_fail(&failure, NPL_EINTERNAL, "%s: its run was ended by signal %d (%s)", verdict->path,
			 -result->status, strsignal(-result->status));
	else if (result->status)
		npl_fail(&failure, result->status == npl_exit_status(NPL_EINPUT) ? NPL_EINPUT : NPL_EINTERNAL,
			 "%s: its run ended with the exit status %d", verdict->path, result->status);
	else if (!cli_trace_verdict_receive(result->data, result->bytes, verdict, &failure))
		return 0;
	return give_up(verdict, &failure);
}

void cli_trace_print_said(const struct cli_job_result *result)
{
	if (result->said_bytes)
		fwrite(result->said, 1, result->said_bytes, stderr);
}
