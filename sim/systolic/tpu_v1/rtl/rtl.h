/* SPDX-License-Identifier: MIT
 *
 * The register-level engine: the machine of docs/tpu-isa.md as blocks of registers that a clock advances. This is the
 * specification; the fast engine has to agree with it.
 *
 *      program --> issue (issue.c) --> a queue in front of each unit (queue.c)
 *
 *      host memory <--> host_in, host_out (link.c) <--> unified buffer --------+
 *                                                           ^                  v
 *      weight memory --> weights (weights.c)                |        systolic data setup (setup.c)
 *                        |  port, tile FIFO, table FIFO     |                  v
 *                        |  tile shifter (shifter.c) -------|----------------> matrix (matrix.c, matrix_unit.c)
 *                        |                                  |                  v accumulators
 *                        +--> parameter table ----------> activate (activate.c, values.c, pool.c)
 *
 *      scoreboard of accumulator rows (scoreboard.c), counters (counters.c), who observes (observe.c),
 *      a machine that has come to a stop (stuck.c), all of it together (rtl.c)
 *
 * A cycle has two phases. In the first every block looks: tpu_rtl_X_look() reads registers, all of them as they were
 * when the cycle began, for the machine is const, and puts what it decides on the wires. In the second the clock comes:
 * tpu_rtl_X_clock() changes the registers of its block and sees nothing but those and the wires. So the order of blocks
 * in the second phase does not matter. In the first it is activate, matrix, shifter, for two wires lead from one block
 * to the next within a cycle: an activate that starts and will be quick lets the matrix unit have its accumulators, and
 * the row that switches weights makes room in the shadow plane.
 *
 * Buffer, host memory and accumulators are read and written by the clock. Nobody reads what another block writes in the
 * same cycle: for the memories the check of the program's order has made sure of that (tpu_program_check), for the
 * accumulators the scoreboard does. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_RTL_RTL_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_RTL_RTL_H

#include "run.h"
#include "sim/systolic/array/matrix_unit.h"
#include "sim/systolic/tpu_v1/function_table.h"

/* ---- Instructions on their way ---- */

/* An instruction as it was issued. */
struct tpu_rtl_issued {
	int64_t index; /* in the program */
	struct tpu_instruction instruction;
	struct tpu_registers registers;
};
static inline uint32_t tpu_rtl_register(const struct tpu_rtl_issued *issued, enum tpu_register r)
{
	return issued->registers.value[r];
}

struct tpu_rtl_queue {
	struct tpu_rtl_issued *slot;
	int64_t slots, first, count;
};
bool tpu_rtl_queue_open(struct tpu_rtl_queue *queue, int64_t slots);
static inline const struct tpu_rtl_issued *tpu_rtl_queue_at(const struct tpu_rtl_queue *queue, int64_t position)
{
	int64_t at = queue->first + position;
	return &queue->slot[at < queue->slots ? at : at - queue->slots];
}
void tpu_rtl_queue_push(struct tpu_rtl_queue *queue, const struct tpu_rtl_issued *issued);
struct tpu_rtl_issued tpu_rtl_queue_pop(struct tpu_rtl_queue *queue);

/* ---- What the blocks share that is no register ---- */

/* Intervals of cycles that go on, of the four classes that share out all cycles, and of each part of non_matrix. */
enum { TPU_RTL_INTERVALS = TPU_CYCLE_CLASSES - TPU_CYCLES_NON_MATRIX };
struct tpu_rtl_context {
	const struct tpu_config *config;
	const struct sim_program *program;
	const struct tpu_memory *memory;
	const struct sim_observer *observer;
	struct tpu_outcome *outcome;
	struct npl_err *err;
	uint64_t cycle;
	int rc;                  /* what stops the run */
	struct sim_event *event; /* (events_capacity) that have not been told yet, in their order */
	int64_t events, events_capacity;
	struct sim_cycles interval[TPU_RTL_INTERVALS]; /* from == to: none */
};

