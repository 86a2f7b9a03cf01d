/* SPDX-License-Identifier: MIT
 *
 * The layout of a table (table_layout.h). Where a width must be kept, these ways are tried in turn:
 * names are cut, headings take two lines, the blanks between columns become fewer, and columns go to further blocks. */
#include "table_layout.h"

#include <string.h>

#include "core/base/printable.h"
#include "text_style.h"

enum {
	GAP = 2,
	NARROW_GAP = 1,
	KNOWN = 10, /* words of a known list */
	/* The columns that are left to a last column of texts, to names, and to names in the first column; for a table
	 * that can be divided instead, more. */
	TEXTS = 24,
	NAMES = 8,
	READABLE_TEXTS = 32,
	READABLE_NAMES = 12,
	READABLE_FIRST = 16
};

const char *npl_table_cell(const struct npl_table *table, int row, int column)
{
	const char *text = table->cell[(size_t)row * (size_t)table->columns + (size_t)column];
	return text ? text : "";
}

bool npl_table_is_title(const struct npl_table *table, int row)
{
	if (row == 0 || table->columns == 1 || !table->is_left[0])
		return false;
	for (int c = 1; c < table->columns; c++)
		if (*npl_table_cell(table, row, c))
			return false;
	return true;
}

bool npl_table_in_block(const struct npl_table_layout *layout, int column, int block)
{
	return column < layout->keys || layout->block[column] == block;
}

static bool is_text(const struct npl_table *table, int column)
{
	return column == table->columns - 1 && table->is_left[column];
}

/* Returns the columns that a column keeps at least, which is the last one of texts, or one of names. */
static int least_width(const struct npl_table *table, int column)
{
	const bool divisible = npl_text_must_fit();
	if (is_text(table, column))
		return !divisible ? TEXTS : table->least_last ? table->least_last : READABLE_TEXTS;
	if (column > 0)
		return divisible ? READABLE_NAMES : NAMES;
	if (table->least_first)
		return table->least_first;
	return divisible ? READABLE_FIRST : NAMES;
}

/* Returns the column to narrow where a line is too long; -1: none can be narrowed. The first choice is a last column of
 * texts, which are broken into lines, down to a readable width. Then come columns of kinds, then the widest column of
 * names. */
static int column_to_narrow(const struct npl_table *table, const int *width)
{
	const int last = table->columns - 1;
	int widest = -1;
	if (is_text(table, last) && width[last] > least_width(table, last))
		return last;
	for (int c = 0; c < last; c++)
		if (table->kind[c] && width[c] > KNOWN)
			return c;
	for (int c = 0; c < last; c++)
		if (table->is_left[c] && !table->is_never_cut[c] && width[c] > least_width(table, c) &&
		    (widest < 0 || width[c] > width[widest]))
			widest = c;
	return widest;
}

size_t npl_table_heading_bytes(const char *heading, int width)
{
	const size_t length = strlen(heading);
	size_t best = length;
	int narrowest = npl_text_width(heading);
	if (narrowest <= width)
		return length;
	for (size_t i = 1; i + 1 < length; i++) {
		if (heading[i] != ' ' && heading[i - 1] != '/')
			continue;
		const size_t first = i, rest = i + (heading[i] == ' ');
		const int after = npl_text_width(heading + rest),
			  before = npl_text_width(heading) - after - (heading[i] == ' ');
		const int wider = before > after ? before : after;
		if (wider < narrowest) {
			narrowest = wider;
			best = first;
		}
	}
	return best;
}

/* Returns the columns of a heading that may take two lines. */
static int broken_width(const char *heading)
{
	const size_t first = npl_table_heading_bytes(heading, 0);
	const char *rest = heading + first + strspn(heading + first, " ");
	const int all = npl_text_width(heading), after = npl_text_width(rest);
	const int before = *rest ? all - after - (heading[first] == ' ') : all;
	return before > after ? before : after;
}

/* Makes columns as wide as their cells. */
static void set_natural_widths(const struct npl_table *table, bool breaks_headings, int *width)
{
	memset(width, 0, NPL_TABLE_COLUMNS * sizeof *width);
	for (int r = 0; r < table->rows; r++)
		for (int c = 0; c < table->columns && !npl_table_is_title(table, r); c++) {
			const char *text = npl_table_cell(table, r, c);
			const int have = r == 0 && breaks_headings ? broken_width(text) : npl_text_width(text);
			width[c] = have > width[c] ? have : width[c];
		}
}

