/* SPDX-License-Identifier: MIT
 *
 * DN_STREAMED and DN_ACROSS (tiles.h): columns of the input slide through NBin under the windows of one row of outputs.
 * The lines of a column that are in the part and inside the input are loaded one after the other, a request each. A
 * column is freed when the last window of the block has read it for the last group of the tile.
 *
 * With DN_STREAMED a visit is one position, group and part of the window. With DN_ACROSS the part is the whole window,
 * and the kernels of a group tile are loaded once: the loop of tiles is outside of images and rows, the loop of groups
 * inside of positions. */
#include "impl.h"

#include "core/base/arith.h"

static bool is_across(const struct dn_generator *g)
{
	return g->tiles->nest == DN_ACROSS;
}

static struct dn_range lines_of(const struct dn_generator *g)
{
	return dn_taps_inside(&g->axis[0], g->y, g->part.ky, g->part.ky_end);
}

/* Returns the rows of a tap, within the part, that these groups read. */
static struct dn_range rows_of(const struct dn_generator *g, int64_t group, int64_t group_end)
{
	struct dn_range rows = dn_rows_read(&g->map, group, group_end);
	return is_across(g) ? rows : (struct dn_range){g->part.row, g->part.row_end};
}

/* Returns the NBin rows of one column: those that any group of the tile reads of it. */
static int64_t column_rows(const struct dn_generator *g)
{
	struct dn_range lines = lines_of(g), rows = rows_of(g, g->group, g->group_end);
	return (lines.end - lines.first) * (rows.end - rows.first);
}

/* Loads columns up to the last tap of this window. */
static void load_columns(struct dn_generator *g)
{
	const struct dn_range lines = lines_of(g);
	const struct dn_range taps = dn_taps_inside(&g->axis[1], g->x, g->part.kx, g->part.kx_end);
	const struct dn_range rows = rows_of(g, g->group, g->group_end);
	const int64_t bytes = dn_tap_bytes(g, rows.first, rows.end);
	const int64_t channel = g->conv_group * g->layer->ni + rows.first * g->tn;
	if (taps.first == taps.end)
		return;
	struct dn_columns *columns = &g->columns;
	const int64_t last = dn_tap_at(columns->axis, g->x, taps.end - 1);
	for (; (columns->next = dn_columns_next(columns, columns->next)) <= last; columns->next++) {
		for (int64_t ky = lines.first; ky < lines.end; ky++)
			dn_emit_nbin_load(g,
					  dn_input_at(&g->map, g->image, dn_tap_at(&g->axis[0], g->y, ky),
						      columns->next, channel),
					  bytes);
		columns->n_loaded++;
	}
}

/* Returns the SB rows of a group's kernel, or of the part of it. */
static int64_t synapse_rows(const struct dn_generator *g, int64_t group)
{
	if (is_across(g))
		return dn_rows_before(&g->map, group + 1) - dn_rows_before(&g->map, group);
	return dn_part_rows(&g->part) + (dn_part_is_first(&g->part) ? g->map.bias_rows : 0);
}

/* Loads synapses before the first visit that reads them: the part's, or the kernel of the whole window where that stays
 * in SB. */
static void load_synapses(struct dn_generator *g)
{
	const bool begins = g->x == g->x_first && !(is_across(g) && (g->image || g->y));
	if (!begins)
		return;
	int64_t position = g->layer->private_kernels ? g->y * g->layer->out[1] + g->x : 0;
	if (!is_across(g) || g->group_at == g->group)
		g->sb_base = g->sb.next;
	dn_emit_sb_load(g, dn_synapses_at(&g->map, position, g->conv_group, g->group_at, &g->part),
			synapse_rows(g, g->group_at));
}

