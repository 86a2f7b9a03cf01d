/* SPDX-License-Identifier: MIT
 *
 * DN_POOLED (tiles.h): one window after the other, for some groups of Tn maps at once. Each tap is one request for all these maps, so the
 * rows of one group are as far apart in NBin as there are groups: the NFU reads them by a stride. */
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
	g->group += g->tiles->groups;
	if (g->group < g->map.in_rows)
		return true;
	g->group = 0;
	if (++g->x < work->out[1])
		return true;
	g->x = 0;
	if (++g->y < work->out[0])
		return true;
	g->y = 0;
	return ++g->image < work->images;
}

/* Positions of the window along d that lie within the input and its padding: what an average that counts the padding divides by. With
 * ceil_mode the last window may reach further. */
static int64_t taps_in_padding(const struct dn_generator *g, int d, int64_t o)
{
	int64_t count = 0;
	for (int64_t k = 0; k < g->axis[d].kernel; k++)
		count += dn_tap_at(&g->axis[d], o, k) < g->axis[d].in + g->work->window.pad_end[d];
	return count;
}

uint32_t dn_pooled_divisor(const struct dn_generator *g, int64_t inside)
{
	if (g->work->kind != DN_AVERAGE)
		return 0;
	return (uint32_t)(g->work->window.count_include_pad ? taps_in_padding(g, 0, g->y) * taps_in_padding(g, 1, g->x)
							    : inside);
}

enum dn_to dn_pooled_to(const struct dn_generator *g)
{
	return g->work->kind == DN_MAX && !g->work->activates ? DN_TO_NBOUT : DN_TO_NFU3;
}

static void load_tap(struct dn_generator *g, int64_t y, int64_t x, int64_t groups)
{
	dn_emit_nbin_load(g,
			  dn_input_at(&g->map, g->image, dn_tap_at(&g->axis[0], g->y, y),
				      dn_tap_at(&g->axis[1], g->x, x), g->group * g->tn),
			  dn_tap_bytes(g, g->group, g->group + groups));
}

static bool pooled_visit(struct dn_generator *g)
{
	if (!go_on(g))
		return false;
	const int64_t groups = min(g->tiles->groups, g->map.in_rows - g->group);
	const struct dn_range ky = dn_taps_inside(&g->axis[0], g->y, 0, g->axis[0].kernel),
			      kx = dn_taps_inside(&g->axis[1], g->x, 0, g->axis[1].kernel);
	const int64_t width = kx.end - kx.first, taps = (ky.end - ky.first) * width;
	struct dn_visit visit = {.stores = true,
				 .store_at = dn_result_at(&g->map, g->image, g->y, g->x, g->group * g->tn),
				 .store_bytes = dn_group_bytes(g, g->group, g->group + groups),
				 .divisor = dn_pooled_divisor(g, taps)};
	for (int64_t at = 0; at < taps; at += g->tiles->taps) {
		const int64_t end = min(at + g->tiles->taps, taps), base = g->nbin.next;
		for (int64_t tap = at; tap < end; tap++)
			load_tap(g, ky.first + tap / width, kx.first + tap % width, groups);
		for (int64_t i = 0; i < groups; i++) {
			visit.first = g->put;
			visit.oldest = g->nbin.oldest;
			visit.from = at ? DN_FROM_KEEP : DN_FROM_RESET;
			visit.stores = end == taps;
			visit.to = visit.stores ? dn_pooled_to(g) : DN_TO_KEEP;
			dn_emit_pool(g, &visit, base + i, groups, end - at);
			dn_end_visit(g, &visit);
			if (visit.stores)
				visit.store_bytes = 0;
		}
		dn_free_nbin(g, g->nbin.next);
	}
	return true;
}

/* Units: a window; where there is but one, some groups of maps. */
static int64_t pooled_alike(struct dn_generator *g)
{
	const int64_t *out = g->work->out;
	struct dn_generator next = *g;
	if (!go_on(&next))
		return 0;
	if (dn_positions(g->work) == 1)
		return dn_all_inside(&g->axis[0], 0) && dn_all_inside(&g->axis[1], 0)
			       ? (g->map.in_rows - next.group - 1) / g->tiles->groups
			       : 0;
	if (next.group || !dn_all_inside(&g->axis[0], next.y))
		return 0;
	int64_t run = dn_inner_run(&g->axis[1], next.x);
	if (dn_inner_run(&g->axis[0], 0) == out[0] && dn_inner_run(&g->axis[1], 0) == out[1])
		return (out[0] - 1 - next.y) * out[1] + out[1] - next.x;
	return run;
}

static void pooled_skip(struct dn_generator *g, int64_t units)
{
	const int64_t *out = g->work->out;
	go_on(g);
	if (dn_positions(g->work) == 1) {
		g->group += (units - 1) * g->tiles->groups;
		return;
	}
	int64_t position = g->y * out[1] + g->x + units - 1;
	g->y = position / out[1];
	g->x = position % out[1];
	g->group = (g->map.in_rows - 1) / g->tiles->groups * g->tiles->groups;
}

const struct dn_nest_code dn_code_pooled = {pooled_visit, pooled_alike, pooled_skip};
