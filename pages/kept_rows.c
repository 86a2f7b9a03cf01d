/* SPDX-License-Identifier: MIT
 *
 * The rows of a chart that matter (kept_rows.h). */
#include "kept_rows.h"

#include <math.h>
#include <stdlib.h>

enum { KEPT = PAGE_MOST_ROWS - 1 };

/* Returns how much a value of a row matters. */
static double weight_of_value(const struct page_bars *bars, double value)
{
	if (bars->kind != PAGE_BARS_MARKS)
		return value;
	return bars->keeps_farthest_from_0 ? fabs(value) : -value;
}

/* Returns how much a row matters. */
static double weight_of(const struct page_bars *bars, int row)
{
	const bool is_sum = bars->kind == PAGE_BARS_STACKED;
	double sum = 0, greatest = -INFINITY;
	for (int s = 0; s < bars->n_series; s++) {
		const double value = bars->series[s].value[row];
		if (!isfinite(value))
			continue;
		sum += value > 0 ? value : 0;
		greatest = fmax(greatest, weight_of_value(bars, value));
	}
	return is_sum ? sum : greatest;
}

struct weighted {
	double weight;
	int row;
};

static int heavier_first(const void *a, const void *b)
{
	const struct weighted *x = a, *y = b;
	return x->weight != y->weight ? (x->weight < y->weight) - (x->weight > y->weight) : x->row - y->row;
}

static int by_row(const void *a, const void *b)
{
	return ((const struct weighted *)a)->row - ((const struct weighted *)b)->row;
}

/* Returns the rows, the kept ones first and in their order; allocated. */
static struct weighted *weigh(const struct page_bars *bars)
{
	struct weighted *list = calloc((size_t)bars->n_rows, sizeof *list);
	for (int i = 0; i < bars->n_rows && list; i++)
		list[i] = (struct weighted){weight_of(bars, i), i};
	if (list) {
		qsort(list, (size_t)bars->n_rows, sizeof *list, heavier_first);
		qsort(list, KEPT, sizeof *list, by_row);
	}
	return list;
}

/* Copies the values of one series, and what the others sum to. values NULL: the series has none. */
static const double *take(const struct page_bars *bars, const struct weighted *list, const double *values, double *out)
{
	if (!values)
		return NULL;
	for (int i = 0; i < KEPT; i++)
		out[i] = values[list[i].row];
	out[KEPT] = bars->kind == PAGE_BARS_STACKED ? 0 : NAN;
	for (int i = KEPT; i < bars->n_rows; i++)
		out[KEPT] += values[list[i].row] > 0 ? values[list[i].row] : 0;
	return out;
}

bool page_kept_rows(const struct page_bars *bars, struct page_kept_rows *kept)
{
	struct weighted *list = weigh(bars);
	*kept = (struct page_kept_rows){.bars = *bars};
	kept->row = calloc(PAGE_MOST_ROWS, sizeof *kept->row);
	kept->value = calloc(3 * PAGE_MOST_ROWS * (size_t)bars->n_series, sizeof *kept->value);
	const bool ok = list && kept->row && kept->value;
	for (int i = 0; i < KEPT && ok; i++)
		kept->row[i] = bars->row[list[i].row];
	for (int s = 0; s < bars->n_series && ok; s++) {
		const struct page_series *from = &bars->series[s];
		double *room = kept->value + 3 * PAGE_MOST_ROWS * (size_t)s;
		kept->series[s] = (struct page_series){from->name, take(bars, list, from->value, room),
						       take(bars, list, from->low, room + PAGE_MOST_ROWS),
						       take(bars, list, from->high, room + 2 * PAGE_MOST_ROWS)};
	}
	free(list);
	if (!ok) {
		page_kept_rows_free(kept);
		return false;
	}
	snprintf(kept->others, sizeof kept->others, "%d others%s", bars->n_rows - KEPT,
		 bars->kind == PAGE_BARS_STACKED ? "" : " are not shown");
	kept->row[KEPT] = kept->others;
	kept->bars.n_rows = PAGE_MOST_ROWS;
	kept->bars.row = kept->row;
	kept->bars.row_is_modelled = NULL;
	kept->bars.series = kept->series;
	return true;
}

void page_kept_rows_free(struct page_kept_rows *kept)
{
	free(kept->row);
	free(kept->value);
	*kept = (struct page_kept_rows){0};
}
