/* SPDX-License-Identifier: MIT
 *
 * Runs pieces of work side by side, each in a process of its own: one that crashes or takes too much memory ends alone,
 * and none can see what another left behind. What they print comes in the order of their numbers, however many run at a
 * time.
 *
 * A process is forked from this one, in which no other thread may run. The child ends with its parent. */
#ifndef NPULAB_CLI_JOBS_H
#define NPULAB_CLI_JOBS_H

#include <stdio.h>

#include "npulab/error.h"

/* What came of a piece of work. */
struct cli_job_result {
	const char *data; /* what it wrote to `result`; complete if status is 0 */
	size_t bytes;
	const char *said; /* what it wrote to standard error */
	size_t said_bytes;
	int status; /* its exit status; less than 0: minus the signal that ended it */
	double seconds;
};

struct cli_jobs {
	const char *name; /* what waits, for the progress line: "trace" */
	int n;            /* pieces of work */
	int at_a_time;    /* at least 1 */
	/* Does piece i, in a process of its own, and writes what came of it. */
	void (*work)(void *context, int i, FILE *result);
	/* Is called in this process, in the order of the pieces, each as soon as those before it are done. */
	int (*done)(void *context, int i, const struct cli_job_result *result, struct npl_err *err);
	void *context;
};
/* Runs all pieces. Ends with the first result of `done` that is not 0; NPL_ENOMEM or NPL_EINTERNAL where a process
 * cannot be started. Then the children that still work are ended. */
int cli_jobs_run(const struct cli_jobs *jobs, struct npl_err *err);

#endif
