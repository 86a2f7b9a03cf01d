/* SPDX-License-Identifier: MIT
 *
 * DN_STREAMED and DN_ACROSS (tiles.h): columns of the input slide through NBin under the windows of one row of outputs. Of each column
 * the lines of the part that lie inside the input are loaded one after the other, a request each; a column is freed when the last
 * window of the block and, of a pass, the last group has read it.
 *
 * Streamed, a visit is one position, group and part of the window. Across, the part is the whole window and the kernels of a pass are
 * loaded once: the pass is then outside of images and rows, its groups inside of positions. */
#include "generate_impl.h"

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static bool across(const struct dn_generator *g)
{
	return g->tiles->nest == DN_ACROSS;
}

static int64_t block(const struct dn_generator *g)
{
	return across(g) ? g->work->out[1] : g->tiles->positions;
}

static bool first_part(struct dn_generator *g)
{
	g->part = (struct dn_part){0};
	return dn_next_part(g->work, g->tiles, g->map.in_rows, &g->part);
}

static void begin_block(struct dn_generator *g, int64_t x)
{
	g->x = g->x_first = x;
	g->x_end = min(x + block(g), g->work->out[1]);
}

static void begin_pass(struct dn_generator *g, int64_t group)
{
	g->group = g->group_at = group;
	g->group_end = min(group + g->tiles->groups, g->map.groups);
}

/* The next block, row or image, in this order; false: back at the first. */
static bool next_block(struct dn_generator *g)
{
	bool more = g->x_end < g->work->out[1];
	begin_block(g, more ? g->x_end : 0);
	if (more)
		return true;
	g->y = g->y + 1 < g->work->out[0] ? g->y + 1 : 0;
	return g->y > 0;
}

static bool next_image(struct dn_generator *g)
{
	g->image = g->image + 1 < g->work->images ? g->image + 1 : 0;
	return g->image > 0;
}

static bool next_pass(struct dn_generator *g)
{
	bool more = g->group_end < g->map.groups;
	begin_pass(g, more ? g->group_end : 0);
	return more;
}

static bool next_conv_group(struct dn_generator *g)
{
	return ++g->conv_group < g->work->groups;
}

/* Behind the last position and group of a part. */
static bool next_of_nest(struct dn_generator *g)
{
	if (dn_next_part(g->work, g->tiles, g->map.in_rows, &g->part))
		return true;
	first_part(g);
	if (across(g))
		return next_block(g) || next_image(g) || next_pass(g) || next_conv_group(g);
	if (next_pass(g) || next_block(g))
		return true;
	if (next_conv_group(g))
		return true;
	g->conv_group = 0;
	return next_image(g);
}

static bool next_of_block(struct dn_generator *g)
{
	bool more = ++g->x < g->x_end;
	g->x = more ? g->x : g->x_first;
	return more;
}

static bool next_of_pass(struct dn_generator *g)
{
	bool more = ++g->group_at < g->group_end;
	g->group_at = more ? g->group_at : g->group;
	return more;
}

static bool go_on(struct dn_generator *g)
{
	if (!g->begun) {
		g->begun = true;
		begin_block(g, 0);
		begin_pass(g, 0);
		return first_part(g);
	}
	if (across(g))
		return next_of_pass(g) || next_of_block(g) || next_of_nest(g);
	return next_of_block(g) || next_of_pass(g) || next_of_nest(g);
}

static struct dn_range lines_of(const struct dn_generator *g)
{
	return dn_taps_inside(&g->axis[0], g->y, g->part.ky, g->part.ky_end);
}

/* Of a tap's rows those of the part that these groups read. */
static struct dn_range rows_of(const struct dn_generator *g, int64_t group, int64_t group_end)
{
	struct dn_range rows = dn_rows_read(&g->map, group, group_end);
	return across(g) ? rows : (struct dn_range){g->part.row, g->part.row_end};
}

/* NBin rows of one column: what any group of the pass reads of it. */
static int64_t column_rows(const struct dn_generator *g)
{
	struct dn_range lines = lines_of(g), rows = rows_of(g, g->group, g->group_end);
	return (lines.end - lines.first) * (rows.end - rows.first);
}

