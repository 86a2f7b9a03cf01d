/* SPDX-License-Identifier: MIT
 *
 * A text table: columns as wide as their longest cell, numbers to the right, names to the left. Cells are copied and
 * counted in characters (UTF-8). Names come from model files and may hold anything: control characters print as "?".
 *
 * A line has as many columns as the style of texts says (text_style.h). A last column of texts continues in the next
 * lines. The widest columns of names are narrowed: their texts are cut in the middle with "…" (cut_names.h), except
 * those that must be whole. Where that does not suffice and a width was set, headings take two lines, and the blanks
 * between columns become fewer. At last the table is divided: columns that do not fit follow below it, with the first
 * ones repeated. */
#ifndef NPULAB_REPORTS_FORMAT_TABLE_H
#define NPULAB_REPORTS_FORMAT_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "text_style.h"

#define NPL_TABLE_COLUMNS 12
struct npl_table {
	int columns;
	char is_left[NPL_TABLE_COLUMNS];      /* 1: names, aligned left */
	char is_never_cut[NPL_TABLE_COLUMNS]; /* 1: names that are never cut */
	char kind[NPL_TABLE_COLUMNS];         /* 1: words of a known list, which are cut before names */
	int least_first;                      /* the first column gets no narrower than this; 0: than other names */
	int least_last;                       /* the same of a last column of texts, where a width was set */
	int headings;                         /* the first rows, which are headings; 0: one */
	int keys;                             /* the first columns, which a divided table repeats; 0: one */
	/* Says how a cell of the column `verdicts` is styled; NULL: the table has no such column. */
	enum npl_tone (*tone_of)(const char *cell);
	int verdicts;
	int rows;
	int64_t capacity;
	char **cell; /* rows x columns */
	bool failed; /* out of memory: the table prints what it has */
};

/* Starts a table with a header row; `layout` has one letter a column: 'l', 'r', 'w' for names that are kept whole, 'k'
 * for words of a known list, which are cut before names. */
void npl_table_open(struct npl_table *table, const char *layout, const char *const *header);
/* Adds a row of as many cells as there are columns; NULL is "". A row that has only its first cell is a title: it
 * widens no column. */
void npl_table_row(struct npl_table *table, const char *const *cells);
void npl_table_print(struct npl_table *table, FILE *out);
/* Frees the table. Returns 0, or NPL_ENOMEM when cells are missing for which there was no memory. */
int npl_table_close(struct npl_table *table);

/* Prints a separate text, in lines no wider than a table's. */
void npl_table_text(const char *text, FILE *out);

#endif
