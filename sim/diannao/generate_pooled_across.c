/* SPDX-License-Identifier: MIT
 *
 * DN_POOLED_ACROSS (tiles.h): windows that overlap share columns, which slide through NBin along a row of outputs; of each the lines under
 * the window are loaded one after the other, a request each for some groups of Tn maps. There are no gaps between taps: the rows
 * of one group in a window are as far apart as there are groups, so a stride reads them. */
#include "generate_impl.h"

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static bool go_on(struct dn_generator *g)
{
	const struct dn_work *work = g->work;
	if (!g->begun) {
		g->begun = true;
		return true;
	}
	if (++g->x < work->out[1])
		return true;
	g->x = 0;
	g->group += g->tiles->groups;
	if (g->group < g->map.in_rows)
		return true;
	g->group = 0;
	if (++g->y < work->out[0])
		return true;
	g->y = 0;
	return ++g->image < work->images;
}

static void load_columns(struct dn_generator *g, const struct dn_range *ky, int64_t last, int64_t groups)
{
	for (; g->columns.at <= last; g->columns.at++) {
		if (dn_rank_of(&g->columns, g->columns.at) < 0)
			continue;
		for (int64_t y = ky->first; y < ky->end; y++)
			dn_emit_nbin_load(g,
					  dn_input_at(&g->map, g->image, dn_tap_at(&g->axis[0], g->y, y), g->columns.at,
						      g->group * g->tn),
					  dn_tap_bytes(g, g->group, g->group + groups));
		g->columns.loaded++;
	}
}

static bool across_visit(struct dn_generator *g)
{
	if (!go_on(g))
		return false;
	const struct dn_axis *axis = &g->axis[1];
	const int64_t groups = min(g->tiles->groups, g->map.in_rows - g->group);
	const struct dn_range ky = dn_taps_inside(&g->axis[0], g->y, 0, g->axis[0].kernel),
			      kx = dn_taps_inside(axis, g->x, 0, axis->kernel);
	const int64_t lines = ky.end - ky.first, taps = lines * (kx.end - kx.first), column = lines * groups;
	if (!g->x && !dn_need(g, &g->columns, 1, 0, axis->out, 0, axis->kernel))
		return false;
	if (!g->x)
		g->base = g->nbin.next;
	load_columns(g, &ky, dn_tap_at(axis, g->x, kx.end - 1), groups);
	struct dn_visit visit = {.to = dn_pooled_to(g),
				 .stores = true,
				 .store_at = dn_result_at(&g->map, g->image, g->y, g->x, g->group * g->tn),
				 .store_bytes = dn_group_bytes(g, g->group, g->group + groups),
				 .divisor = dn_pooled_divisor(g, taps)};
	const int64_t first = g->base + dn_rank_of(&g->columns, dn_tap_at(axis, g->x, kx.first)) * column;
	for (int64_t i = 0; i < groups; i++) {
		visit.first = g->put;
		visit.oldest = g->nbin.oldest;
		dn_emit_pool(g, &visit, first + i, groups, taps);
		dn_end_visit(g, &visit);
		visit.store_bytes = 0;
	}
	int64_t least = dn_least_read(axis, g->x + 1, axis->out, 0, axis->kernel);
	int64_t kept = least == INT64_MAX ? g->columns.count : dn_rank_of(&g->columns, least);
	dn_free_nbin(g, g->base + min(kept, g->columns.loaded) * column);
	return true;
}

/* Units: a row of outputs. */
static int64_t across_alike(struct dn_generator *g)
{
	struct dn_generator next = *g;
	return go_on(&next) && !next.x && !next.group ? dn_inner_run(&g->axis[0], next.y) : 0;
}

static void across_skip(struct dn_generator *g, int64_t units)
{
	go_on(g);
	g->y += units - 1;
	g->x = g->work->out[1] - 1;
	g->group = (g->map.in_rows - 1) / g->tiles->groups * g->tiles->groups;
}

const struct dn_nest_code dn_code_pooled_across = {across_visit, across_alike, across_skip};