/* Columns up to the last tap of this window. */
static void load_columns(struct dn_generator *g)
{
	const struct dn_range lines = lines_of(g);
	const struct dn_range taps = dn_taps_inside(&g->axis[1], g->x, g->part.kx, g->part.kx_end);
	const struct dn_range rows = rows_of(g, g->group, g->group_end);
	const int64_t bytes = dn_tap_bytes(g, rows.first, rows.end);
	const int64_t channel = g->conv_group * g->work->ni + rows.first * g->tn;
	if (taps.first == taps.end)
		return;
	for (int64_t last = dn_tap_at(&g->axis[1], g->x, taps.end - 1); g->columns.at <= last; g->columns.at++) {
		if (dn_rank_of(&g->columns, g->columns.at) < 0)
			continue;
		for (int64_t ky = lines.first; ky < lines.end; ky++)
			dn_emit_nbin_load(g,
					  dn_input_at(&g->map, g->image, dn_tap_at(&g->axis[0], g->y, ky),
						      g->columns.at, channel),
					  bytes);
		g->columns.loaded++;
	}
}

/* SB rows of a group's kernel, or its part. */
static int64_t synapse_rows(const struct dn_generator *g, int64_t group)
{
	if (across(g))
		return dn_rows_before(&g->map, group + 1) - dn_rows_before(&g->map, group);
	return dn_part_rows(&g->part) + (dn_part_is_first(&g->part) ? g->map.bias_rows : 0);
}

/* The whole window's kernel of a group that stays is loaded before the first visit that reads it. */
static void load_synapses(struct dn_generator *g)
{
	const bool begins = g->x == g->x_first && !(across(g) && (g->image || g->y));
	if (!begins)
		return;
	int64_t position = g->work->private_kernels ? g->y * g->work->out[1] + g->x : 0;
	if (!across(g) || g->group_at == g->group)
		g->sb_base = g->sb.next;
	dn_emit_sb_load(g, dn_synapses_at(&g->map, position, g->conv_group, g->group_at, &g->part),
			synapse_rows(g, g->group_at));
}

static void multiply(struct dn_generator *g, struct dn_visit *visit)
{
	const struct dn_range lines = lines_of(g), held = rows_of(g, g->group, g->group_end),
			      read = rows_of(g, g->group_at, g->group_at + 1);
	const int64_t rows = read.end - read.first, column = column_rows(g);
	int64_t sb = g->sb_base;
	if (across(g))
		sb += dn_rows_before(&g->map, g->group_at) - dn_rows_before(&g->map, g->group);
	if (dn_part_is_first(&g->part) && g->work->bias) {
		dn_emit_bias(g, visit, sb);
		sb += g->map.bias_rows;
	}
	for (int64_t ky = g->part.ky; ky < g->part.ky_end; ky++)
		for (int64_t kx = g->part.kx; kx < g->part.kx_end; kx++, sb += rows) {
			int64_t x = dn_tap_at(&g->axis[1], g->x, kx), row = -1;
			if (ky >= lines.first && ky < lines.end && x >= 0 && x < g->work->in[1])
				row = g->base + dn_rank_of(&g->columns, x) * column +
				      (ky - lines.first) * (held.end - held.first) + read.first - held.first;
			dn_emit_multiply(g, visit, row, sb, rows);
		}
}

/* Columns left of all that later windows of the block read. */
static void free_columns(struct dn_generator *g)
{
	int64_t column = column_rows(g);
	int64_t least = dn_least_read(&g->axis[1], g->x + 1, g->x_end, g->part.kx, g->part.kx_end);
	int64_t kept = least == INT64_MAX ? g->columns.count : dn_rank_of(&g->columns, least);
	dn_free_nbin(g, g->base + min(kept, g->columns.loaded) * column);
}

static bool last_part(const struct dn_generator *g)
{
	return g->part.ky_end == g->work->window.kernel[0] && g->part.kx_end == g->work->window.kernel[1] &&
	       g->part.row_end == g->map.in_rows;
}

/* Results of one position that lie side by side are one store, as many as NBout takes. */
static void store(struct dn_generator *g, struct dn_visit *visit)
{
	const bool groups_follow = across(g) || g->x_end - g->x_first == 1; /* before the next position */
	const int64_t at_once = groups_follow ? g->result_groups : 1;
	const int64_t first = across(g) ? g->group : 0, end = across(g) ? g->group_end : g->map.groups;
	visit->to = g->work->raw ? DN_TO_NBOUT : DN_TO_NFU3;
	visit->stores = true;
	if ((g->group_at - first) % at_once)
		return;
	visit->store_at = dn_result_at(&g->map, g->image, g->y, g->x,
				       g->conv_group * g->work->no + g->group_at * g->tn);
	visit->store_bytes = dn_group_bytes(g, g->group_at, min(g->group_at + at_once, end));
}

