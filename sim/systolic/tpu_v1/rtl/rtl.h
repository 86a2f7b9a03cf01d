/* SPDX-License-Identifier: MIT
 *
 * The register-level engine: the machine of docs/tpu-isa.md as blocks of registers that a clock advances. It is the
 * specification, and the fast engine has to agree with it.
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
 *      scoreboard of accumulator rows (scoreboard.c), counters (counters.c), the observer's events (observe.c),
 *      a machine that has come to a stop (stuck.c), signals for those who look (signals.c), the whole machine (rtl.c)
 *
 * A cycle has two phases. In the first every block drives its wires: tpu_rtl_X_drive() reads registers, all of them as
 * they were when the cycle began (the machine is const), and puts its decisions on the wires. In the second the clock
 * comes: tpu_rtl_X_clock() changes the registers of its block and sees only these and the wires. So the order of blocks
 * in the second phase does not matter. In the first phase it is activate, matrix, shifter, as two wires lead from one
 * block to the next within a cycle: an activate that starts and reads fast enough lets the matrix unit have its
 * accumulators, and the row that switches weights makes room in the shadow plane.
 *
 * Buffer, host memory and accumulators are read and written by the clock. No block reads what another one writes in the
 * same cycle. For the memories the check of the program's order has made sure of that (tpu_program_check), for the
 * accumulators the scoreboard does. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_RTL_RTL_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_RTL_RTL_H

#include "run.h"
#include "sim/common/signals.h"
#include "sim/systolic/array/matrix_unit.h"
#include "sim/systolic/tpu_v1/function_table.h"

/* Instructions on their way. */

/* An instruction with the configuration registers at the time of its issue. */
struct tpu_rtl_issued {
	int64_t index; /* the instruction's index in the program */
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
	int64_t index = queue->first + position;
	return &queue->slot[index < queue->slots ? index : index - queue->slots];
}
void tpu_rtl_queue_push(struct tpu_rtl_queue *queue, const struct tpu_rtl_issued *issued);
struct tpu_rtl_issued tpu_rtl_queue_pop(struct tpu_rtl_queue *queue);

/* What the blocks share that is not a register. */

/* The intervals of cycles that may still become longer: one for all whole classes, and one for each part of
 * non_matrix. */
enum { TPU_RTL_INTERVALS = TPU_CYCLE_CLASSES - TPU_LAST_WHOLE_CLASS };
struct tpu_rtl_context {
	const struct tpu_config *config;
	const struct sim_program *program;
	const struct tpu_memory *memory;
	const struct sim_observer *observer;
	struct tpu_outcome *outcome;
	struct npl_err *err;
	uint64_t cycle;
	struct tpu_activity *activity; /* of each instruction; NULL: not asked for */
	uint8_t *last_row;             /* (TPU_RTL_PORTS, planes, bytes); NULL: activity is not counted */
	int rc;                        /* the error that stops the execution */
	struct sim_event *event;       /* (events_capacity) events that have not been told yet, in their order */
	int64_t events, events_capacity;
	struct sim_cycles interval[TPU_RTL_INTERVALS]; /* the present intervals; begin == end: there is none */
};

void tpu_rtl_observe_close(struct tpu_rtl_context *context);
/* tpu_rtl_begins() notes an event at the boundary at the beginning of this cycle, tpu_rtl_ends() at the boundary at its
 * end. */
void tpu_rtl_begins(struct tpu_rtl_context *context, enum tpu_event kind, int64_t index);
void tpu_rtl_ends(struct tpu_rtl_context *context, enum tpu_event kind, int64_t index);
/* Tells the observer the events before boundary `until`. No more of them may come. */
void tpu_rtl_tell(struct tpu_rtl_context *context, uint64_t until);
void tpu_rtl_retired(struct tpu_rtl_context *context, int64_t instruction);
/* Gives this cycle to the class, for an instruction or -1. */
void tpu_rtl_attribute(struct tpu_rtl_context *context, enum tpu_cycle_class cycle_class, int64_t instruction);
/* Ends all intervals at the end of the execution. */
void tpu_rtl_end_intervals(struct tpu_rtl_context *context);
void tpu_rtl_count_values(struct tpu_rtl_context *context, int64_t instruction, struct sim_value_counts value_counts);

