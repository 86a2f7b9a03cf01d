/* SPDX-License-Identifier: MIT
 *
 * Runs the loops of a nest (impl.h): finds the next visit, and which iterations are alike and may be left out.
 *
 * Each loop is a level of units (engine.h); a unit is an iteration of it with all the loops inside. Where all
 * iterations of a loop are alike, and the next iteration of the loop around it is alike too, the iterations of both
 * loops are one run of units of the inner loop, and the outer loop has no units of its own. With few levels, repetition
 * is found sooner, as it is found only after many iterations of a long run. */
#include "impl.h"

#include "core/base/arith.h"

static int64_t kernel_turns(const struct dn_generator *g, enum dn_loop loop)
{
	const struct dn_tiles *tiles = g->tiles;
	const int64_t *kernel = g->layer->window.kernel;
	if (loop == DN_KERNEL_LINES)
		return npl_div_up_i64(kernel[0], tiles->lines ? tiles->lines : 1);
	if (loop == DN_KERNEL_TAPS)
		return tiles->lines ? 1 : npl_div_up_i64(kernel[1], tiles->taps ? tiles->taps : 1);
	return tiles->lines || tiles->taps ? 1 : npl_div_up_i64(g->map.in_rows, tiles->rows);
}

static int64_t window_parts(const struct dn_generator *g)
{
	int64_t taps = 1;
	for (int d = 0; d < NPL_SPATIAL; d++) {
		struct dn_range inside_taps = dn_taps_inside(&g->axis[d], d ? g->x : g->y, 0, g->axis[d].kernel);
		taps *= inside_taps.end - inside_taps.first;
	}
	return npl_div_up_i64(taps, g->tiles->taps);
}

int64_t dn_iterations(const struct dn_generator *g, enum dn_loop loop)
{
	const int64_t stored = g->iteration[DN_STORES] * g->store_groups;
	switch (loop) {
	case DN_IMAGES:
		return g->layer->images;
	case DN_CONV_GROUPS:
		return g->layer->groups;
	case DN_OUT_LINES:
		return g->layer->out[0];
	case DN_BLOCKS:
		return npl_div_up_i64(g->layer->out[1], g->width);
	case DN_STORES:
		return npl_div_up_i64(g->map.groups, g->store_groups);
	case DN_GROUP_TILES:
		return npl_div_up_i64(npl_min_i64(g->store_groups, g->map.groups - stored), g->tile_groups);
	case DN_WINDOW_PARTS:
		return window_parts(g);
	case DN_GROUPS:
		return g->group_end - g->group;
	case DN_POSITIONS:
		return g->x_end - g->x_first;
	default:
		return kernel_turns(g, loop);
	}
}

/* Sets the members that follow from the iterations. */
static void set_position(struct dn_generator *g)
{
	const int64_t *iteration = g->iteration, groups = g->map.groups;
	g->image = iteration[DN_IMAGES];
	g->conv_group = iteration[DN_CONV_GROUPS];
	g->y = iteration[DN_OUT_LINES];
	g->x_first = iteration[DN_BLOCKS] * g->width;
	g->x_end = npl_min_i64(g->x_first + g->width, g->layer->out[1]);
	g->x = g->x_first + iteration[DN_POSITIONS];
	if (g->tiles->nest != DN_STREAMED)
		g->store_groups = groups;
	else if (g->x_end - g->x_first == 1)
		g->store_groups = g->stored_groups;
	else
		g->store_groups = g->tile_groups;
	g->group = iteration[DN_STORES] * g->store_groups + iteration[DN_GROUP_TILES] * g->tile_groups;
	g->group_end = npl_min_i64(g->group + g->tile_groups, groups);
	g->group_at = g->group + iteration[DN_GROUPS];
	const int64_t lines = g->tiles->lines ? g->tiles->lines : 1, taps = g->tiles->taps ? g->tiles->taps : 1;
	g->part = dn_part_from(g->layer, g->tiles, g->map.in_rows, iteration[DN_KERNEL_LINES] * lines,
			       iteration[DN_KERNEL_TAPS] * taps, iteration[DN_KERNEL_ROWS] * g->tiles->rows);
}

