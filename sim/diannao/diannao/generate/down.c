/* SPDX-License-Identifier: MIT
 *
 * DN_DOWN (tiles.h): lines of a tile of columns slide down through NBin under the rows of outputs. A line is contiguous
 * in NBin. The columns of the oldest line are freed window by window in the row that reads the line last, so that the
 * next line loads after them. */
#include "impl.h"

#include "core/base/arith.h"

/* Returns the NBin rows of a line of the tile. */
static int64_t line_rows(const struct dn_generator *g)
{
	return g->columns.count * g->map.in_rows;
}

/* Returns the rank of the first line that rows y..end-1 of outputs read. */
static int64_t first_line(const struct dn_generator *g, int64_t y, int64_t end)
{
	return dn_columns_rank_from(&g->lines, y, end, 0, g->axis[0].kernel);
}

static void load_line(struct dn_generator *g, int64_t line)
{
	const int64_t bytes = dn_tap_bytes(g, 0, g->map.in_rows);
	int64_t x = g->columns.low;
	for (int64_t n = 0; n < g->columns.count; n++, x++) {
		x = dn_columns_next(&g->columns, x);
		dn_emit_nbin_load(g, dn_input_at(&g->map, g->image, line, x, g->conv_group * g->layer->ni), bytes);
	}
}

/* Loads lines up to the last tap of this row of outputs. */
static void load_lines(struct dn_generator *g)
{
	struct dn_columns *lines = &g->lines;
	const struct dn_range taps = dn_taps_inside(lines->axis, g->y, 0, lines->axis->kernel);
	if (taps.first == taps.end)
		return;
	const int64_t last = dn_tap_at(lines->axis, g->y, taps.end - 1);
	for (; (lines->next = dn_columns_next(lines, lines->next)) <= last; lines->next++) {
		load_line(g, lines->next);
		lines->n_loaded++;
	}
}

static void multiply_line(struct dn_generator *g, struct dn_visit *visit, int64_t ky)
{
	const int64_t rows = g->map.in_rows, line = dn_tap_at(&g->axis[0], g->y, ky), kernel = g->axis[1].kernel;
	const bool line_is_inside = line >= 0 && line < g->layer->in[0];
	int64_t sb = g->sb_base + g->map.bias_rows + ky * kernel * rows;
	int64_t first = line_is_inside ? g->base + dn_columns_rank(&g->lines, line) * line_rows(g) : 0;
	for (int64_t kx = 0; kx < kernel; kx++, sb += rows) {
		int64_t x = dn_tap_at(&g->axis[1], g->x, kx);
		bool read = line_is_inside && x >= 0 && x < g->layer->in[1];
		dn_emit_multiply(g, visit, read ? first + dn_columns_rank(&g->columns, x) * rows : -1, sb, rows);
	}
}

/* Frees what no later window of the tile reads: whole lines at the end of a row of outputs, and before that columns of
 * the oldest line. */
static void free_rows(struct dn_generator *g)
{
	const int64_t first_needed = first_line(g, g->y + 1, g->layer->out[0]);
	if (g->x + 1 == g->x_end) {
		dn_free_nbin(g, g->base + npl_min_i64(first_needed, g->lines.n_loaded) * line_rows(g));
		return;
	}
	int64_t top = first_line(g, g->y, g->y + 1);
	if (top < first_needed)
		dn_free_nbin(g, g->base + top * line_rows(g) +
					dn_columns_rank_from(&g->columns, g->x + 1, g->x_end, 0, g->axis[1].kernel) *
						g->map.in_rows);
}

static void multiply(struct dn_generator *g, struct dn_visit *visit)
{
	const struct dn_range lines = dn_taps_inside(&g->axis[0], g->y, 0, g->axis[0].kernel);
	if (g->layer->bias)
		dn_emit_bias(g, visit, g->sb_base);
	for (int64_t ky = 0; ky < g->axis[0].kernel; ky++) {
		multiply_line(g, visit, ky);
		if (ky == lines.first && g->x + 1 < g->x_end)
			free_rows(g);
	}
}