static void multiply(struct dn_generator *g, struct dn_visit *visit)
{
	const struct dn_range lines = lines_of(g), tile = rows_of(g, g->group, g->group_end),
			      read_taps = rows_of(g, g->group_at, g->group_at + 1);
	const int64_t rows = read_taps.end - read_taps.first, column = column_rows(g);
	int64_t sb = g->sb_base;
	if (is_across(g))
		sb += dn_rows_before(&g->map, g->group_at) - dn_rows_before(&g->map, g->group);
	if (dn_part_is_first(&g->part) && g->layer->bias) {
		dn_emit_bias(g, visit, sb);
		sb += g->map.bias_rows;
	}
	for (int64_t ky = g->part.ky; ky < g->part.ky_end; ky++)
		for (int64_t kx = g->part.kx; kx < g->part.kx_end; kx++, sb += rows) {
			int64_t x = dn_tap_at(&g->axis[1], g->x, kx), row = -1;
			if (ky >= lines.first && ky < lines.end && x >= 0 && x < g->layer->in[1])
				row = g->base + dn_columns_rank(&g->columns, x) * column +
				      (ky - lines.first) * (tile.end - tile.first) + read_taps.first - tile.first;
			dn_emit_multiply(g, visit, row, sb, rows);
		}
}

/* Frees the columns to the left of all that later windows of the block read. */
static void free_columns(struct dn_generator *g)
{
	int64_t column = column_rows(g);
	int64_t first_needed = dn_columns_rank_from(&g->columns, g->x + 1, g->x_end, g->part.kx, g->part.kx_end);
	dn_free_nbin(g, g->base + npl_min_i64(first_needed, g->columns.n_loaded) * column);
}

static bool last_part(const struct dn_generator *g)
{
	return g->part.ky_end == g->layer->window.kernel[0] && g->part.kx_end == g->layer->window.kernel[1] &&
	       g->part.row_end == g->map.in_rows;
}

/* Returns how many groups of results are one store: where groups come before the next position, as many as NBout
 * takes. */
static int64_t results_at_once(const struct dn_generator *g)
{
	return is_across(g) || g->x_end - g->x_first == 1 ? g->result_groups : 1;
}

/* Stores results. Those of one position that are side by side in memory are one store. */
static void store(struct dn_generator *g, struct dn_visit *visit)
{
	const int64_t at_once = results_at_once(g);
	const int64_t first = is_across(g) ? g->group : 0, end = is_across(g) ? g->group_end : g->map.groups;
	visit->target = g->layer->raw ? DN_TO_NBOUT : DN_TO_NFU3;
	visit->stores = true;
	if ((g->group_at - first) % at_once)
		return;
	visit->store_at = dn_result_at(&g->map, g->image, g->y, g->x,
				       g->conv_group * g->layer->no + g->group_at * g->tn);
	visit->store_bytes = dn_group_bytes(g, g->group_at, npl_min_i64(g->group_at + at_once, end));
}

static void sliding_visit(struct dn_generator *g)
{
	const bool first_group = g->group_at == g->group, last_group = g->group_at + 1 == g->group_end;
	const bool first_x = g->x == g->x_first, last_x = g->x + 1 == g->x_end;
	const bool single_step = g->x_end - g->x_first == 1 && g->group_end - g->group == 1;
	const bool first = dn_part_is_first(&g->part);
	if (first_group && first_x) {
		dn_columns_set(g, &g->columns, 1, g->x_first, g->x_end, g->part.kx, g->part.kx_end);
		g->base = g->nbin.next;
	}
	load_synapses(g);
	if (first_group)
		load_columns(g);
	struct dn_visit visit = {.first = g->tail, .oldest = g->nbin.oldest, .source = DN_FROM_RESET};
	if (!first)
		visit.source = single_step ? DN_FROM_KEEP : DN_FROM_NBOUT;
	visit.index_begins = first_group && first_x && !single_step && !(first && last_part(g));
	visit.target = single_step ? DN_TO_KEEP : DN_TO_NBOUT;
	if (last_part(g))
		store(g, &visit);
	multiply(g, &visit);
	dn_end_visit(g, &visit);
	if (last_group)
		free_columns(g);
	if (is_across(g) ? last_group && last_x && g->y + 1 == g->layer->out[0] && g->image + 1 == g->layer->images
			 : last_x)
		dn_free_sb(g, g->sb.next);
}

