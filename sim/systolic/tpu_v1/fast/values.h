/* SPDX-License-Identifier: MIT
 *
 * The values of the fast engine (fast.h). Private to sim/systolic. Instructions are taken in program order, each as a
 * whole. A matrix instruction only leaves a note. When the activate comes that reads the sums, a run of tiles into the
 * same accumulator rows becomes one product over a longer K. It is computed a block of rows at a time that stays in the
 * caches, and most accumulators are never written to memory. Blocks of rows, and vectors in the activation unit, do not
 * depend on each other: all threads that may be used (core/base/parallel.h) take them, each with the room of a worker.
 * Everything else is done by one thread.
 *
 *   values.c      the instructions in order, transfers from and to the host, and the last uses of accumulators
 *   pending.c     matrix instructions whose sums are not needed yet
 *   product.c     sums of pending instructions, for some rows and columns
 *   inputs.c      the addresses of the input vectors
 *   weights.c     tiles packed for the kernels of core/int8/rows.h
 *   activate.c    results from sums or from vectors in the buffer
 *   steps.c       arithmetic of activate on one vector
 *   pool.c        pooling windows of activate
 *   activity.c    the activity of operands, on request */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_FAST_VALUES_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_FAST_VALUES_H

#include "core/int8/rows.h"
#include "npulab/arena.h"
#include "sim/systolic/tpu_v1/engine/engine.h"

enum {
	TPU_FAST_BLOCK = 192, /* rows evaluated at once: with 256 columns their sums take 192 KiB */
	TPU_FAST_PENDING = 48,
	/* The most memory for packed tiles and the notes about them. When they take more, all are forgotten at the next
	 * call. */
	TPU_FAST_KEPT_BYTES = 1 << 26,
};

/* The format in which a matrix instruction reads bytes. */
struct tpu_fast_format {
	bool is_signed;
	int32_t zero_point;
};

/* One pass of the array: input vector number r + first is for accumulator row r. */
struct tpu_fast_pass {
	int64_t ub;    /* base row of the input, of this plane */
	int64_t first; /* number of the vector, or output position, of accumulator row 0 */
	bool convolves;
	struct tpu_fast_window {
		int64_t in_height, in_width, out_height, out_width, kernel_width, stride_y, stride_x, dilation_y,
			dilation_x, pad_top, pad_left, pixel_lanes, row_pixels, first_lane, tap_lanes, first_tap, taps;
	} window;
	struct tpu_fast_format inputs, weights;
	int shift;     /* the sum counts 2^shift times */
	uint64_t tile; /* byte of weight memory at which the tile begins; TPU_FAST_NO_TILE: all weights are 0 */
	struct tpu_fast_packed *packed; /* the packed tile, valid from tpu_fast_prepare to the next call about tiles */
	int64_t first_row, end_row;     /* the rows of the buffer that the pass may read */
};
#define TPU_FAST_NO_TILE UINT64_MAX

/* Passes whose sums have not been needed yet, in program order. Together they make up accumulator rows [first, end). */
struct tpu_fast_pending {
	int64_t first, end;         /* equal: the slot is free */
	bool adds;                  /* the sums are added to what the accumulators hold in memory */
	bool may_wrap;              /* the part of sums beyond 32 bits has to be kept */
	bool by_values;             /* magnitude is found from the weights' values, not from their types alone */
	int64_t previous_magnitude; /* if it adds: the greatest magnitude that a row in memory may have */
	int64_t magnitude;          /* the greatest magnitude that a row's sum may have */
	struct tpu_fast_pass *pass;
	int64_t passes, capacity;
	uint64_t age;
};

/* What the activity of operands needs to know of a tile. */
struct tpu_fast_tile_activity {
	uint32_t *zeros, *ones; /* (rows) weights that are 0, and bits of weights that are 1 */
	uint64_t toggles;       /* bits that toggle from row to row while the tile is shifted in */
	/* The weights in whose place the tile came last, and (rows) bits that are 1 in both. In the next execution it
	 * mostly comes in the place of the same. */
	uint64_t before;
	struct tpu_fast_format before_format;
	uint32_t *common_ones; /* NULL: not known */
};

/* A tile in the form that the kernels take. */
struct tpu_fast_packed {
	uint64_t tile;
	struct tpu_fast_format format;
	bool packed_signed; /* how the kernels read the panels' bytes */
	int64_t k;          /* rows up to the last one in which some weight is not the zero point */
	int64_t magnitude;  /* the greatest sum of |weight| in a column; -1: not known yet */
	uint8_t **panel;    /* NULL: the panel has no memory yet */
	bool *is_packed;    /* whether the panel is packed */
	int32_t *sum;       /* sum of each column of the packed bytes, over the first sum_k rows */
	int64_t *sum_k;     /* for each panel; -1: its sums are not known */
	struct tpu_fast_tile_activity *activity; /* NULL: not known */
	struct tpu_fast_packed *next;
};
struct tpu_fast_weights {
	const uint8_t *bytes;
	size_t n_bytes;
	int64_t rows, columns, panels; /* panels across a tile */
	struct tpu_fast_packed **bucket;
	struct npl_arena arena; /* memory for what is known of tiles */
	struct tpu_fast_slab *first,
		*slab; /* Memory of the panels: the first slab, and the slab that gives the next panel its memory. */
	size_t packed_bytes;
	uint8_t *padded_tile; /* working space for a tile of which a part is beyond the bytes given */
};

