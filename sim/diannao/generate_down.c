/* SPDX-License-Identifier: MIT
 *
 * DN_DOWN (tiles.h): lines of a tile of columns slide down through NBin under the rows of outputs. A line lies in NBin as one stretch; of
 * the oldest, columns are freed window by window when the row is the last that reads it, so that the next line loads behind them. */
#include "generate_impl.h"

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void begin_tile(struct dn_generator *g, int64_t x)
{
	g->x = g->x_first = x;
	g->x_end = min(x + g->tiles->columns, g->work->out[1]);
}

static bool go_on(struct dn_generator *g)
{
	const struct dn_work *work = g->work;
	if (!g->begun) {
		g->begun = true;
		begin_tile(g, 0);
		return dn_next_part(work, g->tiles, g->map.in_rows, &g->part);
	}
	if (++g->x < g->x_end)
		return true;
	g->x = g->x_first;
	if (++g->y < work->out[0])
		return true;
	g->y = 0;
	bool more = g->x_end < work->out[1];
	begin_tile(g, more ? g->x_end : 0);
	if (more)
		return true;
	if (++g->image < work->images)
		return true;
	g->image = 0;
	if (++g->group < g->map.groups)
		return true;
	g->group = 0;
	return ++g->conv_group < work->groups;
}

/* The rank of the first line (or column) that window o or one behind it, before `end`, reads; all there are if none does. */
static int64_t first_from(const struct dn_columns *columns, int64_t o, int64_t end)
{
	int64_t least = dn_least_read(columns->axis, o, end, 0, columns->axis->kernel);
	return least == INT64_MAX ? columns->count : dn_rank_of(columns, least);
}

/* NBin rows of a line of the tile; the number of the first of this rank. */
static int64_t line_rows(const struct dn_generator *g)
{
	return g->columns.count * g->map.in_rows;
}

static void load_line(struct dn_generator *g, int64_t line)
{
	const int64_t bytes = dn_tap_bytes(g, 0, g->map.in_rows);
	for (int64_t at = 0, n = 0; n < g->columns.count; at++)
		if (g->columns.rank[at] >= 0) {
			dn_emit_nbin_load(
				g,
				dn_input_at(&g->map, g->image, line, g->columns.low + at, g->conv_group * g->work->ni),
				bytes);
			n++;
		}
}

/* Lines up to the last tap of this row of outputs. */
static void load_lines(struct dn_generator *g)
{
	const struct dn_range taps = dn_taps_inside(&g->axis[0], g->y, 0, g->axis[0].kernel);
	if (taps.first == taps.end)
		return;
	for (int64_t last = dn_tap_at(&g->axis[0], g->y, taps.end - 1); g->lines.at <= last; g->lines.at++)
		if (dn_rank_of(&g->lines, g->lines.at) >= 0) {
			load_line(g, g->lines.at);
			g->lines.loaded++;
		}
}

static void multiply_line(struct dn_generator *g, struct dn_visit *visit, int64_t ky)
{
	const int64_t rows = g->map.in_rows, line = dn_tap_at(&g->axis[0], g->y, ky), kernel = g->axis[1].kernel;
	const bool inside = line >= 0 && line < g->work->in[0];
	int64_t sb = g->sb_base + g->map.bias_rows + ky * kernel * rows;
	int64_t first = inside ? g->base + dn_rank_of(&g->lines, line) * line_rows(g) : 0;
	for (int64_t kx = 0; kx < kernel; kx++, sb += rows) {
		int64_t x = dn_tap_at(&g->axis[1], g->x, kx);
		bool read = inside && x >= 0 && x < g->work->in[1];
		dn_emit_multiply(g, visit, read ? first + dn_rank_of(&g->columns, x) * rows : -1, sb, rows);
	}
}

