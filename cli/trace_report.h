/* SPDX-License-Identifier: MIT
 *
 * What `npulab trace check` and `diff` share: the tolerance, and the reports of verdicts. */
#ifndef NPULAB_CLI_TRACE_REPORT_H
#define NPULAB_CLI_TRACE_REPORT_H

#include "common.h"
#include "npulab/run_trace.h"

/* Reads "cycles=0.5%,energy=1%,values=1dB"; NULL: everything is exact. */
int cli_trace_tolerance(const char *text, struct npl_trace_tolerance *tolerance, struct npl_err *err);
#define CLI_TOLERANCE_OPTION(target)                                                                                   \
	{                                                                                                              \
		"tolerance", CLI_TEXT, (target), 0, 0, "KEY=N,...",                                                    \
			"differences that count as none: cycles=0.5%,energy=1%,values=1dB"                             \
	}

#define CLI_MAX_TRACES 4096 /* of one command */

/* The reports that the options ask for. */
struct cli_trace_reports {
	const char *json, *junit, *markdown;
	bool github;
};
#define CLI_JUNIT_OPTION(target)                                                                                       \
	{                                                                                                              \
		"junit", CLI_OUTPUT, (target), 0, 0, "FILE", "JUnit's XML, a test case for each trace"                 \
	}
#define CLI_MARKDOWN_OPTION(target)                                                                                    \
	{                                                                                                              \
		"markdown", CLI_OUTPUT, (target), 0, 0, "FILE", "Markdown for a merge request: what moved, and where"  \
	}
#define CLI_GITHUB_OPTION(target)                                                                                      \
	{                                                                                                              \
		"github", CLI_FLAG, (target), 0, 0, NULL, "annotations of GitHub on standard output"                   \
	}
/* Returns NPL_EUSAGE where two reports have standard output. */
int cli_trace_check_reports(const struct cli_trace_reports *reports, struct npl_err *err);
/* Says whether standard output has a report, and no tables. */
bool cli_trace_reports_on_stdout(const struct cli_trace_reports *reports);
/* Writes the reports. */
int cli_trace_write_reports(const struct cli_trace_reports *reports, const struct npl_trace_verdict *verdict, int n,
			    const struct npl_trace_tolerance *tolerance, struct npl_err *err);

/* Around tables on the standard output of a job of GitHub, whose names could be commands: GitHub obeys none of the
 * lines between these two. */
void cli_trace_stop_commands(const struct cli_trace_reports *reports);
void cli_trace_resume_commands(const struct cli_trace_reports *reports);

#endif
