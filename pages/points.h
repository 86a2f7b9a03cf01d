/* SPDX-License-Identifier: MIT
 *
 * Points below roofs (Williams, Waterman and Patterson, CACM 2009): operations per second over multiply-accumulates per
 * byte, both on logarithmic axes. */
#ifndef NPULAB_PAGES_POINTS_H
#define NPULAB_PAGES_POINTS_H

#include "drawing.h"

struct page_roof {
	int series;
	double peak_ops_per_second, bytes_per_second; /* NAN: not known */
	const char *name;                             /* its number format */
};

/* It has a place where both figures are above 0 and can be drawn (page_is_drawable). */
struct page_point {
	int series;
	double macs_per_byte, ops_per_second;
	const char *name;
};
bool page_point_has_place(const struct page_point *point);

struct page_points {
	const char *id, *label; /* as in page_drawing */
	int n_series, n_roofs, n_points;
	const char *const *series; /* their names */
	const bool *is_modelled;   /* of each series: its figures have the mark "~" */
	const struct page_roof *roof;
	const struct page_point *point;
};
/* Puts the chart on the page; nothing where no point has a place, and no roof a corner. */
void page_points_put(struct page_writer *writer, const struct page_points *points);

#endif
