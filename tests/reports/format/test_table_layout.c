/* SPDX-License-Identifier: MIT
 *
 * Promises of a table where a width was set: names are cut first, then headings take two lines, then blanks between
 * columns become fewer; at last columns go to further blocks, beside the first ones. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"
#include "reports/format/paragraph.h"
#include "reports/format/table.h"
#include "reports/format/text_style.h"
#include "tests/kit/support.h"

#define SEED UINT64_C(0x5eed7ab1e)

static void set_width(int columns)
{
	npl_text_style_set((struct npl_text_style){.columns = columns});
}

/* What a table of rows x columns cells prints, to be freed. */
static char *print(const char *layout, int keys, int rows, const char *const *cells)
{
	struct npl_table table;
	char *out = NULL;
	size_t bytes = 0, columns = strlen(layout);
	FILE *stream = open_memstream(&out, &bytes);
	npl_table_open(&table, layout, cells);
	table.keys = keys;
	for (int r = 1; r < rows; r++)
		npl_table_row(&table, cells + (size_t)r * columns);
	npl_table_print(&table, stream);
	cr_assert_eq(npl_table_close(&table), 0);
	fclose(stream);
	return out;
}

static void check_width(const char *text, int most)
{
	while (*text) {
		const size_t bytes = strcspn(text, "\n");
		char *line = strndup(text, bytes);
		cr_assert_leq(npl_text_width(line), most, "%s", line);
		free(line);
		text += bytes + (text[bytes] == '\n');
	}
}

#define N20 "12345678901234567890"

Test(table_layout, headings_take_two_lines_before_blanks_become_fewer)
{
	static const char *const cells[] = {"NAME", "TIME OF ALL BATCHES HERE", N20, N20, "a", "1", "2", "3"};
	set_width(80);
	char *text = print("lrrr", 0, 2, cells);
	cr_assert_str_eq(text, "NAME  TIME OF ALL BATCHES HERE  " N20 "  " N20 "\n"
			       "a                            1                     2                     3\n");
	free(text);
	static const char *const wide[] = {"NAME", "TIME OF ALL BATCHES HERE", N20 N20, "A/B", "a", "1", "2", "3"};
	text = print("lrrr", 0, 2, wide);
	cr_assert_str_eq(text, "NAME  TIME OF ALL BATCHES HERE  " N20 N20 "  A/B\n"
			       "a                            1                                         2    3\n");
	free(text);
	static const char *const wider[] = {
		"NAME", "TIME OF ALL BATCHES HERE", N20 N20, "SAMPLES/SECOND", "a", "1", "2", "3"};
	text = print("lrrr", 0, 2, wider);
	cr_assert_str_eq(text, "NAME   TIME OF ALL  " N20 N20 "  SAMPLES/\n"
			       "      BATCHES HERE                                              SECOND\n"
			       "a                1                                         2         3\n");
	free(text);
}

Test(table_layout, blanks_become_fewer_before_a_table_is_divided)
{
	static const char *const cells[] = {"NAME", N20, N20, N20, "ABCDEFGHI", "a", "1", "2", "3", "4"};
	set_width(80);
	char *text = print("lrrrr", 0, 2, cells);
	cr_assert_str_eq(text, "NAME " N20 " " N20 " " N20 " ABCDEFGHI\n"
			       "a                       1                    2                    3         4\n");
	free(text);
	static const char *const wide[] = {"NAME", N20, N20, N20, N20, "a", "1", "2", "3", "4"};
	text = print("lrrrr", 0, 2, wide);
	cr_assert_str_eq(text, "NAME  " N20 "  " N20 "  " N20 "\n"
			       "a                        1                     2                     3\n"
			       "\n"
			       "NAME  " N20 "\n"
			       "a                        4\n");
	free(text);
	/* two names make a row's key; a row that has nothing in a block is left out there, a title is not */
	static const char *const keys[] = {"NAME", "OF", N20, N20, N20, N20, "title", "",  "",  "",  "",  "",
					   "a",    "x",  "1", "2", "3", "4", "b",     "y", "1", "2", "3", ""};
	text = print("llrrrr", 2, 4, keys);
	cr_assert(strstr(text, "\n\nNAME  OF  " N20 "\ntitle\na     x                      4\n"), "%s", text);
	cr_assert(!strstr(strstr(text, "\n\n"), "\nb "), "%s", text);
	free(text);
	set_width(0);
	text = print("lrrrr", 0, 2, wide);
	cr_assert_str_eq(
		text, "NAME  " N20 "  " N20 "  " N20 "  " N20 "\n"
		      "a                        1                     2                     3                     4\n");
	free(text);
}

/* Random tables of any width: no line is wider, and each cell of numbers is there. */
Test(table_layout, no_line_is_wider_than_the_width_that_was_set)
{
	uint64_t rng = SEED;
	for (int i = 0; i < 3000; i++) {
		char layout[NPL_TABLE_COLUMNS + 1] = "", cell[5 * NPL_TABLE_COLUMNS][160];
		const char *cells[5 * NPL_TABLE_COLUMNS];
		const int columns = (int)test_range(&rng, 1, NPL_TABLE_COLUMNS), rows = (int)test_range(&rng, 1, 5);
		const int width = (int)test_range(&rng, NPL_TEXT_COLUMNS_MIN, NPL_TEXT_COLUMNS_MAX);
		for (int c = 0; c < columns; c++)
			layout[c] = "lrwk"[c == 0 ? 0 : test_range(&rng, 0, 3)];
		for (int k = 0; k < rows * columns; k++) {
			const bool is_number = layout[k % columns] == 'r';
			const int length = (int)test_range(&rng, 0,
							   is_number                    ? 20
							   : layout[k % columns] == 'k' ? 30
											: 150);
			for (int n = 0; n < length; n++)
				cell[k][n] = !is_number && !test_range(&rng, 0, 6) ? ' ' : 'w';
			cell[k][length] = '\0';
			if (is_number && k >= columns)
				snprintf(cell[k], sizeof cell[k], "%d.%d", k, i);
			cells[k] = cell[k];
		}
		set_width(width);
		char *text = print(layout, columns > 4 ? (int)test_range(&rng, 0, 2) : 0, rows, cells);
		check_width(text, width);
		for (int k = columns; k < rows * columns; k++)
			cr_assert(layout[k % columns] != 'r' || strstr(text, cell[k]), "%s is missing:\n%s", cell[k],
				  text);
		free(text);
	}
}

/* A line of its own is broken only where a width was set. */
Test(table_layout, lines_are_broken_where_a_width_was_set)
{
	static const char *const words[] = {N20 " " N20 " ", N20 "\n ", N20 " end", NULL};
	static const struct {
		int columns;
		const char *expected;
	} cases[] = {{0, N20 " " N20 " " N20 "? " N20 " end\n"},
		     {80, N20 " " N20 " " N20 "?\n  " N20 " end\n"},
		     {100, N20 " " N20 " " N20 "? " N20 " end\n"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *out = NULL;
		size_t bytes = 0;
		FILE *stream = open_memstream(&out, &bytes);
		set_width(cases[i].columns);
		npl_put_line(stream, words);
		fclose(stream);
		cr_assert_str_eq(out, cases[i].expected);
		free(out);
	}
}
