/* SPDX-License-Identifier: MIT
 *
 * A layer as a sequence of tiles: the loop nests of traffic.c with the sizes it chose, cut where loading, freeing or
 * storing begins or ends. The NFU and each DMA go through the sequence with a cursor of their own, so that loads run
 * ahead of the NFU as far as there is room.
 *
 * In memory, maps are the innermost dimension of inputs and outputs (the paper's choice, section 5.3.2), and the
 * kernel of a group of Tn outputs is its biases followed by whole SB rows, zeros in unused places: what an SB row
 * needs is one stretch of memory. Private to sim/diannao. */
#ifndef DIANNAO_SCHEDULE_H
#define DIANNAO_SCHEDULE_H

#include "dn.h"

/* One dimension of a layer's windows, in the sizes of its window. Tap k of window o is tap k + taps of window o -
 * windows, and of none before o that is nearer. */
struct dn_axis {
	int64_t in, out, kernel, stride, dilation, pad;
	int64_t taps, windows;
};
struct dn_axis dn_axis_of(const struct dn_work *work, int d);
/* Input positions that windows first..end-1 span, gaps of dilation included. */
int64_t dn_span(const struct dn_axis *axis, int64_t first, int64_t end);
int64_t dn_tap_at(const struct dn_axis *axis, int64_t o, int64_t tap); /* its input position */
struct dn_range {                                                      /* of taps, end excluded */
	int64_t first, end;
};
/* Those of first..end-1 of window o that lie inside the input. */
struct dn_range dn_taps_inside(const struct dn_axis *axis, int64_t o, int64_t first, int64_t end);
/* Of these, those that no window from `first` on before o has read, and those that none after it up to `end` will
 * read. */
struct dn_range dn_new_taps(const struct dn_axis *axis, int64_t o, int64_t first);
struct dn_range dn_last_taps(const struct dn_axis *axis, int64_t o, int64_t end);

/* What NBin holds at once of a tile of columns first..end-1: all rows under a window, so that each is read once a
 * pass; all there are, so that they are read once. */
struct dn_held {
	bool rows_slide, all_fits;
};
struct dn_held dn_held(const struct dn_config *config, const struct dn_axis axis[NPL_SPATIAL], int64_t in_rows,
		       int64_t first, int64_t end);

struct dn_schedule {
	const struct dn_config *config;
	const struct dn_work *work;
	const struct dn_traffic *tiles;
	struct dn_axis axis[NPL_SPATIAL];
	bool sums, kept;                               /* kept: all synapses stay in SB once they are there */
	int64_t in_rows, window_rows, groups;          /* of a tap; of a window; of Tn outputs (or pooled maps) */
	int64_t map_groups;                            /* pooling: groups of Tn maps, one after the other; else 1 */
	int64_t result_rows;                           /* of NBout, for Tn results */
	int64_t piece, groups_a_tile;                  /* resident: windows and groups of a tile */
	int64_t piece_rows;                            /* streamed: rows of a tile */
	int64_t channels, out_channels, out_bytes;     /* of all groups; bytes of one result */
	uint64_t synapse_base, out_base, memory_bytes; /* inputs begin at 0 */
	uint64_t bias_bytes, record_bytes;             /* of the kernel of a group of outputs */
};

/* Where in the nest a tile is, outermost first. */
struct dn_cursor {
	bool begun;
	int64_t image, group, maps;
	/* resident: tile of columns first..end-1, pass of groups, window row y, windows x..x_end-1, groups
	 * sub..sub_end-1 */
	int64_t first, end, y, x, x_end;
	struct dn_held held; /* of this tile of columns */
	/* streamed: block of positions, the pass, chunk of the window's rows, position, group (in sub), rows
	 * row..row_end-1 */
	int64_t block, block_end, chunk, chunk_end, position, row, row_end;
	/* both */
	int64_t pass, pass_end, sub, sub_end;
};

/* What a tile needs and leaves. */
struct dn_tile {
	uint64_t steps;
	int64_t nbin_rows, sb_rows;   /* to be loaded before it */
	int64_t nbin_freed, sb_freed; /* not needed after it */
	int64_t nbout_taken;          /* rows that must be free before it */
	int64_t nbout_freed;          /* rows of sums that are results at its end */
	int64_t nbout_left;           /* rows that are free when its results have left; 0: it has none */
};

void dn_schedule_of(const struct dn_config *config, const struct dn_work *work, const struct dn_traffic *traffic,
		    struct dn_schedule *schedule);
/* Its members that say where things lie; the others are there. */
void dn_place(struct dn_schedule *schedule);
/* The next tile; false: there is none. A zeroed cursor stands before the first. */
bool dn_next_tile(const struct dn_schedule *schedule, struct dn_cursor *cursor, struct dn_tile *tile);

/* The descriptors of a tile's inputs, one after the other: false: no more. *at begins at 0. */
bool dn_next_input(const struct dn_schedule *schedule, const struct dn_cursor *cursor, int64_t *at,
		   struct npl_dma_descriptor *descriptor);
/* Of rows from..end-1 of its synapses. */
void dn_synapses(const struct dn_schedule *schedule, const struct dn_cursor *cursor, int64_t from, int64_t end,
		 struct npl_dma_descriptor *descriptor);
void dn_results(const struct dn_schedule *schedule, const struct dn_cursor *cursor,
		struct npl_dma_descriptor *descriptor);

/* Resident: the taps of this row's windows that the row is the first of its pass to read, or the last. */
struct dn_range dn_lines(const struct dn_schedule *schedule, const struct dn_cursor *cursor, bool freed);

#endif
