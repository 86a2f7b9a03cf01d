/* SPDX-License-Identifier: MIT
 *
 * What crosses the memory port. The paper gives the loop nests (Chen et al., ASPLOS 2014, figures 5, 7 and 8) but not
 * the tile sizes; here the machine's code generator is taken to choose those with the least traffic.
 *
 * For one image and group: I = ceil(ni / Tn) NBin rows per tap, W = taps * I rows of one window (as many SB rows hold
 * the kernel of one group of Tn outputs), G = ceil(no / Tn) groups of outputs, P output positions.
 *
 *   resident (figure 7): xx (tiles of tile_width columns) > nnn (groups_at_once) > y > x > nn > ky, kx > ii
 *      A window slides along x in NBin and the kernels of groups_at_once groups stay in SB. An output row reads the
 *      input rows under it; when all rows that a window spans fit NBin at the tile's width they slide along y
 *      too, and when the whole tile does, it is read once for all passes over nnn. Synapses are read once per tile,
 *      or once per layer when all of them fit SB.
 *   streamed, when a window or a kernel is larger than its buffer; nothing is shared between windows. Either
 *      - figure 5 per position: nnn (groups_at_once) > iii (chunks of NBin) > nn > ii; synapses pass once per
 *        position, or
 *      - blocks of positions_at_once > nnn > iii (chunks of NBin and SB / groups_at_once) > y, x > nn > ii; synapses
 *        pass once per block.
 *      Sums of unfinished windows are written to NBout and read again for each further chunk, in its own room: NBout
 *      bounds groups_at_once * positions_at_once.
 *   pooling (figure 8), one group of Tn maps after the other: as resident with I = 1 and no kernels, or, when a
 *      window is larger than NBin, every window on its own.
 *
 * Synapses lie in memory as SB rows, with zeros where a layer has not Tn inputs or outputs, and biases as Tn words of
 * four bytes; so do they cross the port. Inputs and results cross it as they are.
 *
 * Not here: the cost of short requests; when what crosses (schedule.c, timing.c). */
#include "schedule.h"

#define MOST_TILES 4096 /* per row: finer ones are not tried */

struct plan {
	const struct dn_config *config;
	const struct dn_work *work;
	struct dn_axis axis[NPL_SPATIAL];
	int64_t in_rows, window_rows, groups, positions; /* I, W, G, P */
	int64_t rows_read, rows_touched; /* input rows under all output rows: of each anew, and different ones */
	uint64_t windows;                /* input values of all windows of one image and group, each anew */
	uint64_t group_synapse_bytes;    /* kernels and biases of one group of the layer, as SB rows */
	bool kept;                       /* all synapses of the layer fit SB */
};

/* One choice of tiles: counts for one image and group. */
struct choice {
	struct dn_traffic tiles;
	uint64_t inputs, loads, partial_rows; /* input values, loadings of all synapses */
};

uint64_t dn_kernel_bytes(const struct dn_config *config, const struct dn_work *work)
{
	return (uint64_t)(dn_taps(work) * dn_in_rows(config, work) * dn_sb_row_bytes(config) +
			  (work->bias ? 4 * config->tn : 0));
}

static int64_t ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Taps of window o that lie inside the input. */
static int64_t taps_inside(const struct dn_axis *axis, int64_t o)
{
	struct dn_range taps = dn_taps_inside(axis, o, 0, axis->kernel);
	return taps.end - taps.first;
}

/* The same for windows first..end-1; those between the borders have all taps. */
static int64_t taps_inside_all(const struct dn_axis *axis, int64_t first, int64_t end)
{
	int64_t room = axis->in + axis->pad - dn_span(axis, 0, 1); /* up to where a window may start */
	int64_t inner = min(max(ceil_div(axis->pad, axis->stride), first), end);
	int64_t inner_end = max(min(room < 0 ? 0 : room / axis->stride + 1, end), inner);
	int64_t sum = (inner_end - inner) * axis->kernel;
	for (int64_t o = first; o < inner; o++)
		sum += taps_inside(axis, o);
	for (int64_t o = inner_end; o < end; o++)
		sum += taps_inside(axis, o);
	return sum;
}

