/* SPDX-License-Identifier: MIT
 *
 * DN_POOLED (tiles.h): one window after the other, for some groups of Tn maps at once. Each tap is one request for all
 * these maps. So the rows of one group are as far apart in NBin as there are groups, and the NFU reads them by a
 * stride. */
#include "impl.h"

#include "core/base/arith.h"

/* Returns how many positions of the window along d are within the input and its padding: an average that counts the
 * padding divides by these. With ceil_mode the last window may reach further. */
static int64_t taps_in_padding(const struct dn_generator *g, int d, int64_t o)
{
	const struct dn_axis *axis = &g->axis[d];
	const int64_t input_left = axis->in + g->layer->window.pad_end[d] - dn_tap_at(axis, o, 0);
	return input_left > 0 ? npl_min_i64((input_left - 1) / axis->dilation + 1, axis->kernel) : 0;
}

uint32_t dn_pooled_divisor(const struct dn_generator *g, int64_t inside_taps)
{
	if (g->layer->kind != DN_AVERAGE)
		return 0;
	return (uint32_t)(g->layer->window.count_include_pad ? taps_in_padding(g, 0, g->y) * taps_in_padding(g, 1, g->x)
							     : inside_taps);
}

enum dn_to dn_pooled_target(const struct dn_generator *g)
{
	return g->layer->kind == DN_MAX && !g->layer->activates ? DN_TO_NBOUT : DN_TO_NFU3;
}

static void load_tap(struct dn_generator *g, int64_t y, int64_t x, int64_t groups)
{
	dn_emit_nbin_load(g,
			  dn_input_at(&g->map, g->image, dn_tap_at(&g->axis[0], g->y, y),
				      dn_tap_at(&g->axis[1], g->x, x), g->group * g->tn),
			  dn_tap_bytes(g, g->group, g->group + groups));
}

static void pooled_visit(struct dn_generator *g)
{
	const int64_t groups = g->group_end - g->group;
	const struct dn_range ky = dn_taps_inside(&g->axis[0], g->y, 0, g->axis[0].kernel),
			      kx = dn_taps_inside(&g->axis[1], g->x, 0, g->axis[1].kernel);
	const int64_t width = kx.end - kx.first, taps = (ky.end - ky.first) * width;
	const int64_t first = g->iteration[DN_WINDOW_PARTS] * g->tiles->taps,
		      end = npl_min_i64(first + g->tiles->taps, taps);
	const int64_t base = g->nbin.next;
	struct dn_visit visit = {.source = first ? DN_FROM_KEEP : DN_FROM_RESET, .target = DN_TO_KEEP};
	if (end == taps) {
		visit.stores = true;
		visit.target = dn_pooled_target(g);
		visit.store_at = dn_result_at(&g->map, g->image, g->y, g->x, g->group * g->tn);
		visit.store_bytes = dn_group_bytes(g, g->group, g->group_end);
		visit.divisor = dn_pooled_divisor(g, taps);
	}
	for (int64_t tap = first; tap < end; tap++)
		load_tap(g, ky.first + tap / width, kx.first + tap % width, groups);
	for (int64_t i = 0; i < groups; i++) {
		visit.first = g->tail;
		visit.oldest = g->nbin.oldest;
		dn_emit_pool(g, &visit, base + i, groups, end - first);
		dn_end_visit(g, &visit);
		visit.store_bytes = 0;
	}
	dn_free_nbin(g, g->nbin.next);
}

/* Windows that read the same taps are alike. Of one window all parts except the first and the last are alike. */
static int64_t pooled_alike(const struct dn_generator *g, enum dn_loop loop, int64_t iteration)
{
	switch (loop) {
	case DN_IMAGES:
		return g->layer->images - iteration;
	case DN_OUT_LINES:
	case DN_POSITIONS: {
		const struct dn_axis *axis = &g->axis[loop == DN_POSITIONS];
		return dn_alike_windows(axis, iteration, axis->out, 0, axis->kernel);
	}
	case DN_GROUP_TILES:
		return dn_full_groups(g) / g->tile_groups - iteration;
	default:
		return iteration ? dn_iterations(g, loop) - 1 - iteration : 0;
	}
}

const struct dn_nest_code dn_code_pooled = {
	5, {DN_IMAGES, DN_OUT_LINES, DN_POSITIONS, DN_GROUP_TILES, DN_WINDOW_PARTS}, pooled_visit, pooled_alike, NULL};
