/* SPDX-License-Identifier: MIT
 *
 * Cuts a layer into tiles for the array (generate.h). Output channels are cut into blocks side by side in the array's
 * columns. Each block has its tiles of K: input channels of one extent times kernel taps, in the array's rows. Where
 * channels are few, as many taps as fit stand side by side (US Patent 9,697,463, claims 3-4). Groups of a convolution
 * stand block-diagonally in a tile. More groups at once mean fewer blocks, but fewer taps at once and more tiles per
 * block; the number that gives the fewest passes is taken. */
#include "impl.h"

#include "core/base/arith.h"

/* A layer as the array sees it. */
struct shape {
	int64_t taps, groups, in_group, out_group; /* in_group, out_group: the channels of one group */
};

static struct shape shape_of(const struct tpu_gen *gen, const struct tpu_gen_group *group)
{
	const struct tpu_gen_node *node = &gen->node[group->matrix];
	struct shape s = {.taps = node->window.kernel[0] * node->window.kernel[1], .groups = node->groups};
	/* A group has channels on both sides (supports.c). */
	s.in_group = npl_max_i64(1, gen->value[group->source].image.channels / s.groups);
	s.out_group = npl_max_i64(1, gen->value[node->out].image.channels / s.groups);
	return s;
}

/* Returns how many groups of the convolution stand side by side. */
static int64_t groups_at_once(const struct tpu_gen *gen, const struct shape *s)
{
	int64_t best = 1, fewest = INT64_MAX;
	if (s->groups == 1 || s->in_group > gen->rows || s->out_group > gen->columns)
		return 1;
	int64_t max_groups = npl_min_i64(s->groups, npl_min_i64(gen->rows / s->in_group, gen->columns / s->out_group));
	for (int64_t at_once = max_groups; at_once >= 1; at_once--) {
		int64_t taps = gen->rows / (at_once * s->in_group);
		int64_t passes = npl_div_up_i64(s->groups, at_once) * npl_div_up_i64(s->taps, taps);
		if (passes < fewest) {
			fewest = passes;
			best = at_once;
		}
	}
	return best;
}

/* Returns the number of output channels, at most `capacity`, of a block that begins at channel m. */
static int64_t block_channels(const struct tpu_gen *gen, const struct shape *s, int64_t at_once, int64_t m,
			      int64_t capacity)
{
	int64_t g = m / s->out_group;
	if (at_once == 1)
		return npl_min_i64(capacity, npl_min_i64(gen->columns, (g + 1) * s->out_group - m));
	return npl_min_i64(capacity, (g + at_once) * s->out_group - m);
}

/* Counts the tiles for input channels first <= c < end, and writes them to `tile` unless it is NULL. */
static int k_tiles(const struct tpu_gen *gen, const struct tpu_gen_group *group, int64_t kernel_taps, int64_t first,
		   int64_t end, struct tpu_gen_k_tile *tile)
{
	int n = 0;
	for (int r = 0; r < group->n_in_extents; r++) {
		const struct tpu_gen_extent *extent = &group->in_extent[r];
		int64_t low = npl_max_i64(first, extent->first),
			high = npl_min_i64(end, extent->first + extent->channels);
		if (low >= high)
			continue;
		int64_t taps = npl_min_i64(kernel_taps, npl_max_i64(1, gen->rows / (high - low)));
		for (int64_t tap = 0; tap < kernel_taps; tap += taps)
			for (int64_t c = low; c < high; c += gen->rows, n++)
				if (tile)
					tile[n] = (struct tpu_gen_k_tile){.extent = r,
									  .first = c,
									  .channels = npl_min_i64(gen->rows, high - c),
									  .tap = tap,
									  .taps = npl_min_i64(taps, kernel_taps - tap)};
	}
	return n;
}

/* Walks over the blocks and counts them; with `write` it fills them in. Blocks of a layer without groups share their K
 * tiles. */