/* Puts all columns beside each other, as wide as their cells or narrower. Returns by how much a line is too long
 * nevertheless. */
static int put_beside(const struct npl_table *table, const int *natural, int gap, struct npl_table_layout *layout)
{
	int total = gap * (table->columns - 1), column;
	layout->gap = gap;
	layout->blocks = 1;
	memset(layout->block, 0, sizeof layout->block);
	memcpy(layout->width, natural, sizeof layout->width);
	for (int c = 0; c < table->columns; c++)
		total += natural[c];
	for (; total > layout->line && (column = column_to_narrow(table, layout->width)) >= 0; total--)
		layout->width[column]--;
	return total > layout->line ? total - layout->line : 0;
}

static int least_of(int a, int b)
{
	return a < b ? a : b;
}

/* Returns the width that a column gets in a block, before the room that is left is shared out. In a divided table even
 * names that are otherwise kept whole are cut where they leave no room for another column. */
static int block_width(const struct npl_table *table, int column, int natural, const struct npl_table_layout *layout)
{
	int keys = 0;
	if (column < layout->keys)
		return least_of(natural, layout->line / (table->is_never_cut[column] && layout->keys == 1 ? 2 : 3));
	for (int c = 0; c < layout->keys; c++)
		keys += layout->width[c] + GAP;
	const int most = is_text(table, column)                                   ? READABLE_TEXTS
			 : table->is_left[column] && !table->is_never_cut[column] ? layout->line / 3
										  : natural;
	return least_of(least_of(natural, most), layout->line - keys);
}

static int used_columns(const struct npl_table *table, const struct npl_table_layout *layout, int block)
{
	int used = 0, n = 0;
	for (int c = 0; c < table->columns; c++)
		if (npl_table_in_block(layout, c, block)) {
			used += layout->width[c];
			n++;
		}
	return used + layout->gap * (n - 1);
}

/* Returns how many columns of a line every block leaves free. */
static int least_free(const struct npl_table *table, const struct npl_table_layout *layout)
{
	int least = layout->line;
	for (int block = 0; block < layout->blocks; block++) {
		least = least_of(least, layout->line - used_columns(table, layout, block));
	}
	return least;
}

/* Widens a column up to the width of its cells by the columns of a line that are free. */
static void widen(struct npl_table_layout *layout, int column, int natural, int left)
{
	const int add = least_of(natural - layout->width[column], left);
	layout->width[column] += add > 0 ? add : 0;
}

/* Puts as many columns into each block as fit beside the repeated ones. */
static void divide(const struct npl_table *table, const int *natural, struct npl_table_layout *layout)
{
	int used = 0;
	layout->gap = GAP;
	layout->blocks = 1;
	for (int c = 0; c < table->columns; c++)
		layout->width[c] = block_width(table, c, natural[c], layout);
	for (int c = 0; c < layout->keys; c++)
		used += layout->width[c] + (c ? GAP : 0);
	const int keys = used;
	for (int c = layout->keys; c < table->columns; c++) {
		const bool is_first = used == keys;
		if (!is_first && used + GAP + layout->width[c] > layout->line) {
			layout->blocks++;
			used = keys;
		}
		used += GAP + layout->width[c];
		layout->block[c] = layout->blocks - 1;
	}
	for (int c = 0; c < layout->keys; c++)
		widen(layout, c, natural[c], least_free(table, layout));
	for (int c = layout->keys; c < table->columns; c++)
		widen(layout, c, natural[c], layout->line - used_columns(table, layout, layout->block[c]));
}

void npl_table_lay_out(const struct npl_table *table, struct npl_table_layout *layout)
{
	int whole[NPL_TABLE_COLUMNS], broken[NPL_TABLE_COLUMNS];
	const bool may_break = npl_text_must_fit() && table->headings <= 1;
	*layout = (struct npl_table_layout){.line = npl_text_columns(),
					    .keys = least_of(table->keys ? table->keys : 1, table->columns - 1),
					    .breaks_headings = may_break};
	set_natural_widths(table, false, whole);
	if (!put_beside(table, whole, GAP, layout) || !npl_text_must_fit())
		return;
	set_natural_widths(table, may_break, broken);
	if (!put_beside(table, broken, GAP, layout) || !put_beside(table, broken, NARROW_GAP, layout))
		return;
	divide(table, broken, layout);
	const int blocks = layout->blocks;
	divide(table, whole, layout);
	if (layout->blocks > blocks)
		divide(table, broken, layout);
}
