/* SPDX-License-Identifier: MIT
 *
 * The parts of exec (npl_program_run) that all machines share: the names of the engines, events in one order, the
 * attribution of cycles to instructions, and the bytes that a program wrote. */
#ifndef NPULAB_SIM_COMMON_EXECUTE_H
#define NPULAB_SIM_COMMON_EXECUTE_H

#include <stdbool.h>

#include "isa.h"
#include "npulab/program.h"
#include "observer.h"
#include "program.h"

extern const char *const sim_engines[]; /* "fast", "rtl"; NULL ends */
bool sim_is_rtl(const char *engine);

/* Gets the time of each instruction, in the order of the program, as soon as it is known. If on_time does not return 0,
 * no further times are told, and `finish` returns that. */
struct sim_time_sink {
	int (*on_time)(void *context, int64_t instruction, const struct npl_instruction_time *time,
		       struct npl_err *err);
	void *context;
};

/* How a machine attributes the cycles of a program to its instructions (driver/times.c), from what an engine tells.
 * `times` is the state that open makes; the configuration, the program and the sink must outlive it. */
struct sim_times {
	int (*open)(void **times, const void *config, const struct sim_program *program,
		    const struct sim_time_sink *sink, struct npl_err *err);
	/* These get every event and interval, in the engine's order, of an execution whose request is `timed`. Of
	 * others they get none. */
	void (*on_event)(void *times, const struct sim_event *event);
	void (*on_cycles)(void *times, const struct sim_cycles *interval);
	int64_t (*instruction_of)(const void *times, const struct sim_event *event); /* NULL: an event's index */
	/* Tells the times that have not been told, after an execution of so many cycles. */
	int (*finish)(void *times, uint64_t cycles, struct npl_err *err);
	void (*close)(void *times); /* accepts NULL */
};

/* Make an entry of the array of time classes by class of cycles from a row of times.def: a row CLASS has one, a row OWN
 * none. */
#define SIM_TIME_OF_CLASS(cycle_class, time) [cycle_class] = time,
#define SIM_TIME_OF_OWN(cycle_class, time)

/* What a machine supplies when it executes a program. */
struct sim_executor {
	const struct npl_isa *isa;
	const struct sim_times *times;
	const struct npl_counter_def *counter_def;
	size_t n_counters;
	/* Runs the engine that the execution names, with an observer or NULL, and fills cycles, overflows, saturations
	 * and counters. */
	int (*run)(void *context, const struct sim_observer *observer, struct npl_execution *execution,
		   struct npl_err *err);
};
/* Executes the program, which has been checked. It tells the execution all events by cycle, then name, then index, and
 * gives it the times of instructions, as far as the execution asks for these. `source` names the program in
 * messages. */
int sim_execute(const struct sim_executor *executor, void *context, const void *config,
		const struct sim_program *program, const char *source, struct npl_execution *execution,
		struct npl_err *err);

/* Keeps bytes first <= i < end of a memory: their address, number and copy. *copy stays as it is where the range is
 * empty or memory is NULL. Returns 0 or NPL_ENOMEM. */
int sim_keep_range(const uint8_t *memory, uint64_t first, uint64_t end, size_t *address, size_t *n, uint8_t **copy,
		   struct npl_err *err);

#endif
