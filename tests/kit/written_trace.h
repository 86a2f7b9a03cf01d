/* SPDX-License-Identifier: MIT
 *
 * Traces that a test writes itself. */
#ifndef NPULAB_TESTS_KIT_WRITTEN_TRACE_H
#define NPULAB_TESTS_KIT_WRITTEN_TRACE_H

#include "tests/kit/cli_run.h"

/* Writes a trace as a file, with the last line that says how many events it has. */
static inline void trace_write(const char *folder, const char *name, const char *text)
{
	const char *line = strstr(text, "\nevents follow\n");
	int events = 0;
	FILE *file = fopen(cli_path(folder, name), "w");
	cr_assert(file && line);
	for (line = strchr(line + 1, '\n') + 1; *line; line = strchr(line, '\n') + 1)
		events += strncmp(line, "block ", 6) != 0 && strncmp(line, "of ", 3) != 0;
	fprintf(file, "%scomplete %d\n", text, events);
	cr_assert_eq(fclose(file), 0);
}

/* Writes b.trace: a.trace with another text in the place of each `from`. */
static inline void trace_replace(const char *folder, const char *from, const char *to)
{
	char *text = cli_read(cli_path(folder, "a.trace"), NULL);
	FILE *file = fopen(cli_path(folder, "b.trace"), "w");
	cr_assert(file && strstr(text, from), "%s", from);
	const char *at = text;
	for (const char *next; (next = strstr(at, from)); at = next + strlen(from))
		fprintf(file, "%.*s%s", (int)(next - at), at, to);
	fputs(at, file);
	cr_assert_eq(fclose(file), 0);
	free(text);
}

#endif
