/* SPDX-License-Identifier: MIT
 *
 * The cycles that `npulab trace show` and `export` choose, and what these commands say of files. */
#ifndef NPULAB_CLI_TRACE_WINDOW_H
#define NPULAB_CLI_TRACE_WINDOW_H

#include "common.h"
#include "npulab/run_trace.h"

#define CLI_FROM_OPTION(target)                                                                                        \
	{                                                                                                              \
		"from", CLI_INT, (target), 0, INT64_MAX, "CYCLE",                                                      \
			"of each program only this cycle and those after it; what begins before and ends later is in"  \
	}
#define CLI_UNTIL_OPTION(target)                                                                                       \
	{                                                                                                              \
		"until", CLI_INT, (target), 1, INT64_MAX, "CYCLE",                                                     \
			"of each program only the cycles before this one; what begins before and ends later is in"     \
	}
/* Returns NPL_EUSAGE where no cycle is between the two. until 0: there is no end. */
int cli_trace_check_window(const struct cli_command *command, int64_t from, int64_t until, struct npl_err *err);
/* Returns NPL_EUSAGE for the name of an output that promises what is not written: "-" is no file, and a name that ends
 * in `ending` (NULL: none) is of another format. `option` is the command and its option, and `hint` says what to do
 * instead. */
int cli_trace_check_name(const char *option, const char *path, const char *ending, const char *hint,
			 struct npl_err *err);
/* Prints "a.trace: 1050 events, 71.0 kB", unless the file is none that stays, such as a terminal. */
void cli_trace_say_size(const char *path, const struct npl_trace_size *size);

#endif
