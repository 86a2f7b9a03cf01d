/* SPDX-License-Identifier: MIT
 *
 * Saved results as CSV (RFC 4180), for spreadsheets: lines end with CRLF, the first has the names of the columns, and
 * an empty field is a figure that is not known. */
#ifndef NPULAB_PAGES_CSV_H
#define NPULAB_PAGES_CSV_H

#include <stdbool.h>
#include <stdio.h>

#include "document.h"

/* Writes documents that page_check accepts. Comparisons and rooflines have the columns that `--csv` of their commands
 * writes, and sweeps a line for each point; of other documents it is their first list of objects, a line for each, or,
 * where they have no list, one line with all keys. Several documents have a first column with their names. Returns 0,
 * NPL_EINPUT for a document of which page_put makes no page either, or NPL_ENOMEM. */
int page_csv_put(FILE *out, const struct page_document *document, int n, struct npl_err *err);

/* ---- For the files csv*.c. */

struct page_csv {
	FILE *out;
	const struct page_document *document;
	int n;
	char (*name)[PAGE_NAME]; /* NULL: a single document, which needs no name */
};
/* Begin a line: with the column's name `result`, and with the document's name, where there are several. */
void page_csv_begin_names(const struct page_csv *csv);
void page_csv_begin(const struct page_csv *csv, int document);
bool page_csv_is_list_of_objects(const json_t *value);
/* Writes a field: a number, a text, a truth value, a list of these; nothing for null and NULL. */
void page_csv_value(FILE *out, const json_t *value);
/* Writes a field behind the fields before it; the first of a line of a single document has no comma. */
void page_csv_comma(const struct page_csv *csv, bool is_first);

int page_csv_compare(const struct page_csv *csv, struct npl_err *err);  /* npulab.compare/1 */
int page_csv_pareto(const struct page_csv *csv, struct npl_err *err);   /* npulab.pareto/1 */
int page_csv_roofline(const struct page_csv *csv, struct npl_err *err); /* npulab.roofline/2 */

#endif
