/* SPDX-License-Identifier: MIT
 *
 * A time axis: a row for each device, and in it a bar from the start to the end of each layer. */
#ifndef NPULAB_PAGES_SPANS_H
#define NPULAB_PAGES_SPANS_H

#include "drawing.h"

struct page_span {
	int row;
	double start, end; /* s */
	const char *name;
};

struct page_spans {
	const char *id, *label; /* as in page_drawing */
	int n_rows, n_spans;
	const char *const *row; /* their names */
	const struct page_span *span;
};
/* Puts the chart on the page; nothing where no span takes time. */
void page_spans_put(struct page_writer *writer, const struct page_spans *spans);

#endif