/* The activity of operands (activity.c). These do nothing unless the configuration asks for it. */

/* The rows that came last, each (TPU_RTL_PORT_PLANES, max(rows, columns)). */
enum tpu_rtl_port {
	TPU_RTL_INPUTS,
	TPU_RTL_WEIGHTS,
	TPU_RTL_FROM_HOST,
	TPU_RTL_TO_HOST,
	TPU_RTL_SOURCES,
	TPU_RTL_OPERANDS,
	TPU_RTL_RESULTS,
	TPU_RTL_PORTS
};
int tpu_rtl_activity_open(struct tpu_rtl_context *context); /* 0 or NPL_ENOMEM */
void tpu_rtl_activity_close(struct tpu_rtl_context *context);
/* Returns how many bits the row, in this byte plane, differs from the one that came last through the port. */
uint64_t tpu_rtl_toggles(struct tpu_rtl_context *context, enum tpu_rtl_port port, int plane, const uint8_t *row,
			 int64_t bytes);
void tpu_rtl_count_activity(struct tpu_rtl_context *context, int64_t instruction, const struct tpu_activity *activity);

/* Tensors in the unified buffer (tensor.c). */

struct tpu_rtl_tensor {
	int64_t base, plane_rows;
	enum tpu_type type;
	int64_t pixel_lanes, row_pixels, lane;
};
uint8_t *tpu_rtl_vector_at(const struct tpu_rtl_context *context, const struct tpu_rtl_tensor *tensor, int64_t vector);
/* tpu_rtl_read_vector() reads `count` elements of a vector of bytes or 16-bit numbers. tpu_rtl_write_vector() writes
 * elements of any type. */
void tpu_rtl_read_vector(const struct tpu_rtl_context *context, const struct tpu_rtl_tensor *tensor, int64_t vector,
			 int64_t count, int32_t *element);
void tpu_rtl_write_vector(const struct tpu_rtl_context *context, const struct tpu_rtl_tensor *tensor, int64_t vector,
			  int64_t count, const int32_t *element);
/* Returns how many bits of the vector toggle at the port: plane by plane of its bytes in the buffer. */
uint64_t tpu_rtl_vector_toggles(struct tpu_rtl_context *context, enum tpu_rtl_port port,
				const struct tpu_rtl_tensor *tensor, int64_t vector, int64_t count);

/* Wires, which carry what is decided in this cycle. */

struct tpu_rtl_wires {
	/* The wires of issue. */
	bool issues;
	unsigned awaited_units;       /* the units that the sync or halt waits for, one bit each */
	bool sync_pauses;             /* the sync that has issued takes its own time */
	enum tpu_unit target_unit;    /* the unit whose queue takes the instruction; TPU_UNITS: none */
	struct tpu_rtl_issued issued; /* the instruction for target_unit */
	/* The wires of the activation unit. */
	bool activate_starts;
	uint64_t reading;            /* the number of cycles for which it will read */
	bool table_used;             /* the head of the table FIFO comes into use */
	int64_t table_row;           /* the place of the table in weight memory */
	const int32_t *accumulators; /* the row of accumulators that it would read next */
	const int64_t *exact_sums;   /* the same without wrapping, for counting only */
	/* The wires of the matrix unit. */
	bool matrix_starts;
	bool row_enters;
	bool weights_switch; /* the switch is with the row that enters */
	/* The wires of the shifter. */
	bool shift_begins; /* the tile at the head of the FIFO begins to be shifted */
	bool weights_enter;
	int64_t weights_row; /* the row of weight memory that enters */
	bool tile_popped;    /* the row that enters is the last of its tile */
	/* Whether a transfer begins on host_in, and on host_out. */
	bool link_starts[2];
};

/* The blocks. */

struct tpu_rtl;

struct tpu_rtl_issue {
	struct tpu_registers registers;
	int64_t next;   /* the next instruction */
	uint64_t pause; /* cycles until `next` is looked at */
	bool halted;
};
void tpu_rtl_issue_drive(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires);
/* This function and the clocks below say whether a register has changed. */
bool tpu_rtl_issue_clock(struct tpu_rtl_issue *issue, const struct tpu_rtl_wires *wires,
			 struct tpu_rtl_context *context);

