/* SPDX-License-Identifier: MIT
 *
 * Emits the array's passes for one group (generate.h): blocks of N, blocks of rows, tiles of K. The size of a block of
 * rows is chosen by an estimate of the cycles for one block of N; everything else follows. */
#include "impl.h"

#include "core/base/arith.h"

#include <math.h>

#define MAX_PIECES 8 /* the most pieces of a pass: half the accumulators of tpu_v1 in pieces of 256 rows */

/* Estimates the cycles for one block of N when its rows are cut into `blocks` blocks. Where there is no second half of
 * the accumulators to fill, the array waits after each block for the drain and for Activate. */
static double estimate(const struct tpu_gen *gen, const struct tpu_gen_group *group, int64_t rows, int64_t blocks)
{
	const struct tpu_config *c = gen->config;
	double block_rows = (double)npl_div_up_i64(rows, blocks), n = (double)blocks;
	double tiles = group->block[0].k_count * (group->wide_weights ? 2 : 1);
	double fetch = (double)(c->rows * c->columns) * (double)c->clock_hz / tpu_weight_rate(c);
	double switched = fmax(fetch, (double)c->rows), pass = block_rows * (group->wide_inputs ? 2 : 1);
	double matrix = tiles > 1 ? n * tiles * fmax(pass, switched) : fmax(n * pass, switched);
	double activate = n * block_rows * (double)c->activate_cycles_per_row * tpu_planes(gen->value[group->out].type);
	if (2 * block_rows <= (double)gen->accumulators)
		return fmax(matrix, activate);
	return matrix + activate + n * (double)(c->rows + c->columns);
}

/* Returns into how many blocks the rows are cut. Blocks consist of whole units (images, when they are pooled). Their
 * number is the fewest that half the accumulators allow, or the fewest that all of them allow: anything between has the
 * disadvantages of both. */
static int64_t choose_blocks(const struct tpu_gen *gen, const struct tpu_gen_group *group, int64_t rows, int64_t unit)
{
	int64_t units = rows / unit, half = gen->accumulators / 2 / unit;
	int64_t fewest = npl_div_up_i64(units, gen->accumulators / unit),
		halves = npl_div_up_i64(units, half ? half : 1);
	return estimate(gen, group, rows, fewest) < estimate(gen, group, rows, halves) ? fewest : halves;
}

/* Sets the registers that all tiles share. */
static void set_window(struct tpu_gen *gen, const struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile,
		       const struct tpu_gen_allocation *allocation)
{
	const struct npl_window *w = &gen->node[group->matrix].window;
	int64_t in[2] = {allocation->height, allocation->width}, out[2] = {out_tile->rows, out_tile->columns};
	int64_t start[2] = {out_tile->row, out_tile->column},
		first_position[2] = {allocation->first_row, allocation->first_column};
	for (int d = 0; d < NPL_SPATIAL; d++) {
		tpu_gen_set(gen, TPU_REG_IN_HEIGHT + d, in[d]);
		tpu_gen_set(gen, TPU_REG_OUT_HEIGHT + d, out[d]);
		tpu_gen_set(gen, TPU_REG_KERNEL_HEIGHT + d, w->kernel[d]);
		tpu_gen_set(gen, TPU_REG_STRIDE_Y + d, w->stride[d]);
		tpu_gen_set(gen, TPU_REG_DILATION_Y + d, w->dilation[d]);
		tpu_gen_set(gen, TPU_REG_PAD_TOP + d, w->pad_begin[d] + first_position[d] - start[d] * w->stride[d]);
	}
}

/* Says whether the vectors for the array are consecutive vectors of the allocation, one per row, as matrix_multiply
 * takes them. */
static bool is_plain(const struct tpu_gen *gen, const struct tpu_gen_group *group,
		     const struct tpu_gen_out_tile *out_tile, const struct tpu_gen_address *address, int64_t lane)
{
	const struct npl_window *w = &gen->node[group->matrix].window;
	int64_t in[2] = {address->allocation->height, address->allocation->width},
		out[2] = {out_tile->rows, out_tile->columns};
	int64_t start[2] = {out_tile->row, out_tile->column},
		from[2] = {address->allocation->first_row, address->allocation->first_column};
	for (int d = 0; d < NPL_SPATIAL; d++)
		if (w->kernel[d] != 1 || w->stride[d] != 1 || w->pad_begin[d] || in[d] != out[d] || start[d] != from[d])
			return false;
	return address->allocation->row_pixels == 1 && lane == 0;
}

