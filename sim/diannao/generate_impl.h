/* SPDX-License-Identifier: MIT
 *
 * What the generators of the nests share: the queue of instructions they fill, a visit at a time, and what is held in NBin and SB after
 * the last instruction in it. Private to generate*.c. */
#ifndef DIANNAO_GENERATE_IMPL_H
#define DIANNAO_GENERATE_IMPL_H

#include "generate.h"

/* Rows of a buffer by their number in the order of loading: those from oldest up to next - 1 are held. */
struct dn_held_rows {
	int64_t oldest, next;
};

/* Columns (or lines) of the input that windows first..end-1 read through taps first_tap..end_tap-1. */
struct dn_columns {
	const struct dn_axis *axis;
	int64_t low, count; /* position of the first; how many */
	int64_t at, loaded; /* the next position to be looked at for loading; how many are loaded */
	int32_t *rank;      /* -1: not needed */
	int64_t room;
};

struct dn_generator {
	const struct dn_config *config;
	const struct dn_work *work;
	const struct dn_tiles *tiles;
	struct dn_layout_map map;
	struct dn_axis axis[NPL_SPATIAL];
	int64_t tn, row_bytes, sb_row_bytes;
	int64_t result_groups; /* whose results are one store */

	struct dn_instruction *queue;
	int64_t taken, put, room;
	bool out_of_memory, ended;
	struct dn_held_rows nbin, sb;
	struct dn_columns columns, lines;

	/* Where in its nest the next visit is, outermost first; each nest uses what it has. */
	bool begun;
	int64_t conv_group, image, y, x, x_first, x_end; /* x_first..x_end - 1: the tile or block */
	int64_t group, group_end, group_at;              /* the pass; within it */
	struct dn_part part;
	int64_t line, line_next; /* DN_DOWN: lines freed, loaded */
	int64_t base;            /* NBin row of the first column of a part or line of a tile */
	int64_t sb_base;         /* the number of the first SB row of the kernel or part */
};

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
/* Gives the instructions of the visit what joins them, and joins the loads before them where one instruction can do both. */
void dn_end_visit(struct dn_generator *g, struct dn_visit *visit);
/* Rows below this number are not read again. */
void dn_free_nbin(struct dn_generator *g, int64_t end);
void dn_free_sb(struct dn_generator *g, int64_t end);

/* columns.first..: false: out of memory. */
bool dn_need(struct dn_generator *g, struct dn_columns *columns, int d, int64_t first, int64_t end, int64_t first_tap,
	     int64_t end_tap);
static inline int64_t dn_rank_of(const struct dn_columns *columns, int64_t position)
{
	return columns->rank[position - columns->low];
}

/* Bytes of input rows row..row_end-1 of a tap; the result's of a group. */
int64_t dn_tap_bytes(const struct dn_generator *g, int64_t row, int64_t row_end);
int64_t dn_group_bytes(const struct dn_generator *g, int64_t group, int64_t group_end);

/* Of pooling: what the NFU divides the sum of a window by, with so many taps inside the input (0: it does not); where it leaves. */
uint32_t dn_pooled_divisor(const struct dn_generator *g, int64_t inside);
enum dn_to dn_pooled_to(const struct dn_generator *g);

/* The nests: emit what comes next and go on; false: there is nothing more. alike and skip as in engine.h. */
struct dn_nest_code {
	bool (*visit)(struct dn_generator *g);
	int64_t (*alike)(struct dn_generator *g);
	void (*skip)(struct dn_generator *g, int64_t units);
};
extern const struct dn_nest_code dn_code_down, dn_code_sliding, dn_code_pooled,
	dn_code_pooled_across; /* sliding: across, streamed */

#endif