void tpu_rtl_observe_close(struct tpu_rtl_context *context);
/* The boundary at the beginning of this cycle, and at its end. */
void tpu_rtl_begins(struct tpu_rtl_context *context, enum tpu_event what, int64_t index);
void tpu_rtl_ends(struct tpu_rtl_context *context, enum tpu_event what, int64_t index);
/* Tells the observer the events before `until`: no more of them will come. */
void tpu_rtl_tell(struct tpu_rtl_context *context, uint64_t until);
void tpu_rtl_retired(struct tpu_rtl_context *context, int64_t instruction);
/* This cycle goes to `what`, for an instruction or -1. */
void tpu_rtl_attribute(struct tpu_rtl_context *context, enum tpu_cycle_class what, int64_t instruction);
/* The run has ended: so have all intervals. */
void tpu_rtl_end_intervals(struct tpu_rtl_context *context);
void tpu_rtl_fault(struct tpu_rtl_context *context, int64_t instruction, struct sim_faults faults);

/* ---- Tensors in the unified buffer (tensor.c) ---- */

struct tpu_rtl_tensor {
	int64_t base, plane_rows;
	enum tpu_type type;
	int64_t pixel_lanes, row_pixels, lane;
};
int tpu_rtl_planes(enum tpu_type type);
uint8_t *tpu_rtl_vector_at(const struct tpu_rtl_context *context, const struct tpu_rtl_tensor *tensor, int64_t vector);
/* `count` elements of a vector of bytes or 16-bit numbers; of any type. */
void tpu_rtl_read_vector(const struct tpu_rtl_context *context, const struct tpu_rtl_tensor *tensor, int64_t vector,
			 int64_t count, int32_t *element);
void tpu_rtl_write_vector(const struct tpu_rtl_context *context, const struct tpu_rtl_tensor *tensor, int64_t vector,
			  int64_t count, const int32_t *element);

/* ---- Wires: what is decided in this cycle ---- */

struct tpu_rtl_wires {
	/* issue */
	bool issues;
	unsigned awaited_units;       /* units that the sync or halt waits for, one bit each */
	bool sync_pauses;             /* the sync that has issued takes its time */
	enum tpu_unit to;             /* whose queue takes it; TPU_UNITS: none */
	struct tpu_rtl_issued issued; /* with `to` */
	/* activate */
	bool activate_starts;
	uint64_t reading;            /* cycles that it will read for */
	bool table_used;             /* the head of the table FIFO comes into use */
	int64_t table_row;           /* where it is in weight memory */
	const int32_t *accumulators; /* the row that it would read next */
	const int64_t *exact_sums;   /* the same without wrapping, for counting only */
	/* matrix */
	bool matrix_starts;
	bool row_enters;
	bool weights_switch; /* with that row */
	/* shifter */
	bool shift_begins; /* the tile at the head of the FIFO */
	bool weights_enter;
	int64_t weights_row; /* which, in weight memory */
	bool tile_popped;    /* that was the tile's last */
	/* host_in, host_out */
	bool link_starts[2];
};

/* ---- Blocks ---- */

struct tpu_rtl;

struct tpu_rtl_issue {
	struct tpu_registers registers;
	int64_t next;   /* instruction */
	uint64_t pause; /* cycles until it is looked at */
	bool halted;
};
void tpu_rtl_issue_look(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires);
/* This and the clocks below: whether a register has changed. */
bool tpu_rtl_issue_clock(struct tpu_rtl_issue *issue, const struct tpu_rtl_wires *wires,
			 struct tpu_rtl_context *context);

/* One direction of the host link. */
struct tpu_rtl_link {
	enum tpu_unit unit;
	struct tpu_rtl_queue queue;
	struct tpu_rtl_issued current;
	bool busy;
	uint64_t latency; /* cycles of it still to come */
	uint64_t bytes_left;
	uint64_t credit;    /* of the bandwidth: bytes times clock_hz, below one byte's between cycles */
	uint64_t row_bytes; /* that have come of the row under way */
	uint32_t row;
};
void tpu_rtl_link_look(const struct tpu_rtl_link *link, struct tpu_rtl_wires *wires);
bool tpu_rtl_link_clock(struct tpu_rtl_link *link, const struct tpu_rtl_wires *wires, struct tpu_rtl_context *context);

