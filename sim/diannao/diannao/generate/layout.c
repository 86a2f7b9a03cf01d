/* SPDX-License-Identifier: MIT
 *
 * Places a layer's values in memory (layout.h). */
#include "layout.h"

#include "core/base/arith.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096

int64_t dn_bias_rows(const struct dn_config *config, const struct dn_layer *layer)
{
	int64_t row = dn_sb_row_bytes(config);
	return layer->bias ? (4 * config->tn + row - 1) / row : 0;
}

int64_t dn_result_groups(const struct dn_config *config, const struct dn_layer *layer)
{
	int64_t groups = (config->nbout_rows - config->nbout_sum_rows) / (layer->raw ? 4 : 2);
	return groups < 1 ? 1 : groups;
}

static int64_t kernels(const struct dn_layer *layer)
{
	return layer->private_kernels ? dn_positions(layer) : 1;
}

void dn_lay_out(const struct dn_config *config, const struct dn_layer *layer, const struct dn_tiles *tiles,
		struct dn_layout_map *map)
{
	*map = (struct dn_layout_map){.config = config,
				      .layer = layer,
				      .tiles = tiles,
				      .in_rows = dn_in_rows(config, layer),
				      .groups = dn_out_rows(config, layer),
				      .bias_rows = dn_bias_rows(config, layer),
				      .channels = layer->groups * layer->ni,
				      .out_channels = layer->groups * layer->no,
				      .out_bytes = layer->raw ? 4 : 2};
	const bool banded = layer->lrn.present && tiles && tiles->nest == DN_ACROSS;
	map->rows_below = banded ? npl_min_i64(npl_div_up_i64(layer->lrn.maps_below, config->tn), map->groups)
				 : map->groups;
	map->rows_above = banded ? npl_min_i64(npl_div_up_i64(layer->lrn.maps_above, config->tn), map->in_rows)
				 : map->in_rows;
	map->kernel_rows = dn_taps(layer) * map->in_rows + map->bias_rows;
	map->synapses = npl_round_up_u64(2 * (uint64_t)(layer->images * layer->in[0] * layer->in[1] * map->channels),
					 PAGE_BYTES);
	uint64_t rows = layer->kind == DN_SUM
				? (uint64_t)(kernels(layer) * layer->groups * dn_rows_before(map, map->groups))
				: 0;
	map->results = npl_round_up_u64(map->synapses + rows * (uint64_t)dn_sb_row_bytes(config), PAGE_BYTES);
	map->end = map->results + (uint64_t)(layer->images * dn_positions(layer) * map->out_channels * map->out_bytes);
}

uint64_t dn_memory_bytes(const struct dn_config *config, const struct dn_layer *layer)
{
	struct dn_layout_map map;
	dn_lay_out(config, layer, NULL, &map);
	return map.end;
}

uint64_t dn_input_at(const struct dn_layout_map *map, int64_t image, int64_t y, int64_t x, int64_t channel)
{
	const struct dn_layer *layer = map->layer;
	return 2 * (uint64_t)(((image * layer->in[0] + y) * layer->in[1] + x) * map->channels + channel);
}

uint64_t dn_result_at(const struct dn_layout_map *map, int64_t image, int64_t y, int64_t x, int64_t out_channel)
{
	const struct dn_layer *layer = map->layer;
	return map->results +
	       (uint64_t)((((image * layer->out[0] + y) * layer->out[1] + x) * map->out_channels + out_channel) *
			  map->out_bytes);
}

struct dn_range dn_rows_read(const struct dn_layout_map *map, int64_t group, int64_t group_end)
{
	return (struct dn_range){group > map->rows_below ? group - map->rows_below : 0,
				 npl_min_i64(group_end + map->rows_above, map->in_rows)};
}

/* Returns 1 + 2 + ... + n. */
static int64_t triangle(int64_t n)
{
	return n > 0 ? n * (n + 1) / 2 : 0;
}

/* Returns the rows of a tap that the groups before this one read. Group g reads rows npl_max_i64(0, g - below) to
 * npl_min_i64(in_rows, g + 1 + above) - 1. */
int64_t dn_rows_before(const struct dn_layout_map *map, int64_t group)
{
	if (map->rows_below == map->groups && map->rows_above == map->in_rows)
		return group * map->kernel_rows;
	const int64_t ends = triangle(group) + group * map->rows_above -
			     triangle(group + map->rows_above - map->in_rows);
	return dn_taps(map->layer) * (ends - triangle(group - 1 - map->rows_below)) + group * map->bias_rows;
}

bool dn_part_is_first(const struct dn_part *part)
{
	return !part->ky && !part->kx && !part->row;
}

/* Returns the rows of the window before the part. */
static int64_t part_offset(const struct dn_layout_map *map, const struct dn_part *part)
{
	return (part->ky * map->layer->window.kernel[1] + part->kx) * map->in_rows + part->row;
}

uint64_t dn_synapses_at(const struct dn_layout_map *map, int64_t position, int64_t conv_group, int64_t group,
			const struct dn_part *part)
{
	int64_t row = (position * map->layer->groups + conv_group) * dn_rows_before(map, map->groups);
	if (map->tiles->nest == DN_STREAMED) {
		const bool first = dn_part_is_first(part);
		int64_t at_once = map->tiles->groups, in_tile = group % at_once, tile = group - in_tile;
		int64_t tile_size = npl_min_i64(at_once, map->groups - tile);
		int64_t rows_before = first ? 0 : part_offset(map, part) + map->bias_rows;
		int64_t rows = dn_part_rows(part) + (first ? map->bias_rows : 0);
		row += tile * map->kernel_rows + tile_size * rows_before + in_tile * rows;
	} else {
		row += dn_rows_before(map, group);
	}
	return map->synapses + (uint64_t)row * (uint64_t)dn_sb_row_bytes(map->config);
}