bool dn_begin_loops(struct dn_generator *g)
{
	const struct dn_layer *layer = g->layer;
	if (!layer->images || !layer->groups || !layer->no || !layer->ni || !dn_positions(layer))
		return false;
	g->width = layer->out[1];
	if (g->tiles->nest == DN_DOWN)
		g->width = g->tiles->columns;
	else if (g->tiles->nest == DN_STREAMED)
		g->width = g->tiles->positions;
	g->tile_groups = g->tiles->groups ? g->tiles->groups : 1;
	g->stored_groups = g->tile_groups / npl_gcd(g->tile_groups, g->result_groups) * g->result_groups;
	set_position(g);
	return true;
}

/* Goes on to the next iteration of the loop at this level, or of a loop around it. Returns false after the last one. */
static bool next_turn(struct dn_generator *g, int level)
{
	for (; level >= 0; level--) {
		const enum dn_loop loop = g->code->loop[level];
		if (++g->iteration[loop] < dn_iterations(g, loop)) {
			set_position(g);
			return true;
		}
		g->iteration[loop] = 0;
	}
	return false;
}

bool dn_next_visit(struct dn_generator *g)
{
	return next_turn(g, g->code->levels - 1);
}

static int64_t alike_from(const struct dn_generator *g, int level, int64_t iteration)
{
	const int64_t n_alike = g->code->iterations_alike(g, g->code->loop[level], iteration);
	return n_alike < 0 ? 0 : n_alike;
}

static bool all_alike(const struct dn_generator *g, int level)
{
	const int64_t iterations = dn_iterations(g, g->code->loop[level]);
	return iterations == 1 || alike_from(g, level, 0) == iterations;
}

/* Returns how many iterations of the loop at this level are alike from here on, including those in later iterations of
 * the loops around it. */
static int64_t run_from_here(const struct dn_generator *g, int level)
{
	const enum dn_loop loop = g->code->loop[level];
	const int64_t iterations = dn_iterations(g, loop),
		      run = iterations > 1 ? alike_from(g, level, g->iteration[loop]) : 0;
	if (!level || !all_alike(g, level))
		return run;
	const int64_t outer_run = run_from_here(g, level - 1);
	if (iterations == 1)
		return outer_run;
	return outer_run > 1 ? run + (outer_run - 1) * iterations : run;
}

void dn_loops_alike(const struct dn_generator *g, int64_t units[DN_REPEAT_LEVELS])
{
	bool counted_by_inner = false; /* the loop's iterations are counted as iterations of the loop inside it */
	for (int level = g->code->levels - 1; level >= 0; level--) {
		units[level] = counted_by_inner ? 0 : run_from_here(g, level);
		if (g->iteration[g->code->loop[level]])
			return;
		counted_by_inner = all_alike(g, level);
	}
}

/* Leaves out iterations. A run of units continues in the next iteration of the loop around it, so `iterations` may be
 * more than this loop has. */
void dn_skip_iterations(struct dn_generator *g, int level, int64_t iterations)
{
	g->iteration[g->code->loop[level]] += iterations - 1;
	for (int i = level; i > 0; i--) {
		const enum dn_loop loop = g->code->loop[i];
		const int64_t all = dn_iterations(g, loop);
		g->iteration[g->code->loop[i - 1]] += g->iteration[loop] / all;
		g->iteration[loop] %= all;
	}
	set_position(g);
	g->ended = !next_turn(g, level);
	if (g->code->set_held_rows && !g->ended)
		g->code->set_held_rows(g);
}

int64_t dn_sliding_windows(const struct dn_generator *g, int d, int64_t first, int64_t end, int64_t o,
			   struct dn_range taps)
{
	const struct dn_axis *axis = &g->axis[d];
	/* Where gaps between taps leave columns out, windows that reach over the ends of the tile or block leave out
	 * other columns. */
	const int64_t margin = axis->dilation > 1 ? (axis->kernel - 1) * axis->dilation / axis->stride + 1 : 0;
	if (o <= first || o + 1 >= end)
		return 0;
	if (dn_reads_none(axis, o, taps))
		return dn_alike_windows(axis, o, end - 1, taps.first, taps.end);
	if (o <= first + margin || !dn_all_inside(axis, o - 1))
		return 0;
	return npl_min_i64(dn_inner_windows(axis, o), end - 1 - margin - o);
}

int64_t dn_full_groups(const struct dn_generator *g)
{
	return g->layer->no / g->tn;
}
