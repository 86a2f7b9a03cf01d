/* SPDX-License-Identifier: MIT
 *
 * A text table: columns as wide as their longest cell, numbers to the right, names to the left. Cells are copied and
 * counted in characters (UTF-8). Names come from model files and may hold anything: control characters print as "?". */
#ifndef NPULAB_REPORTS_TABLE_H
#define NPULAB_REPORTS_TABLE_H

#include <stdio.h>

#define NPL_TABLE_COLUMNS 12
#define NPL_TABLE_WIDTH                                                                                                \
	100 /* a line never gets wider: the widest columns of names give way, their text cut with "~";
                               in the last column it goes on in the next lines */

struct npl_table {
	int columns;
	char left[NPL_TABLE_COLUMNS]; /* 1: names, aligned left */
	int rows, capacity;
	char **cell; /* rows x columns */
	int failed;  /* out of memory: the table prints what it has */
};

/* Starts a table with a header row; `layout` has one letter a column: 'l' or 'r'. */
void npl_table_open(struct npl_table *table, const char *layout, const char *const *header);
/* Adds a row of as many cells as there are columns; NULL is "". One with nothing but its first cell is a title: no column gets wider
 * for it. */
void npl_table_row(struct npl_table *table, const char *const *cells);
void npl_table_print(struct npl_table *table, FILE *out);
void npl_table_close(struct npl_table *table);

/* A text of its own, in lines no wider than a table's. */
void npl_table_text(const char *text, FILE *out);

#endif
