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
#include "paragraph.h"
#include "table_layout.h"
#include "text_style.h"

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

void npl_table_text(const char *text, FILE *out)
{
	char *copy = copy_printable(text);
	npl_put_paragraph(out, copy ? copy : "", 0, npl_text_columns());
	fputc('\n', out);
	free(copy);
}

/* Cuts names that are wider than their column. A last column of texts is broken into lines instead. */
static void cut_columns(struct npl_table *table, const struct npl_table_layout *layout)
{
	char **column = calloc((size_t)table->rows + 1, sizeof *column);
	for (int r = 0; r < table->rows; r++)
		if (npl_table_is_title(table, r))
			npl_cut_names(&table->cell[r * table->columns], 1, layout->line);
	for (int c = 0; column && c < table->columns; c++) {
		if (c == table->columns - 1 && table->is_left[c])
			continue;
		for (int r = 0; r < table->rows; r++)
			column[r] = npl_table_is_title(table, r) ? NULL : table->cell[r * table->columns + c];
		npl_cut_names(column, table->rows, layout->width[c]);
		for (int r = 0; r < table->rows; r++)
			if (column[r])
				table->cell[r * table->columns + c] = column[r];
	}
	free(column);
}

/* Returns the last column of the block that has a text in this row; -1: none has. */
static int last_filled(const struct npl_table *table, const struct npl_table_layout *layout, int block, int row)
{
	int last = -1;
	for (int c = 0; c < table->columns; c++)
		if (npl_table_in_block(layout, c, block) && *npl_table_cell(table, row, c))
			last = c;
	return last;
}

static bool is_heading(const struct npl_table *table, int row)
{
	return row < (table->headings ? table->headings : 1);
}

/* Returns how a cell is styled beyond its row. */
static enum npl_tone cell_tone(const struct npl_table *table, int row, int column)
{
	return table->tone_of && column == table->verdicts && !is_heading(table, row)
		       ? table->tone_of(npl_table_cell(table, row, column))
		       : NPL_TONE_NONE;
}

static void put_row(FILE *out, const struct npl_table *table, const struct npl_table_layout *layout, int block, int row)
{
	const int last = table->columns - 1, end = last_filled(table, layout, block, row);
	int at = 0; /* columns of the line before the next cell */
	bool is_first = true;
	fputs(npl_tone_on(is_heading(table, row) ? NPL_TONE_HEADING : NPL_TONE_NONE), out);
	for (int c = 0; c <= end; c++) { /* no blanks at the end of a line */
		const char *text = npl_table_cell(table, row, c);
		const int width = npl_table_is_title(table, row) ? layout->line : layout->width[c];
		if (!npl_table_in_block(layout, c, block))
			continue;
		fprintf(out, "%*s", is_first ? 0 : layout->gap, "");
		at += is_first ? 0 : layout->gap;
		is_first = false;
		fputs(npl_tone_on(cell_tone(table, row, c)), out);
		if (c == end && table->is_left[c] && c < last && npl_text_width(text) <= width)
			fputs(text, out);
		else if (c == last && table->is_left[c])
			npl_put_paragraph(out, text, at, width);
		else
			put_cell(out, text, width, table->is_left[c]);
		fputs(npl_tone_off(cell_tone(table, row, c)), out);
		at += layout->width[c];
	}
	fputs(npl_tone_off(is_heading(table, row) ? NPL_TONE_HEADING : NPL_TONE_NONE), out);
	fputc('\n', out);
}

/* Moves what does not fit of the headings to a second row. */
static void break_headings(struct npl_table *table, const struct npl_table_layout *layout)
{
	const char *rest[NPL_TABLE_COLUMNS] = {NULL};
	size_t first[NPL_TABLE_COLUMNS] = {0};
	const int rows = table->rows;
	bool is_broken = false;
	for (int c = 0; c < table->columns; c++) {
		const char *heading = npl_table_cell(table, 0, c);
		first[c] = npl_table_heading_bytes(heading, layout->width[c]);
		rest[c] = heading + first[c] + strspn(heading + first[c], " ");
		is_broken |= *rest[c] != '\0';
	}
	if (is_broken)
		npl_table_row(table, rest);
	if (table->rows == rows)
		return;
	char *second[NPL_TABLE_COLUMNS], **cell = table->cell;
	const size_t columns = (size_t)table->columns, row = columns * sizeof *cell;
	memcpy(second, cell + columns * (size_t)rows, row);
	memmove(cell + 2 * columns, cell + columns, row * (size_t)(rows - 1));
	memcpy(cell + columns, second, row);
	for (int c = 0; c < table->columns; c++)
		if (cell[c])
			cell[c][first[c]] = '\0';
	table->headings = 2;
}

void npl_table_print(struct npl_table *table, FILE *out)
{
	struct npl_table_layout layout;
	npl_table_lay_out(table, &layout);
	if (layout.breaks_headings)
		break_headings(table, &layout);
	cut_columns(table, &layout);
	for (int block = 0; block < layout.blocks; block++) {
		if (block)
			fputc('\n', out);
		for (int r = 0; r < table->rows; r++)
			if (block == 0 || npl_table_is_title(table, r) ||
			    last_filled(table, &layout, block, r) >= layout.keys)
				put_row(out, table, &layout, block, r);
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
