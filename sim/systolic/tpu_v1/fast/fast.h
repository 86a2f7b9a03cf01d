/* SPDX-License-Identifier: MIT
 *
 * The fast engine of the systolic machines (engine.h). Private to this folder. It has two halves that share nothing.
 *
 * Time. Units are queues that wait for each other in an order that the program gives: no unit ever chooses. So the time
 * of every event follows from those before it by a maximum and a sum (docs/tpu-isa.md, section Time), and no cycle is
 * stepped:
 *
 *   schedule.c    issue, and which unit can go on
 *   units.c       when a unit's next instruction starts and ends
 *   port.c        weight transfers in exact fractions of a cycle, and tiles between port and array
 *   port_memory.c weight transfers through the memory port
 *   ranges.c      the last instruction that touched some of these accumulator rows
 *   counters.c    durations, and the counters that follow from the intervals
 *   stuck.c       why a program can never end
 *
 * Values. Programs in which the order of time could change a value are refused before they run. So each instruction is
 * computed as a whole, in program order (values.h). */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_FAST_FAST_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_FAST_FAST_H

#include "run.h"

/* An instruction of a unit, in the order of issue. */
struct tpu_fast_job {
	int64_t index;        /* the instruction's index in the program */
	uint64_t issue_cycle; /* the cycle in which it issued */
	uint64_t start, end; /* the job's cycles, once resolved; for weights the end of the last transfer, rounded up */
	uint64_t duration;   /* cycles in which its vectors enter the array, are read, or cross the link */
	int64_t switch_to;   /* matrix, activate: number of the tile or table that it switches to; -1: none */
	int64_t n_transfers; /* weights: how many tiles or tables it transfers */
	/* Matrix, activate: number of the other unit's job that must have finished with the accumulators; -1: none. */
	int64_t waits_for_job;
};

struct tpu_fast_unit {
	struct tpu_fast_job *job;
	int64_t jobs_issued, jobs_resolved; /* numbers of jobs issued and resolved */
};

/* Boundaries at which things happen to a tile. */
struct tpu_fast_tile {
	uint64_t push_cycle, shift_cycle, pop_cycle;
	uint64_t switch_cycle; /* the start of the pass that switches to it */
};
struct tpu_fast_table {
	uint64_t load_cycle, use_cycle; /* the end of its transfer; the start of the activate that switches to it */
};

/* A transfer of weights that has begun and has not arrived. */
struct tpu_fast_transfer {
	int64_t job; /* the job whose last transfer it is; -1: it is not the last one of a job */
	bool is_table;
	uint64_t begin_cycle;      /* a cycle of the machine */
	uint64_t accesses;         /* the accesses of the transfer that have not been answered */
	uint64_t completion_cycle; /* boundary of weight memory's clock at the latest answer so far */
};

/* The port to weight memory. With the preset `fixed` the port is taken until free_cycle + free_part / (bytes per
 * second). With another preset there is a memory, and the members from `memory` on say what has been asked of it
 * (port_memory.c). */
struct tpu_fast_port {
	uint64_t free_cycle, free_part;
	uint64_t last_begin_cycle; /* cycle in which the last transfer began */

	struct npl_memory *memory; /* NULL: fixed */
	struct npl_hz clock, memory_clock;
	struct tpu_fast_transfer *transfer; /* (capacity) the oldest at transfers_arrived % capacity */
	uint64_t capacity, transfers_arrived,
		transfers_issued; /* numbers of transfers since the start; capacity: of `transfer` */
};

/* What holds the issue stage at a sync or halt. It waits in [begin, input_end) for host_in, in [input_end, raw_end)
 * for matrix or activate, from the later of both ends to output_end for host_out. The instruction issues in the cycle
 * before `pause`, and [pause, end) is the time that a sync takes. */
struct tpu_fast_wait {
	uint64_t begin, input_end, raw_end, output_end, pause, end;
};

/* The values last assigned to ranges of rows, -1 at first; an assigned value is never less than those before it. The
 * latest ones are in a list, those before them in a tree of maxima. */
enum { TPU_FAST_RECENT = 32 };
struct tpu_fast_range {
	int64_t first, end, value;
};
struct tpu_fast_ranges {
	struct tpu_fast_range recent[TPU_FAST_RECENT]; /* the latest assignments, in their order */
	int n_recent;
	struct tpu_fast_range
		asked;  /* the last range that was asked for, and its value; empty: another one came since */
	bool has_tree;  /* an assignment has gone into the tree, whose nodes have values since then */
	int64_t leaves; /* a power of 2 */
	/* per node: the greatest value in its rows; node 1 is the root, the children of i are 2i and 2i + 1 */
	int64_t *maximum;
	int64_t *assigned; /* the value assigned to all rows of the node */
};
int tpu_fast_ranges_open(struct tpu_fast_ranges *ranges, int64_t rows, struct npl_err *err);
void tpu_fast_ranges_close(struct tpu_fast_ranges *ranges);
void tpu_fast_ranges_assign(struct tpu_fast_ranges *ranges, int64_t first, int64_t count, int64_t value);
int64_t tpu_fast_ranges_most(struct tpu_fast_ranges *ranges, int64_t first, int64_t count);

