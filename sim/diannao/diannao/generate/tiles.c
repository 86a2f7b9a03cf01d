/* SPDX-License-Identifier: MIT
 *
 * Finds which nests and tiles may be the best for a layer, by an estimate of time and bytes (tiles.h). The estimated
 * time is the greater of the NFU's and the port's, and takes every window for one of the interior. The NFU's time is
 * its steps and the loads during which a full buffer keeps it waiting. The port's time is, for each request, the time
 * of its bytes or dma.request_cycles, whichever is more. */
#include "tiles.h"

#include <math.h>

#include "core/base/arith.h"
#include "layout.h"
#include "windows.h"

#define MAX_TRIED 64 /* the most sizes of each kind that are tried */

/* The cost of a layer or a part of it: cycles of the NFU and of the port, bytes through the port, and the time of its
 * parts one after the other. */
struct cost {
	double nfu, port, bytes, time;
};

struct search {
	const struct dn_config *config;
	const struct dn_layer *layer;
	struct dn_axis axis[NPL_SPATIAL];
	int64_t in_rows, groups, kernel_rows, bias_rows, sums, result_groups;
	struct dn_layout_map layout_across; /* with DN_ACROSS */
	double bytes_per_cycle, sb_row_cycles;
	double time_limit; /* the most time that is still of interest; 0: any */
	bool by_bytes;     /* the fewest bytes are looked for; if false, the least time */
	int n;             /* candidates found, the best first */
	struct cost cost[DN_CANDIDATES / 2];
	struct dn_tiles tiles[DN_CANDIDATES / 2];
};

/* Adds `n` requests of so many cycles and bytes each. */
static void add_requests(const struct search *s, struct cost *cost, double n, double cycles, double bytes)
{
	cost->port += n * fmax(fmax(cycles, 1), (double)s->config->dma_request_cycles);
	cost->bytes += n * bytes;
}

static double port_cycles(const struct search *s, double bytes)
{
	return ceil(bytes / s->bytes_per_cycle);
}

static void add_values(const struct search *s, struct cost *cost, double n, double bytes)
{
	add_requests(s, cost, n, port_cycles(s, bytes), bytes);
}

static void add_synapses(const struct search *s, struct cost *cost, double n, int64_t rows)
{
	add_requests(s, cost, n, (double)rows * s->sb_row_cycles, (double)(rows * dn_sb_row_bytes(s->config)));
}

static void add(struct cost *sum, const struct cost *part, double times)
{
	sum->nfu += times * part->nfu;
	sum->port += times * part->port;
	sum->bytes += times * part->bytes;
	sum->time += times * fmax(part->nfu, part->port);
}

/* Returns the columns or lines that so many windows of the interior touch through so many taps. */
static int64_t interior(const struct dn_axis *axis, int64_t windows, int64_t taps)
{
	return npl_min_i64(npl_min_i64(dn_extent(axis, windows, taps), windows * taps), axis->in);
}

/* Returns the columns or lines that NBin holds for one window, including those between its taps that other windows
 * read. */
static int64_t held_lines(const struct dn_axis *axis, int64_t taps)
{
	return npl_min_i64(axis->dilation > 1 ? dn_extent(axis, 1, taps) : taps, axis->in);
}

static double out_positions(const struct search *s)
{
	return (double)s->layer->images * (double)dn_positions(s->layer) * (double)s->layer->groups;
}

static double map_bytes(const struct search *s)
{
	return 2 * (double)s->layer->ni;
}

static double store_bytes(const struct search *s, int64_t groups)
{
	return (double)npl_min_i64(groups * s->config->tn, s->layer->no) * (s->layer->raw ? 4 : 2);
}

static int64_t parts_of(const struct search *s, const struct dn_part *first)
{
	return npl_div_up_i64(s->axis[0].kernel, first->ky_end) * npl_div_up_i64(s->axis[1].kernel, first->kx_end) *
	       npl_div_up_i64(s->in_rows, first->row_end);
}

static void down_cost(const struct search *s, const struct dn_tiles *tiles, struct cost *all)
{
	const struct dn_layer *layer = s->layer;
	const double positions = out_positions(s), groups = (double)s->groups;
	const double tile_columns = ceil((double)layer->out[1] / (double)tiles->columns);
	const double loads = tile_columns * (double)interior(&s->axis[1], tiles->columns, s->axis[1].kernel) *
			     (double)interior(&s->axis[0], layer->out[0], s->axis[0].kernel) *
			     (double)(layer->images * layer->groups);
	struct cost cost = {.nfu = positions * groups * (double)s->kernel_rows};
	add_values(s, &cost, groups * loads, map_bytes(s));
	add_values(s, &cost, groups * positions, store_bytes(s, 1));
	add_synapses(s, &cost, groups * (double)layer->groups, s->kernel_rows);
	add(all, &cost, 1);
}