static void walk(struct tpu_gen *gen, struct tpu_gen_group *group, const struct shape *s, bool write)
{
	int64_t at_once = groups_at_once(gen, s);
	group->n_blocks = group->n_k_tiles = 0;
	for (int r = 0; r < group->n_out_extents; r++) {
		const struct tpu_gen_extent *extent = &group->out_extent[r];
		for (int64_t m = extent->first, end = m + extent->channels; m < end;) {
			struct tpu_gen_n_block block = {.extent = r, .first = m, .k_first = group->n_k_tiles};
			block.channels = block_channels(gen, s, at_once, m, end - m);
			int64_t low = m / s->out_group * s->in_group,
				high = ((m + block.channels - 1) / s->out_group + 1) * s->in_group;
			if (s->groups == 1 && group->n_blocks) {
				block.k_first = 0;
				block.k_count = group->n_k_tiles;
			} else {
				block.k_count = k_tiles(gen, group, s->taps, low, high,
							write ? group->k_tile + block.k_first : NULL);
				group->n_k_tiles += block.k_count;
			}
			if (write)
				group->block[group->n_blocks] = block;
			group->n_blocks++;
			m += block.channels;
		}
	}
}

/* Makes the blocks of a group that has no matrix node: the activation unit has as many lanes as the array has
 * columns. */
static void walk_lanes(const struct tpu_gen *gen, struct tpu_gen_group *group, bool write)
{
	group->n_blocks = 0;
	for (int r = 0; r < group->n_out_extents; r++) {
		const struct tpu_gen_extent *extent = &group->out_extent[r];
		for (int64_t c = 0; c < extent->channels; c += gen->columns, group->n_blocks++)
			if (write)
				group->block[group->n_blocks] = (struct tpu_gen_n_block){
					.extent = r,
					.first = extent->first + c,
					.channels = npl_min_i64(gen->columns, extent->channels - c)};
	}
}

/* Gives places in the weight image to each block's parameter table, then to its tiles. One table serves all blocks of a
 * copy, and of a layer that has neither bias nor scale. */
static void place_weights(struct tpu_gen *gen, struct tpu_gen_group *group)
{
	const struct tpu_gen_node *node = &gen->node[group->matrix];
	const struct npl_layer *layer = gen->layer[node->layer];
	bool biased = layer->n_in > 2 && layer->in[2], raw = gen->value[node->out].type == TPU_I32;
	bool one_table = node->copy || (raw && !biased);
	for (int b = 0; b < group->n_blocks; b++) {
		struct tpu_gen_n_block *block = &group->block[b];
		block->table_row = one_table && b ? group->block[0].table_row : gen->weight_rows;
		gen->weight_rows += one_table && b ? 0 : TPU_TABLE_ROWS;
	}
	for (int b = 0; b < group->n_blocks; b++) {
		group->block[b].weight_row = gen->weight_rows;
		gen->weight_rows += group->block[b].k_count * (group->wide_weights ? 2 : 1) * gen->rows;
	}
}

int tpu_gen_tiles(struct tpu_gen *gen, struct tpu_gen_group *group)
{
	struct shape s = {1, 1, 1, 1};
	if (group->matrix >= 0) {
		const struct tpu_gen_node *node = &gen->node[group->matrix];
		s = shape_of(gen, group);
		group->wide_inputs = gen->value[group->source].type == TPU_I16;
		group->wide_weights = !node->copy && gen->layer[node->layer]->in[1]->dtype == NPL_I16;
		walk(gen, group, &s, false);
	} else {
		walk_lanes(gen, group, false);
	}
	group->block = npl_arena_array(&gen->arena, (size_t)group->n_blocks, sizeof *group->block);
	group->k_tile = npl_arena_array(&gen->arena, (size_t)group->n_k_tiles, sizeof *group->k_tile);
	if (!group->block || !group->k_tile)
		return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the tiles");
	if (group->matrix < 0) {
		walk_lanes(gen, group, true);
		return 0;
	}
	walk(gen, group, &s, true);
	place_weights(gen, group);
	return 0;
}

int64_t tpu_gen_tile_weights(const struct tpu_gen *gen, const struct tpu_gen_group *group,
			     const struct tpu_gen_n_block *block, const struct tpu_gen_k_tile *tile)
{
	if (gen->node[group->matrix].groups == 1)
		return block->channels * tile->channels * tile->taps;
	struct shape s = shape_of(gen, group);
	int64_t cells = 0, end = block->first + block->channels;
	for (int64_t g = block->first / s.out_group; g * s.out_group < end; g++) {
		int64_t columns = npl_min_i64(end, (g + 1) * s.out_group) - npl_max_i64(block->first, g * s.out_group);
		int64_t low = npl_max_i64(tile->first, g * s.in_group),
			high = npl_min_i64(tile->first + tile->channels, (g + 1) * s.in_group);
		cells += high > low ? columns * (high - low) * tile->taps : 0;
	}
	return cells;
}
