/* SPDX-License-Identifier: MIT
 *
 * Comma-separated values with a header row (RFC 4180: fields may be quoted, "" in a quoted one is a quote), for the
 * tables of published/. Lines that begin with # are comments; a quoted field ends on its line.
 *
 *     struct npl_csv csv;
 *     if (npl_csv_load("published/tpu_v1.csv", &arena, &csv, &err)) ...
 *     int value = npl_csv_column(&csv, "value", &err);
 *     for (int i = 0; i < csv.n_rows; i++)
 *             npl_csv_number(&csv, i, value, &x, &err);
 */
#ifndef NPULAB_CORE_FILES_CSV_H
#define NPULAB_CORE_FILES_CSV_H

#include "npulab/arena.h"
#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_CSV_COLUMNS 64

struct npl_csv_row {
	int line;                 /* line of the file, from 1 */
	int n;                    /* number of fields: that of the columns, except in a ragged file */
	const char *const *field; /* n of them */
};

struct npl_csv { /* everything lives in the arena */
	const char *path;
	int line; /* line of the names, from 1 */
	int n_columns, n_rows;
	const char *const *column; /* names */
	struct npl_csv_row *row;
};

/* Reads a file. Returns NPL_EINPUT, with file and line, when it cannot be read, has no header, a column twice, a row
 * with another number of fields, a quote out of place or a NUL byte. */
int npl_csv_load(const char *path, struct npl_arena *arena, struct npl_csv *csv, struct npl_err *err);
/* Reads a file whose rows may have any number of fields, and whose columns may have no names or share them. */
int npl_csv_load_ragged(const char *path, struct npl_arena *arena, struct npl_csv *csv, struct npl_err *err);
/* Returns the index of a column, or NPL_EINPUT. */
int npl_csv_column(const struct npl_csv *csv, const char *name, struct npl_err *err);
/* Gives the number in a field; NAN when it is empty. */
int npl_csv_number(const struct npl_csv *csv, int row, int column, double *value, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
