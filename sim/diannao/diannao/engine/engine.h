/* SPDX-License-Identifier: MIT
 *
 * The interface of DianNao's two engines: their inputs, their outcome, and what they tell an observer
 * (docs/diannao-isa.md, section Time, has the order of events at a boundary). `rtl` (rtl/run.h) goes through every
 * cycle and every value of the pipeline; it is the specification. `fast` (fast/run.h) goes from event to event. Both
 * give the same memory, cycles, counters and events. They share this header, the instruction set, the configuration,
 * the segments' limits and coefficients, the memory behind the port and the messages for a program that does not end
 * (stuck.h). They share no timing, no arithmetic and no counting. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_ENGINE_ENGINE_H
#define NPULAB_SIM_DIANNAO_DIANNAO_ENGINE_ENGINE_H

#include "npulab/memory.h"
#include "sim/common/observer.h"
#include "sim/diannao/diannao/counters.h"
#include "sim/diannao/diannao/dn.h"
#include "sim/diannao/diannao/isa/isa.h"

struct npl_signal_sink;

#define DN_REPEAT_LEVELS 12

/* A program, instruction by instruction; the last one has DN_CP_END. */
struct dn_stream {
	void *state;
	void (*next)(void *state, struct dn_instruction *instruction);
	/* Both functions are optional; a stream has both or neither. The engine calls count_repeats before it fetches
	 * an instruction. A repeat is the instructions that one iteration of a loop makes; levels are its loops, the
	 * outermost first. repeats[level] becomes the number of repeats, from the next instruction on, that differ in
	 * addresses in memory only; 0: no repeat of this level begins here. No store is open where a repeat begins or
	 * ends. Sums may be kept across repeats: times do not depend on them. */
	void (*count_repeats)(void *state, int64_t repeats[DN_REPEAT_LEVELS]);
	/* Leaves out so many repeats of the level. Where there is an observer, which is told of every instruction, the
	 * engine fetches them instead. */
	void (*skip)(void *state, int level, int64_t repeats);
};

enum { DN_DMA_NBIN, DN_DMA_SB, DN_DMA_NBOUT, DN_DMAS }; /* the DMAs, in the order of their turns at the port */

enum dn_event {
#define DN_EVENT(constant, name) DN_##constant,
#include "events.def"
	DN_EVENTS
};
extern const char *const dn_event_names[DN_EVENTS];

/* An observer (sim/common/observer.h) of these engines is told of every event, but not in the order of their times.
 * Intervals cover all cycles, in the order of time. Their instruction is the one at the head of the NFU's queue.
 * While the queue is empty it is the next one to be decoded, and after the last one was decoded that last one. */

/* One execution of a program that has passed the check (isa/check.h). */
struct dn_engine_input {
	const struct dn_config *config;
	struct dn_stream stream; /* the program */
	int n_functions;
	const struct dn_function *function; /* the functions of NFU-3 OP 1 and following */
	struct dn_memory memory;            /* what memory holds; bytes NULL: no values */
	/* Decides when memory answers. The engine resets it; after the execution its clock is at the end of the
	 * program. */
	struct npl_memory *port;
	const struct sim_observer *observer; /* NULL: none */
	/* Is told the signals of the engine rtl (npulab/signal_sink.h), in each cycle and at the boundary that ends the
	 * program; NULL: nobody looks. fast has none. */
	const struct npl_signal_sink *signals;
};

struct dn_outcome {
	uint64_t cycles;
	struct dn_counters counters; /* useful_macs: all lanes of steps of MULT */
	struct npl_memory_counters memory;
};

/* Either engine: executes the program to its end. Returns 0, NPL_ENOMEM, or NPL_EINPUT where the program takes longer
 * than DN_MAX_SECONDS. */
typedef int dn_engine(const struct dn_engine_input *engine_input, struct dn_outcome *outcome, struct npl_err *err);

#endif
