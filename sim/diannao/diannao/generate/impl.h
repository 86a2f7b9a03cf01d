/* SPDX-License-Identifier: MIT
 *
 * What the generators of the nests share: the loops they are made of (loops.c), the queue of instructions they fill, a
 * visit at a time, and what is held in NBin and SB after the last instruction in it. Private to this folder. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_IMPL_H
#define NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_IMPL_H

#include "generate.h"

/* Each nest has some of these, in an order of its own. */
enum dn_loop {
	DN_IMAGES,
	DN_CONV_GROUPS,
	DN_OUT_LINES,   /* rows of outputs */
	DN_BLOCKS,      /* of g->width positions of a row, the last perhaps of fewer */
	DN_STORES,      /* group tiles whose results are whole stores */
	DN_GROUP_TILES, /* of g->tile_groups groups of Tn maps, the last perhaps of fewer */
	DN_KERNEL_LINES,
	DN_KERNEL_TAPS,
	DN_KERNEL_ROWS,  /* these three: parts of a window as dn_next_part has them */
	DN_WINDOW_PARTS, /* pooling: parts of all taps inside the input */
	DN_GROUPS,       /* of a group tile */
	DN_POSITIONS,    /* of a block */
	DN_LOOPS
};

/* Rows of a buffer by their number in the order of loading: those from oldest up to next - 1 are held. */
struct dn_held_rows {
	int64_t oldest, next;
};

/* Columns (or lines) of the input that some windows read through some of their taps. */
struct dn_columns {
	const struct dn_axis *axis;
	int64_t first, windows, first_tap, taps;
	int64_t low, count; /* position of the first, in the input or not; how many are in it */
	int64_t at, loaded; /* the next position to be looked at for loading; how many are loaded */
	int64_t outside;    /* positions below 0 that are read */
};

struct dn_generator {
	const struct dn_config *config;
	const struct dn_layer *layer;
	const struct dn_tiles *tiles;
	const struct dn_nest_code *code;
	struct dn_layout_map map;
	struct dn_axis axis[NPL_SPATIAL];
	int64_t tn, row_bytes, sb_row_bytes;
	int64_t result_groups; /* whose results are one store */
	int64_t width, tile_groups;
	int64_t stored_groups; /* of group tiles of one position each that end with a whole store */

	struct dn_instruction *queue;
	int64_t taken, put, capacity;
	bool out_of_memory, ended; /* ended: there is no visit after those in the queue */
	struct dn_held_rows nbin, sb;
	struct dn_columns columns, lines;
	int64_t base;    /* NBin row of the first column of a part or line of a tile */
	int64_t sb_base; /* the number of the first SB row of the kernel or part */

	/* The next visit: the iterations of its loops, 0 of those that the nest has not, and what follows from them. */
	int64_t iteration[DN_LOOPS];
	int64_t image, conv_group, y, x, x_first, x_end; /* x_first..x_end - 1: the tile or block */
	int64_t group, group_end, group_at;              /* the group tile; within it */
	int64_t store_groups;                            /* of an iteration of DN_STORES */
	struct dn_part part;
};

/* A nest: its loops, the outermost first, and what is done in the innermost. */
struct dn_nest_code {
	int levels;
	enum dn_loop loop[DN_UNIT_LEVELS];
	void (*visit)(struct dn_generator *g);
	/* How many iterations of a loop, from this one on, have the same instructions except for addresses while the
	 * loops around it stay where they are; below 1: none. It may read only what follows from the loops around it.
	 * */
	int64_t (*iterations_alike)(const struct dn_generator *g, enum dn_loop loop, int64_t iteration);
	/* The rows held where the next visit is, after iterations that have been left out. NULL: as many as before those. */
	void (*set_held_rows)(struct dn_generator *g);
};
extern const struct dn_nest_code dn_code_down, dn_code_across, dn_code_streamed, dn_code_pooled, dn_code_pooled_across;

