/* SPDX-License-Identifier: MIT
 *
 * What exec has of every machine (npl_program_run): events in one order, the times of instructions, and the bytes that a program
 * wrote; and the names of the engines. */
#ifndef NPULAB_SIM_EXECUTE_H
#define NPULAB_SIM_EXECUTE_H

#include <stdbool.h>

#include "npulab/program.h"
#include "observer.h"

extern const char *const sim_engines[]; /* "fast", "rtl"; NULL ends */

/* Passes what an engine tells to an execution: set the first members, run with sim_listen's observer, then sim_tell. */
struct sim_listener {
	const struct npl_execution *execution;
	const char *const *event_name; /* by kind */
	/* The times of instructions: given every event and span, in the engine's order, if the execution wants them. */
	void *times;
	void (*time_event)(void *times, const struct sim_event *event);
	void (*time_span)(void *times, const struct sim_span *span);
	/* The instruction of an event; NULL: its index. */
	int64_t (*instruction_of)(const void *times, const struct sim_event *event);
	/* The listener's. */
	struct sim_observer observer;
	struct npl_program_event *event;
	int64_t count, room;
	bool lost; /* out of memory */
};
/* NULL: the execution wants nothing of a run. */
const struct sim_observer *sim_listen(struct sim_listener *listener);
/* Tells the execution all events by cycle, then name, then index; NPL_ENOMEM. */
int sim_tell(struct sim_listener *listener, struct npl_err *err);
void sim_listener_close(struct sim_listener *listener);

/* A copy of bytes first <= i < end of a memory; *copy stays NULL where there are none. NPL_ENOMEM. */
int sim_keep_bytes(const uint8_t *memory, size_t first, size_t end, uint8_t **copy, struct npl_err *err);

#endif
