/* SPDX-License-Identifier: MIT
 *
 * Charts of rows: a row for each name, and in it horizontal bars, or marks, for the values of each series. */
#ifndef NPULAB_PAGES_BARS_H
#define NPULAB_PAGES_BARS_H

#include "drawing.h"

enum page_bars_kind {
	PAGE_BARS_STACKED, /* the parts of a row end to end: they sum to it */
	PAGE_BARS_GROUPED, /* a bar of its own for each series, one below the other */
	PAGE_BARS_MARKS,   /* a mark for each series, where its value is; it may be below 0 */
};

struct page_series {
	const char *name;
	/* Of each row. NAN: there is none. A bar has no length where its value is not above 0. */
	const double *value;
	/* The range of each row, drawn as a line, where both ends are numbers; NULL: there is none. */
	const double *low, *high;
};

struct page_bars {
	const char *id, *label; /* as in page_drawing */
	const char *unit;
	bool without_prefix;         /* the unit takes no prefix, as percent does */
	bool is_modelled;            /* figures have the mark "~" */
	const bool *row_is_modelled; /* of each row; NULL: is_modelled says it */
	enum page_bars_kind kind;
	/* Of many rows of marks those farthest from 0 are shown; otherwise those with the least values. */
	bool keeps_farthest_from_0;
	int n_rows, n_series;
	const char *const *row; /* their names */
	const struct page_series *series;
};
/* Puts the chart on the page, with its legend. A row shows its name and its values when a pointer rests on it. Of many
 * rows those that matter are shown (kept_rows.h). */
void page_bars_put(struct page_writer *writer, const struct page_bars *bars);

#endif