/* One direction of the host link. */
struct tpu_rtl_link {
	enum tpu_unit unit;
	struct tpu_rtl_queue queue;
	struct tpu_rtl_issued current;
	bool busy;
	uint64_t latency; /* cycles of the latency still to come */
	uint64_t bytes_left;
	/* the part of the bandwidth not used yet, in bytes times clock_hz; between cycles it is less than a byte's */
	uint64_t credit;
	uint64_t row_bytes; /* bytes that have come of the present row */
	uint32_t row;
};
void tpu_rtl_link_drive(const struct tpu_rtl_link *link, struct tpu_rtl_wires *wires);
bool tpu_rtl_link_clock(struct tpu_rtl_link *link, const struct tpu_rtl_wires *wires, struct tpu_rtl_context *context);

/* A FIFO of tiles or tables in the order of their arrival. Weight memory does not change during an execution, so a slot
 * holds the place in weight memory. */
struct tpu_rtl_fifo {
	int64_t *row; /* (slots) */
	int64_t slots, first;
	/* The slots taken and arrived, counted from `first`. What is being transferred is taken and has not arrived. */
	int64_t slots_taken, slots_arrived;
	int64_t n_pushed; /* how many have been put in since the start */
};
enum tpu_rtl_item { TPU_RTL_TILE, TPU_RTL_TABLE };
/* A tile or table that is being transferred. */
struct tpu_rtl_transfer {
	enum tpu_rtl_item item;
	int64_t index;             /* the index of the read_weights instruction */
	bool is_last;              /* it is the last one that its instruction brings */
	uint64_t address, end;     /* the bytes that weight memory has not been asked for */
	uint64_t accesses;         /* accesses issued and not completed */
	uint64_t completion_cycle; /* boundary of weight memory's clock at the last completion */
};
/* Weight memory behind the memory port, on a clock of its own (weight_memory.c). */
struct tpu_rtl_weight_memory {
	struct npl_memory *memory; /* NULL: the preset is fixed */
	/* (capacity) transfers that have begun and not arrived, the oldest at `first` */
	struct tpu_rtl_transfer *transfer;
	int64_t capacity, first, count;
	uint64_t n_arrived; /* number of the oldest transfer, counted since the start */
	/* The clocks in a common unit of time: the length of a cycle of the machine, the length of one of weight
	 * memory, and how far the end of this cycle of the machine is ahead of the boundary that weight memory has
	 * reached. */
	int64_t machine_period, memory_period, machine_lead;
};
struct tpu_rtl_weights {
	struct tpu_rtl_queue queue;
	struct tpu_rtl_fifo fifo[2];
	struct tpu_rtl_issued current;
	int64_t transfers_left; /* transfers that `current` has not begun */
	int64_t row;            /* where the next transfer begins */
	/* With the preset fixed: the transfer under way, and bytes times clock_hz until it ends; 0: there is none. */
	struct tpu_rtl_transfer transfer;
	uint64_t remainder;
	struct tpu_rtl_weight_memory port;
};
int tpu_rtl_weights_open(struct tpu_rtl_weights *weights, const struct tpu_config *config, int64_t queue_slots,
			 struct npl_err *err);
void tpu_rtl_weights_close(struct tpu_rtl_weights *weights);
int tpu_rtl_weight_memory_open(struct tpu_rtl_weight_memory *port, const struct tpu_config *config,
			       struct npl_err *err);
void tpu_rtl_weight_memory_close(struct tpu_rtl_weight_memory *port);
/* Does what weight memory does within a cycle of the machine. Says whether that changed anything that another block
 * waits for. */
bool tpu_rtl_weight_memory_clock(struct tpu_rtl_weights *weights, struct tpu_rtl_context *context);
/* Says whether there is a next transfer and room for what it brings. *address: where it begins in weight memory. */
bool tpu_rtl_weights_next(const struct tpu_rtl_weights *weights, const struct tpu_config *config, uint64_t *address);
/* tpu_rtl_weights_begin() begins the next transfer. tpu_rtl_weights_arrive() puts what it brought into its FIFO. */
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
/* Reads bytes of weight memory; beyond the bytes given they are 0. */
void tpu_rtl_weight_bytes(const struct tpu_rtl_context *context, int64_t row, int64_t count, uint8_t *bytes);