/* Returns the rows of a tap that a tile of groups of DN_ACROSS reads, from this group on. *kernels: the SB rows of its
 * kernels. */
static int64_t tile_rows(const struct search *s, int64_t group, int64_t groups, int64_t *kernels)
{
	const int64_t end = npl_min_i64(group + groups, s->groups);
	const struct dn_range rows = dn_rows_read(&s->layout_across, group, end);
	*kernels = dn_rows_before(&s->layout_across, end) - dn_rows_before(&s->layout_across, group);
	return rows.end - rows.first;
}

/* Returns how many tiles of so many groups, from this one on, read as many rows: with dense kernels all tiles except a
 * smaller last one. */
static int64_t count_alike_tiles(const struct search *s, int64_t group, int64_t groups)
{
	return s->layer->lrn.present ? 1 : npl_max_i64((s->groups - group) / groups, 1);
}

static void across_cost(const struct search *s, const struct dn_tiles *tiles, struct cost *all)
{
	const struct dn_layer *layer = s->layer;
	const struct dn_axis *x = &s->axis[1];
	const double positions = out_positions(s);
	const int64_t lines = s->axis[0].kernel,
		      held_columns = held_lines(x, x->kernel) + npl_min_i64(x->stride, x->kernel);
	const double columns = (double)interior(x, layer->out[1], x->kernel) / (double)layer->out[1];
	for (int64_t group = 0, n_alike; group < s->groups; group += n_alike * tiles->groups) {
		const int64_t groups = npl_min_i64(tiles->groups, s->groups - group),
			      at_once = npl_min_i64(s->result_groups, groups);
		int64_t kernels, rows = tile_rows(s, group, groups, &kernels);
		struct cost cost = {.nfu = positions * (double)kernels};
		add_values(s, &cost, positions * columns * (double)lines,
			   2 * (double)npl_min_i64(rows * s->config->tn, layer->ni));
		if (held_columns * lines * rows > s->config->nbin_rows)
			cost.nfu += cost.port;
		add_values(s, &cost, positions * ceil((double)groups / (double)at_once), store_bytes(s, at_once));
		add_synapses(s, &cost, (double)(layer->groups * groups), npl_div_up_i64(kernels, groups));
		n_alike = count_alike_tiles(s, group, groups);
		add(all, &cost, (double)n_alike);
	}
}

/* Returns the cost of all groups and parts of a block of so many positions. */
static struct cost block_cost(const struct search *s, const struct dn_tiles *tiles, const struct dn_part *part,
			      int64_t positions)
{
	const struct dn_config *c = s->config;
	const int64_t lines = part->ky_end, taps = part->kx_end, rows = part->row_end, steps = lines * taps * rows;
	const int64_t next = held_lines(&s->axis[1], taps) + npl_min_i64(s->axis[1].stride, taps);
	const int64_t parts = parts_of(s, part);
	const double tiles_of_groups = ceil((double)s->groups / (double)tiles->groups),
		     visits = (double)(parts * s->groups);
	const int64_t at_once = positions == 1 ? npl_min_i64(s->result_groups, s->groups) : 1;
	struct cost cost = {.nfu = visits * (double)(positions * steps)};
	add_values(s, &cost, tiles_of_groups * (double)(parts * lines * interior(&s->axis[1], positions, taps)),
		   2 * (double)npl_min_i64(rows * c->tn, s->layer->ni));
	if (next * lines * rows > c->nbin_rows && positions > 1)
		cost.nfu += cost.port;
	add_values(s, &cost, (double)positions * ceil((double)s->groups / (double)at_once), store_bytes(s, at_once));
	add_synapses(s, &cost, visits, steps + s->bias_rows);
	if (2 * (steps + s->bias_rows) > c->sb_rows)
		cost.nfu += visits * fmax(0, (double)(steps + s->bias_rows) * s->sb_row_cycles - (double)steps);
	return cost;
}

static void streamed_cost(const struct search *s, const struct dn_tiles *tiles, struct cost *all)
{
	const struct dn_layer *layer = s->layer;
	struct dn_part part = {0};
	dn_next_part(layer, tiles, s->in_rows, &part);
	const double rows = (double)(layer->images * layer->groups) * (double)layer->out[0];
	const int64_t full_blocks = layer->out[1] / tiles->positions, last_positions = layer->out[1] % tiles->positions;
	struct cost cost = block_cost(s, tiles, &part, tiles->positions);
	add(all, &cost, rows * (double)full_blocks);
	if (last_positions) {
		cost = block_cost(s, tiles, &part, last_positions);
		add(all, &cost, rows);
	}
}

