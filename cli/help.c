/* SPDX-License-Identifier: MIT
 *
 * Texts of --help (help.h). */
#include "help.h"

#include <stdlib.h>
#include <string.h>

#include "reports/format/paragraph.h"

enum { HELP_COLUMNS = 80, INDENT = 2 };

void cli_put_help_text(FILE *out, const char *text, int indent)
{
	char *copy = strdup(text), *rest = copy;
	for (const char *line; (line = strsep(&rest, "\n"));) {
		npl_put_paragraph(out, line, indent, HELP_COLUMNS - indent);
		fputc('\n', out);
	}
	if (!copy)
		fprintf(out, "%s\n", text);
	free(copy);
}

void cli_put_help_row(FILE *out, const char *name, int width, const char *meaning)
{
	const int column = INDENT + width + 1;
	char *line = strndup(meaning, strcspn(meaning, "\n"));
	if ((int)strlen(name) > width)
		fprintf(out, "%*s%s\n%*s", INDENT, "", name, column, "");
	else
		fprintf(out, "%*s%-*s ", INDENT, "", width, name);
	npl_put_paragraph(out, line ? line : meaning, column, HELP_COLUMNS - column);
	fputc('\n', out);
	free(line);
}