/* The shifter moves tiles from the tile FIFO into the shadow plane, row by row, the last row first. */
struct tpu_rtl_shifter {
	int64_t tile;    /* number of the tile that is being shifted or is next */
	int64_t entered; /* rows of the tile that have entered; 0: no tile is being shifted */
	bool full;       /* a whole tile waits in the shadow plane */
};
void tpu_rtl_shifter_drive(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires);
bool tpu_rtl_shifter_clock(struct tpu_rtl_shifter *shifter, const struct tpu_rtl_wires *wires,
			   struct tpu_rtl_context *context);

/* A matrix instruction that has not written all its rows to the accumulators. */
struct tpu_rtl_flight {
	int64_t index, first, end; /* accumulator rows */
	int64_t writes_left;
};
struct tpu_rtl_matrix {
	struct tpu_rtl_queue queue;
	struct tpu_rtl_issued current;
	int64_t rows_left; /* rows of `current` still to enter */
	int64_t rows_sent;
	struct tpu_rtl_flight *flight; /* (flights), the oldest at first_flight */
	int64_t flights, first_flight, in_flight;
	struct tpu_matrix unit;
	uint8_t *row, *weights; /* the bytes at the edges of the array */
	uint64_t shift_toggles; /* bits that have toggled while the present tile was shifted in */
	uint64_t tile_toggles;  /* the same of the whole tile that waits in the shadow plane */
};
int tpu_rtl_matrix_open(struct tpu_rtl_matrix *matrix, const struct tpu_config *config, int64_t queue_slots,
			struct npl_err *err);
void tpu_rtl_matrix_close(struct tpu_rtl_matrix *matrix);
void tpu_rtl_matrix_drive(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires);
bool tpu_rtl_matrix_clock(struct tpu_rtl_matrix *matrix, const struct tpu_rtl_wires *wires,
			  struct tpu_rtl_context *context);
/* Returns the instruction whose row enters in this cycle. */
static inline const struct tpu_rtl_issued *tpu_rtl_entering(const struct tpu_rtl_matrix *matrix,
							    const struct tpu_rtl_wires *wires)
{
	return wires->matrix_starts ? tpu_rtl_queue_at(&matrix->queue, 0) : &matrix->current;
}
/* Fills `row` with the bytes of the k-th row that a matrix instruction sends through the array. */
void tpu_rtl_setup(const struct tpu_rtl_context *context, const struct tpu_rtl_issued *issued, int64_t k, uint8_t *row);
static inline int tpu_rtl_rows_per_vector(const struct tpu_rtl_issued *issued)
{
	return issued->instruction.flags & TPU_MATRIX_INPUTS16 ? 2 : 1;
}

/* The windows of a pooling instruction, as the sequencer walks over them one beat after the other. */
struct tpu_rtl_windows {
	int64_t in_height, in_width, out_height, out_width, kernel_height, kernel_width;
	int64_t stride_y, stride_x, pad_top, pad_left;
	int64_t sources, sources_read; /* the number of source vectors; how many have been read */
	int64_t image, y, x;           /* the window whose result leaves next */
	int64_t results_left;          /* results */
};
/* The part of the next window that is inside the image: rows and columns, first <= i < end. */
struct tpu_rtl_inside {
	int64_t first_row, end_row, first_column, end_column;
};
struct tpu_rtl_windows tpu_rtl_windows_of(const struct tpu_rtl_issued *activate);
struct tpu_rtl_inside tpu_rtl_inside_of(const struct tpu_rtl_windows *windows);
/* Says whether the window of the next result is complete. A beat has two halves: a source vector is read if one is
 * left, and a result leaves if its window is complete. */
bool tpu_rtl_windows_complete(const struct tpu_rtl_windows *windows);
void tpu_rtl_windows_leave(struct tpu_rtl_windows *windows);
/* The number of beats that the instruction takes, and of source vectors that have to be kept at the same time. */
struct tpu_rtl_walk {
	int64_t beats, vectors_kept;
};
struct tpu_rtl_walk tpu_rtl_windows_walk(const struct tpu_rtl_issued *activate);

