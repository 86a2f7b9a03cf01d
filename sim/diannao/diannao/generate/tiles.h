/* SPDX-License-Identifier: MIT
 *
 * The loop nests of Chen et al., ASPLOS 2014, figures 5, 7 and 8, with the sizes of their tiles. The paper gives no
 * sizes.
 *
 *   DN_DOWN      group of Tn outputs, its kernel kept in SB > image > xx (columns) > y > x > ky, kx, ii
 *                Input lines slide down through NBin: each row of outputs loads the lines that the row before did not.
 *   DN_ACROSS    nnn (groups, whose kernels are all kept in SB) > image > y > x > nn > ky, kx, ii
 *                Input columns slide along x through NBin. Every row of outputs loads its lines anew, once for all
 *                groups of a tile. Of LRN's kernels (lrn.c) only the rows that the band touches are in memory, loaded
 *                and multiplied.
 *   DN_STREAMED  image > y > xx (positions of one row) > nnn (groups) > parts of the window > nn > x > ky, kx, ii
 *                A part's synapses are loaded for each block and group, its inputs for each block and tile of groups.
 *                Columns slide. Sums wait in NBout from part to part, or in the NFU where a tile is one position and
 *                group. With one position this is the classifier's nest of figure 5. With one position and group it
 *                is the nest of private kernels, in which nothing is used twice.
 *   DN_POOLED_ACROSS
 *                image > y > iii (groups of Tn maps) > x > ii > ky, kx
 *                Columns slide along x, where windows overlap without gaps.
 *   DN_POOLED    image > y > x > iii (groups of Tn maps) > parts of the window > ii > ky, kx
 *                The taps of a window are read by a stride through NBin.
 *
 * A convolution's group is one more loop around all of these. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_TILES_H
#define NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_TILES_H

#include "layer.h"

enum dn_nest { DN_DOWN, DN_ACROSS, DN_STREAMED, DN_POOLED, DN_POOLED_ACROSS };

/* A part of a window: lines, taps of a line, and NBin rows of a tap; ends excluded. */
struct dn_part {
	int64_t ky, ky_end, kx, kx_end, row, row_end;
};

struct dn_tiles {
	enum dn_nest nest;
	int64_t columns;   /* DN_DOWN: columns of outputs in a tile (Tx) */
	int64_t positions; /* DN_STREAMED: positions of a block (Tx) */
	/* DN_ACROSS, DN_STREAMED: groups of Tn outputs in a tile (Tnn / Tn). Pooling: groups of Tn maps at once (Tii /
	 * Tn). */
	int64_t groups;
	/* The most that a part has of a window: `lines` whole lines, or `taps` of one line where lines is 0, or `rows`
	 * of one tap where taps is 0 too. With DN_DOWN and DN_ACROSS it has all lines. */
	int64_t lines, taps, rows;
};

/* The candidates: tilings that fit the buffers and obey the settings of tiles and nest. Half have the least estimated
 * time, half the fewest bytes through the port among those that are not much slower. */
#define DN_CANDIDATES  12
#define DN_MUCH_SLOWER 1.1
struct dn_candidates {
	int n;
	struct dn_tiles tiles[DN_CANDIDATES]; /* the first one has the least estimated time */
	double cycles[DN_CANDIDATES], bytes[DN_CANDIDATES];
};
/* Finds the candidates. NPL_EINPUT: there are none. */
int dn_find_tiles(const struct dn_config *config, const struct dn_layer *layer, double bytes_per_cycle,
		  struct dn_candidates *candidates, struct npl_err *err);
double dn_estimated_cycles(const struct dn_config *config, const struct dn_layer *layer, double bytes_per_cycle,
			   const struct dn_tiles *tiles);

/* Goes on to the next part of the window; from a zeroed part it goes to the first. Returns false where there is no next
 * part, and leaves `part` as it is. */
bool dn_next_part(const struct dn_layer *layer, const struct dn_tiles *tiles, int64_t in_rows, struct dn_part *part);
/* Returns the part that begins at a line, tap and row. */
struct dn_part dn_part_from(const struct dn_layer *layer, const struct dn_tiles *tiles, int64_t in_rows, int64_t ky,
			    int64_t kx, int64_t row);
int64_t dn_part_rows(const struct dn_part *part); /* SB rows: its steps for one position and group */

#endif