/* Returns how many windows from this one on load and free as many columns as the window before. The first and the last
 * window of a block are never among them. Where no line is read, this holds for every group. */
static int64_t positions_alike(const struct dn_generator *g, int64_t iteration)
{
	const struct dn_range lines = lines_of(g), taps = {g->part.kx, g->part.kx_end};
	const int64_t last = g->x_end - 1 - g->x_first, o = g->x_first + iteration;
	if (!iteration || iteration >= last)
		return 0;
	if (lines.first == lines.end)
		return last - iteration;
	if (!is_across(g) && g->group_end - g->group > 1 && !dn_reads_none(&g->axis[1], o, taps))
		return 0;
	return dn_sliding_windows(g, 1, g->x_first, g->x_end, o, taps);
}

/* Returns how many iterations are alike. The first row of the first image loads the kernels, and the last row of the
 * last image frees them. */
static int64_t across_alike(const struct dn_generator *g, enum dn_loop loop, int64_t iteration)
{
	const struct dn_layer *layer = g->layer;
	const int64_t last = dn_iterations(g, loop) - 1;
	switch (loop) {
	case DN_CONV_GROUPS:
		return last + 1 - iteration;
	case DN_GROUP_TILES: /* each tile of LRN reads other rows */
		return g->layer->lrn.present ? 0 : dn_full_groups(g) / g->tile_groups - iteration;
	case DN_GROUPS:
		return 0;
	case DN_IMAGES:
		return iteration ? last - iteration : 0;
	case DN_OUT_LINES: {
		const int64_t run = dn_alike_windows(&g->axis[0], iteration, layer->out[0], 0, g->axis[0].kernel);
		if (!g->image && !iteration)
			return 0;
		return g->image + 1 == layer->images ? npl_min_i64(run, last - iteration) : run;
	}
	default:
		return positions_alike(g, iteration);
	}
}

/* Returns how many lines (or parts of several) from this one on are inside the input, or outside, as this one is. The
 * first part of a window has its biases, and the last one stores. */
static int64_t lines_alike(const struct dn_generator *g, int64_t iteration)
{
	const struct dn_axis *axis = &g->axis[0];
	const int64_t lines = g->tiles->lines ? g->tiles->lines : 1, line = iteration * lines;
	const struct dn_range inside_taps = dn_taps_inside(axis, g->y, 0, axis->kernel);
	int64_t end = axis->kernel;
	if (line < inside_taps.first)
		end = inside_taps.first;
	else if (line < inside_taps.end)
		end = inside_taps.end;
	return iteration ? npl_min_i64((end - line) / lines, dn_iterations(g, DN_KERNEL_LINES) - 1 - iteration) : 0;
}

/* Returns how many taps of a line from this one on are inside the input for all windows of the block, or outside for
 * all; 0: the tap is inside for some windows only. */
static int64_t taps_from(const struct dn_generator *g, int64_t tap)
{
	const struct dn_axis *axis = &g->axis[1];
	const struct dn_range lines = lines_of(g), first = dn_taps_inside(axis, g->x_first, 0, axis->kernel),
			      last = dn_taps_inside(axis, g->x_end - 1, 0, axis->kernel);
	if (lines.first == lines.end || tap >= first.end)
		return axis->kernel - tap;
	if (tap < last.first)
		return npl_min_i64(last.first, axis->kernel) - tap;
	return tap >= first.first && tap < last.end ? last.end - tap : 0;
}

/* Returns how many parts of a line from this one on are alike. */
static int64_t taps_alike(const struct dn_generator *g, int64_t iteration)
{
	const int64_t taps = g->tiles->taps ? g->tiles->taps : 1, line = g->iteration[DN_KERNEL_LINES];
	const int64_t parts = g->axis[1].kernel / taps, last = dn_iterations(g, DN_KERNEL_TAPS) - 1;
	if (!line && !iteration)
		return 0;
	return npl_min_i64(taps_from(g, iteration * taps) / taps,
			   (line + 1 == dn_iterations(g, DN_KERNEL_LINES) ? npl_min_i64(parts, last) : parts) -
				   iteration);
}

