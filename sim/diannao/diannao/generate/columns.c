/* SPDX-License-Identifier: MIT
 *
 * Finds the columns and lines of the input that a tile or block needs, and their ranks among these (impl.h). Windows
 * with gaps between their taps may skip some columns. A table says which ones are read, for the beginning, the end and
 * one stride between them: the taps fall in every other stride as they do in that one. */
#include "impl.h"

#include "core/base/arith.h"

/* Returns how many of the first `positions` positions, counted from the first tap of the first window, are read by
 * windows, inside the input or not. */
static int64_t read_of(const struct dn_columns *columns, int64_t positions)
{
	return dn_read_below(columns->axis, columns->windows, columns->taps, positions);
}

int64_t dn_columns_rank(const struct dn_columns *columns, int64_t position)
{
	if (position < 0 || position >= columns->axis->in)
		return -1;
	const int64_t from_low = position - columns->low, rank = read_of(columns, from_low);
	return read_of(columns, from_low + 1) == rank ? -1 : rank - columns->n_outside;
}

int64_t dn_columns_next(const struct dn_columns *columns, int64_t position)
{
	if (position >= columns->axis->in || dn_columns_rank(columns, position) >= 0)
		return position;
	return dn_next_read(columns->axis, columns->first, columns->first + columns->windows, columns->first_tap,
			    columns->first_tap + columns->taps, position);
}

void dn_columns_set(struct dn_generator *g, struct dn_columns *columns, int d, int64_t first, int64_t end,
		    int64_t first_tap, int64_t end_tap)
{
	const struct dn_axis *axis = columns->axis = &g->axis[d];
	columns->first = first;
	columns->windows = end - first;
	columns->first_tap = first_tap;
	columns->taps = end_tap - first_tap;
	columns->low = dn_tap_at(axis, first, first_tap);
	columns->n_outside = read_of(columns, -columns->low);
	columns->count = read_of(columns, axis->in - columns->low) - columns->n_outside;
	columns->next = columns->low;
	columns->n_loaded = 0;
}

int64_t dn_columns_rank_from(const struct dn_columns *columns, int64_t o, int64_t end, int64_t first_tap,
			     int64_t end_tap)
{
	int64_t least = dn_least_read(columns->axis, o, end, first_tap, end_tap);
	return least == INT64_MAX ? columns->count : dn_columns_rank(columns, least);
}

void dn_columns_note_held(struct dn_generator *g, struct dn_columns *columns, int64_t o, int64_t column_rows)
{
	const int64_t first_tap = columns->first_tap, end_tap = first_tap + columns->taps;
	const int64_t last = dn_most_read(columns->axis, columns->first, o, first_tap, end_tap);
	const int64_t first_needed = dn_columns_rank_from(columns, o, columns->first + columns->windows, first_tap,
							  end_tap);
	columns->next = last < 0 ? columns->low : last + 1;
	columns->n_loaded = last < 0 ? 0 : dn_columns_rank(columns, last) + 1;
	g->nbin.next = g->base + columns->n_loaded * column_rows;
	g->nbin.oldest = g->base + npl_min_i64(first_needed, columns->n_loaded) * column_rows;
}
