/* SPDX-License-Identifier: MIT
 *
 * The cycles that are chosen of a trace, and the sizes of files (trace_window.h). */
#include "trace_window.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/base/printable.h"
#include "core/base/refuse.h"
#include "core/files/path.h"
#include "npulab/report.h"
#include "reports/format/paragraph.h"

int cli_trace_check_window(const struct cli_command *command, int64_t from, int64_t until, struct npl_err *err)
{
	return until && until <= from
		       ? npl_fail(err, NPL_EUSAGE, "%s: no cycle is between --from %" PRId64 " and --until %" PRId64,
				  command->name, from, until)
		       : 0;
}

int cli_trace_check_name(const char *option, const char *path, const char *ending, const char *hint,
			 struct npl_err *err)
{
	if (cli_is_stdout(path))
		return npl_fail(err, NPL_EUSAGE,
				"%s -: expected the name of a file, which is written whole or not at all", option);
	return path && ending && npl_path_ends_in(path, ending)
		       ? npl_fail(err, NPL_EUSAGE, "%s %s: %s", option, path, hint)
		       : 0;
}

void cli_trace_say_size(const char *path, const struct npl_trace_size *size)
{
	struct stat status;
	char text[40], events[80];
	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return;
	snprintf(events, sizeof events, ": %" PRIu64 " event%s, %s", size->events, size->events == 1 ? "" : "s",
		 npl_count_text((double)size->bytes, "B", text, sizeof text));
	npl_put_line(stdout, (const char *const[]){path, events, NULL});
}