static void down_visit(struct dn_generator *g)
{
	const struct dn_layer *layer = g->layer;
	const bool tile_begins = !g->y && g->x == g->x_first;
	if (tile_begins) {
		dn_columns_set(g, &g->columns, 1, g->x_first, g->x_end, 0, g->axis[1].kernel);
		dn_columns_set(g, &g->lines, 0, 0, layer->out[0], 0, g->axis[0].kernel);
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
		.first = g->tail,
		.oldest = g->nbin.oldest,
		.source = DN_FROM_RESET,
		.target = layer->raw ? DN_TO_NBOUT : DN_TO_NFU3,
		.stores = true,
		.store_at = dn_result_at(&g->map, g->image, g->y, g->x, g->conv_group * layer->no + g->group * g->tn),
		.store_bytes = dn_group_bytes(g, g->group, g->group + 1)};
	multiply(g, &visit);
	dn_end_visit(g, &visit);
	if (g->x + 1 == g->x_end)
		free_rows(g);
	if (g->x + 1 == layer->out[1] && g->y + 1 == layer->out[0] && g->image + 1 == layer->images)
		dn_free_sb(g, g->sb.next);
}

/* Returns how many windows of a row of outputs from this one on are alike. These are windows that read nothing: they
 * only store. The first window of a tile may load lines, and the last one frees them. */
static int64_t positions_alike(const struct dn_generator *g, int64_t iteration)
{
	const struct dn_axis *y = &g->axis[0], *x = &g->axis[1];
	const struct dn_range lines = {0, y->kernel}, taps = {0, x->kernel};
	const int64_t last = g->x_end - 1 - g->x_first;
	if (!iteration || iteration >= last)
		return 0;
	if (dn_reads_none(y, g->y, lines))
		return last - iteration;
	return dn_reads_none(x, g->x_first + iteration, taps)
		       ? dn_alike_windows(x, g->x_first + iteration, g->x_end - 1, 0, x->kernel)
		       : 0;
}

/* Returns how many iterations are alike. The first tile of the first image loads the kernel, and the last tile of the
 * last image frees it. In a tile the first row of outputs loads all lines under it, and the last row frees them. */
static int64_t down_alike(const struct dn_generator *g, enum dn_loop loop, int64_t iteration)
{
	const struct dn_layer *layer = g->layer;
	const int64_t last = dn_iterations(g, loop) - 1;
	switch (loop) {
	case DN_CONV_GROUPS:
		return last + 1 - iteration;
	case DN_GROUP_TILES:
		return dn_full_groups(g) - iteration;
	case DN_IMAGES:
		return iteration ? last - iteration : 0;
	case DN_BLOCKS: {
		const int64_t first = iteration * g->width, kernel = g->axis[1].kernel;
		const int64_t run = dn_alike_windows(&g->axis[1], first, layer->out[1], 0, kernel) / g->width;
		if (!g->image && !iteration)
			return 0;
		return g->image + 1 == layer->images ? npl_min_i64(run, last - iteration) : run;
	}
	case DN_OUT_LINES:
		return dn_sliding_windows(g, 0, 0, layer->out[0], iteration, (struct dn_range){0, g->axis[0].kernel});
	default:
		return positions_alike(g, iteration);
	}
}

/* Notes the lines that the row before has loaded and not freed. Within a row of outputs no lines are loaded. */
static void note_held_lines(struct dn_generator *g)
{
	if (g->y && g->x == g->x_first)
		dn_columns_note_held(g, &g->lines, g->y, line_rows(g));
}

const struct dn_nest_code dn_code_down = {
	6,
	{DN_CONV_GROUPS, DN_GROUP_TILES, DN_IMAGES, DN_BLOCKS, DN_OUT_LINES, DN_POSITIONS},
	down_visit,
	down_alike,
	note_held_lines};