static void pooled_cost(const struct search *s, const struct dn_tiles *tiles, struct cost *all)
{
	const int64_t window = dn_taps(s->layer),
		      loads = tiles->nest == DN_POOLED ? window : s->axis[0].kernel * s->axis[1].stride;
	const double windows = (double)s->layer->images * (double)dn_positions(s->layer);
	const double batches = windows * ceil((double)s->in_rows / (double)tiles->groups);
	const double bytes = 2 * (double)npl_min_i64(tiles->groups * s->config->tn, s->layer->ni);
	struct cost cost = {.nfu = windows * (double)(window * s->in_rows)};
	add_values(s, &cost, batches * (double)loads, bytes);
	if ((window + loads) * tiles->groups > s->config->nbin_rows)
		cost.nfu += cost.port;
	add_values(s, &cost, batches, bytes);
	add(all, &cost, 1);
}

static struct cost estimate(const struct search *s, const struct dn_tiles *tiles)
{
	struct cost cost = {0};
	if (tiles->nest == DN_DOWN)
		down_cost(s, tiles, &cost);
	else if (tiles->nest == DN_ACROSS)
		across_cost(s, tiles, &cost);
	else if (tiles->nest == DN_STREAMED)
		streamed_cost(s, tiles, &cost);
	else
		pooled_cost(s, tiles, &cost);
	return cost;
}

static bool better(const struct search *s, const struct cost *a, const struct cost *b)
{
	double by_time = a->time - b->time, by_bytes = a->bytes - b->bytes;
	double first = s->by_bytes ? by_bytes : by_time, second = s->by_bytes ? by_time : by_bytes;
	return first < 0 || (!(first > 0) && second < 0);
}

/* Keeps a choice that fits the buffers if it is among the best. */
static void keep_if_among_best(struct search *s, const struct dn_tiles *tiles)
{
	const int capacity = DN_CANDIDATES / 2;
	const struct cost cost = estimate(s, tiles);
	if (s->time_limit > 0 && cost.time > s->time_limit)
		return;
	int index = s->n;
	while (index > 0 && better(s, &cost, &s->cost[index - 1]))
		index--;
	if (index == capacity)
		return;
	s->n += s->n < capacity;
	for (int i = s->n - 1; i > index; i--) {
		s->cost[i] = s->cost[i - 1];
		s->tiles[i] = s->tiles[i - 1];
	}
	s->cost[index] = cost;
	s->tiles[index] = *tiles;
}

/* Says whether all tiles of so many groups fit. */
static bool group_tiles_fit(const struct search *s, int64_t groups)
{
	const int64_t taps = held_lines(&s->axis[1], s->axis[1].kernel) * s->axis[0].kernel;
	for (int64_t group = 0, kernels; group < s->groups; group += count_alike_tiles(s, group, groups) * groups)
		if (taps * tile_rows(s, group, groups, &kernels) > s->config->nbin_rows || kernels > s->config->sb_rows)
			return false;
	return true;
}

static void try_across(struct search *s)
{
	const int64_t fixed_groups = s->config->tile_groups;
	struct dn_tiles tiles = {.nest = DN_ACROSS, .lines = s->layer->window.kernel[0]};
	int64_t max_groups = 0;
	while (max_groups < npl_min_i64(s->groups, MAX_TRIED) && group_tiles_fit(s, max_groups + 1))
		max_groups++;
	for (tiles.groups = 1; tiles.groups <= max_groups; tiles.groups++)
		if (!fixed_groups || tiles.groups == npl_min_i64(fixed_groups, max_groups))
			keep_if_among_best(s, &tiles);
}

/* Returns the most windows side by side that touch at most so many columns. */
static int64_t most_columns(const struct search *s, int64_t fit)
{
	const struct dn_axis *axis = &s->axis[1];
	int64_t fitting = 0, too_many = axis->out + 1;
	while (too_many - fitting > 1) {
		const int64_t middle = fitting + (too_many - fitting) / 2;
		if (interior(axis, middle, axis->kernel) <= fit)
			fitting = middle;
		else
			too_many = middle;
	}
	return fitting;
}