/* Different input positions under windows first..end-1. */
static int64_t touched(const struct dn_axis *axis, int64_t first, int64_t end)
{
	if (first >= end)
		return 0;
	if (dn_span(axis, first, first + 1) <= axis->stride)
		return taps_inside_all(axis, first, end); /* windows do not meet */
	int64_t low = dn_tap_at(axis, first, 0), high = low + dn_span(axis, first, end);
	if (axis->dilation == 1)
		return max(min(high, axis->in) - max(low, 0), 0);
	int64_t count = 0;
	for (int64_t o = first; o < end; o++) {
		struct dn_range taps = dn_new_taps(axis, o, first);
		count += taps.end - taps.first;
	}
	return count;
}

/* What a choice moves in the layer, and whether that beats the best so far. */
static void offer(const struct plan *plan, struct choice *choice, struct dn_traffic *best)
{
	const struct dn_work *work = plan->work;
	struct dn_traffic *t = &choice->tiles;
	uint64_t images = (uint64_t)work->images, groups = (uint64_t)work->groups;
	t->input_bytes = 2 * images * groups * choice->inputs;
	t->synapse_bytes = groups * plan->group_synapse_bytes * (plan->kept ? 1 : images * choice->loads);
	t->partial_rows = images * groups * choice->partial_rows;
	if (!best->groups_at_once || t->input_bytes + t->synapse_bytes < best->input_bytes + best->synapse_bytes)
		*best = *t;
}

/* Input values that one tile of columns first..end-1 reads in `passes` passes over its outputs. */
static uint64_t tile_inputs(const struct plan *plan, int64_t in_rows, int64_t first, int64_t end, int64_t passes)
{
	const struct dn_work *work = plan->work;
	struct dn_held held = dn_held(plan->config, plan->axis, in_rows, first, end);
	int64_t height = held.rows_slide ? plan->rows_touched : plan->rows_read;
	return (uint64_t)(height * touched(&plan->axis[1], first, end) * work->ni) *
	       (uint64_t)(held.all_fits ? 1 : passes);
}

static void try_tiles(const struct plan *plan, int64_t in_rows, int64_t at_once, struct dn_traffic *best)
{
	const struct dn_work *work = plan->work;
	bool sums = work->kind == DN_SUM;
	int64_t width = work->out[1], tried = 0;
	for (int64_t tiles = 1; tiles <= min(width, MOST_TILES); tiles++) {
		int64_t tile = ceil_div(width, tiles);
		if (tile == tried)
			continue;
		tried = tile;
		struct choice choice = {.loads = (uint64_t)ceil_div(width, tile)};
		choice.tiles = (struct dn_traffic){.resident = true, .tile_width = tile, .groups_at_once = at_once};
		for (int64_t first = 0; first < width; first += tile)
			choice.inputs += tile_inputs(plan, in_rows, first, min(first + tile, width),
						     sums ? ceil_div(plan->groups, at_once) : 1);
		offer(plan, &choice, best);
	}
}

/* Where it costs no traffic, half of SB is left to the next kernels, which then load while these work. */
static void try_resident(const struct plan *plan, struct dn_traffic *best)
{
	const struct dn_work *work = plan->work;
	const struct dn_config *config = plan->config;
	bool sums = work->kind == DN_SUM;
	int64_t in_rows = sums ? plan->in_rows : 1;
	if (work->window.kernel[0] * dn_span(&plan->axis[1], 0, 1) * in_rows > config->nbin_rows)
		return;
	if (!sums) {
		try_tiles(plan, in_rows, 1, best);
		return;
	}
	if (plan->positions == 1) /* nothing slides and nothing is used again */
		return;
	for (int64_t rows = config->sb_rows / 2; rows <= config->sb_rows; rows += max(config->sb_rows - rows, 1))
		if (rows >= plan->window_rows)
			try_tiles(plan, in_rows, min(plan->groups, rows / plan->window_rows), best);
}

