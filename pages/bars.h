/* SPDX-License-Identifier: MIT
 *
 * Charts of bars that lie: a row for each name, parts side by side in it. SVG, drawn once, readable without a script;
 * its colours are those of the page's styles. */
#ifndef NPULAB_PAGES_BARS_H
#define NPULAB_PAGES_BARS_H

#include <stdio.h>

/* Colours that the styles have: a chart has no more series. */
enum { PAGE_COLOURS = 8 };

struct page_series {
	const char *name;
	const double *value; /* of each row; what is not above 0 has no part */
};

struct page_bars {
	const char *label; /* says what the chart shows, for those who do not see it */
	const char *unit;
	int n_rows, n_series;
	const char *const *row; /* their names */
	const struct page_series *series;
};
/* Draws the chart with its legend. A row shows its name and its parts when a pointer rests on it. */
void page_bars_put(FILE *out, const struct page_bars *bars);

/* Returns the distance of the ticks of an axis from 0 to `most`, of which there are 4 to 10: 1, 2 or 5 times a power of
 * ten. */
double page_tick(double most);

#endif
