/* SPDX-License-Identifier: MIT
 *
 * The interface of the systolic machines' two engines: their inputs, their outcome, and what they tell an observer
 * (docs/tpu-isa.md). `rtl` (rtl/run.h) advances every architectural register once per cycle and is the specification.
 * `fast` (fast/run.h) finds the time of every event by its rule, and the values by native 8-bit kernels. Both give the
 * same memories, cycles, counters and events. They share this header, the instruction set, the checks of a program
 * before it runs, the tables of sigmoid and tanh and the messages for a program that can never end (stuck.h). They
 * share no value kernel, no timing and no counting, except that weight memory, which is not part of an engine, counts
 * its own commands. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_ENGINE_ENGINE_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_ENGINE_ENGINE_H

#include "sim/common/observer.h"
#include "sim/systolic/tpu_v1/counters.h"
#include "sim/systolic/tpu_v1/isa/isa.h"
#include "sim/systolic/tpu_v1/tpu.h"

struct npl_signal_sink;

enum tpu_event {
#define TPU_EVENT(constant, ...) TPU_##constant,
#include "events.def"
	TPU_EVENTS
};
extern const char *const tpu_event_names[TPU_EVENTS];
/* What the index of each event is the number of. */
enum tpu_event_index { TPU_INDEX_INSTRUCTION, TPU_INDEX_TILE, TPU_INDEX_TABLE };
extern const enum tpu_event_index tpu_event_indices[TPU_EVENTS];

/* An observer (sim/common/observer.h) of these engines gets events in the order of their cycles. At one boundary they
 * come in the order of their kinds, and of one kind in the order of their index. on_retired is called for each
 * instruction of a unit. Intervals are as long as can be. Those of the whole classes, taken together, come in the order
 * of time, from cycle 0 to the last without gap or overlap. Those of each part of non_matrix come in the order of
 * time. The instruction of an active interval is the one whose vectors enter, that of weight_stall and weight_shift the
 * one that waits for the tile, and that of others is -1. Overflows and saturations are counted at activates,
 * and sum to those of the outcome. An execution that does not return 0 tells only some events and intervals. */

/* One execution of a program that has passed tpu_program_check (isa/check.h). */
struct tpu_engine_input {
	const struct tpu_config *config;
	const struct sim_program *program;
	struct tpu_memory memory;
	const struct sim_observer *observer; /* NULL: none */
	/* Is told the signals of the engine rtl (npulab/signal_sink.h); NULL: nobody looks. fast has none. */
	const struct npl_signal_sink *signals;
	/* An entry for each instruction, to which the activity of its operands is added where the configuration asks
	 * for it; NULL: only the program's is counted. */
	struct tpu_activity *activity;
	/* The memory that the fast engine keeps for the next execution of the program; one execution may use it at a
	 * time. *cache is NULL before the first. cache NULL: the engine keeps nothing. Weights at an address that was
	 * given before must not have changed. */
	struct tpu_fast_cache **cache;
};

struct tpu_outcome {
	uint64_t cycles;
	struct tpu_counters counters;
	uint64_t overflows;   /* sums that an activate read and that, with their bias, 32 bits do not hold */
	uint64_t saturations; /* values that a saturation changed */
};

/* Either engine: executes the program to its halt. Returns 0, NPL_ENOMEM, or NPL_EINPUT where the program can never
 * end; the message then says what waits for what. */
typedef int tpu_engine(const struct tpu_engine_input *engine_input, struct tpu_outcome *outcome, struct npl_err *err);

#endif