struct tpu_fast_timing {
	const struct tpu_config *config;
	const struct sim_program *program;
	struct tpu_registers registers; /* the registers as the next instruction to issue sees them */
	struct tpu_fast_unit unit[TPU_UNITS];
	int64_t next;            /* the next instruction to issue */
	uint64_t earliest_issue; /* the first cycle in which it may issue */
	uint64_t *issue_cycle;   /* the cycle in which each instruction issued */
	bool halted;
	struct tpu_fast_wait *wait;
	int64_t waits;

	struct tpu_fast_port port;
	int64_t jobs_begun;      /* jobs of weights whose first transfer has begun */
	int64_t transfers_begun; /* transfers begun of the job that has more to begin */
	int64_t tiles_begun, tables_begun;
	struct tpu_fast_tile *tile; /* tiles that were pushed, and one more */
	struct tpu_fast_table *table;
	int64_t tiles_pushed, tiles_popped, tables_loaded;                /* how many of these times are known */
	int64_t tile_switches, table_switches, tiles_taken, tables_taken; /* how many have been issued; resolved */

	struct tpu_fast_ranges writers, readers; /* numbers of matrix and activate jobs, by accumulator row */
	struct tpu_outcome *outcome;             /* the outcome whose counters are increased */
	const struct sim_observer *observer;     /* NULL: there is none */
};

/* Finds when everything happens: fills *timing, outcome->cycles and the counters, and tells the observer, if there is
 * one, the class of each cycle. NPL_EINPUT: the program never ends. NPL_ENOMEM. The caller closes the timing in any
 * case. */
int tpu_fast_find_times(struct tpu_fast_timing *timing, const struct tpu_engine_input *engine_input,
			struct npl_memory *weights, struct tpu_outcome *outcome, struct npl_err *err);
void tpu_fast_timing_close(struct tpu_fast_timing *timing);

/* These resolve the jobs that can be resolved now. They say whether there was one, or a transfer. */
bool tpu_fast_advance(struct tpu_fast_timing *timing, enum tpu_unit unit);
bool tpu_fast_advance_weights(struct tpu_fast_timing *timing);
/* The transfer that begins next. */
struct tpu_fast_next {
	bool is_table;
	uint64_t ready;     /* the cycle from which on it may begin */
	uint64_t row, rows; /* rows of weight memory */
};
/* Finds the next transfer. Returns false where there is none, or its time is not known. */
bool tpu_fast_next_transfer(const struct tpu_fast_timing *timing, struct tpu_fast_next *next);
/* Begins the next transfer in cycle begin_cycle. Returns the job that is complete with it, or -1. */
int64_t tpu_fast_begin_transfer(struct tpu_fast_timing *timing, bool is_table, uint64_t begin_cycle);
/* Notes that the next tile or table arrives. */
void tpu_fast_arrive(struct tpu_fast_timing *timing, bool is_table, int64_t job, uint64_t cycle);

/* The functions up to tpu_fast_await_weights are for a memory behind the port. weights NULL: there is none, and the
 * port has a fixed rate. */
int tpu_fast_port_open(struct tpu_fast_timing *timing, struct npl_memory *weights, struct npl_err *err);
/* Counts what weight memory did, when the program has halted. */
void tpu_fast_count_weight_memory(struct tpu_fast_timing *timing);
bool tpu_fast_ask_weights(struct tpu_fast_timing *timing);
/* Lets the next transfer under way arrive. It is called when nothing else can be resolved, so that no transfer begins
 * before. Returns false where no transfer is under way. */
bool tpu_fast_await_weights(struct tpu_fast_timing *timing);

/* Notes, after a push or a switch, the tiles whose shift is now known. */
void tpu_fast_shift_tiles(struct tpu_fast_timing *timing);
/* Fails with NPL_EINPUT, and names what the program waits for when nothing can be resolved any more. */
int tpu_fast_stuck(const struct tpu_fast_timing *timing, struct npl_err *err);

/* Returns the duration of the next instruction as it issues, and adds its part of the counters. */
uint64_t tpu_fast_duration(struct tpu_fast_timing *timing, const struct tpu_instruction *instruction);
/* Counts what follows from the times of all events, once these are known, and tells the observer the intervals. */
void tpu_fast_count_stalls(struct tpu_fast_timing *timing);

/* Returns how many vectors an activate makes of its `length` source vectors. */
int64_t tpu_fast_results(const struct tpu_registers *registers, const struct tpu_instruction *instruction);

#endif