/* Chunks of `rows` rows, groups_at_once groups, positions_at_once positions (those that fit when 0). */
static void try_streamed(const struct plan *plan, int64_t rows, int64_t at_once, int64_t positions,
			 struct dn_traffic *best)
{
	int64_t chunks = ceil_div(plan->window_rows, rows), sum_rows = dn_sum_rows(plan->config);
	if (!positions)
		positions = chunks > 1 ? plan->config->nbout_rows / (at_once * sum_rows) : plan->positions;
	if (positions < 1)
		return;
	struct choice choice = {
		.tiles = {.groups_at_once = at_once, .positions_at_once = positions, .chunk_rows = rows},
		.inputs = plan->windows * (uint64_t)ceil_div(plan->groups, at_once),
		.loads = (uint64_t)ceil_div(plan->positions, positions),
		.partial_rows = 2 * (uint64_t)((chunks - 1) * plan->positions * plan->groups * sum_rows),
	};
	offer(plan, &choice, best);
}

static void try_all_streamed(const struct plan *plan, struct dn_traffic *best)
{
	const struct dn_config *config = plan->config;
	if (plan->work->kind != DN_SUM) {
		struct choice choice = {
			.tiles = {.groups_at_once = 1, .positions_at_once = 1, .chunk_rows = plan->window_rows},
			.inputs = plan->windows};
		offer(plan, &choice, best);
		return;
	}
	bool in_one = plan->window_rows <= config->nbin_rows;
	int64_t sums = config->nbout_rows / dn_sum_rows(config);
	try_streamed(plan, config->nbin_rows, in_one ? plan->groups : min(plan->groups, sums), 1, best);
	/* Again, half of SB first. */
	for (int64_t at_once = 1; at_once <= min(plan->groups, config->sb_rows); at_once++) {
		int64_t rows = config->sb_rows / at_once;
		if (rows > 1)
			try_streamed(plan, min(config->nbin_rows, rows / 2), at_once, 0, best);
		try_streamed(plan, min(config->nbin_rows, rows), at_once, 0, best);
	}
}

void dn_traffic_of(const struct dn_config *config, const struct dn_work *work, struct dn_traffic *traffic)
{
	struct plan plan = {.config = config,
			    .work = work,
			    .in_rows = dn_in_rows(config, work),
			    .groups = dn_out_rows(config, work),
			    .positions = dn_positions(work)};
	for (int d = 0; d < NPL_SPATIAL; d++)
		plan.axis[d] = dn_axis_of(work, d);
	uint64_t images = (uint64_t)work->images, groups = (uint64_t)work->groups;
	uint64_t outputs = images * groups * (uint64_t)(work->no * plan.positions);
	plan.window_rows = plan.in_rows * dn_taps(work);
	plan.rows_read = taps_inside_all(&plan.axis[0], 0, work->out[0]);
	plan.rows_touched = touched(&plan.axis[0], 0, work->out[0]);
	plan.windows = (uint64_t)(plan.rows_read * taps_inside_all(&plan.axis[1], 0, work->out[1]) * work->ni);
	if (work->kind == DN_SUM) {
		plan.group_synapse_bytes = (uint64_t)plan.groups * dn_kernel_bytes(config, work);
		plan.kept = work->groups * plan.groups * plan.window_rows <= config->sb_rows;
	}
	*traffic = (struct dn_traffic){0};
	if (outputs && work->ni) {
		try_resident(&plan, traffic);
		try_all_streamed(&plan, traffic);
	}
	traffic->output_bytes = outputs * (work->raw ? 4 : 2);
	traffic->at_least = traffic->output_bytes;
	if (outputs && work->kind == DN_SUM)
		traffic->at_least += groups * (uint64_t)work->no *
				     (uint64_t)(2 * work->ni * dn_taps(work) + (work->bias ? 4 : 0));
	if (outputs)
		traffic->at_least += 2 * images * groups *
				     (uint64_t)(touched(&plan.axis[0], 0, work->out[0]) *
						touched(&plan.axis[1], 0, work->out[1]) * work->ni);
}
