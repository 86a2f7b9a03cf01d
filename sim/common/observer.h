/* SPDX-License-Identifier: MIT
 *
 * What an engine tells an observer about a run: events, classes of cycles, and instructions that are done. Each machine
 * has its own kinds of events and classes of cycles (its engine.h). exec, the attribution of cycles to layers and the
 * tests are observers. */
#ifndef NPULAB_SIM_COMMON_OBSERVER_H
#define NPULAB_SIM_COMMON_OBSERVER_H

#include <stdint.h>

#include "npulab/error.h"

struct sim_event {
	unsigned kind;
	uint64_t cycle; /* the boundary between cycles at which it happens */
	int64_t index;  /* the instruction's index, or what the machine's manual says */
};

/* The cycles begin <= t < end, at least one, that are in one class. */
struct sim_cycles {
	unsigned cycle_class;
	uint64_t begin, end;
	int64_t instruction; /* the instruction that they belong to; -1: none */
};

/* How many of an instruction's values overflowed, and how many a saturation changed. */
struct sim_value_counts {
	uint64_t overflows, saturations;
};

/* Members may be NULL. */
struct sim_observer {
	void *context;
	void (*on_event)(void *context, const struct sim_event *event);
	/* A bit for each kind of event that on_event looks at, of which an engine may leave out all others; 0: it looks
	 * at all kinds. */
	uint64_t event_kinds;
	void (*on_cycles)(void *context, const struct sim_cycles *interval);
	/* The engine calls this when the instruction's results are in memory and no later instruction has changed them.
	 * If it returns anything but 0, the run ends with that. */
	int (*on_retired)(void *context, int64_t instruction, struct npl_err *err);
	/* An entry for each instruction of the program, to which the run adds; complete when the run has ended. */
	struct sim_value_counts *value_counts;
};

#endif