/* The rows of a pass: `count` vectors of the out_tile from `first` on, with their sums from accumulator row acc on. */
struct pass {
	int64_t first, count, acc;
};

static void convolve(struct tpu_gen *gen, const struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile,
		     const struct tpu_gen_k_tile *tile, const struct tpu_gen_address *address, const struct pass *pass,
		     unsigned flags)
{
	const struct tpu_gen_allocation *allocation = address->allocation;
	int64_t lane = address->lane + tile->first - group->in_extent[tile->extent].first;
	int64_t image = out_tile->image - allocation->first_image, per_image = out_tile->rows * out_tile->columns;
	int64_t first = image * per_image + pass->first, last = first + pass->count - 1;
	if (allocation->planes > 1)
		tpu_gen_set(gen, TPU_REG_INPUT_PLANE_ROWS, allocation->plane_rows);
	if (is_plain(gen, group, out_tile, address, lane)) {
		tpu_gen_touch_vectors(gen, false, address, first, pass->count);
		tpu_gen_add(gen, TPU_MATRIX_MULTIPLY, flags, address->row + first, pass->acc, pass->count);
		return;
	}
	set_window(gen, group, out_tile, allocation);
	tpu_gen_set(gen, TPU_REG_PIXEL_LANES, allocation->pixel_lanes);
	tpu_gen_set(gen, TPU_REG_ROW_PIXELS, allocation->row_pixels);
	tpu_gen_set(gen, TPU_REG_FIRST_LANE, lane);
	tpu_gen_set(gen, TPU_REG_TAP_LANES, tile->channels);
	tpu_gen_set(gen, TPU_REG_FIRST_TAP, tile->tap);
	tpu_gen_set(gen, TPU_REG_TAPS, tile->taps);
	tpu_gen_set(gen, TPU_REG_FIRST_OUTPUT, first);
	int64_t vectors = allocation->height * allocation->width, low = 0, high = 1;
	if (last >= per_image) {
		low = first / per_image;
		high = last / per_image + 1;
	}
	tpu_gen_touch_vectors(gen, false, address, low * vectors, (high - low) * vectors);
	tpu_gen_add(gen, TPU_CONVOLVE, flags, address->row, pass->acc, pass->count);
}

/* Sets the formats of both operands. Returns the flags of the tile of low bytes, without switch and accumulate. */
static unsigned formats(struct tpu_gen *gen, const struct tpu_gen_group *group)
{
	const struct tpu_gen_node *node = &gen->node[group->matrix];
	const struct tpu_gen_value *x = &gen->value[group->source];
	const struct npl_tensor *w = node->copy ? NULL : gen->layer[node->layer]->in[1];
	unsigned flags = x->type == TPU_U8 ? TPU_MATRIX_UNSIGNED_INPUTS : x->type == TPU_I16 ? TPU_MATRIX_INPUTS16 : 0;
	if (group->wide_weights || (w && w->dtype == NPL_U8))
		flags |= TPU_MATRIX_UNSIGNED_WEIGHTS;
	tpu_gen_set_zero(gen, TPU_REG_INPUT_ZERO_POINT, x->zero_point);
	tpu_gen_set_zero(gen, TPU_REG_WEIGHT_ZERO_POINT, w ? w->quant.zero_point : 0);
	return flags;
}

/* Returns into how many pieces the rows of a pass are cut: Activate works on one piece while the array fills the next.
 * With more pieces the last one ends earlier, but each costs Activate its latency. */
