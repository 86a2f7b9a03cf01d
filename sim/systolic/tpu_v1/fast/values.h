/* SPDX-License-Identifier: MIT
 *
 * What the fast engine computes (fast.h), private to sim/systolic. Instructions are taken in program order, each whole.
 * A matrix instruction only leaves a note: a run of tiles into the same accumulator rows becomes one product over a
 * longer K when the activate that reads them comes, a block of rows at a time that stays in the caches, and most
 * accumulators are never written to memory. Blocks of rows, and vectors on their way through the activation unit, do
 * not depend on each other: all threads that may be used (core/base/parallel.h) take them, each with a worker's room.
 * Everything else is done by one thread.
 *
 *     values.c      the instructions in order, transfers from and to the host, who still needs which accumulators
 *     pending.c     matrix instructions that wait for somebody to need their sums
 *     product.c     their sums, for some rows and columns
 *     inputs.c      where the input vectors lie
 *     weights.c     tiles packed for the kernels of core/int8/rows.h
 *     activate.c    from sums or vectors in the buffer to results
 *     steps.c       its arithmetic on one vector
 *     pool.c        its windows */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_FAST_VALUES_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_FAST_VALUES_H

#include "core/int8/rows.h"
#include "npulab/arena.h"
#include "sim/systolic/tpu_v1/engine/engine.h"

enum {
	TPU_FAST_BLOCK = 192, /* rows evaluated at once: with 256 columns their sums take 192 KiB */
	TPU_FAST_PENDING = 48,
	/* The most memory for packed tiles and what is known of them. When they take more, all are forgotten at the
	 * next call. */
	TPU_FAST_KEPT_BYTES = 1 << 26,
};

/* How a matrix instruction reads bytes. */
struct tpu_fast_format {
	bool is_signed;
	int32_t zero_point;
};

/* One pass of the array: input vector number r + first for accumulator row r. */
struct tpu_fast_pass {
	int64_t ub;    /* base row of the input, of this plane */
	int64_t first; /* number of the vector, or output position, of accumulator row 0 */
	bool convolves;
	struct tpu_fast_window {
		int64_t in_height, in_width, out_height, out_width, kernel_width, stride_y, stride_x, dilation_y,
			dilation_x, pad_top, pad_left, pixel_lanes, row_pixels, first_lane, tap_lanes, first_tap, taps;
	} window;
	struct tpu_fast_format inputs, weights;
	int shift;                      /* the sum counts 2^shift-fold */
	uint64_t tile;                  /* byte of weight memory at which it begins; TPU_FAST_NO_TILE: all zeros */
	struct tpu_fast_packed *packed; /* that tile, from tpu_fast_prepare to the next call about tiles */
	int64_t first_row, end_row;     /* rows of the buffer that it may read */
};
#define TPU_FAST_NO_TILE UINT64_MAX

/* Passes whose sums nobody has needed yet, in their order: they make up accumulator rows [first, past). */
struct tpu_fast_pending {
	int64_t first, end;         /* equal: the slot is free */
	bool adds;                  /* to what the accumulators hold in memory */
	bool may_wrap;              /* how far sums are beyond 32 bits is to be kept */
	bool by_values;             /* magnitude is by the weights' values, not by their types alone */
	int64_t previous_magnitude; /* no row in memory is greater, if it adds */
	int64_t magnitude;          /* no row's sum is greater */
	struct tpu_fast_pass *pass;
	int64_t passes, capacity;
	uint64_t age;
};

/* A tile as the kernels want it. */
struct tpu_fast_packed {
	uint64_t tile;
	struct tpu_fast_format format;
	bool packed_signed; /* how the panels' bytes are to be read */
	int64_t k;          /* its rows up to the last in which some weight is not the zero point */
	int64_t magnitude;  /* the greatest sum of |weight| in a column; -1: not known yet */
	uint8_t **panel;    /* NULL: it has no memory yet */
	bool *filled;       /* whether the panel is packed */
	int32_t *sum;       /* of each column of the packed bytes, first sum_k rows */
	int64_t *sum_k;     /* for each panel; -1: not known */
	struct tpu_fast_packed *next;
};
struct tpu_fast_weights {
	const uint8_t *bytes;
	size_t given;
	int64_t rows, columns, panels; /* panels across a tile */
	struct tpu_fast_packed **bucket;
	struct npl_arena arena; /* what is known of tiles */
	struct tpu_fast_slab *first,
		*slab; /* their panels: all memory there is for them, and where the next one goes */
	size_t packed_bytes;
	uint8_t *padded_tile; /* a tile that is not all there */
};