static bool sliding_visit(struct dn_generator *g)
{
	if (!go_on(g))
		return false;
	const bool first_group = g->group_at == g->group, last_group = g->group_at + 1 == g->group_end;
	const bool first_x = g->x == g->x_first, last_x = g->x + 1 == g->x_end;
	const bool alone = g->x_end - g->x_first == 1 && g->group_end - g->group == 1;
	const bool first = dn_part_is_first(&g->part);
	if (first_group && first_x) {
		if (!dn_need(g, &g->columns, 1, g->x_first, g->x_end, g->part.kx, g->part.kx_end))
			return false;
		g->base = g->nbin.next;
	}
	load_synapses(g);
	if (first_group)
		load_columns(g);
	struct dn_visit visit = {.first = g->put, .oldest = g->nbin.oldest, .from = DN_FROM_RESET};
	if (!first)
		visit.from = alone ? DN_FROM_KEEP : DN_FROM_NBOUT;
	visit.index_begins = first_group && first_x && !alone && !(first && last_part(g));
	visit.to = alone ? DN_TO_KEEP : DN_TO_NBOUT;
	if (last_part(g))
		store(g, &visit);
	multiply(g, &visit);
	dn_end_visit(g, &visit);
	if (last_group)
		free_columns(g);
	if (across(g) ? last_group && last_x && g->y + 1 == g->work->out[0] && g->image + 1 == g->work->images : last_x)
		dn_free_sb(g, g->sb.next);
	return true;
}

/* The next visit's row and column, if it begins a row of outputs or a block from the first part and group on. */
static bool at_unit(const struct dn_generator *g, int64_t *y, int64_t *x)
{
	struct dn_generator next = *g;
	if (!go_on(&next) || next.x != next.x_first || next.group_at != (across(g) ? next.group : 0) ||
	    !dn_part_is_first(&next.part))
		return false;
	*y = next.y;
	*x = next.x;
	return true;
}

static bool no_padding(const struct dn_generator *g)
{
	return dn_inner_run(&g->axis[0], 0) == g->work->out[0] && dn_inner_run(&g->axis[1], 0) == g->work->out[1];
}

/* Units: a position of private kernels, a row of outputs, a block where there is but one row. */
static int64_t sliding_alike(struct dn_generator *g)
{
	const int64_t *out = g->work->out;
	int64_t y, x;
	if (!at_unit(g, &y, &x))
		return 0;
	if (g->work->private_kernels && no_padding(g))
		return (out[0] - 1 - y) * out[1] + out[1] - x;
	if (g->work->private_kernels)
		return dn_all_inside(&g->axis[0], y) ? dn_inner_run(&g->axis[1], x) : 0;
	if (!across(g))
		return out[0] == 1 ? dn_inner_run(&g->axis[1], x) / block(g) : x ? 0 : dn_inner_run(&g->axis[0], y);
	/* The first row loads the kernel, the last one may free it. */
	int64_t run = dn_inner_run(&g->axis[0], y), left = out[0] - 1 - y;
	return y ? min(run, left) : 0;
}

/* To the last visit of the unit before the one that is so many on. */
static void sliding_skip(struct dn_generator *g, int64_t units)
{
	const int64_t *out = g->work->out;
	go_on(g);
	if (g->work->private_kernels) {
		int64_t position = g->y * out[1] + g->x + units - 1;
		g->y = position / out[1];
		begin_block(g, position % out[1]);
	} else if (!across(g) && out[0] == 1) {
		begin_block(g, g->x + (units - 1) * block(g));
	} else {
		g->y += units - 1;
		begin_block(g, (out[1] - 1) / block(g) * block(g));
	}
	g->x = g->x_end - 1;
	if (!across(g))
		begin_pass(g, (g->map.groups - 1) / g->tiles->groups * g->tiles->groups);
	g->group_at = g->group_end - 1;
	while (dn_next_part(g->work, g->tiles, g->map.in_rows, &g->part)) {
	}
}

const struct dn_nest_code dn_code_sliding = {sliding_visit, sliding_alike, sliding_skip};