/* Things from weight memory in the order of their arrival, tiles or tables. Weight memory does not change during a run,
 * so a slot holds where in it the thing is. */
struct tpu_rtl_fifo {
	int64_t *row; /* (slots) */
	int64_t slots, first;
	int64_t taken, arrived; /* slots, counted from first; what is being transferred is taken and has not arrived */
	int64_t pushed;         /* in all */
};
enum tpu_rtl_item { TPU_RTL_TILE, TPU_RTL_TABLE };
/* A tile or table on its way. */
struct tpu_rtl_transfer {
	enum tpu_rtl_item item;
	int64_t index;         /* of its instruction */
	bool is_last;          /* that this one brings */
	uint64_t address, end; /* bytes of it that weight memory has not been asked for */
	uint64_t accesses;     /* asked for and not answered */
	uint64_t answered;     /* boundary of weight memory's clock at which the last of them was */
};
/* Weight memory behind the memory port, on a clock of its own (weight_memory.c). */
struct tpu_rtl_weight_memory {
	struct npl_memory *memory;         /* NULL: the preset is fixed */
	struct tpu_rtl_transfer *transfer; /* (capacity) that have begun and not arrived, the oldest at first */
	int64_t capacity, first, count;
	uint64_t arrived; /* number of the oldest in the run */
	/* Both clocks in one unit of time: a cycle of the machine, one of weight memory, and how far the end of this
	 * cycle of the machine is ahead of the boundary that weight memory has come to. */
	int64_t machine_period, memory_period, ahead;
};
struct tpu_rtl_weights {
	struct tpu_rtl_queue queue;
	struct tpu_rtl_fifo fifo[2];
	struct tpu_rtl_issued current;
	int64_t transfers_left; /* transfers that `current` has not begun */
	int64_t row;            /* where the next one begins */
	/* preset fixed: the transfer under way, and bytes times clock_hz until it ends; 0: there is none */
	struct tpu_rtl_transfer transfer;
	uint64_t due;
	struct tpu_rtl_weight_memory port;
};
int tpu_rtl_weights_open(struct tpu_rtl_weights *weights, const struct tpu_config *config, int64_t queue_slots,
			 struct npl_err *err);
void tpu_rtl_weights_close(struct tpu_rtl_weights *weights);
int tpu_rtl_weight_memory_open(struct tpu_rtl_weight_memory *behind, const struct tpu_config *config,
			       struct npl_err *err);
void tpu_rtl_weight_memory_close(struct tpu_rtl_weight_memory *behind);
/* What weight memory does within a cycle of the machine; whether anything that somebody waits for. */
bool tpu_rtl_weight_memory_clock(struct tpu_rtl_weights *weights, struct tpu_rtl_context *context);
/* Whether there is a next transfer and room for what it brings: where it lies. */
bool tpu_rtl_weights_next(const struct tpu_rtl_weights *weights, const struct tpu_config *config, uint64_t *address);
/* That transfer begins; has come whole. */
void tpu_rtl_weights_begin(struct tpu_rtl_weights *weights, struct tpu_rtl_context *context,
			   struct tpu_rtl_transfer *transfer);
void tpu_rtl_weights_arrive(struct tpu_rtl_weights *weights, struct tpu_rtl_context *context,
			    const struct tpu_rtl_transfer *transfer);
bool tpu_rtl_weights_clock(struct tpu_rtl_weights *weights, const struct tpu_rtl_wires *wires,
			   struct tpu_rtl_context *context);
static inline enum tpu_rtl_item tpu_rtl_brings(const struct tpu_rtl_issued *read_weights)
{
	return read_weights->instruction.flags & TPU_WEIGHTS_PARAMETERS ? TPU_RTL_TABLE : TPU_RTL_TILE;
}
/* Bytes of weight memory; what lies beyond those given is 0. */
void tpu_rtl_weight_bytes(const struct tpu_rtl_context *context, int64_t row, int64_t count, uint8_t *bytes);

