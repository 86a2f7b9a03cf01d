/* SPDX-License-Identifier: MIT
 *
 * The layout of a layer in memory. Each part begins at a page of 4096 bytes, the first at address 0:
 *
 *   inputs   [image][y][x][map], 16 bits each: maps innermost, as in Chen et al., ASPLOS 2014, section 5.3.2
 *   synapses whole SB rows of Tn x Tn 16-bit values [n][i], with zeros where a layer does not have Tn inputs or
 *            outputs. The kernel of a group of Tn outputs is its bias rows (Tn words of 32 bits), then [ky][kx][ii]
 *            rows. Kernels are in the order in which the nest reads them: [position of private kernels][group of the
 *            convolution][group tile][part of the window][nn][rows]. With DN_ACROSS the kernel of an LRN group has
 *            only the rows of its band
 *   results  [image][y][x][map], 16 bits each; raw sums have 32
 */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_LAYOUT_H
#define NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_LAYOUT_H

#include "tiles.h"
#include "windows.h"

struct dn_layout_map {
	const struct dn_config *config;
	const struct dn_layer *layer;
	const struct dn_tiles *tiles;
	int64_t in_rows, groups; /* NBin rows of all maps of a tap; number of groups of Tn outputs */
	/* Group g reads a tap's rows from g - below to g + above. Where it reads all rows, these are `groups` and
	 * `in_rows`. */
	int64_t rows_below, rows_above;
	int64_t bias_rows, kernel_rows; /* SB rows of a group's biases; SB rows of a group's kernel where it is dense */
	int64_t channels, out_channels; /* maps of all groups of the convolution */
	int64_t out_bytes;              /* bytes of a result */
	uint64_t synapses, results, end; /* addresses; inputs are at 0 */
};

void dn_lay_out(const struct dn_config *config, const struct dn_layer *layer, const struct dn_tiles *tiles,
		struct dn_layout_map *map);
/* Returns how many groups of Tn outputs have their results in one store: half of what NBout takes, so that the other
 * half fills meanwhile. */
int64_t dn_result_groups(const struct dn_config *config, const struct dn_layer *layer);
/* Returns the bytes of the layer's inputs, synapses and results in memory. */
uint64_t dn_memory_bytes(const struct dn_config *config, const struct dn_layer *layer);
int64_t dn_bias_rows(const struct dn_config *config, const struct dn_layer *layer);

/* These return addresses. channel and out_channel count over all groups of the convolution. */
uint64_t dn_input_at(const struct dn_layout_map *map, int64_t image, int64_t y, int64_t x, int64_t channel);
uint64_t dn_result_at(const struct dn_layout_map *map, int64_t image, int64_t y, int64_t x, int64_t out_channel);
/* Returns the address of the first SB row of a part; the biases come before its synapses if it is the first part.
 * position is y * out width + x for private kernels, else 0. */
uint64_t dn_synapses_at(const struct dn_layout_map *map, int64_t position, int64_t conv_group, int64_t group,
			const struct dn_part *part);
/* dn_rows_read() returns the rows of a tap that a tile of groups reads; dn_rows_before() the SB rows of the kernels of
 * all groups before this one. */
struct dn_range dn_rows_read(const struct dn_layout_map *map, int64_t group, int64_t group_end);
int64_t dn_rows_before(const struct dn_layout_map *map, int64_t group);
bool dn_part_is_first(const struct dn_part *part);

/* Makes memory from address 0 to `end`, which is map->results or more: the layer's operands, and zeros elsewhere. The
 * caller frees it. NULL: out of memory. */
uint8_t *dn_make_memory(const struct dn_layout_map *map, const struct npl_layer *model_layer, uint64_t end,
			struct npl_err *err);
/* dn_take_results() takes the results out of memory up to map->end. dn_put_results() puts them there; bytes[0] is at
 * map->results. */
void dn_take_results(const struct dn_layout_map *map, const uint8_t *bytes, struct npl_tensor *out);
void dn_put_results(const struct dn_layout_map *map, const struct npl_tensor *out, uint8_t *bytes);

#endif
