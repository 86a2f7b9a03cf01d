/* SPDX-License-Identifier: MIT
 *
 * DN_POOLED_ACROSS (tiles.h): windows that overlap share columns, which slide through NBin along a row of outputs. The
 * lines of a column under the window are loaded one after the other, with a request each for some groups of Tn maps.
 * There are no gaps between taps: the rows of one group in a window are as far apart as there are groups, so a stride
 * reads them. */
#include "impl.h"

#include "core/base/arith.h"

static void load_columns(struct dn_generator *g, const struct dn_range *ky, int64_t last, int64_t groups)
{
	struct dn_columns *columns = &g->columns;
	for (; (columns->next = dn_columns_next(columns, columns->next)) <= last; columns->next++) {
		for (int64_t y = ky->first; y < ky->end; y++)
			dn_emit_nbin_load(g,
					  dn_input_at(&g->map, g->image, dn_tap_at(&g->axis[0], g->y, y), columns->next,
						      g->group * g->tn),
					  dn_tap_bytes(g, g->group, g->group + groups));
		columns->n_loaded++;
	}
}

static void across_visit(struct dn_generator *g)
{
	const struct dn_axis *axis = &g->axis[1];
	const int64_t groups = g->group_end - g->group;
	const struct dn_range ky = dn_taps_inside(&g->axis[0], g->y, 0, g->axis[0].kernel),
			      kx = dn_taps_inside(axis, g->x, 0, axis->kernel);
	const int64_t lines = ky.end - ky.first, taps = lines * (kx.end - kx.first), column = lines * groups;
	if (!g->x) {
		dn_columns_set(g, &g->columns, 1, 0, axis->out, 0, axis->kernel);
		g->base = g->nbin.next;
	}
	load_columns(g, &ky, dn_tap_at(axis, g->x, kx.end - 1), groups);
	struct dn_visit visit = {.target = dn_pooled_target(g),
				 .stores = true,
				 .store_at = dn_result_at(&g->map, g->image, g->y, g->x, g->group * g->tn),
				 .store_bytes = dn_group_bytes(g, g->group, g->group + groups),
				 .divisor = dn_pooled_divisor(g, taps)};
	const int64_t first = g->base + dn_columns_rank(&g->columns, dn_tap_at(axis, g->x, kx.first)) * column;
	for (int64_t i = 0; i < groups; i++) {
		visit.first = g->tail;
		visit.oldest = g->nbin.oldest;
		dn_emit_pool(g, &visit, first + i, groups, taps);
		dn_end_visit(g, &visit);
		visit.store_bytes = 0;
	}
	const int64_t first_needed = dn_columns_rank_from(&g->columns, g->x + 1, axis->out, 0, axis->kernel);
	dn_free_nbin(g, g->base + npl_min_i64(first_needed, g->columns.n_loaded) * column);
}

/* Returns how many iterations are alike. Rows of outputs are alike where all lines under them are inside the input. In
 * a row, windows that load as many columns are alike. */
static int64_t across_alike(const struct dn_generator *g, enum dn_loop loop, int64_t iteration)
{
	switch (loop) {
	case DN_IMAGES:
		return g->layer->images - iteration;
	case DN_OUT_LINES:
		return dn_alike_windows(&g->axis[0], iteration, g->axis[0].out, 0, g->axis[0].kernel);
	case DN_GROUP_TILES:
		return dn_full_groups(g) / g->tile_groups - iteration;
	default:
		return dn_sliding_windows(g, 1, 0, g->axis[1].out, iteration, (struct dn_range){0, g->axis[1].kernel});
	}
}

/* Notes the columns that the window before has loaded and not freed. */
static void across_hold(struct dn_generator *g)
{
	const struct dn_range ky = dn_taps_inside(&g->axis[0], g->y, 0, g->axis[0].kernel);
	if (g->x)
		dn_columns_note_held(g, &g->columns, g->x, (ky.end - ky.first) * (g->group_end - g->group));
}

const struct dn_nest_code dn_code_pooled_across = {
	4, {DN_IMAGES, DN_OUT_LINES, DN_GROUP_TILES, DN_POSITIONS}, across_visit, across_alike, across_hold};
