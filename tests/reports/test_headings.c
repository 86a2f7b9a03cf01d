/* SPDX-License-Identifier: MIT
 *
 * Promise: the glossary explains each column of the tables that reports/columns.def lists. */
#include "tests/kit/page.h"

static const char *const headings[] = {
#define NPL_COLUMN(group, key, heading, layer_heading, align, show, unit, mark, value) heading, layer_heading,
#define NPL_SHOWN(group, name, heading, layer_heading, align, show, unit, mark, value) heading, layer_heading,
#define NPL_LAYER_TABLE(name, heading, align, cell)                                    heading,
#define NPL_LAYER_FIGURE(name, heading, align, cell)                                   heading,
#include "reports/columns.def"
};

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