/* The tiles or tables that one read_weights brings. */
struct tpu_fast_fetch {
	uint64_t row;         /* their first row of weight memory */
	int64_t first, count; /* number of the first tile or table; how many there are */
};
struct tpu_fast_stream {
	struct tpu_fast_fetch *fetch;
	int64_t count, fetch_index; /* fetch_index: the fetch that brings number `n_taken` */
	int64_t n_taken;
};

/* The working space of one thread for a block of rows. */
struct tpu_fast_worker {
	int32_t *sums, *product; /* (TPU_FAST_BLOCK, stride) */
	/* the part of `sums` beyond 32 bits, like the machine's `overflow`; NULL until some sum might wrap */
	int32_t *sums_overflow;
	const uint8_t **input;   /* TPU_FAST_BLOCK */
	uint8_t *staged;         /* (TPU_FAST_BLOCK, staged_pitch) */
	uint8_t *padding_vector; /* a vector of zero points, for taps outside the image */
	int32_t *row_start;
	int16_t *element, *operand;           /* vectors in the activation unit: the columns rounded up to 64 */
	struct sim_value_counts value_counts; /* of the present activate */
};

/* The state of an execution, and what the next one can use again. */
struct tpu_fast_machine {
	const struct tpu_config *config;
	const struct sim_program *program;
	const struct tpu_memory *memory;
	struct tpu_outcome *outcome;
	struct sim_value_counts *value_counts; /* for each instruction; NULL: not asked for */
	struct tpu_activity *activity_counts;  /* the same */
	struct tpu_fast_activity *activity;    /* NULL: not asked for */
	struct tpu_registers registers;
	int64_t width; /* bytes of a row of the buffer */
	size_t buffer_bytes;
	struct tpu_fast_pending pending[TPU_FAST_PENDING];
	uint64_t age;
	bool *last_use; /* for each activate: its accumulator rows are not read again before they are overwritten */
	struct tpu_fast_stream tiles, tables;
	uint64_t active; /* the tile in the active plane */

	/* The members from here on can be used again by the next execution on such a machine. */
	int64_t rows, columns, accumulator_rows; /* the sizes for which the machine was made */
	struct tpu_fast_weights weights;
	int32_t *accumulator; /* (accumulator_rows, stride) */
	/* The exact sums exceed those in the accumulators by 2^32 times this. NULL until some sum might wrap: all are
	 * 0. */
	int32_t *overflow;
	int64_t stride;     /* the columns rounded up to a panel */
	int64_t *magnitude; /* for each accumulator row in memory: the most that its magnitude can be */
	int32_t *bias;      /* the biases of the table in use, `stride` entries */
	float *scale;

	struct tpu_fast_worker *worker;
	int n_workers; /* workers that have been made */
	int workers;   /* workers that this execution uses */
	int64_t staged_pitch;
	int16_t *image; /* the vectors of an image that is pooled */
	size_t image_bytes;
	int16_t *function[TPU_FUNCTIONS]; /* 65,536 values each of sigmoid and tanh; NULL until they are needed */
};

/* Computes the values of a checked program and adds to the outcome's overflows and saturations. *cached is what the
 * execution before has left, or NULL. Returns 0 or NPL_ENOMEM. */
int tpu_fast_values(struct tpu_fast_machine **cached, const struct tpu_engine_input *engine_input,
		    struct tpu_outcome *outcome, struct npl_err *err);
void tpu_fast_machine_free(struct tpu_fast_machine *machine); /* accepts NULL */
/* Notes overflows and saturations of an instruction. */
void tpu_fast_count_values(struct tpu_fast_machine *machine, int64_t instruction, struct sim_value_counts value_counts);

/* Functions of pending.c. */
int tpu_fast_matrix(struct tpu_fast_machine *machine, int64_t index, struct npl_err *err);
/* Evaluates, before rows [first, past) of the buffer are written, the pending passes that still need these rows. */
int tpu_fast_before_write(struct tpu_fast_machine *machine, int64_t first, int64_t past, struct npl_err *err);
/* Evaluates accumulator rows [first, past) into memory. */
int tpu_fast_evaluate_pending(struct tpu_fast_machine *machine, int64_t first, int64_t past, struct npl_err *err);
/* Returns the pending passes that make up accumulator row `row`; NULL: the row is in memory. In either case this holds
 * up to (not including) *until, which can only become less. */
