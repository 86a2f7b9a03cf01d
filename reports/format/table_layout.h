/* SPDX-License-Identifier: MIT
 *
 * How a table's columns share a line: their widths, the blanks between them, and, where they do not fit beside each
 * other, the blocks that follow each other. */
#ifndef NPULAB_REPORTS_FORMAT_TABLE_LAYOUT_H
#define NPULAB_REPORTS_FORMAT_TABLE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "table.h"

struct npl_table_layout {
	int line;                     /* columns of a line */
	int width[NPL_TABLE_COLUMNS]; /* columns of the terminal that each column of the table gets */
	int gap;                      /* blanks between two columns */
	int keys;                     /* the first columns, which every block repeats */
	int blocks;
	int block[NPL_TABLE_COLUMNS]; /* the block in which each further column stands, from 0 */
	bool breaks_headings;         /* headings wider than their column take two lines */
};

void npl_table_lay_out(const struct npl_table *table, struct npl_table_layout *layout);

/* Returns the bytes of a heading that stand in the first of two lines, where its parts are about equally wide. It is
 * broken at a blank or after "/". Returns all bytes if it fits in `width` columns, or has no such place. */
size_t npl_table_heading_bytes(const char *heading, int width);
/* Says whether a column stands in a block. */
bool npl_table_in_block(const struct npl_table_layout *layout, int column, int block);
/* Says whether the row is a title: it is neither the header nor a row of a list. */
bool npl_table_is_title(const struct npl_table *table, int row);
const char *npl_table_cell(const struct npl_table *table, int row, int column);

#endif
