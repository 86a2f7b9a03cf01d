/* SPDX-License-Identifier: MIT
 *
 * The fast engine of the systolic machines (engine.h), private to this folder: two halves that share nothing.
 *
 * Time. Units are queues that only wait for each other, in an order the program gives: no unit ever chooses. So the
 * time of every event follows from those before it by a maximum and a sum (docs/tpu-isa.md, Time), and no cycle is
 * stepped:
 *
 *     schedule.c    issue, and which unit can go on
 *     units.c       when a unit's next instruction starts and ends
 *     port.c        weight transfers in exact fractions of a cycle, tiles on their way to the array
 *     port_memory.c weight transfers through the memory port
 *     ranges.c      which instruction touched some of these accumulator rows last
 *     counters.c    durations, and the counters out of the intervals
 *     stuck.c       why a program can never end
 *
 * Values. Programs in which the order of time could change a value are refused before they run, so instructions are
 * computed whole and in program order (values.h). */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_FAST_FAST_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_FAST_FAST_H

#include "run.h"

/* An instruction of a unit, in the order of issue. */
struct tpu_fast_job {
	int64_t index;       /* in the program */
	uint64_t issued;     /* cycle */
	uint64_t start, end; /* once resolved; weights: end of the last transfer, rounded up */
	uint64_t duration;   /* vectors entering the array, reading, or crossing the link; cycles */
	int64_t switch_to;   /* matrix, activate: ordinal of the tile or table; -1: it switches to none */
	int64_t n_transfers; /* weights: of tiles or tables */
	int64_t waits_for_job; /* matrix, activate: ordinal of the other's job that must be through with the accumulators; -1 */
};

struct tpu_fast_unit {
	struct tpu_fast_job *job;
	int64_t issued, resolved; /* how many */
};

/* Boundaries of a tile on its way. */
struct tpu_fast_tile {
	uint64_t pushed, shifted, popped;
	uint64_t switched; /* start of the pass that switches to it */
};
struct tpu_fast_table {
	uint64_t loaded, used; /* end of its transfer, start of the activate that switches to it */
};

/* A transfer of weights that has begun and not arrived. */
struct tpu_fast_transfer {
	int64_t job; /* whose last transfer it is; -1: of none */
	bool is_table;
	uint64_t begun;    /* cycle of the machine */
	uint64_t accesses; /* of it that have not been answered */
	uint64_t answered; /* boundary of weight memory's clock, so far */
};

/* The way to weight memory. With the preset `fixed` the port is taken until free_cycle + free_part / (bytes per
 * second). With another preset there is a memory, and the members below say what has been asked of it
 * (port_memory.c). */
struct tpu_fast_port {
	uint64_t free_cycle, free_part;
	uint64_t begun; /* cycle in which the last transfer began */

	struct npl_memory *memory; /* NULL: fixed */
	struct npl_hz clock, memory_clock;
	struct tpu_fast_transfer *transfer; /* (capacity) the oldest at arrived % capacity */
	uint64_t capacity, arrived, asked;  /* transfers, in all */
};

/* What holds the issue stage at a sync or halt: [from, input) it waits for host_in, [from, raw) for matrix or activate,
 * [from, output) for host_out; it issues in the cycle before `pause`, and [pause, end) is the time that a sync
 * takes. */
struct tpu_fast_wait {
	uint64_t from, input_end, raw_end, output_end, pause, end;
};

/* Last values assigned to ranges of rows, -1 at first, where each is at least those before: a tree of maxima. */
struct tpu_fast_ranges {
	int64_t leaves;    /* a power of 2 */
	int64_t *maximum;  /* of the node's rows; node 1 is the root, children of i are 2i and 2i + 1 */
	int64_t *assigned; /* assigned to all of the node's rows */
};
int tpu_fast_ranges_open(struct tpu_fast_ranges *ranges, int64_t rows, struct npl_err *err);
void tpu_fast_ranges_close(struct tpu_fast_ranges *ranges);
void tpu_fast_ranges_assign(struct tpu_fast_ranges *ranges, int64_t first, int64_t count, int64_t value);
int64_t tpu_fast_ranges_most(const struct tpu_fast_ranges *ranges, int64_t first, int64_t count);