/* From the tile FIFO into the shadow plane, row by row, the last row first. */
struct tpu_rtl_shifter {
	int64_t tile;    /* that is being shifted or is next, counted */
	int64_t entered; /* rows of it; 0: none is being shifted */
	bool full;       /* a whole tile waits in the shadow plane */
};
void tpu_rtl_shifter_look(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires);
bool tpu_rtl_shifter_clock(struct tpu_rtl_shifter *shifter, const struct tpu_rtl_wires *wires,
			   struct tpu_rtl_context *context);

/* A matrix instruction of which not all rows have been written to the accumulators. */
struct tpu_rtl_flight {
	int64_t index, first, end; /* accumulator rows */
	int64_t writes_left;
};
struct tpu_rtl_matrix {
	struct tpu_rtl_queue queue;
	struct tpu_rtl_issued current;
	int64_t rows_left; /* of `current`, to enter */
	int64_t rows_sent;
	struct tpu_rtl_flight *flight; /* (flights), oldest at first_flight */
	int64_t flights, first_flight, in_flight;
	struct tpu_matrix unit;
	uint8_t *row, *weights; /* at the edge of the array */
};
int tpu_rtl_matrix_open(struct tpu_rtl_matrix *matrix, const struct tpu_config *config, int64_t queue_slots,
			struct npl_err *err);
void tpu_rtl_matrix_close(struct tpu_rtl_matrix *matrix);
void tpu_rtl_matrix_look(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires);
bool tpu_rtl_matrix_clock(struct tpu_rtl_matrix *matrix, const struct tpu_rtl_wires *wires,
			  struct tpu_rtl_context *context);
/* The instruction whose row enters in this cycle. */
static inline const struct tpu_rtl_issued *tpu_rtl_entering(const struct tpu_rtl_matrix *matrix,
							    const struct tpu_rtl_wires *wires)
{
	return wires->matrix_starts ? tpu_rtl_queue_at(&matrix->queue, 0) : &matrix->current;
}
/* The k-th row that a matrix instruction sends through the array: `row` filled with its bytes. */
void tpu_rtl_setup(const struct tpu_rtl_context *context, const struct tpu_rtl_issued *issued, int64_t k, uint8_t *row);
static inline int tpu_rtl_rows_per_vector(const struct tpu_rtl_issued *issued)
{
	return issued->instruction.flags & TPU_MATRIX_INPUTS16 ? 2 : 1;
}

/* Windows of a pooling instruction as the sequencer walks over them, a beat after the other. */
struct tpu_rtl_windows {
	int64_t in_height, in_width, out_height, out_width, kernel_height, kernel_width;
	int64_t stride_y, stride_x, pad_top, pad_left;
	int64_t sources, read; /* source vectors, and those that have been read */
	int64_t image, y, x;   /* the window whose result leaves next */
	int64_t results_left;  /* results */
};
/* The part of that window that is inside the image: rows and columns, first <= i < end. */
struct tpu_rtl_inside {
	int64_t first_row, end_row, first_column, end_column;
};
struct tpu_rtl_windows tpu_rtl_windows_of(const struct tpu_rtl_issued *activate);
struct tpu_rtl_inside tpu_rtl_inside_of(const struct tpu_rtl_windows *windows);
/* A beat has two halves: a source vector is read, if there is one; a result leaves, if its window is complete. */
bool tpu_rtl_windows_complete(const struct tpu_rtl_windows *windows);
void tpu_rtl_windows_leave(struct tpu_rtl_windows *windows);
/* How many beats all of it takes, and how many source vectors have to be kept at a time. */
struct tpu_rtl_walk {
	int64_t beats, kept;
};
struct tpu_rtl_walk tpu_rtl_windows_walk(const struct tpu_rtl_issued *activate);

