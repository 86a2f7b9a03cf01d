/* SPDX-License-Identifier: MIT
 *
 * Cells that the tables of a comparison have in common. */
#ifndef NPULAB_REPORTS_CELLS_H
#define NPULAB_REPORTS_CELLS_H

#include <math.h>
#include <stdio.h>

#include "npulab/report.h"

#define CELL 48

/* Writes a figure, with the mark "~" when it is modelled. */
static inline const char *figure(char buf[CELL], double value, const char *unit, bool is_model)
{
	char text[32];
	npl_si_text(value, unit, text, sizeof text);
	snprintf(buf, CELL, "%s%s", is_model && isfinite(value) ? "~" : "", text);
	return buf;
}

/* Writes ">" and a figure that is known in part. */
static inline const char *least_figure(char buf[CELL], double known, const char *unit, bool is_model)
{
	char text[CELL];
	snprintf(buf, CELL, ">%.*s", CELL - 2, figure(text, known, unit, is_model));
	return buf;
}

static inline const char *percent(char buf[CELL], double fraction, const char *mark)
{
	if (!isfinite(fraction))
		snprintf(buf, CELL, "-");
	else if (fraction > 0 && fraction < 0.0995)
		snprintf(buf, CELL, "%s%.2g %%", mark, 100 * fraction);
	else
		snprintf(buf, CELL, "%s%.1f %%", mark, 100 * fraction);
	return buf;
}

static inline double share_of(double part, double total)
{
	return total > 0 ? part / total : NAN;
}

/* Writes a share that sums with others, always with one decimal. */
static inline const char *share_cell(char buf[CELL], double part, double total)
{
	if (!(total > 0))
		return "-";
	snprintf(buf, CELL, "%.1f %%", 100 * part / total);
	return buf;
}

#endif