/* Tiles or tables that one read_weights brings. */
struct tpu_fast_fetch {
	uint64_t row;         /* of weight memory */
	int64_t first, count; /* number of the first */
};
struct tpu_fast_stream {
	struct tpu_fast_fetch *fetch;
	int64_t count, at; /* at: the one that has number `taken` */
	int64_t taken;
};

/* What one thread needs for a block of rows. */
struct tpu_fast_worker {
	int32_t *sums, *product; /* (TPU_FAST_BLOCK, stride) */
	int32_t *sums_beyond;    /* of `sums`, as the machine's beyond; NULL until some sum might wrap */
	const uint8_t **input;   /* TPU_FAST_BLOCK */
	uint8_t *staged;         /* (TPU_FAST_BLOCK, staged_pitch) */
	uint8_t *outside;        /* a vector of zero points */
	int32_t *row_start;
	int16_t *element, *operand; /* vectors on their way through the activation unit: columns rounded up to 64 */
	struct sim_faults faults;   /* of the activate under way */
};

/* A run. */
struct tpu_fast_machine {
	const struct tpu_config *config;
	const struct sim_program *program;
	const struct tpu_memory *memory;
	struct tpu_outcome *outcome;
	struct sim_faults *faults; /* of each instruction; NULL: nobody wants them */
	struct tpu_registers registers;
	int64_t width; /* bytes of a row of the buffer */
	size_t buffer_bytes;
	struct tpu_fast_pending pending[TPU_FAST_PENDING];
	uint64_t age;
	bool *last_use; /* of each activate: nobody reads its accumulator rows again before they are overwritten */
	struct tpu_fast_stream tiles, tables;
	uint64_t active; /* tile in the active plane */

	/* from here on what the next run on such a machine can use again */
	int64_t rows, columns, accumulator_rows; /* for which it was made */
	struct tpu_fast_weights weights;
	int32_t *accumulator; /* rows of `stride` */
	/* The exact sums are 2^32 * beyond more than the accumulators hold. NULL until some sum might wrap: all are
	 * 0. */
	int32_t *overflow;
	int64_t stride;     /* columns rounded up to a panel */
	int64_t *magnitude; /* of each accumulator row in memory, at most */
	int32_t *bias;      /* of the table in use, `stride` entries */
	float *scale;

	struct tpu_fast_worker *worker;
	int n_workers; /* that have been made */
	int workers;   /* that this run uses */
	int64_t staged_pitch;
	int16_t *image; /* vectors of an image that is pooled */
	size_t image_bytes;
	int16_t *function[TPU_FUNCTIONS]; /* 65536 values of sigmoid and tanh, once they were needed */
};

/* Values of a checked program; adds to the outcome's overflows and saturations. *kept is what the execution before has
 * left, or NULL. */
int tpu_fast_values(struct tpu_fast_machine **kept, const struct tpu_execution *execution, struct tpu_outcome *outcome,
		    struct npl_err *err);
void tpu_fast_machine_free(struct tpu_fast_machine *machine); /* accepts NULL */
/* What went wrong in values of an instruction. */
void tpu_fast_fault(struct tpu_fast_machine *machine, int64_t instruction, struct sim_faults faults);

/* pending.c */
int tpu_fast_matrix(struct tpu_fast_machine *machine, int64_t index, struct npl_err *err);
/* Before rows [first, past) of the buffer are written: nobody that waits may still need what they hold. */
int tpu_fast_before_write(struct tpu_fast_machine *machine, int64_t first, int64_t past, struct npl_err *err);
/* Brings accumulator rows [first, past) to memory. */
int tpu_fast_evaluate_pending(struct tpu_fast_machine *machine, int64_t first, int64_t past, struct npl_err *err);
/* The pending passes that make up row `row`, NULL: it is in memory; in either case up to (not including) *until, which
 * is at most what it was. */
