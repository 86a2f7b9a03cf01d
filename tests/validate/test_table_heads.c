/* SPDX-License-Identifier: MIT
 *
 * Promise: the head of each table in energies/ and published/ says what the words for sources, cells and transistors in
 * its rows stand for, and lists no word that no row has. */
#include <glob.h>

#include "core/files/csv.h"
#include "tests/kit/cli_run.h"

/* Returns the comment at the beginning of a table, as it is. The caller frees it. */
static char *head_of(const char *path)
{
	char *text = cli_read(path, NULL), *end = text;
	while (*end == '#')
		end += strcspn(end, "\n") + 1;
	*end = '\0';
	return text;
}

/* Says whether the head has the word, which may go on with a remark in brackets. */
static bool explains(const char *head, const char *word)
{
	char without_remark[200];
	snprintf(without_remark, sizeof without_remark, "%s", word);
	char *remark = strstr(without_remark, " (");
	if (remark)
		*remark = '\0';
	return strstr(head, without_remark);
}

/* Returns the column of words that the head explains; -1: there is none. Where a table has references, its sources are
 * places in them. */
static int explained_column(const struct npl_csv *csv)
{
	static const char *const names[] = {"reference", "source", "cells", "transistors"};
	for (size_t k = 0; k < sizeof names / sizeof *names; k++)
		for (int i = 0; i < csv->n_columns; i++)
			if (!strcmp(csv->column[i], names[k]))
				return i;
	return -1;
}

/* Says whether a field of a row begins with these letters. */
static bool has_field(const struct npl_csv *csv, const char *word, size_t letters)
{
	for (int row = 0; row < csv->n_rows; row++)
		for (int i = 0; i < csv->n_columns; i++)
			if (!strncmp(csv->row[row].field[i], word, letters))
				return true;
	return false;
}

/* Checks the words at the beginning of lines that are indented by three blanks, such as "#   stream_rd, stream_wr  line
 * i". Returns how many there are. */
static int check_listed(const char *path, const struct npl_csv *csv, const char *head)
{
	int listed = 0;
	for (const char *line = strstr(head, "\n#   "); line; line = strstr(line + 1, "\n#   ")) {
		const char *word = line + 5;
		while (*word != ' ') {
			const size_t letters = strcspn(word, ", ");
			cr_expect(has_field(csv, word, letters), "%s explains '%.*s', which no row has", path,
				  (int)letters, word);
			word += letters + 2 * (size_t)(word[letters] == ',');
			listed++;
		}
	}
	return listed;
}

Test(table_heads, explain_the_words_of_the_rows)
{
	glob_t paths;
	int words = 0, listed = 0;
	cr_assert_eq(glob("energies/*.csv", 0, NULL, &paths), 0);
	cr_assert_eq(glob("published/*.csv", GLOB_APPEND, NULL, &paths), 0);
	for (size_t p = 0; p < paths.gl_pathc; p++) {
		struct npl_arena arena = {0};
		struct npl_csv csv;
		struct npl_err err;
		char *head = head_of(paths.gl_pathv[p]);
		cr_assert_eq(npl_csv_load(paths.gl_pathv[p], &arena, &csv, &err), 0, "%s", err.msg);
		const int column = explained_column(&csv);
		for (int row = 0; row < csv.n_rows && column >= 0; row++, words++)
			cr_expect(explains(head, csv.row[row].field[column]), "%s:%d: the head does not explain '%s'",
				  csv.path, csv.row[row].line, csv.row[row].field[column]);
		listed += check_listed(csv.path, &csv, head);
		free(head);
		npl_arena_free(&arena);
	}
	globfree(&paths);
	cr_assert_gt(words, 700, "%d words", words);
	cr_assert_gt(listed, 10, "%d words are listed", listed);
}
