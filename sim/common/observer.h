/* SPDX-License-Identifier: MIT
 *
 * What an engine tells about a run: events, what cycles are spent on, instructions that are done. Which kinds of events
 * and spendings there are is the machine's (its engine.h); exec, the attribution of cycles to layers and the tests
 * observe. */
#ifndef NPULAB_SIM_COMMON_OBSERVER_H
#define NPULAB_SIM_COMMON_OBSERVER_H

#include <stdint.h>

#include "npulab/error.h"

struct sim_event {
	unsigned kind;
	uint64_t cycle; /* the boundary between cycles at which it is */
	int64_t index;  /* of the instruction, or of what the machine's manual says */
};

/* Cycles from <= t < to, one at least, that are spent on one kind of thing. */
struct sim_cycles {
	unsigned cycle_class;
	uint64_t from, to;
	int64_t instruction; /* whose; -1: none's */
};

/* How many of an instruction's values overflowed, and how many a saturation changed. */
struct sim_faults {
	uint64_t overflows, saturations;
};

/* Members may be NULL. */
struct sim_observer {
	void *context;
	void (*on_event)(void *context, const struct sim_event *event);
	void (*on_cycles)(void *context, const struct sim_cycles *interval);
	/* The instruction's results are in memory, and nothing that comes later has changed them. Not 0: the run ends
	 * with it. */
	int (*on_retired)(void *context, int64_t instruction, struct npl_err *err);
	/* One for each instruction of the program, to which the run adds; complete when the run has ended. */
	struct sim_faults *faults;
};

#endif
