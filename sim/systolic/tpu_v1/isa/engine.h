/* SPDX-License-Identifier: MIT
 *
 * The two engines that run programs (docs/tpu-isa.md) on a systolic machine: `rtl` advances every architectural
 * register once per cycle and is the specification; `fast` finds the time of every event by its rule and the values by
 * native 8-bit kernels. Both give the same memories, cycles, counters and events. They share this header, the
 * instruction set, the checks of a program before it runs, the tables of sigmoid and tanh and the words for a program
 * that can never end, and nothing else: no value kernel, no timing, no counting. */
#ifndef NPULAB_SYSTOLIC_ENGINE_H
#define NPULAB_SYSTOLIC_ENGINE_H

#include "isa.h"
#include "npulab/program.h"
#include "sim/common/observer.h"
#include "sim/systolic/tpu_v1/tpu.h"

/* The memories a program works on. Borrowed; the engines write the buffer and host memory. */
struct tpu_memory {
	uint8_t *buffer;        /* tpu_buffer_size_rows() rows of tpu_row_bytes() */
	const uint8_t *weights; /* from weight row 0 */
	size_t weight_bytes;    /* given; what lies beyond reads as 0, */
	bool weights_end;       /* or is refused by tpu_program_check: somebody has forgotten some */
	uint8_t *host;
	size_t host_bytes; /* given; a program that goes beyond is refused */
	bool timing_only;  /* no values: buffer, weights and host may be NULL and are not touched */
};

/* What happens when, in the order of their names in events.csv. `index` counts the tiles (push, shift, pop) or the tables, or
 * is that of the instruction in its program. */
enum tpu_event {
	TPU_ACTIVATE_ENDED,
	TPU_ACTIVATE_STARTED,
	TPU_HOST_ENDED, /* read_host_memory and write_host_memory */
	TPU_HOST_STARTED,
	TPU_ISSUED,
	TPU_MATRIX_STARTED,
	TPU_MATRIX_WRITTEN, /* the last write of an accumulator */
	TPU_TABLE_LOADED,
	TPU_TILE_POPPED,
	TPU_TILE_PUSHED,
	TPU_TILE_SHIFTED, /* its first row enters the shadow plane */
	TPU_EVENTS
};
/* What cycles are spent on, as docs/tpu-isa.md counts them. The first four share out all cycles of a run; the others are
 * parts of the fourth. */
enum tpu_spending {
	TPU_SPENT_ACTIVE,
	TPU_SPENT_WEIGHT_STALL,
	TPU_SPENT_WEIGHT_SHIFT,
	TPU_SPENT_NON_MATRIX,
	TPU_SPENT_RAW_STALL,
	TPU_SPENT_INPUT_STALL,
	TPU_SPENT_OUTPUT_STALL,
	TPU_SPENT_SYNC_PAUSE,
	TPU_SPENDINGS
};

/* An observer (sim/common/observer.h) of these engines: events come in the order of their cycle, at one boundary in that of
 * their kinds, of one kind in that of their index. on_retired is called for each instruction of a unit. Spans are as long as
 * can be: of the first four spendings, taken together, in the order of time, from cycle 0 to the last without gap or overlap;
 * of each part of non_matrix in the order of time. A span's instruction: active: whose vectors enter; weight_stall and
 * weight_shift: the one that waits for the tile; else -1. Faults are counted at activates, and sum to those of the outcome. Of a
 * run that does not end with 0, only some events and spans come. */

/* Counters of a run, in the order of tpu_counter_table. */
struct tpu_counters {
	uint64_t array_active, weight_stall, weight_shift, non_matrix; /* sum to the cycles */
	uint64_t useful_macs, unused_macs;                             /* sum to array_active * rows * columns */
	uint64_t raw_stall, input_stall, output_stall, sync_pause;     /* parts of non_matrix */
	uint64_t tiles, weight_bytes;
	uint64_t ub_rows_read, ub_rows_written, accumulator_writes, activate_cycles;
	uint64_t instructions, host_bytes_in, host_bytes_out;
	/* of weight memory, where it is one at command level: npl_memory_counters */
	uint64_t dram_activates, dram_reads, dram_refreshes;
	uint64_t dram_active_cycles, dram_idle_cycles; /* sum to its cycles times its ranks */
};
#define TPU_COUNTERS 24
extern const struct npl_stat tpu_counter_table[TPU_COUNTERS]; /* counters.c */
/* The counters of weight memory, up to where it has come; NULL: none. */
void tpu_count_weight_memory(const struct npl_memory *memory, struct tpu_counters *counters);