struct tpu_fast_pending *tpu_fast_pending_at(struct tpu_fast_machine *machine, int64_t row, int64_t *until);
/* Rows [first, past) are not needed any more. */
int tpu_fast_forget(struct tpu_fast_machine *machine, int64_t first, int64_t past, struct npl_err *err);

/* product.c */
/* Before the entry is evaluated: its tiles are packed, for the first `columns` of its sums. */
int tpu_fast_prepare(struct tpu_fast_machine *machine, struct tpu_fast_pending *pending, int64_t columns,
		     struct npl_err *err);
/* Sums of `rows` (at most TPU_FAST_BLOCK) accumulator rows from `row` on into c, which is those rows of the
 * accumulators themselves or the worker's `sums`; at least the first `columns` of each (rounded up to 16 are written).
 * How far they are beyond 32 bits goes to `beyond` or `sums_beyond`, where it can be anything but 0: for entries that
 * may wrap. */
void tpu_fast_evaluate(struct tpu_fast_machine *machine, struct tpu_fast_worker *worker,
		       const struct tpu_fast_pending *pending, int64_t row, int64_t rows, int64_t columns, int32_t *c);
/* Blocks of rows into which the threads share `rows` rows, whose sums take `macs` each, and where one begins. */
int64_t tpu_fast_blocks(const struct tpu_fast_machine *machine, int64_t rows, int64_t macs);
int64_t tpu_fast_block_begins(int64_t rows, int64_t blocks, int64_t block);
/* Multiply-accumulates of a row of the prepared entry. */
int64_t tpu_fast_row_macs(const struct tpu_fast_pending *pending, int64_t columns);

/* inputs.c: worker->input[i], for i < rows, is where k bytes (rounded up to 4) of the pass's vector for accumulator row
 * row + i can be read. */
void tpu_fast_inputs(const struct tpu_fast_machine *machine, struct tpu_fast_worker *worker,
		     const struct tpu_fast_pass *pass, int64_t row, int64_t rows, int64_t k);

/* weights.c */
int tpu_fast_weights_open(struct tpu_fast_weights *weights, const struct tpu_config *config, struct npl_err *err);
/* The image that the next run reads: tiles of another one are forgotten. */
void tpu_fast_weights_use(struct tpu_fast_weights *weights, const struct tpu_memory *memory);
void tpu_fast_weights_close(struct tpu_fast_weights *weights);
/* A tile for inputs that are signed or not. NULL: no memory. Valid until the next call. */
struct tpu_fast_packed *tpu_fast_packed_tile(struct tpu_fast_weights *weights, uint64_t tile,
					     struct tpu_fast_format format, bool inputs_signed);
/* The tiles of passes, all of which are then there at a time: however much memory they take. */
int tpu_fast_find_tiles(struct tpu_fast_weights *weights, struct tpu_fast_pass *pass, int64_t passes,
			struct npl_err *err);
/* Memory for a panel of it, before any thread packs it; false: there is none. */
bool tpu_fast_panel_space(struct tpu_fast_weights *weights, struct tpu_fast_packed *packed, int64_t panel);
/* Packs the panel unless it is, and keeps the sums of its columns over the first k rows, as packed, unless k < 0.
 * Several threads may do so with different panels. */
void tpu_fast_pack(const struct tpu_fast_weights *weights, struct tpu_fast_packed *packed, int64_t panel, int64_t k);
int64_t tpu_fast_tile_magnitude(struct tpu_fast_weights *weights, struct tpu_fast_packed *packed);
/* Copies bytes of weight memory, zeros where there are none. */
void tpu_fast_weight_bytes(const struct tpu_fast_weights *weights, uint64_t at, size_t bytes, uint8_t *out);

/* activate.c */
int tpu_fast_activate(struct tpu_fast_machine *machine, int64_t index, struct npl_err *err);

#endif