static int64_t choose_pieces(const struct tpu_gen *gen, const struct tpu_gen_group *group, int64_t count, int64_t unit)
{
	const struct tpu_config *c = gen->config;
	int64_t max_pieces = npl_min_i64(npl_min_i64(count / gen->rows, MAX_PIECES), count / unit), best = 1,
		soonest = INT64_MAX;
	int64_t planes = tpu_planes(gen->value[group->out].type);
	for (int64_t pieces = 1; pieces <= max_pieces; pieces++) {
		int64_t piece_rows = count / pieces, pass = piece_rows * (group->wide_inputs ? 2 : 1);
		int64_t activate = piece_rows * c->activate_cycles_per_row * planes + c->activate_latency_cycles;
		int64_t wait = activate <= pass ? activate : pieces * activate - (pieces - 1) * pass;
		if (wait < soonest) {
			soonest = wait;
			best = pieces;
		}
	}
	return best;
}

static struct pass piece_of(const struct pass *pass, int64_t unit, int64_t pieces, int64_t i)
{
	int64_t units = pass->count / unit,
		units_before = units / pieces * i + (i < units % pieces ? i : units % pieces);
	return (struct pass){pass->first + units_before * unit, (units / pieces + (i < units % pieces)) * unit,
			     pass->acc + units_before * unit};
}

/* Does all tiles of K of a block of N for the rows of a pass, and activates the results. The last tile is done in
 * pieces, so that a reader of the results waits for the last piece alone. */
static void passes(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile,
		   const struct tpu_gen_n_block *block, const struct pass *pass, int64_t unit)
{
	int planes = group->wide_weights ? 2 : 1;
	int64_t pieces = choose_pieces(gen, group, pass->count, unit);
	const int tiles = block->k_count * planes;
	bool switches = false;
	for (int t = 0; t < tiles; t++) {
		if (t % TPU_GEN_MAX_TILES == 0)
			switches = tpu_gen_need(gen, false, block->weight_row + t * gen->rows,
						npl_min_i64(tiles - t, TPU_GEN_MAX_TILES));
		const struct tpu_gen_k_tile *tile = &group->k_tile[block->k_first + t / planes];
		struct tpu_gen_address address = tpu_gen_address_of(gen, group, TPU_GEN_SOURCE, tile->extent);
		unsigned flags = formats(gen, group);
		bool last = t == tiles - 1;
		tpu_gen_set(gen, TPU_REG_USEFUL_CELLS,
			    gen->node[group->matrix].copy ? 0 : tpu_gen_tile_weights(gen, group, block, tile));
		if (t % planes)
			flags = (flags & ~(unsigned)TPU_MATRIX_UNSIGNED_WEIGHTS) | TPU_MATRIX_HIGH_WEIGHTS;
		if (t)
			flags |= TPU_MATRIX_ACCUMULATE;
		if (switches)
			flags |= TPU_MATRIX_SWITCH;
		for (int64_t i = 0; i < (last ? pieces : 1); i++) {
			struct pass piece = last ? piece_of(pass, unit, pieces, i) : *pass;
			convolve(gen, group, out_tile, tile, &address, &piece,
				 i ? flags & ~(unsigned)TPU_MATRIX_SWITCH : flags);
			if (last)
				tpu_gen_activate(gen, group, out_tile, block, piece.acc, piece.first, piece.count);
		}
	}
}

void tpu_gen_matrix(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile)
{
	int64_t per_image = out_tile->rows * out_tile->columns, rows = out_tile->images * per_image;
	int64_t unit = group->pool >= 0 ? per_image : 1, blocks = choose_blocks(gen, group, rows, unit);
	for (int b = out_tile->block; b < out_tile->block + out_tile->blocks; b++) {
		struct pass pass = {0, 0, 0};
		for (int64_t i = 0; i < blocks; i++, pass.first += pass.count) {
			/* Blocks are as equal as can be: two of 1,100 rows hide the weights of two tiles better than
			 * one of 2,048 and one of 152. */
			pass.count = (rows / unit / blocks + (i < rows / unit % blocks)) * unit;
			pass.acc = gen->accumulator + pass.count > gen->accumulators ? 0 : gen->accumulator;
			gen->accumulator = pass.acc + pass.count;
			passes(gen, group, out_tile, &group->block[b], &pass, unit);
		}
	}
}
