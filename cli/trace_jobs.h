/* SPDX-License-Identifier: MIT
 *
 * Runs of traces side by side, each in a process of its own (jobs.h), which sends a verdict (trace_wire.h). */
#ifndef NPULAB_CLI_TRACE_JOBS_H
#define NPULAB_CLI_TRACE_JOBS_H

#include "jobs.h"
#include "trace_wire.h"

enum { CLI_TRACES_MOST = 4096 /* of a command */, CLI_TRACE_JOBS_MOST = 256 };
#define CLI_TRACE_JOBS_OPTION(target)                                                                                  \
	{                                                                                                              \
		"jobs", CLI_INT, (target), 1, CLI_TRACE_JOBS_MOST, "N",                                                \
			"N traces at a time; default: as many as there are processors"                                 \
	}
/* Returns NPL_EINPUT where the path is no file that can be read twice: a folder, a pipe. */
int cli_trace_need_file(const char *path, struct npl_err *err);
/* Returns how many of n traces run at a time, where the user asked for `wanted` (0: did not), and the threads that each
 * may have. */
int cli_trace_jobs(int64_t wanted, int n, int *threads);
/* Reads the verdict of a process. One that was ended, such as for its memory, has none: its code says so. Returns 0 or
 * NPL_ENOMEM. */
int cli_trace_receive(const struct cli_job_result *result, struct npl_trace_verdict *verdict);
/* Prints what the process wrote to standard error. */
void cli_trace_print_said(const struct cli_job_result *result);

#endif
