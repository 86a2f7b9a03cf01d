/* SPDX-License-Identifier: MIT
 *
 * Makes the weight image: tiles as the array takes them, padded with the weights' zero point so that the padding adds
 * nothing, and parameter tables of bias and scale (docs/tpu-isa.md). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/int8/int8.h"
#include "impl.h"
#include "transpose.h"

#define BLOCK 16 /* the columns of a tile written at once: their weights come from as many streams */

/* The weights of one layer. */
struct source {
	const uint8_t *data; /* little-endian, as x86-64 keeps them */
	int64_t bytes;       /* bytes of a weight */
	int64_t in_group, out_group, taps;
	uint8_t zero;
};

/* Finds the rows of the tile whose input channels low <= channel < high belong to the group of output channel m. */
static void group_range(const struct source *s, const struct tpu_gen_k_tile *tile, int64_t m, int64_t *low,
			int64_t *high)
{
	int64_t first = m / s->out_group * s->in_group, end = first + s->in_group;
	*low = first > tile->first ? first : tile->first;
	*high = end < tile->first + tile->channels ? end : tile->first + tile->channels;
}

/* Writes byte `plane` of the weights of output channels m to m + n - 1 into the columns from j on. These outputs have
 * the same input channels. */
static void fill_columns(const struct tpu_gen *gen, const struct source *s, const struct tpu_gen_k_tile *tile,
			 int64_t m, int64_t n, int64_t j, int plane, uint8_t *out)
{
	int64_t low, high, columns = gen->columns, filter = s->in_group * s->taps * s->bytes;
	group_range(s, tile, m, &low, &high);
	const uint8_t *w = s->data + m * filter + plane;
	int64_t group_first = m / s->out_group * s->in_group;
	for (int64_t t = 0; t < tile->taps; t++)
		for (int64_t c = low; c < high; c++) {
			const uint8_t *from = w + ((c - group_first) * s->taps + tile->tap + t) * s->bytes;
			uint8_t *to = out + (t * tile->channels + c - tile->first) * columns + j;
			for (int64_t i = 0; i < n; i++)
				to[i] = from[i * filter];
		}
}

/* Fills columns j0 to j1 - 1 of a tile. */
static void fill_tile(const struct tpu_gen *gen, const struct source *s, const struct tpu_gen_n_block *block,
		      const struct tpu_gen_k_tile *tile, int plane, int64_t j0, int64_t j1, uint8_t *out)
{
	for (int64_t j = j0, n; j < j1; j += n) {
		int64_t m = block->first + j, in_group = s->out_group - m % s->out_group;
		n = j1 - j < TPU_SQUARE ? j1 - j : TPU_SQUARE;
		n = n < in_group ? n : in_group;
		fill_columns(gen, s, tile, m, n, j, plane, out);
	}
}

/* Finds the place in the block's tiles of each weight of a filter, by the weight's place in the filter. */
static void map_filter(const struct tpu_gen *gen, const struct tpu_gen_group *group, const struct source *s,
		       const struct tpu_gen_n_block *block, int64_t *offset)
{
	for (int k = 0; k < block->k_count; k++) {
		const struct tpu_gen_k_tile *tile = &group->k_tile[block->k_first + k];
		for (int64_t t = 0; t < tile->taps; t++)
			for (int64_t c = 0; c < tile->channels; c++)
				offset[(tile->first + c) * s->taps + tile->tap + t] = (k * gen->rows +
										       t * tile->channels + c) *
										      gen->columns;
	}
}

/* Fills tiles of one-byte weights of a layer without groups, in squares of 16 filters by 16 places of each, so that
 * whole rows of tiles are written one after the other. Returns the number of columns filled. */
static int64_t fill_squares(const struct source *s, const struct tpu_gen_n_block *block, const int64_t *offset,
			    uint8_t *out)
{
	int64_t filter = s->in_group * s->taps, columns = block->channels / TPU_SQUARE * TPU_SQUARE, k = 0;
	const uint8_t *from = s->data + block->first * filter;
	for (; k + TPU_SQUARE <= filter; k += TPU_SQUARE)
		for (int64_t j = 0; j < columns; j += TPU_SQUARE) {
			__m128i row[TPU_SQUARE];
			tpu_transpose(from + j * filter + k, filter, row);
			for (int i = 0; i < TPU_SQUARE; i++)
				tpu_store(out + offset[k + i] + j, row[i]);
		}
	for (; k < filter; k++)
		for (int64_t j = 0; j < columns; j++)
			out[offset[k] + j] = from[j * filter + k];
	return columns;
}

static void fill_unit(const struct tpu_gen *gen, const struct tpu_gen_n_block *block, const struct tpu_gen_k_tile *tile,
		      uint8_t *out)
{
	for (int64_t j = 0; j < block->channels; j++) {
		int64_t row = block->first + j - tile->first;
		if (row >= 0 && row < tile->channels)
			out[row * gen->columns + j] = 1;
	}
}

/* Says whether the scale can be used. 0 can: a channel of weights around 1e-28 beside another of 1e20 comes to nothing,
 * and each of its results is the zero point. */
static bool usable(float scale)
{
	return isfinite(scale) && scale >= 0;
}