static void try_resident(struct search *s)
{
	const struct dn_config *c = s->config;
	const struct dn_layer *layer = s->layer;
	const int64_t lines = held_lines(&s->axis[0], s->axis[0].kernel);
	if (layer->private_kernels)
		return;
	if (c->nest != DN_WANT_DOWN)
		try_across(s);
	if (s->kernel_rows > c->sb_rows)
		return;
	const int64_t max_columns = most_columns(s, c->nbin_rows / (lines * s->in_rows));
	if (c->nest == DN_WANT_ACROSS)
		return;
	for (int64_t columns = max_columns; columns > 0 && columns > max_columns - MAX_TRIED; columns--)
		if (!c->tile_columns || columns == npl_min_i64(c->tile_columns, layer->out[1]))
			keep_if_among_best(s, &(struct dn_tiles){.nest = DN_DOWN,
								 .columns = columns,
								 .lines = layer->window.kernel[0]});
}

/* Tries blocks of so many positions, of which the last in a row may be smaller, with so many groups a tile, and parts
 * as in `tiles`. */
static void try_block(struct search *s, struct dn_tiles tiles, int64_t positions, int64_t groups)
{
	struct dn_part part = {0};
	dn_next_part(s->layer, &tiles, s->in_rows, &part);
	const int64_t rows = part.ky_end * part.row_end, taps = part.kx_end;
	const int64_t columns = groups > 1 ? interior(&s->axis[1], positions, taps) : held_lines(&s->axis[1], taps);
	if (columns * rows > s->config->nbin_rows)
		return;
	if (parts_of(s, &part) > 1 && positions * groups > npl_max_i64(s->sums, 1))
		return;
	tiles.nest = DN_STREAMED;
	tiles.positions = positions;
	tiles.groups = groups;
	keep_if_among_best(s, &tiles);
}

static void try_parts(struct search *s, const struct dn_tiles *tiles)
{
	const struct dn_config *c = s->config;
	const struct dn_layer *layer = s->layer;
	for (int64_t groups = 1; groups <= npl_min_i64(s->groups, MAX_TRIED); groups++) {
		if (c->tile_groups && groups != npl_min_i64(c->tile_groups, npl_min_i64(s->groups, MAX_TRIED)))
			continue;
		int64_t tried = 0;
		for (int64_t blocks = 1; blocks <= layer->out[1]; blocks += npl_max_i64(1, blocks / MAX_TRIED)) {
			int64_t positions = npl_div_up_i64(layer->out[1], blocks);
			if (c->tile_positions)
				positions = npl_min_i64(c->tile_positions, layer->out[1]);
			if (layer->private_kernels)
				positions = 1;
			if (positions != tried)
				try_block(s, *tiles, positions, groups);
			tried = positions;
			if (positions == 1 || c->tile_positions)
				break;
		}
		for (int64_t positions = npl_min_i64(MAX_TRIED, layer->out[1]); positions > 0 && !c->tile_positions;
		     positions--)
			try_block(s, *tiles, layer->private_kernels ? 1 : positions, groups);
		if (layer->private_kernels)
			break;
	}
}

/* Tries parts that are as great as possible and take up to `capacity` rows of a buffer. */
static void try_rows(struct search *s, int64_t capacity)
{
	const struct dn_layer *layer = s->layer;
	const int64_t line = s->axis[1].kernel * s->in_rows;
	struct dn_tiles tiles = {0};
	if (line <= capacity)
		tiles.lines = npl_min_i64(capacity / line, layer->window.kernel[0]);
	else if (s->in_rows <= capacity)
		tiles.taps = capacity / s->in_rows;
	else
		tiles.rows = capacity;
	if (s->config->tile_lines && tiles.lines)
		tiles.lines = npl_min_i64(tiles.lines, s->config->tile_lines);
	try_parts(s, &tiles);
}

static void try_streamed(struct search *s)
{
	const struct dn_config *c = s->config;
	const int64_t capacity = npl_min_i64(c->nbin_rows, c->sb_rows - s->bias_rows),
		      half = npl_min_i64(c->nbin_rows / 2, c->sb_rows / 2 - s->bias_rows);
	if (capacity >= 1)
		try_rows(s, capacity);
	if (half >= 1)
		try_rows(s, half);
	if (s->axis[1].kernel * s->in_rows <= half)
		try_parts(s, &(struct dn_tiles){.lines = 1});
	else if (s->in_rows <= capacity)
		try_parts(s, &(struct dn_tiles){.taps = 1});
}

