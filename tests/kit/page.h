/* SPDX-License-Identifier: MIT
 *
 * Tables of pages, which tests compare with what the program has. */
#ifndef NPULAB_TESTS_KIT_PAGE_H
#define NPULAB_TESTS_KIT_PAGE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_run.h"

/* Returns the text of a page from below the heading to the next one. The caller frees it. */
static inline char *page_section(const char *page, const char *heading)
{
	char *text = cli_read(page, NULL), line[120];
	snprintf(line, sizeof line, "\n%s\n", heading);
	const char *from = strstr(text, line);
	cr_assert(from, "%s has no heading '%s'", page, heading);
	from += strlen(line) - 1;
	const char *to = strstr(from, "\n#");
	char *section = strndup(from, to ? (size_t)(to - from) : strlen(from));
	cr_assert(section);
	free(text);
	return section;
}

/* Returns the row of the section's table whose first cell has the word as code, or NULL. */
static inline const char *page_row(const char *section, const char *word)
{
	char code[80];
	snprintf(code, sizeof code, "`%s`", word);
	for (const char *row = strstr(section, "\n| `"); row; row = strstr(row + 1, "\n| `")) {
		const char *found = strstr(row, code);
		if (found && found < strchr(row + 3, '|'))
			return row + 1;
	}
	return NULL;
}

/* Returns how many words the first cells of the section's rows have as code. */
static inline int page_words(const char *section)
{
	int ticks = 0;
	for (const char *row = strstr(section, "\n| `"); row; row = strstr(row + 1, "\n| `"))
		for (const char *at = row + 3; *at != '|'; at++)
			ticks += *at == '`';
	return ticks / 2;
}

#endif