static int scale_of(struct tpu_gen *gen, const struct tpu_gen_group *group, int64_t m, float *scale)
{
	const struct tpu_gen_node *node = &gen->node[group->matrix];
	const struct tpu_gen_value *y = &gen->value[node->out];
	*scale = 1;
	if (node->copy)
		return 0;
	const struct npl_layer *layer = gen->layer[node->layer];
	const struct npl_quant *w = &layer->in[1]->quant;
	float x_scale = gen->value[group->source].scale, w_scale = w->channel_scale ? w->channel_scale[m] : w->scale;
	*scale = y->type == TPU_I32 ? 0 : npl_int8_scale(x_scale, w_scale, y->scale);
	if (y->type != TPU_I32 && !(usable(x_scale) && usable(w_scale) && usable(y->scale) && usable(*scale)))
		return npl_fail(
			gen->err, NPL_EINPUT,
			"%s: output channel %lld is scaled by %g * %g / %g = %g (input, weight, output), expected "
			"finite numbers from 0",
			layer->name ? layer->name : "layer", (long long)m, (double)x_scale, (double)w_scale,
			(double)y->scale, (double)*scale);
	*scale = *scale < TPU_MAX_SCALE ? *scale : TPU_MAX_SCALE; /* every sum except 0 saturates with either scale */
	return 0;
}

static int fill_table(struct tpu_gen *gen, const struct tpu_gen_group *group, const struct tpu_gen_n_block *block,
		      uint8_t *out)
{
	const struct tpu_gen_node *node = &gen->node[group->matrix];
	const struct npl_layer *layer = gen->layer[node->layer];
	const struct npl_tensor *bias = !node->copy && layer->n_in > 2 ? layer->in[2] : NULL;
	for (int64_t j = 0; j < gen->columns; j++) {
		/* Where one table serves all blocks, every column has the same values. */
		int64_t m = j < block->channels ? block->first + j : block->first;
		int32_t b = bias ? ((const int32_t *)bias->data)[m] : 0;
		float scale;
		if (scale_of(gen, group, m, &scale))
			return NPL_EINPUT;
		memcpy(out + TPU_TABLE_ENTRY_BYTES * j, &b, sizeof b);
		memcpy(out + TPU_TABLE_ENTRY_BYTES * j + TPU_TABLE_SCALE, &scale, sizeof scale);
	}
	return 0;
}

/* Fills all tiles of a block of N. offset has room for a filter's map, or is NULL where squares cannot be used. */
static void fill_block(const struct tpu_gen *gen, const struct tpu_gen_group *group, const struct source *s,
		       const struct tpu_gen_n_block *block, int64_t *offset)
{
	int64_t planes = group->wide_weights ? 2 : 1, tile_bytes = gen->rows * gen->columns, squared_channels = 0;
	uint8_t *out = gen->generated->weights + block->weight_row * gen->columns;
	if (s->data && s->zero) /* the weight image is zeroed when it is allocated */
		memset(out, s->zero, (size_t)(block->k_count * tile_bytes));
	if (offset) {
		map_filter(gen, group, s, block, offset);
		squared_channels = fill_squares(s, block, offset, out);
	}
	for (int k = 0; k < block->k_count; k++)
		for (int p = 0; p < planes; p++, out += tile_bytes)
			if (s->data)
				fill_tile(gen, s, block, &group->k_tile[block->k_first + k], p, squared_channels,
					  block->channels, out);
			else
				fill_unit(gen, block, &group->k_tile[block->k_first + k], out);
}

static int fill_group(struct tpu_gen *gen, const struct tpu_gen_group *group)
{
	const struct tpu_gen_node *node = &gen->node[group->matrix];
	const struct npl_tensor *w = node->copy ? NULL : gen->layer[node->layer]->in[1];
	struct source s = {.out_group = 1};
	int64_t *offset = NULL;
	if (w)
		s = (struct source){.data = w->data,
				    .bytes = group->wide_weights ? 2 : 1,
				    .in_group = gen->value[group->source].image.channels / node->groups,
				    .out_group = gen->value[node->out].image.channels / node->groups,
				    .taps = node->window.kernel[0] * node->window.kernel[1],
				    .zero = (uint8_t)w->quant.zero_point};
	if (w && node->groups == 1 && !group->wide_weights) {
		offset = npl_arena_array(&gen->arena, (size_t)(s.in_group * s.taps), sizeof *offset);
		if (!offset)
			return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the weights");
	}
	for (int b = 0; b < group->n_blocks; b++) {
		const struct tpu_gen_n_block *block = &group->block[b];
		if ((b == 0 || block->table_row != group->block[0].table_row) &&
		    fill_table(gen, group, block, gen->generated->weights + block->table_row * gen->columns))
			return NPL_EINPUT;
		fill_block(gen, group, &s, block, offset);
	}
	return 0;
}

int tpu_gen_weights(struct tpu_gen *gen)
{
	struct tpu_generated *g = gen->generated;
	int64_t memory_rows = gen->config->weight_bytes / gen->columns, reach = (int64_t)1 << 32;
	if (gen->weight_rows > memory_rows || gen->weight_rows > reach)
		return npl_fail(gen->err, NPL_EDEVICE,
				"the weights in whole tiles take %lld rows of %lld bytes, the weight memory has %lld",
				(long long)gen->weight_rows, (long long)gen->columns,
				(long long)(memory_rows < reach ? memory_rows : reach));
	if (gen->request->timing_only || !gen->weight_rows)
		return 0;
	g->weight_bytes = (size_t)(gen->weight_rows * gen->columns);
	g->weights = calloc(1, g->weight_bytes);
	if (!g->weights)
		return npl_fail(gen->err, NPL_ENOMEM, "out of memory for %zu bytes of weights", g->weight_bytes);
	for (int i = 0; i < gen->n_groups; i++)
		if (gen->group[i].matrix >= 0) {
			int rc = fill_group(gen, &gen->group[i]);
			if (rc)
				return rc;
		}
	return 0;
}
