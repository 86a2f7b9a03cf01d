/* SPDX-License-Identifier: MIT
 *
 * Charts of many rows, limited to those that matter: nobody reads five hundred. */
#ifndef NPULAB_PAGES_KEPT_ROWS_H
#define NPULAB_PAGES_KEPT_ROWS_H

#include "bars.h"

enum { PAGE_MOST_ROWS = 120 };

/* A chart with fewer rows, and what it is made of. */
struct page_kept_rows {
	struct page_bars bars;
	struct page_series series[PAGE_COLOURS];
	const char **row; /* allocated, as are the values of the series and their ranges */
	double *value;
	char others[60]; /* the name of the last row */
};
/* Makes a chart of the rows with the greatest values, or of marks those that are least or farthest from 0, in their
 * order. A last row stands for the others: their sum where rows are stacked, and otherwise no value. False: out of
 * memory. */
bool page_kept_rows(const struct page_bars *bars, struct page_kept_rows *kept);
void page_kept_rows_free(struct page_kept_rows *kept);

#endif
