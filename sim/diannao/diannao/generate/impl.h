/* SPDX-License-Identifier: MIT
 *
 * What the generators of the nests share: the loops of a nest (loops.c), the queue of instructions that a visit fills,
 * and the rows that NBin and SB hold after the last instruction in the queue. Private to this folder. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_IMPL_H
#define NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_IMPL_H

#include "generate.h"
#include "windows.h"

/* The loops of all nests. Each nest has some of them, in an order of its own. */
enum dn_loop {
	DN_IMAGES,
	DN_CONV_GROUPS,
	DN_OUT_LINES,   /* rows of outputs */
	DN_BLOCKS,      /* blocks of g->width positions of a row; the last block may have fewer */
	DN_STORES,      /* group tiles whose results are whole stores */
	DN_GROUP_TILES, /* tiles of g->tile_groups groups of Tn maps; the last tile may have fewer */
	DN_KERNEL_LINES,
	DN_KERNEL_TAPS,
	DN_KERNEL_ROWS,  /* these three loops go over parts of a window as dn_next_part gives them */
	DN_WINDOW_PARTS, /* pooling: parts of all taps inside the input */
	DN_GROUPS,       /* groups of a group tile */
	DN_POSITIONS,    /* positions of a block */
	DN_LOOPS
};

/* The rows that a buffer holds, numbered in the order of loading: from `oldest` to next - 1. */
struct dn_held_rows {
	int64_t oldest, next;
};

/* Columns (or lines) of the input that some windows read through some of their taps. */
struct dn_columns {
	const struct dn_axis *axis;
	int64_t first, windows, first_tap, taps;
	int64_t low, count;     /* position of the first column, inside the input or not; number of columns */
	int64_t next, n_loaded; /* the next position to be looked at for loading; the number of columns loaded */
	int64_t n_outside;      /* the number of positions below 0 that are read */
};

struct dn_generator {
	const struct dn_config *config;
	const struct dn_layer *layer;
	const struct dn_tiles *tiles;
	const struct dn_nest_code *code;
	struct dn_layout_map map;
	struct dn_axis axis[NPL_SPATIAL];
	int64_t tn, row_bytes, sb_row_bytes;
	int64_t result_groups; /* groups whose results are one store */
	int64_t width, tile_groups;
	/* the number of groups in group tiles of one position each that end with a whole store */
	int64_t stored_groups;

	struct dn_instruction *queue;
	int64_t head, tail, capacity;
	bool out_of_memory, ended; /* ended: no visit follows those in the queue */
	struct dn_held_rows nbin, sb;
	struct dn_columns columns, lines;
	int64_t base;    /* NBin row of the first column of a part, or of the first line of a tile */
	int64_t sb_base; /* the number of the first SB row of the kernel or part */

	/* The next visit: the iterations of its loops, 0 for loops that the nest does not have, and what follows from
	 * them. */
	int64_t iteration[DN_LOOPS];
	int64_t image, conv_group, y, x, x_first, x_end; /* the tile or block is x_first..x_end - 1 */
	int64_t group, group_end, group_at;              /* the group tile; the group's place within it */
	int64_t store_groups;                            /* the groups of an iteration of DN_STORES */
	struct dn_part part;
};

/* A nest: its loops, the outermost first, and what its innermost loop does. */
struct dn_nest_code {
	int levels;
	enum dn_loop loop[DN_REPEAT_LEVELS];
	void (*visit)(struct dn_generator *g);
	/* Returns how many iterations of a loop, from this one on, have the same instructions except for addresses,
	 * while the loops around it do not move on; below 1: none. It may read only what follows from the loops around
	 * this one. */
	int64_t (*iterations_alike)(const struct dn_generator *g, enum dn_loop loop, int64_t iteration);
	/* Sets the rows held at the next visit after iterations were left out. NULL: as many rows as before those
	 * iterations. */
	void (*set_held_rows)(struct dn_generator *g);
};
extern const struct dn_nest_code dn_code_down, dn_code_across, dn_code_streamed, dn_code_pooled, dn_code_pooled_across;

/* loops.c: these begin the first visit and the next one. They return false where there is none. */
bool dn_begin_loops(struct dn_generator *g);
bool dn_next_visit(struct dn_generator *g);
/* dn_loops_alike counts like units, and dn_skip_iterations leaves units out, as engine.h says, for the visit that comes
 * next. */