/* The line buffer: source vectors that windows still need. */
struct tpu_rtl_lines {
	int16_t *vector; /* (slots, columns), source vector i at i mod slots */
	int64_t slots, columns;
};
/* Makes room for so many vectors; their previous content is lost. Returns false when memory runs out. */
bool tpu_rtl_lines_reserve(struct tpu_rtl_lines *lines, int64_t vectors);
void tpu_rtl_lines_put(struct tpu_rtl_lines *lines, int64_t vector, int64_t count, const int32_t *value);
/* Computes the result of the next window from the lines. */
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
	uint64_t draining;          /* cycles from then until the last result is in the buffer */
	uint64_t cycles_per_vector; /* the length of a beat */
	uint64_t cycle;             /* the cycle within the beat */
	int64_t vectors_read, results;
	struct tpu_rtl_windows windows;
	struct tpu_rtl_lines lines;
	/* The parameter table in use, (columns). */
	int32_t *bias;
	float *scale;
	/* The pipeline registers after the unit. */
	struct tpu_rtl_result *stage; /* (stages) */
	int32_t *stage_value;         /* (stages, columns) */
	int64_t stages, oldest;
	/* Working space, not registers. */
	int32_t *value, *operand; /* (columns) the vectors that are worked on */
	uint8_t *table;           /* (columns, TPU_TABLE_ENTRY_BYTES) */
	struct tpu_function_table sigmoid, tanh;
};
/* Takes source vector `vector` through requantisation, operand and function, into `value`. */
void tpu_rtl_values(struct tpu_rtl_activate *activate, const struct tpu_rtl_wires *wires, int64_t vector,
		    struct tpu_rtl_context *context);
int tpu_rtl_activate_open(struct tpu_rtl_activate *activate, const struct tpu_config *config, int64_t queue_slots,
			  struct npl_err *err);
void tpu_rtl_activate_close(struct tpu_rtl_activate *activate);
void tpu_rtl_activate_drive(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires);
bool tpu_rtl_activate_clock(struct tpu_rtl_activate *activate, const struct tpu_rtl_wires *wires,
			    struct tpu_rtl_context *context);

/* The scoreboard. */

/* Returns the earliest matrix instruction before the activate that has not made all its writes to accumulator rows
 * which the activate reads; -1: none. */
int64_t tpu_rtl_unwritten(const struct tpu_rtl *rtl, const struct tpu_rtl_issued *activate);
/* Returns the earliest activate before the matrix instruction that will not have read all accumulator rows which the
 * matrix instruction writes when the first write comes, should the matrix instruction start in this cycle; -1: none. */
int64_t tpu_rtl_unread(const struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires,
		       const struct tpu_rtl_issued *matrix);

/* The machine. */

struct tpu_rtl {
	struct tpu_rtl_context context;
	struct tpu_rtl_issue issue;
	struct tpu_rtl_link link[2]; /* host_in, host_out */
	struct tpu_rtl_weights weights;
	struct tpu_rtl_shifter shifter;
	struct tpu_rtl_matrix matrix;
	struct tpu_rtl_activate activate;
	struct sim_signals *signals; /* those that are told; NULL: none are */
	struct tpu_counters counted; /* up to the present cycle, where signals are told */
};
/* Functions of signals.c. open() tells the sink, which may be NULL, which signals come. In each cycle first() reads
 * registers and wires before the clock, and last() what passed through the array and the ports, and tells the sink.
 * first() and last() need rtl->signals. */
int tpu_rtl_signals_open(struct tpu_rtl *rtl, const struct npl_signal_sink *sink);
void tpu_rtl_signals_first(struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires);
void tpu_rtl_signals_last(struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires);
const struct tpu_rtl_queue *tpu_rtl_queue_of(const struct tpu_rtl *rtl, enum tpu_unit unit);
/* Says whether a unit has nothing left to do. */
bool tpu_rtl_idle(const struct tpu_rtl *rtl, enum tpu_unit unit);
/* Counts this cycle and tells the observer its class. What happens in a block is counted there. */
void tpu_rtl_count_cycle(const struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires, struct tpu_rtl_context *context);
/* Fails with NPL_EINPUT and what each unit waits for, after a cycle that has changed no register. */
int tpu_rtl_stuck(const struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires, struct npl_err *err);

#endif