/* What no later window of the tile reads: whole lines at the end of a row, before it columns of its first line. */
static void free_rows(struct dn_generator *g)
{
	const int64_t kept = first_from(&g->lines, g->y + 1, g->work->out[0]);
	if (g->x + 1 == g->x_end) {
		dn_free_nbin(g, g->base + min(kept, g->lines.loaded) * line_rows(g));
		return;
	}
	int64_t top = first_from(&g->lines, g->y, g->y + 1);
	if (top < kept)
		dn_free_nbin(g, g->base + top * line_rows(g) +
					first_from(&g->columns, g->x + 1, g->x_end) * g->map.in_rows);
}

static void multiply(struct dn_generator *g, struct dn_visit *visit)
{
	const struct dn_range lines = dn_taps_inside(&g->axis[0], g->y, 0, g->axis[0].kernel);
	if (g->work->bias)
		dn_emit_bias(g, visit, g->sb_base);
	for (int64_t ky = 0; ky < g->axis[0].kernel; ky++) {
		multiply_line(g, visit, ky);
		if (ky == lines.first && g->x + 1 < g->x_end)
			free_rows(g);
	}
}

static bool down_visit(struct dn_generator *g)
{
	if (!go_on(g))
		return false;
	const struct dn_work *work = g->work;
	const bool tile_begins = !g->y && g->x == g->x_first;
	if (tile_begins && (!dn_need(g, &g->columns, 1, g->x_first, g->x_end, 0, g->axis[1].kernel) ||
			    !dn_need(g, &g->lines, 0, 0, work->out[0], 0, g->axis[0].kernel)))
		return false;
	if (tile_begins) {
		g->base = g->nbin.next;
		if (!g->image && !g->x) {
			g->sb_base = g->sb.next;
			dn_emit_sb_load(g, dn_synapses_at(&g->map, 0, g->conv_group, g->group, &g->part),
					g->map.kernel_rows);
		}
	}
	if (g->x == g->x_first)
		load_lines(g);
	struct dn_visit visit = {
		.first = g->put,
		.oldest = g->nbin.oldest,
		.from = DN_FROM_RESET,
		.to = work->raw ? DN_TO_NBOUT : DN_TO_NFU3,
		.stores = true,
		.store_at = dn_result_at(&g->map, g->image, g->y, g->x, g->conv_group * work->no + g->group * g->tn),
		.store_bytes = dn_group_bytes(g, g->group, g->group + 1)};
	multiply(g, &visit);
	dn_end_visit(g, &visit);
	if (g->x + 1 == g->x_end)
		free_rows(g);
	if (g->x + 1 == work->out[1] && g->y + 1 == work->out[0] && g->image + 1 == work->images)
		dn_free_sb(g, g->sb.next);
	return true;
}

/* Units: a row of outputs in a tile. The first loads all lines under it, the last frees them, and so, where gaps between taps leave
 * lines out, do those whose windows reach over the ends. */
static int64_t down_alike(struct dn_generator *g)
{
	struct dn_generator next = *g;
	if (!go_on(&next) || next.x != next.x_first || !next.y)
		return 0;
	const struct dn_axis *lines = &g->axis[0];
	int64_t margin = lines->dilation > 1 ? (lines->kernel - 1) * lines->dilation / lines->stride + 1 : 0;
	if (next.y <= margin || !dn_all_inside(lines, next.y - 1))
		return 0;
	int64_t left = lines->out - 1 - margin - next.y, run = dn_inner_run(lines, next.y);
	return left < 0 ? 0 : min(run, left);
}

static void down_skip(struct dn_generator *g, int64_t units)
{
	go_on(g);
	g->y += units - 1;
	g->x = g->x_end - 1;
	/* The lines it has loaded and freed by then. */
	const struct dn_axis *lines = &g->axis[0];
	int64_t last = dn_tap_at(lines, g->y, lines->kernel - 1);
	g->lines.at = last + 1;
	g->lines.loaded = dn_rank_of(&g->lines, last) + 1;
	g->nbin.next = g->base + g->lines.loaded * line_rows(g);
	g->nbin.oldest = g->base + first_from(&g->lines, g->y + 1, lines->out) * line_rows(g);
}

const struct dn_nest_code dn_code_down = {down_visit, down_alike, down_skip};
