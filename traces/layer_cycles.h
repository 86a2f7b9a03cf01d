/* SPDX-License-Identifier: MIT
 *
 * The cycles of each program in which units work for chosen layers: from the first to the last. What an instruction
 * waits before its unit has it is left out, since weights of a layer may be asked for long before. */
#ifndef NPULAB_TRACES_LAYER_CYCLES_H
#define NPULAB_TRACES_LAYER_CYCLES_H

#include "npulab/instruction_sink.h"

/* The cycles from <= t < until; until 0: there are none. */
struct trace_window {
	uint64_t from, until;
};

struct trace_layer_cycles {
	const char *layer;           /* the layers whose name has this text; the other members are 0 before the run */
	struct trace_window *window; /* of each of the n programs, in their order */
	int64_t n, capacity;
	bool found;                          /* there is such an instruction */
	struct npl_executed_program program; /* that runs */
};
/* Returns the sink that finds them in a run. It borrows the struct. */
struct npl_instruction_sink trace_layer_cycles_sink(struct trace_layer_cycles *cycles);
void trace_layer_cycles_free(struct trace_layer_cycles *cycles);

#endif
