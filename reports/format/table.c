/* SPDX-License-Identifier: MIT
 *
 * Text tables (table.h). */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/printable.h"
#include "cut_names.h"
#include "npulab/error.h"

/* Returns a copy that cannot break a line or control a terminal; NULL when memory is short. */
static char *copy_printable(const char *text)
{
	char *copy = strdup(text ? text : "");
	return copy ? npl_make_printable(copy) : NULL;
}

void npl_table_open(struct npl_table *table, const char *layout, const char *const *header)
{
	*table = (struct npl_table){.columns = (int)strlen(layout)};
	for (int i = 0; i < table->columns; i++) {
		table->is_left[i] = layout[i] != 'r';
		table->is_never_cut[i] = layout[i] == 'w';
		table->kind[i] = layout[i] == 'k';
	}
	npl_table_row(table, header);
}

void npl_table_row(struct npl_table *table, const char *const *cells)
{
	char **grown = npl_grow(table->cell, table->rows, &table->capacity, (size_t)table->columns * sizeof *grown);
	if (!grown) {
		table->failed = true;
		return;
	}
	table->cell = grown;
	char **row = table->cell + (size_t)table->rows * (size_t)table->columns;
	for (int i = 0; i < table->columns; i++) {
		row[i] = copy_printable(cells[i]);
		table->failed |= !row[i];
	}
	table->rows++;
}

static void put_cell(FILE *out, const char *text, int width, int is_left)
{
	const int text_width = npl_text_width(text), blanks = text_width < width ? width - text_width : 0;
	fprintf(out, "%*s%s%*s", is_left ? 0 : blanks, "", text, is_left ? blanks : 0, "");
}

static const char *cell_at(const struct npl_table *table, int row, int column)
{
	const char *text = table->cell[(size_t)row * (size_t)table->columns + (size_t)column];
	return text ? text : "";
}

/* Returns the bytes of the next word, or of the part of it that fits in a line; *columns is their width. */
static int word_bytes(const char *text, int width, int *columns)
{
	int bytes = 0;
	*columns = 0;
	while (text[bytes] && text[bytes] != ' ') {
		const int character_width = npl_character_width(npl_utf8_code(text + bytes));
		if (bytes && *columns + character_width > width)
			break;
		*columns += character_width;
		bytes += (int)npl_utf8_length(text + bytes);
	}
	return bytes;
}

/* Prints a text in lines of at most `width`, broken at blanks, each except the first indented. */
static void put_paragraph(FILE *out, const char *text, int indent, int width)
{
	int at = 0;
	while (*text) {
		int columns, word = word_bytes(text, width, &columns);
		if (at > 0 && at + 1 + columns > width) {
			fprintf(out, "\n%*s", indent, "");
			at = 0;
		}
		fprintf(out, "%s%.*s", at ? " " : "", word, text);
		at += columns + (at > 0);
		text += word;
		text += strspn(text, " ");
	}
}

void npl_table_text(const char *text, FILE *out)
{
	char *copy = copy_printable(text);
	put_paragraph(out, copy ? copy : "", 0, NPL_TABLE_WIDTH);
	fputc('\n', out);
	free(copy);
}

/* Says whether the row is a title: it is neither the header nor a row of a list. */
static bool is_title(const struct npl_table *table, int row)
{
	if (row == 0 || table->columns == 1 || !table->is_left[0])
		return false;
	for (int c = 1; c < table->columns; c++)
		if (*cell_at(table, row, c))
			return false;
	return true;
}

/* Returns the column to narrow where a line is too long; -1: none can be narrowed. The first choice is a last column of
 * texts, which are broken into lines, down to a readable width. Then come columns of kinds, then the widest column of
 * names. */
static int column_to_narrow(const struct npl_table *table, const int *width)
{
	enum { READABLE = 24, LEAST = 8, KNOWN = 10 };
	int last = table->columns - 1, widest = -1;
	if (table->is_left[last] && width[last] > READABLE)
		return last;
	for (int c = 0; c < last; c++)
		if (table->kind[c] && width[c] > KNOWN)
			return c;
	for (int c = 0; c < last; c++)
		if (table->is_left[c] && !table->is_never_cut[c] &&
		    width[c] > (c == 0 && table->least_first ? table->least_first : LEAST) &&
		    (widest < 0 || width[c] > width[widest]))
			widest = c;
	return widest;
}

/* Makes columns as wide as their cells, or narrower where a line would be too long. */
static void set_widths(const struct npl_table *table, int *width)
{
	int total = 2 * (table->columns - 1), column;
	for (int c = 0; c < table->columns; c++) {
		for (int r = 0; r < table->rows; r++) {
			if (is_title(table, r))
				continue;
			int have = npl_text_width(cell_at(table, r, c));
			width[c] = have > width[c] ? have : width[c];
		}
		total += width[c];
	}
	for (; total > NPL_TABLE_WIDTH && (column = column_to_narrow(table, width)) >= 0; total--)
		width[column]--;
}

/* Cuts names that are wider than their column. A last column of texts is broken into lines instead. */
static void cut_columns(struct npl_table *table, const int *width)
{
	char **column = calloc((size_t)table->rows + 1, sizeof *column);
	for (int r = 0; r < table->rows; r++)
		if (is_title(table, r))
			npl_cut_names(&table->cell[r * table->columns], 1, NPL_TABLE_WIDTH);
	for (int c = 0; column && c < table->columns; c++) {
		if (c == table->columns - 1 && table->is_left[c])
			continue;
		for (int r = 0; r < table->rows; r++)
			column[r] = is_title(table, r) ? NULL : table->cell[r * table->columns + c];
		npl_cut_names(column, table->rows, width[c]);
		for (int r = 0; r < table->rows; r++)
			if (column[r])
				table->cell[r * table->columns + c] = column[r];
	}
	free(column);
}

void npl_table_print(struct npl_table *table, FILE *out)
{
	int width[NPL_TABLE_COLUMNS] = {0}, last = table->columns - 1;
	set_widths(table, width);
	cut_columns(table, width);
	for (int r = 0; r < table->rows; r++) {
		int at = 0, end = last;
		while (end > 0 && !*cell_at(table, r, end))
			end--; /* no blanks at the end of a line */
		for (int c = 0; c <= end; c++) {
			const int room = is_title(table, r) ? NPL_TABLE_WIDTH : width[c];
			fputs(c ? "  " : "", out);
			if (c == end && table->is_left[c] && end < last && npl_text_width(cell_at(table, r, c)) <= room)
				fputs(cell_at(table, r, c), out);
			else if (c == last && table->is_left[c])
				put_paragraph(out, cell_at(table, r, c), at + 2 * last, width[c]);
			else
				put_cell(out, cell_at(table, r, c), room, table->is_left[c]);
			at += width[c]; /* width of the columns before the last */
		}
		fputc('\n', out);
	}
}

int npl_table_close(struct npl_table *table)
{
	for (int i = 0; i < table->rows * table->columns; i++)
		free(table->cell[i]);
	free(table->cell);
	const bool failed = table->failed;
	*table = (struct npl_table){0};
	return failed ? NPL_ENOMEM : 0;
}