static void try_pooled_groups(struct search *s, struct dn_tiles tiles)
{
	const struct dn_config *c = s->config;
	const int64_t max_groups = npl_min_i64(c->nbin_rows / dn_taps(s->layer),
					       npl_min_i64(s->in_rows, s->result_groups));
	for (tiles.groups = max_groups; tiles.groups > 0 && tiles.groups > max_groups - MAX_TRIED; tiles.groups--)
		if (!c->tile_groups || tiles.groups == npl_min_i64(c->tile_groups, max_groups))
			keep_if_among_best(s, &tiles);
}

static void try_pooled(struct search *s)
{
	const struct dn_axis *y = &s->axis[0], *x = &s->axis[1];
	const int64_t window = dn_taps(s->layer);
	struct dn_tiles tiles = {.nest = DN_POOLED, .groups = 1, .taps = npl_max_i64(1, s->config->nbin_rows / 2)};
	if (window > s->config->nbin_rows) {
		keep_if_among_best(s, &tiles);
		return;
	}
	tiles.taps = window;
	try_pooled_groups(s, tiles);
	tiles.nest = DN_POOLED_ACROSS;
	if (x->stride < x->kernel && x->dilation == 1 && y->dilation == 1 && x->out > 1)
		try_pooled_groups(s, tiles);
}

static void search_all_tiles(struct search *s)
{
	const int nest = s->config->nest;
	s->n = 0;
	if (s->layer->kind != DN_SUM) {
		try_pooled(s);
		return;
	}
	if (nest != DN_WANT_STREAMED)
		try_resident(s);
	if (nest == DN_WANT_ANY || nest == DN_WANT_STREAMED)
		try_streamed(s);
}

static struct search search_of(const struct dn_config *config, const struct dn_layer *layer, double bytes_per_cycle)
{
	static const struct dn_tiles across_tiles = {.nest = DN_ACROSS};
	struct search s = {.config = config,
			   .layer = layer,
			   .in_rows = dn_in_rows(config, layer),
			   .groups = dn_out_rows(config, layer),
			   .bias_rows = dn_bias_rows(config, layer),
			   .sums = config->nbout_sum_rows / dn_sum_rows(config),
			   .result_groups = dn_result_groups(config, layer),
			   .bytes_per_cycle = bytes_per_cycle};
	s.sb_row_cycles = ceil((double)dn_sb_row_bytes(config) / bytes_per_cycle);
	dn_lay_out(config, layer, &across_tiles, &s.layout_across);
	s.kernel_rows = dn_taps(layer) * s.in_rows + s.bias_rows;
	for (int d = 0; d < NPL_SPATIAL; d++)
		s.axis[d] = dn_axis_of(layer, d);
	return s;
}

static bool same_tiles(const struct dn_tiles *a, const struct dn_tiles *b)
{
	return a->nest == b->nest && a->columns == b->columns && a->positions == b->positions &&
	       a->groups == b->groups && a->lines == b->lines && a->taps == b->taps && a->rows == b->rows;
}

static void add_candidates(struct dn_candidates *candidates, const struct search *s)
{
	for (int i = 0; i < s->n; i++) {
		bool known = false;
		for (int k = 0; k < candidates->n; k++)
			known = known || same_tiles(&candidates->tiles[k], &s->tiles[i]);
		if (known)
			continue;
		candidates->tiles[candidates->n] = s->tiles[i];
		candidates->cycles[candidates->n] = s->cost[i].time;
		candidates->bytes[candidates->n++] = s->cost[i].bytes;
	}
}

int dn_find_tiles(const struct dn_config *config, const struct dn_layer *layer, double bytes_per_cycle,
		  struct dn_candidates *candidates, struct npl_err *err)
{
	struct search s = search_of(config, layer, bytes_per_cycle);
	*candidates = (struct dn_candidates){0};
	if (!dn_positions(layer) || !layer->images || !layer->ni || !layer->no) {
		candidates->n = 1; /* a layer with nothing to do has one candidate */
		candidates->tiles[0] = (struct dn_tiles){.lines = 1};
		return 0;
	}
	search_all_tiles(&s);
	if (!s.n)
		return npl_fail(err, NPL_EINPUT, "no tiles as asked for by tiles.* fit the buffers of this layer");
	add_candidates(candidates, &s);
	s.time_limit = s.cost[0].time * DN_MUCH_SLOWER;
	s.by_bytes = true;
	search_all_tiles(&s);
	add_candidates(candidates, &s);
	return 0;
}

double dn_estimated_cycles(const struct dn_config *config, const struct dn_layer *layer, double bytes_per_cycle,
			   const struct dn_tiles *tiles)
{
	const struct search s = search_of(config, layer, bytes_per_cycle);
	return estimate(&s, tiles).time;
}
