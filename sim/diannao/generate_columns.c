/* SPDX-License-Identifier: MIT
 *
 * Columns and lines of the input that a tile or block needs, and their ranks among these (generate_impl.h). Windows with gaps between
 * their taps may leave out some and not others: a table says which, of the beginning, the end and one stride between them, as there
 * the taps fall as in every other stride. */
#include <stdlib.h>

#include "generate_impl.h"

/* Of so many positions from the first tap of the first window on, those that windows read, in the input or not. */
static int64_t read_of(const struct dn_columns *columns, int64_t positions)
{
	const int64_t stride = columns->axis->stride, taps = columns->taps;
	if (columns->gaps) {
		int64_t strides = positions < columns->bend ? 0 : (positions - columns->bend) / stride;
		strides = dn_min(strides, columns->strides);
		return columns->read[positions - strides * stride] + strides * columns->in_stride;
	}
	return stride <= taps ? positions : positions / stride * taps + dn_min(positions % stride, taps);
}

int64_t dn_rank_of(const struct dn_columns *columns, int64_t position)
{
	const int64_t from_low = position - columns->low, before = read_of(columns, from_low);
	if (position < 0 || position >= columns->axis->in || read_of(columns, from_low + 1) == before)
		return -1;
	return before - columns->outside;
}

/* Of so many windows. */
static bool make_table(struct dn_generator *g, struct dn_columns *columns, int64_t windows)
{
	const struct dn_axis *axis = columns->axis;
	const int64_t stride = axis->stride, over = (columns->taps - 1) * axis->dilation;
	const int64_t kept = dn_min(windows, over / stride + 3), n = (kept - 1) * stride + over + 1;
	if (n >= columns->room) {
		int32_t *grown = reallocarray(columns->read, (size_t)n + 1, sizeof *grown);
		if (!grown) {
			g->out_of_memory = true;
			return false;
		}
		columns->read = grown;
		columns->room = n + 1;
	}
	int32_t *read = columns->read;
	for (int64_t i = 0; i <= n; i++)
		read[i] = 0;
	for (int64_t o = 0; o < kept; o++)
		for (int64_t k = 0; k < columns->taps; k++)
			read[o * stride + k * axis->dilation + 1] = 1;
	for (int64_t i = 0; i < n; i++)
		read[i + 1] += read[i];
	columns->bend = over;
	columns->strides = windows - kept;
	columns->in_stride = dn_min(columns->taps, stride / npl_gcd(stride, axis->dilation));
	return true;
}

bool dn_need(struct dn_generator *g, struct dn_columns *columns, int d, int64_t first, int64_t end, int64_t first_tap,
	     int64_t end_tap)
{
	const struct dn_axis *axis = columns->axis = &g->axis[d];
	columns->taps = end_tap - first_tap;
	columns->gaps = axis->dilation > 1 && columns->taps > 1;
	columns->low = dn_tap_at(axis, first, first_tap);
	const int64_t behind = dn_tap_at(axis, end - 1, end_tap - 1) + 1, last = dn_min(behind, axis->in);
	if (columns->gaps && !make_table(g, columns, end - first))
		return false;
	columns->outside = columns->low < 0 ? read_of(columns, dn_min(0, behind) - columns->low) : 0;
	columns->count = last > columns->low ? read_of(columns, last - columns->low) - columns->outside : 0;
	columns->at = columns->low;
	columns->loaded = 0;
	return true;
}

int64_t dn_first_from(const struct dn_columns *columns, int64_t o, int64_t end, int64_t first_tap, int64_t end_tap)
{
	int64_t least = dn_least_read(columns->axis, o, end, first_tap, end_tap);
	return least == INT64_MAX ? columns->count : dn_rank_of(columns, least);
}

void dn_hold_columns(struct dn_generator *g, int64_t first_tap, int64_t end_tap, int64_t column_rows)
{
	struct dn_columns *columns = &g->columns;
	const int64_t last = dn_tap_at(columns->axis, g->x - 1, end_tap - 1);
	const int64_t kept = dn_first_from(columns, g->x, g->x_end, first_tap, end_tap);
	columns->at = last + 1;
	columns->loaded = dn_rank_of(columns, last) + 1;
	g->nbin.next = g->base + columns->loaded * column_rows;
	g->nbin.oldest = g->base + dn_min(kept, columns->loaded) * column_rows;
}