/* loops.c. False: there is no visit, or none after this one. */
bool dn_begin_loops(struct dn_generator *g);
bool dn_next_visit(struct dn_generator *g);
/* As in engine.h, of the visit that comes next. */
void dn_loops_alike(const struct dn_generator *g, int64_t units[DN_UNIT_LEVELS]);
void dn_skip_iterations(struct dn_generator *g, int level, int64_t iterations);
int64_t dn_iterations(const struct dn_generator *g, enum dn_loop loop);
/* Windows along d from o on, of first..end-1, of which each loads and frees as many columns or lines as the one before,
 * or none: o has one before it, and the last one is not among them. */
int64_t dn_sliding_windows(const struct dn_generator *g, int d, int64_t first, int64_t end, int64_t o,
			   struct dn_range taps);
int64_t dn_full_groups(const struct dn_generator *g); /* of Tn outputs */

/* One visit: its working instructions are queue[first..put-1] once it has begun. */
struct dn_visit {
	int64_t first, oldest; /* oldest: NBin row held when it begins */
	enum dn_from from;
	enum dn_to to;
	bool index_begins; /* OUTPUT BEGIN */
	uint64_t store_at; /* where results go to memory: of a store that begins, else size 0 */
	int64_t store_bytes;
	bool stores;
	uint32_t divisor;
};

struct dn_instruction *dn_emit(struct dn_generator *g); /* a zeroed one at the end of the queue */
void dn_emit_nbin_load(struct dn_generator *g, uint64_t address, int64_t bytes);
void dn_emit_sb_load(struct dn_generator *g, uint64_t address, int64_t rows);
/* Steps of MULT: NBin rows from `nbin` on (by number; -1: zeros), SB rows from `sb` on. */
void dn_emit_multiply(struct dn_generator *g, struct dn_visit *visit, int64_t nbin, int64_t sb, int64_t steps);
void dn_emit_bias(struct dn_generator *g, struct dn_visit *visit, int64_t sb);
/* Steps of ADD or MAX over rows nbin, nbin + stride, ... */
void dn_emit_pool(struct dn_generator *g, struct dn_visit *visit, int64_t nbin, int64_t stride, int64_t steps);
/* Gives the instructions of the visit what joins them, and joins the loads before them where one instruction can do
 * both. */
void dn_end_visit(struct dn_generator *g, struct dn_visit *visit);
/* Rows below this number are not read again. */
void dn_free_nbin(struct dn_generator *g, int64_t end);
void dn_free_sb(struct dn_generator *g, int64_t end);

/* Those that windows first..end-1 read through taps first_tap..end_tap-1. */
void dn_need(struct dn_generator *g, struct dn_columns *columns, int d, int64_t first, int64_t end, int64_t first_tap,
	     int64_t end_tap);
int64_t dn_rank_of(const struct dn_columns *columns, int64_t position); /* -1: it is not needed */
int64_t dn_next_needed(const struct dn_columns *columns,
		       int64_t position); /* from this one on; none: after the input */
/* The rank of the first that windows o..end-1 read; all there are if they read none. */
int64_t dn_first_from(const struct dn_columns *columns, int64_t o, int64_t end, int64_t first_tap, int64_t end_tap);
/* At window o, with one before it: the columns, of so many NBin rows, that those before it have loaded and not
 * freed. */
void dn_hold(struct dn_generator *g, struct dn_columns *columns, int64_t o, int64_t column_rows);

/* Bytes of input rows row..row_end-1 of a tap; the result's of a group. */
int64_t dn_tap_bytes(const struct dn_generator *g, int64_t row, int64_t row_end);
int64_t dn_group_bytes(const struct dn_generator *g, int64_t group, int64_t group_end);

/* Of pooling: what the NFU divides the sum of a window by, with so many taps inside the input (0: it does not); where
 * it leaves. */
uint32_t dn_pooled_divisor(const struct dn_generator *g, int64_t inside);
enum dn_to dn_pooled_to(const struct dn_generator *g);

#endif
