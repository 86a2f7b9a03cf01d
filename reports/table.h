/* SPDX-License-Identifier: MIT
 *
 * A text table: columns as wide as their longest cell, numbers to the right, names to the left. Cells are copied and
 * counted in characters (UTF-8). Names come from model files and may hold anything: control characters print as "?". */
#ifndef NPULAB_REPORTS_TABLE_H
#define NPULAB_REPORTS_TABLE_H

#include <stdint.h>
#include <stdio.h>

#define NPL_TABLE_COLUMNS 12
/* A line is no wider: a last column of texts goes on in the next lines, and the widest columns of names give way, their
 * texts cut in the middle with "~" (cut_names.h); those that must be whole do not. */
#define NPL_TABLE_WIDTH 100

struct npl_table {
	int columns;
	char left[NPL_TABLE_COLUMNS];  /* 1: names, aligned left */
	char whole[NPL_TABLE_COLUMNS]; /* 1: of these, never cut */
	char kind[NPL_TABLE_COLUMNS];  /* 1: of these, words of a known list that give way before names */
	int rows;
	int64_t capacity;
	char **cell; /* rows x columns */
	int failed;  /* out of memory: the table prints what it has */
};

/* Starts a table with a header row; `layout` has one letter a column: 'l', 'r', 'w' for names that are kept whole, 'k'
 * for kinds of things, which are known and so give way before names. */
void npl_table_open(struct npl_table *table, const char *layout, const char *const *header);
/* Adds a row of as many cells as there are columns; NULL is "". One with nothing but its first cell is a title: no
 * column gets wider for it. */
void npl_table_row(struct npl_table *table, const char *const *cells);
void npl_table_print(struct npl_table *table, FILE *out);
void npl_table_close(struct npl_table *table);

/* A text of its own, in lines no wider than a table's. */
void npl_table_text(const char *text, FILE *out);

#endif
