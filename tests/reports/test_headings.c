/* SPDX-License-Identifier: MIT
 *
 * Promise: the glossary explains each column of the tables that reports/columns.def and reports/roofline_columns.def
 * list, and each heading of the smaller tables of comparisons and of run traces. */
#include "tests/kit/page.h"

static const char *const headings[] = {
#define NPL_COLUMN(group, key, heading, layer_heading, align, show, unit, mark, value) heading, layer_heading,
#define NPL_SHOWN(group, name, heading, layer_heading, align, show, unit, mark, value) heading, layer_heading,
#define NPL_LAYER_TABLE(name, heading, align, cell)                                    heading,
#define NPL_LAYER_FIGURE(name, heading, align, cell)                                   heading,
#include "reports/columns.def"
#define NPL_ROOF_SHOWN(key, reports, value, heading, align, cell)  heading,
#define NPL_POINT_SHOWN(key, reports, value, heading, align, cell) heading,
#include "reports/roofline_columns.def"
};

/* Sources whose tables have their headings beside the cells, as texts of capital letters. */
static const char *const sources[] = {"reports/compare_table.c", "reports/energy_table.c", "reports/placement_table.c",
				      "reports/trace_table.c"};

/* Returns the page's text without its blocks of output, in which white space is one blank. The caller frees it. */
static char *sentences_of(const char *page)
{
	char *text = cli_read(page, NULL), *to = text;
	bool in_block = false;
	for (const char *from = text; *from; from++) {
		if (!strncmp(from, "\n```", 4))
			in_block = !in_block;
		if (in_block)
			continue;
		const bool blank = *from == ' ' || *from == '\n';
		if (!blank || (to > text && to[-1] != ' '))
			*to++ = (char)(blank ? ' ' : *from);
	}
	*to = '\0';
	return text;
}

/* Says whether the text has the heading as an entry or after "the column". */
static bool explains(const char *text, const char *heading)
{
	static const struct {
		const char *before, *after;
	} forms[] = {{"* **", "**:"}, {"* **", ", "}, {", ", "**:"}, {"column ", " "}};
	char expected[80];
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		snprintf(expected, sizeof expected, "%s%s%s", forms[i].before, heading, forms[i].after);
		if (strstr(text, expected))
			return true;
	}
	return false;
}

Test(report_headings, are_in_the_glossary)
{
	char *text = sentences_of("docs/glossary.md");
	int n = 0;
	for (size_t i = 0; i < sizeof headings / sizeof *headings; i++) {
		if (!headings[i] || !*headings[i])
			continue;
		cr_expect(explains(text, headings[i]), "docs/glossary.md does not explain the column %s", headings[i]);
		n++;
	}
	cr_assert_gt(n, 25);
	free(text);
}

/* Returns the next text of capital letters between quotes, and moves *at behind it; n is its length. NULL: there is
 * none. */
static const char *next_heading(const char **at, size_t *n)
{
	for (const char *quote = strchr(*at, '"'); quote; quote = strchr(*at, '"')) {
		const char *text = quote + 1;
		*n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ '/-");
		*at = text + *n;
		if (*n > 1 && text[*n] == '"' && text[0] >= 'A' && text[0] <= 'Z') {
			++*at;
			return text;
		}
		const char *end = strchr(text, '"');
		*at = end ? end + 1 : text + strlen(text);
	}
	return NULL;
}

Test(report_headings, of_smaller_tables_are_in_the_glossary)
{
	char *text = sentences_of("docs/glossary.md");
	for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
		char *source = cli_read(sources[i], NULL), heading[80];
		const char *at = source, *found;
		size_t length;
		int n = 0;
		for (; (found = next_heading(&at, &length)); n++) {
			snprintf(heading, sizeof heading, "%.*s", (int)length, found);
			cr_expect(explains(text, heading), "docs/glossary.md does not explain the heading %s of %s",
				  heading, sources[i]);
		}
		cr_expect_gt(n, 4, "%s", sources[i]);
		free(source);
	}
	free(text);
}