/* Returns how many parts of a tap from this one on are alike. */
static int64_t rows_alike(const struct dn_generator *g, int64_t iteration)
{
	const int64_t line = g->iteration[DN_KERNEL_LINES], tap = g->iteration[DN_KERNEL_TAPS];
	const int64_t parts = g->layer->ni / g->tn / g->tiles->rows, last = dn_iterations(g, DN_KERNEL_ROWS) - 1;
	const bool ends = line + 1 == dn_iterations(g, DN_KERNEL_LINES) && tap + 1 == dn_iterations(g, DN_KERNEL_TAPS);
	if (!line && !tap && !iteration)
		return 0;
	return (ends ? npl_min_i64(parts, last) : parts) - iteration;
}

/* Returns how many groups from this one on are alike. The first group of a tile loads columns, and the last one frees
 * them. */
static int64_t groups_alike(const struct dn_generator *g, int64_t iteration)
{
	const int64_t last = dn_iterations(g, DN_GROUPS) - 1;
	if (!iteration || (last_part(g) && results_at_once(g) > 1))
		return 0;
	return npl_min_i64(last, dn_full_groups(g) - g->group) - iteration;
}

/* Returns how many blocks from this one on are alike: all their windows read the same taps, or the row reads
 * nothing. */
static int64_t blocks_alike(const struct dn_generator *g, int64_t iteration)
{
	const int64_t first = iteration * g->width, end = g->layer->out[1], lines = g->axis[0].kernel;
	const bool reads_none = dn_reads_none(&g->axis[0], g->y, (struct dn_range){0, lines});
	return (reads_none ? end - first : dn_alike_windows(&g->axis[1], first, end, 0, g->axis[1].kernel)) / g->width;
}

static int64_t streamed_alike(const struct dn_generator *g, enum dn_loop loop, int64_t iteration)
{
	switch (loop) {
	case DN_IMAGES:
	case DN_CONV_GROUPS:
		return dn_iterations(g, loop) - iteration;
	case DN_OUT_LINES:
		return dn_alike_windows(&g->axis[0], iteration, g->layer->out[0], 0, g->axis[0].kernel);
	case DN_BLOCKS:
		return blocks_alike(g, iteration);
	case DN_STORES:
		return dn_full_groups(g) / g->store_groups - iteration;
	case DN_KERNEL_LINES:
		return lines_alike(g, iteration);
	case DN_KERNEL_TAPS:
		return taps_alike(g, iteration);
	case DN_KERNEL_ROWS:
		return rows_alike(g, iteration);
	case DN_GROUPS:
		return groups_alike(g, iteration);
	case DN_POSITIONS:
		return positions_alike(g, iteration);
	default:
		return 0;
	}
}

/* Notes the columns that a window which was left out would hold. Where several groups come in blocks, only windows that
 * read nothing are left out, and they hold nothing. */
static void sliding_hold(struct dn_generator *g)
{
	if (g->x > g->x_first && (is_across(g) || g->group_end - g->group == 1))
		dn_columns_note_held(g, &g->columns, g->x, column_rows(g));
}

const struct dn_nest_code dn_code_across = {
	6,
	{DN_CONV_GROUPS, DN_GROUP_TILES, DN_IMAGES, DN_OUT_LINES, DN_POSITIONS, DN_GROUPS},
	sliding_visit,
	across_alike,
	sliding_hold};
const struct dn_nest_code dn_code_streamed = {11,
					      {DN_IMAGES, DN_CONV_GROUPS, DN_OUT_LINES, DN_BLOCKS, DN_STORES,
					       DN_GROUP_TILES, DN_KERNEL_LINES, DN_KERNEL_TAPS, DN_KERNEL_ROWS,
					       DN_GROUPS, DN_POSITIONS},
					      sliding_visit,
					      streamed_alike,
					      sliding_hold};