void dn_loops_alike(const struct dn_generator *g, int64_t units[DN_REPEAT_LEVELS]);
void dn_skip_iterations(struct dn_generator *g, int level, int64_t iterations);
int64_t dn_iterations(const struct dn_generator *g, enum dn_loop loop);
/* Returns how many windows along d, from o on, each load and free as many columns or lines as the window before. The
 * windows of the tile or block are first..end-1; the first and the last of them are never counted. */
int64_t dn_sliding_windows(const struct dn_generator *g, int d, int64_t first, int64_t end, int64_t o,
			   struct dn_range taps);
int64_t dn_full_groups(const struct dn_generator *g); /* groups that have Tn outputs */

/* A visit. Its instructions that work are queue[first..tail-1] once it has begun. */
struct dn_visit {
	int64_t first, oldest; /* oldest: the oldest NBin row held when the visit begins */
	enum dn_from source;
	enum dn_to target;
	bool index_begins; /* the visit sets OUTPUT BEGIN */
	uint64_t store_at; /* where results go in memory, for a store that begins here; else its size is 0 */
	int64_t store_bytes;
	bool stores;
	uint32_t divisor;
};

struct dn_instruction *dn_emit(struct dn_generator *g); /* appends a zeroed instruction to the queue */
void dn_emit_nbin_load(struct dn_generator *g, uint64_t address, int64_t bytes);
void dn_emit_sb_load(struct dn_generator *g, uint64_t address, int64_t rows);
/* Emits steps of MULT over NBin rows from number `nbin` on (-1: zeros) and SB rows from number `sb` on. */
void dn_emit_multiply(struct dn_generator *g, struct dn_visit *visit, int64_t nbin, int64_t sb, int64_t steps);
void dn_emit_bias(struct dn_generator *g, struct dn_visit *visit, int64_t sb);
/* Emits steps of ADD or MAX over NBin rows nbin, nbin + stride, and so on. */
void dn_emit_pool(struct dn_generator *g, struct dn_visit *visit, int64_t nbin, int64_t stride, int64_t steps);
/* Completes the visit's instructions with what connects them, and joins the loads before them where one instruction can
 * do both. */
void dn_end_visit(struct dn_generator *g, struct dn_visit *visit);
/* These free the rows below number `end`, which are not read again. */
void dn_free_nbin(struct dn_generator *g, int64_t end);
void dn_free_sb(struct dn_generator *g, int64_t end);

/* Sets *columns to the columns (or lines) that windows first..end-1 read through taps first_tap..end_tap-1 along d. */
void dn_columns_set(struct dn_generator *g, struct dn_columns *columns, int d, int64_t first, int64_t end,
		    int64_t first_tap, int64_t end_tap);
int64_t dn_columns_rank(const struct dn_columns *columns, int64_t position); /* -1: the position is not needed */
/* Returns the first needed position at or after this one; where there is none, a position after the input. */
int64_t dn_columns_next(const struct dn_columns *columns, int64_t position);
/* Returns the rank of the first column that windows o..end-1 read; the number of columns if they read none. */
int64_t dn_columns_rank_from(const struct dn_columns *columns, int64_t o, int64_t end, int64_t first_tap,
			     int64_t end_tap);
/* Notes, at window o with another before it, the columns of `column_rows` NBin rows each that earlier windows have
 * loaded and not freed. */
void dn_columns_note_held(struct dn_generator *g, struct dn_columns *columns, int64_t o, int64_t column_rows);

/* dn_tap_bytes() returns the bytes of input rows row..row_end-1 of a tap, dn_group_bytes() the bytes of the results of
 * groups group..group_end-1. */
int64_t dn_tap_bytes(const struct dn_generator *g, int64_t row, int64_t row_end);
int64_t dn_group_bytes(const struct dn_generator *g, int64_t group, int64_t group_end);

/* For pooling: dn_pooled_divisor() returns what the NFU divides the sum of a window by, where `inside_taps` taps are
 * inside the input (0: no division); dn_pooled_target() returns where the result leaves the NFU. */
uint32_t dn_pooled_divisor(const struct dn_generator *g, int64_t inside_taps);
enum dn_to dn_pooled_target(const struct dn_generator *g);

#endif