/* The line buffer: source vectors that windows still need. */
struct tpu_rtl_lines {
	int16_t *vector; /* (slots, columns), source vector i at i mod slots */
	int64_t slots, columns;
};
/* Room for so many vectors; false: out of memory. What was in it is lost. */
bool tpu_rtl_lines_reserve(struct tpu_rtl_lines *lines, int64_t vectors);
void tpu_rtl_lines_put(struct tpu_rtl_lines *lines, int64_t vector, int64_t count, const int32_t *value);
/* The result of the window that is next, from the lines. */
void tpu_rtl_lines_pool(const struct tpu_rtl_lines *lines, const struct tpu_rtl_windows *windows,
			enum tpu_pooling pooling, int32_t zero_point, int64_t count, int32_t *value);

/* A vector of results in a pipeline register. */
struct tpu_rtl_result {
	bool present;
	int64_t number;
};
struct tpu_rtl_activate {
	struct tpu_rtl_queue queue;
	struct tpu_rtl_issued current;
	bool busy;
	uint64_t reading;           /* cycles until all is read and the last result has left the unit */
	uint64_t draining;          /* cycles from then until it is in the buffer */
	uint64_t cycles_per_vector; /* a beat */
	uint64_t cycle;             /* of the beat */
	int64_t vectors_read, results;
	struct tpu_rtl_windows windows;
	struct tpu_rtl_lines lines;
	/* the parameter table in use, (columns) */
	int32_t *bias;
	float *scale;
	/* pipeline registers after the unit */
	struct tpu_rtl_result *stage; /* (stages) */
	int32_t *stage_value;         /* (stages, columns) */
	int64_t stages, oldest;
	/* what is no register */
	int32_t *value, *operand; /* (columns) the vectors that are worked on */
	uint8_t *table;           /* (8 * columns) */
	struct tpu_function_table sigmoid, tanh;
};
/* Source vector `vector` through requantisation, operand and function, into `value`. */
void tpu_rtl_values(struct tpu_rtl_activate *activate, const struct tpu_rtl_wires *wires, int64_t vector,
		    struct tpu_rtl_context *context);
int tpu_rtl_activate_open(struct tpu_rtl_activate *activate, const struct tpu_config *config, int64_t queue_slots,
			  struct npl_err *err);
void tpu_rtl_activate_close(struct tpu_rtl_activate *activate);
void tpu_rtl_activate_look(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires);
bool tpu_rtl_activate_clock(struct tpu_rtl_activate *activate, const struct tpu_rtl_wires *wires,
			    struct tpu_rtl_context *context);

/* ---- Scoreboard ---- */

/* The earliest matrix instruction that comes before the activate and has not made all its writes to accumulator rows
 * that it reads; -1: none. */
int64_t tpu_rtl_unwritten(const struct tpu_rtl *rtl, const struct tpu_rtl_issued *activate);
/* The earliest activate that comes before the matrix instruction and will not have read all accumulator rows that it
 * writes when its first write comes, should it start in this cycle; -1: none. */
int64_t tpu_rtl_unread(const struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires,
		       const struct tpu_rtl_issued *matrix);

/* ---- The machine ---- */

struct tpu_rtl {
	struct tpu_rtl_context context;
	struct tpu_rtl_issue issue;
	struct tpu_rtl_link link[2]; /* host_in, host_out */
	struct tpu_rtl_weights weights;
	struct tpu_rtl_shifter shifter;
	struct tpu_rtl_matrix matrix;
	struct tpu_rtl_activate activate;
};
const struct tpu_rtl_queue *tpu_rtl_queue_of(const struct tpu_rtl *rtl, enum tpu_unit unit);
/* Whether a unit has nothing left to do. */
bool tpu_rtl_idle(const struct tpu_rtl *rtl, enum tpu_unit unit);
/* What this cycle is, for the counters and for who observes. What happens in a block is counted there. */
void tpu_rtl_count_cycle(const struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires, struct tpu_rtl_context *context);
/* A cycle has changed no register: NPL_EINPUT with who waits for what. */
int tpu_rtl_stuck(const struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires, struct npl_err *err);

#endif