struct tpu_fast_schedule {
	const struct tpu_config *config;
	const struct sim_program *program;
	struct tpu_registers registers; /* as the next instruction to issue sees them */
	struct tpu_fast_unit unit[TPU_UNITS];
	int64_t next;            /* to issue */
	uint64_t earliest_issue; /* cycle from which on it may */
	uint64_t *issued;        /* cycle, of each instruction */
	bool halted;
	struct tpu_fast_wait *wait;
	int64_t waits;

	struct tpu_fast_port port;
	int64_t jobs_begun; /* jobs of weights whose first transfer has begun, */
	int64_t begun;      /* transfers of the one that has more to begin */
	int64_t tiles_begun, tables_begun;
	struct tpu_fast_tile *tile; /* those pushed, with one to spare */
	struct tpu_fast_table *table;
	int64_t pushed, popped, loaded;                                   /* how many of them are known */
	int64_t tile_switches, table_switches, tiles_taken, tables_taken; /* issued; resolved */

	struct tpu_fast_ranges writers, readers; /* ordinals of matrix and activate jobs, by accumulator row */
	struct tpu_outcome *outcome;             /* its counters are added to */
	const struct sim_observer *observer;     /* NULL: nobody */
};

/* When everything happens: fills *schedule, outcome->cycles and the counters, and tells the observer, if there is one,
 * the class of each cycle. NPL_EINPUT: it never ends. NPL_ENOMEM. The schedule is to be closed in any case. */
int tpu_fast_schedule(struct tpu_fast_schedule *schedule, const struct tpu_execution *execution,
		      struct npl_memory *weights, struct tpu_outcome *outcome, struct npl_err *err);
void tpu_fast_schedule_close(struct tpu_fast_schedule *schedule);
/* Tells the observer all events. */
void tpu_fast_tell(const struct tpu_fast_schedule *schedule, const struct sim_observer *observer);

/* The unit's jobs that can be resolved now; whether there was one, or a transfer. */
bool tpu_fast_advance(struct tpu_fast_schedule *schedule, enum tpu_unit unit);
bool tpu_fast_advance_weights(struct tpu_fast_schedule *schedule);
/* The next transfer. */
struct tpu_fast_next {
	bool is_table;
	uint64_t ready;     /* the cycle from which on it may begin */
	uint64_t row, rows; /* of weight memory */
};
/* False: there is none, or it is not known when. */
bool tpu_fast_next_transfer(const struct tpu_fast_schedule *schedule, struct tpu_fast_next *next);
/* It begins in cycle `begun`; returns the job that is complete with it, or -1. */
int64_t tpu_fast_begin_transfer(struct tpu_fast_schedule *schedule, bool is_table, uint64_t begun);
/* The next tile or table arrives. */
void tpu_fast_arrive(struct tpu_fast_schedule *schedule, bool is_table, int64_t job, uint64_t cycle);

/* The same behind the memory port; weights NULL: fixed. */
int tpu_fast_port_open(struct tpu_fast_schedule *schedule, struct npl_memory *weights, struct npl_err *err);
/* The program has halted. */
void tpu_fast_count_weight_memory(struct tpu_fast_schedule *schedule);
bool tpu_fast_ask_weights(struct tpu_fast_schedule *schedule);
/* Nothing else can be resolved, so no transfer begins before the next one under way arrives: lets it. False: none
 * is. */
bool tpu_fast_await_weights(struct tpu_fast_schedule *schedule);
/* After a push or a switch: tiles that are now known to be shifted. */
void tpu_fast_shift_tiles(struct tpu_fast_schedule *schedule);
/* NPL_EINPUT: nothing can be resolved any more. */
int tpu_fast_stuck(const struct tpu_fast_schedule *schedule, struct npl_err *err);

/* The next instruction's duration and its part of the counters, as it issues. */
uint64_t tpu_fast_duration(struct tpu_fast_schedule *schedule, const struct tpu_instruction *instruction);
/* The counters that follow from when things happened, once all is known, and the observer's intervals. */
void tpu_fast_count_stalls(struct tpu_fast_schedule *schedule);

/* Bytes of an element in the buffer: the planes of its tensor. */
static inline int64_t tpu_fast_planes(uint32_t type)
{
	return type == TPU_I32 ? 4 : type == TPU_I16 ? 2 : 1;
}
/* Vectors an activate makes of its `length` source vectors. */
int64_t tpu_fast_results(const struct tpu_registers *registers, const struct tpu_instruction *instruction);

#endif