struct tpu_outcome {
	uint64_t cycles;
	struct tpu_counters counter;
	uint64_t overflows;   /* sums that an activate read and that, with their bias, 32 bits do not hold */
	uint64_t saturations; /* values that a saturation changed */
};

/* Fills result->energy from the counters; weights: weight memory, NULL with the preset fixed. */
int tpu_energy_of(const struct tpu_config *config, const struct npl_memory *weights, const struct tpu_counters *counter,
		  uint64_t cycles, struct npl_result *result, struct npl_err *err);

/* Whether the program is well formed and can be run on this machine with these memories: opcodes, flags, fields, ranges,
 * window and layout, types, the order of sync and units; unless timing_only, host_bytes and tables with scales that are
 * no numbers. NPL_EINPUT with the instruction's place. `source` names the program in messages. memory NULL: only what
 * does not need it. The engines take only programs that pass. */
int tpu_program_check(const struct tpu_config *config, const struct sim_program *program,
		      const struct tpu_memory *memory, const char *source, struct npl_err *err);

/* The bytes of host memory, first <= i < end, from the lowest to the highest that the program writes; first == end: none. */
void tpu_program_host_written(const struct sim_program *program, int64_t rows, int64_t columns, int64_t *first,
			      int64_t *end);

/* The rows of the unified buffer, first <= i < end, from the lowest to the highest that the program writes. Fails as
 * tpu_program_check does. */
int tpu_program_buffer_written(const struct tpu_config *config, const struct sim_program *program, const char *source,
			       int64_t *first, int64_t *end, struct npl_err *err);

/* Runs a checked program to its halt. NPL_EINPUT: it can never end (naming what waits for what); NPL_ENOMEM. The
 * observer may be NULL. */
int tpu_run_rtl(const struct tpu_config *config, const struct sim_program *program, const struct tpu_memory *memory,
		const struct sim_observer *observer, struct tpu_outcome *outcome, struct npl_err *err);
int tpu_run_fast(const struct tpu_config *config, const struct sim_program *program, const struct tpu_memory *memory,
		 const struct sim_observer *observer, struct tpu_outcome *outcome, struct npl_err *err);

/* An instruction that waits in a machine that has come to a stop. */
struct tpu_waiting {
	int64_t index; /* in the program; -1: none */
	enum {
		TPU_FOR_A_TILE,
		TPU_FOR_A_TABLE,
		TPU_FOR_TILE_ROOM,
		TPU_FOR_TABLE_ROOM,
		TPU_FOR_READS,  /* of accumulators, by `other` */
		TPU_FOR_WRITES, /* the same */
		TPU_FOR_A_QUEUE,
		TPU_FOR_UNITS
	} what;
	int64_t other;  /* instruction: the first of those that could help */
	unsigned units; /* one bit each: whose queue; which are to be done */
};
/* NPL_EINPUT: the program can never end, with each of the n that waits, in the order of the program: the first is where to
 * look. stuck.c. */
int tpu_never_ends(const struct sim_program *program, const struct tpu_waiting *waiting, int n, struct npl_err *err);

/* All of it for the command line: execute.c. */
extern const struct npl_isa tpu_isa;

/* The fast engine, which keeps in *cache (NULL before the first run) what the next run can use again: its memory, and weights
 * in the form of its kernels. Weight images at an address that was given before must not have changed; a cache is for one
 * run at a time. */
struct tpu_fast_cache;
int tpu_run_fast_again(struct tpu_fast_cache **cache, const struct tpu_config *config,
		       const struct sim_program *program, const struct tpu_memory *memory,
		       const struct sim_observer *observer, struct tpu_outcome *outcome, struct npl_err *err);
void tpu_fast_cache_free(struct tpu_fast_cache *cache); /* accepts NULL */

/* The function's 257 points (docs/tpu-isa.md, activate), computed without libm, so that they are the same everywhere. */
struct tpu_function_table {
	int16_t point[257];
};
void tpu_sigmoid_points(struct tpu_function_table *table);
void tpu_tanh_points(struct tpu_function_table *table);

#endif
