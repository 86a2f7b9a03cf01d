/* SPDX-License-Identifier: MIT
 *
 * Which instruction a run's cycles, overflows and saturations belong to, as the engines tell who observes: kept,
 * compared, put into words, and checked for what engine.h promises of any run. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_INTERVALS_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_INTERVALS_H

#include <stddef.h>

#include "sim/systolic/tpu_v1/engine/engine.h"

/* Intervals in the order in which they came: of the four classes that share out all cycles, and of each part of
 * non_matrix. */
enum { PROGRAM_SHARES, PROGRAM_RAW, PROGRAM_INPUT, PROGRAM_OUTPUT, PROGRAM_PAUSE, PROGRAM_STREAMS };
struct program_intervals {
	struct sim_cycles *interval;
	int64_t count, capacity;
};

/* False: no memory, or no such class. */
bool program_intervals_add(struct program_intervals stream[PROGRAM_STREAMS], const struct sim_cycles *interval);
void program_intervals_free(struct program_intervals stream[PROGRAM_STREAMS]);

bool program_intervals_same(const struct program_intervals a[PROGRAM_STREAMS],
			    const struct program_intervals b[PROGRAM_STREAMS], char *reason, size_t reason_bytes);
/* Whether they are as long as can be, in order, share out the cycles, are of instructions that there are, and add up to
 * the counters. */
bool program_intervals_add_up(const struct program_intervals stream[PROGRAM_STREAMS], const struct sim_program *program,
			      const struct tpu_outcome *outcome, char *reason, size_t reason_bytes);
/* Whether they are at instructions that can have them, and add up to those of the outcome. */
bool program_value_counts_add_up(const struct sim_value_counts *value_counts, const struct sim_program *program,
				 const struct tpu_outcome *outcome, char *reason, size_t reason_bytes);

/* "idle 0-2, stall 2-4 i1, shift 4-7 i1, active 7-9 i1, idle 9-14, raw 9-13": cycles from - to, instructions, stream
 * after stream. */
void program_intervals_text(const struct program_intervals stream[PROGRAM_STREAMS], char *text, size_t n);
/* "i4 1 wrapped, i6 3 saturated": of those that have any. */
void program_value_counts_text(const struct sim_value_counts *value_counts, int64_t count, char *text, size_t n);

#endif