struct tpu_fast_pending *tpu_fast_pending_at(struct tpu_fast_machine *machine, int64_t row, int64_t *until);
/* Forgets accumulator rows [first, past), which are not needed any more. */
int tpu_fast_forget(struct tpu_fast_machine *machine, int64_t first, int64_t past, struct npl_err *err);

/* Functions of activity.c. They count what an instruction does to operands; without machine->activity they do
 * nothing. */
int tpu_fast_activity_open(struct tpu_fast_machine *machine, struct npl_err *err); /* 0 or NPL_ENOMEM */
void tpu_fast_activity_close(struct tpu_fast_machine *machine);                    /* accepts one without */
/* The row comes from the buffer to the host, or from the host. */
void tpu_fast_host_activity(struct tpu_fast_machine *machine, int64_t index, bool inward, const uint8_t *row);
/* The matrix instruction sends its vectors: those of `low`, if there are any, in turn with those of `pass`. */
int tpu_fast_matrix_activity(struct tpu_fast_machine *machine, int64_t index, const struct tpu_fast_pass *low,
			     const struct tpu_fast_pass *pass, struct npl_err *err); /* 0 or NPL_ENOMEM */

/* Functions of product.c. */
/* Packs the tiles of an entry before it is evaluated, for the first `columns` of its sums. Returns 0 or NPL_ENOMEM. */
int tpu_fast_prepare(struct tpu_fast_machine *machine, struct tpu_fast_pending *pending, int64_t columns,
		     struct npl_err *err);
/* Evaluates the sums of `rows` (at most TPU_FAST_BLOCK) accumulator rows from `row` on into c, which is those rows of
 * the accumulators themselves or the worker's `sums`. At least the first `columns` of each row are evaluated (rounded
 * up to 16 are written). For entries that may wrap, the part beyond 32 bits goes to `overflow` or `sums_overflow`. */
void tpu_fast_evaluate(struct tpu_fast_machine *machine, struct tpu_fast_worker *worker,
		       const struct tpu_fast_pending *pending, int64_t row, int64_t rows, int64_t columns, int32_t *c);
/* tpu_fast_blocks() returns into how many blocks the threads share `rows` rows, whose sums take `macs`
 * multiply-accumulates each. tpu_fast_block_begins() returns the row at which a block begins. */
int64_t tpu_fast_blocks(const struct tpu_fast_machine *machine, int64_t rows, int64_t macs);
int64_t tpu_fast_block_begins(int64_t rows, int64_t blocks, int64_t block);
/* Returns the multiply-accumulates for a row of the prepared entry. */
int64_t tpu_fast_row_macs(const struct tpu_fast_pending *pending, int64_t columns);

/* inputs.c: sets worker->input[i], for i < rows, to an address from which k bytes (rounded up to 4) of the pass's
 * vector for accumulator row row + i can be read. */
void tpu_fast_inputs(const struct tpu_fast_machine *machine, struct tpu_fast_worker *worker,
		     const struct tpu_fast_pass *pass, int64_t row, int64_t rows, int64_t k);

/* Functions of weights.c. */
int tpu_fast_weights_open(struct tpu_fast_weights *weights, const struct tpu_config *config, struct npl_err *err);
/* Sets the image that the next execution reads. Tiles of another image are forgotten. */
void tpu_fast_weights_use(struct tpu_fast_weights *weights, const struct tpu_memory *memory);
void tpu_fast_weights_close(struct tpu_fast_weights *weights);
/* Returns a tile packed for inputs that are signed or not. NULL: out of memory. The tile is valid until the next
 * call. */
struct tpu_fast_packed *tpu_fast_packed_tile(struct tpu_fast_weights *weights, uint64_t tile,
					     struct tpu_fast_format format, bool inputs_signed);
/* Finds the tiles of passes. All of them are then there at the same time, however much memory they take. Returns 0 or
 * NPL_ENOMEM. */
int tpu_fast_find_tiles(struct tpu_fast_weights *weights, struct tpu_fast_pass *pass, int64_t passes,
			struct npl_err *err);
/* Makes room for a panel of the tile, before any thread packs it. Returns false when memory runs out. */
bool tpu_fast_panel_space(struct tpu_fast_weights *weights, struct tpu_fast_packed *packed, int64_t panel);
/* Packs the panel unless it is packed. With k >= 0 it also keeps the sums of the panel's columns over the first k rows,
 * as packed. Several threads may do this with different panels. */
void tpu_fast_pack(const struct tpu_fast_weights *weights, struct tpu_fast_packed *packed, int64_t panel, int64_t k);
int64_t tpu_fast_tile_magnitude(struct tpu_fast_weights *weights, struct tpu_fast_packed *packed);
/* Copies bytes of weight memory; beyond the bytes given they are 0. */
void tpu_fast_weight_bytes(const struct tpu_fast_weights *weights, uint64_t address, size_t bytes, uint8_t *out);

/* The function of activate.c. */
int tpu_fast_activate(struct tpu_fast_machine *machine, int64_t index, struct npl_err *err);

#endif