static void put_inputs(const struct dn_layout_map *map, const int16_t *x, uint8_t *bytes)
{
	const struct dn_layer *layer = map->layer;
	for (int64_t image = 0; image < layer->images; image++)
		for (int64_t y = 0; y < layer->in[0]; y++)
			for (int64_t column = 0; column < layer->in[1]; column++) {
				const int16_t *from = x + image * layer->input_layout.image +
						      y * layer->input_layout.y + column * layer->input_layout.x;
				uint8_t *to = bytes + dn_input_at(map, image, y, column, 0);
				for (int64_t c = 0; c < map->channels; c++)
					memcpy(to + 2 * c, &from[c * layer->input_layout.map], 2);
			}
}

/* Copies n values that are `stride` apart, as they are for most kernels, or side by side. */
static void copy_values(const int16_t *from, int64_t stride, int64_t n, uint8_t *to)
{
	if (stride == 1) {
		memcpy(to, from, (size_t)n * sizeof *from);
		return;
	}
	for (int64_t i = 0; i < n; i++)
		memcpy(to + i * (int64_t)sizeof *from, &from[i * stride], sizeof *from);
}

/* Puts the kernel w (ni, taps) of output m, counted over all groups, into the layout; `position` is the output position
 * where kernels are private. */
static void put_kernel(const struct dn_layout_map *map, int64_t position, int64_t m, const int16_t *w,
		       const int32_t *bias, uint8_t *bytes)
{
	const struct dn_layer *layer = map->layer;
	const int64_t tn = map->config->tn, in_group = m % layer->no, lane = in_group % tn,
		      width = layer->window.kernel[1], taps = dn_taps(layer);
	const struct dn_range read_taps = dn_rows_read(map, in_group / tn, in_group / tn + 1);
	struct dn_part part = {0};
	while (dn_next_part(layer, map->tiles, map->in_rows, &part)) {
		uint8_t *row = bytes + dn_synapses_at(map, position, m / layer->no, in_group / tn, &part);
		if (dn_part_is_first(&part)) {
			if (bias)
				memcpy(row + 4 * lane, bias, 4);
			row += map->bias_rows * dn_sb_row_bytes(map->config);
		}
		for (int64_t ky = part.ky; ky < part.ky_end; ky++)
			for (int64_t kx = part.kx; kx < part.kx_end; kx++)
				for (int64_t r = npl_max_i64(part.row, read_taps.first);
				     r < npl_min_i64(part.row_end, read_taps.end);
				     r++, row += dn_sb_row_bytes(map->config))
					copy_values(&w[r * tn * taps + ky * width + kx], taps,
						    npl_min_i64(tn, layer->ni - r * tn), row + 2 * lane * tn);
	}
}

static void put_operands(const struct dn_layout_map *map, const struct npl_layer *model_layer, uint8_t *bytes)
{
	const struct dn_layer *layer = map->layer;
	put_inputs(map, model_layer->in[0]->data, bytes);
	if (layer->kind != DN_SUM)
		return;
	const int16_t *w = model_layer->in[1]->data;
	const int32_t *bias = layer->bias ? model_layer->in[2]->data : NULL;
	for (int64_t position = 0; position < kernels(layer); position++)
		for (int64_t m = 0; m < map->out_channels; m++, w += layer->ni * dn_taps(layer))
			put_kernel(map, position, m, w, bias ? bias + m : NULL, bytes);
}

uint8_t *dn_make_memory(const struct dn_layout_map *map, const struct npl_layer *model_layer, uint64_t end,
			struct npl_err *err)
{
	uint8_t *bytes = calloc(end ? end : 1, 1);
	if (bytes)
		put_operands(map, model_layer, bytes);
	else
		npl_fail(err, NPL_ENOMEM, "out of memory for the %" PRIu64 " bytes of layer %s in memory", end,
			 model_layer->name);
	return bytes;
}

/* Copies each result from the tensor to memory or back. `memory` is that of map->results. */
static void copy_results(const struct dn_layout_map *map, uint8_t *memory, uint8_t *tensor, bool to_memory)
{
	const struct dn_layer *layer = map->layer;
	const size_t size = (size_t)map->out_bytes;
	for (int64_t image = 0; image < layer->images; image++)
		for (int64_t y = 0; y < layer->out[0]; y++)
			for (int64_t x = 0; x < layer->out[1]; x++)
				for (int64_t c = 0; c < map->out_channels; c++) {
					int64_t index = image * layer->output_layout.image +
							c * layer->output_layout.map + y * layer->output_layout.y +
							x * layer->output_layout.x;
					uint8_t *in_memory = memory +
							     (dn_result_at(map, image, y, x, c) - map->results),
						*in_tensor = tensor + (size_t)index * size;
					memcpy(to_memory ? in_memory : in_tensor, to_memory ? in_tensor : in_memory,
					       size);
				}
}

void dn_take_results(const struct dn_layout_map *map, const uint8_t *bytes, struct npl_tensor *out)
{
	copy_results(map, (uint8_t *)bytes + map->results, out->data, false);
}

void dn_put_results(const struct dn_layout_map *map, const struct npl_tensor *out, uint8_t *bytes)
{
	copy_results(map, bytes, out->data, true);
}
