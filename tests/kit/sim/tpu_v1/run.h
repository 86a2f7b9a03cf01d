/* SPDX-License-Identifier: MIT
 *
 * One run of a program on an engine of the systolic machines, with all that can be seen of it: memories, counters,
 * every event, the class of each cycle, and what each instruction left in memory when it retired. And what must
 * be true of it: that two runs are the same, and that one is as docs/tpu-isa.md says (rules.c). */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_RUN_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_RUN_H

#include <stdio.h>

#include "intervals.h"
#include "sim/systolic/tpu_v1/fast/run.h"
#include "sim/systolic/tpu_v1/rtl/run.h"
#include "stimulus.h"

/* Events of one kind; those that never come stay at NEVER. */
#define PROGRAM_NEVER UINT64_MAX
struct program_events {
	uint64_t *cycle; /* by index */
	int64_t count;   /* of indices that there can be */
	int64_t seen;
};

/* What an instruction writes: elements of the buffer, or bytes of host memory. */
struct program_result {
	bool to_host;
	int64_t first, stride, bytes, items; /* items of `bytes` bytes; the places of the buffer's are in the layout: */
	int64_t vector, row_vectors, lanes;  /* of item 0; per row; from one to the next (0: `stride` is all) */
	int planes;
	int64_t plane_bytes;
};

struct program_run {
	int rc;
	struct npl_err err;
	struct tpu_outcome outcome;
	uint8_t *buffer, *host;
	struct program_events events[TPU_EVENTS];
	int *retired;           /* by instruction: how often */
	uint64_t *retired_hash; /* what it had written by then */
	struct program_intervals intervals[PROGRAM_STREAMS];
	struct sim_value_counts *value_counts; /* by instruction */
	struct tpu_activity *activity;         /* by instruction */
	char wrong[160];                       /* an event that cannot be; empty: none */
	/* while it runs */
	struct sim_event last; /* event, if there was any */
	bool any;
	const struct program_case *c;
	struct program_result *result;
};

/* Runs; false: no memory. Free it in any case. */
bool program_run(struct program_run *run, tpu_engine *engine, const struct program_case *c, bool timing_only);
void program_run_free(struct program_run *run);

/* Whether two runs are the same; else the first difference in *reason. With `times_only`, except values. */
bool program_same(const struct program_run *a, const struct program_run *b, bool times_only, char *reason,
		  size_t reason_bytes);
/* Whether a run that ended follows the document's rules of time and counting, taken one by one. */
bool program_follows_rules(const struct program_case *c, const struct program_run *run, char *reason,
			   size_t reason_bytes);
/* Returns the cycle in which issue looks at the instruction after one that issued in cycle `issue`, as the document's
 * rule has it. */
uint64_t program_next_look(const struct tpu_config *m, const struct tpu_instruction *in, uint64_t issue);

/* The memories of a case, borrowed. */
struct tpu_memory program_memory(const struct program_case *c);
/* All of it: both engines, with values and without. False: they disagree, or break a rule; *reason says what.
 * `thorough`: also the rules and the runs without values. */
bool program_agrees(const struct program_case *c, bool thorough, char *reason, size_t reason_bytes);

/* Takes instructions away as long as the rest is valid and still does not agree; at most so many trials. */
void program_shrink(struct program_case *c, bool thorough, int trials);
/* Seed, machine and program, as text. */
void program_print(FILE *to, const struct program_case *c);

#endif
