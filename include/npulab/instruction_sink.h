/* SPDX-License-Identifier: MIT
 *
 * What a simulated machine tells of the instructions that it executes, one by one and in the order of the program: when
 * each began and ended, what its cycles went to, which counters it moved, and a checksum of what it wrote. Both engines
 * of a machine tell the same. With it a run can be recorded (npulab/run_trace.h).
 *
 *     struct npl_instruction_sink sink = {.on_instruction = keep, .context = &kept};
 *     if (npl_device_tell_instructions(device, &sink, &err)) ...
 *     npl_device_run(device, &layer, &result, &err); // keep() is called for each instruction of the layer
 */
#ifndef NPULAB_INSTRUCTION_SINK_H
#define NPULAB_INSTRUCTION_SINK_H

#include "npulab/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A program that is about to be executed. Everything is borrowed until its end is told. */
struct npl_executed_program {
	const char *machine; /* the device's name; NULL for a program of npl_program_run */
	/* The classes of an instruction's cycles, in the order of npl_instruction_time.cycles. */
	const struct npl_cycle_class *cycle_class;
	int n_cycle_classes;
	const struct npl_counter_def *counter_def;
	size_t n_counters;
	/* Which counters a single instruction can move, as indices in counter_def, the least first: rows, bytes, tiles.
	 * Cycles are in npl_instruction_time; values and DRAM have counters of the whole program. */
	const int *moved_counter;
	int n_moved;
	int n_fields;             /* of each instruction */
	const char *const *layer; /* names of the layers that it computes; NULL for a program of npl_program_run */
	int n_layers;
};

/* An instruction that has been executed. Everything is borrowed for the call, except names and units, which stay until
 * the end of the program. */
struct npl_executed_instruction {
	int64_t index;
	const char *name, *unit;                 /* as in struct npl_instruction */
	int layer;                               /* index in npl_executed_program.layer; -1: of none */
	const struct npl_instruction_time *time; /* in cycles of the program */
	const uint64_t *moved; /* how far it moves each counter, in the order of npl_executed_program.moved_counter */
	const uint64_t *field; /* what identifies it, in the order of the instruction set */
	/* XXH64 of the bytes that it wrote to the buffer or the host's memory, from the lowest address to the highest.
	 * has_checksum false: it wrote none, or the run has no values. */
	bool has_checksum;
	uint64_t checksum;
};

/* The end of a program. */
struct npl_executed_end {
	uint64_t cycles;
	const uint64_t *counter; /* of the whole program, in the order of npl_executed_program.counter_def */
};

struct npl_signal_sink;

/* If a function does not return 0, the run ends with that code. Functions may be NULL. Each on_program that returned 0
 * is followed by one on_end, whose end is NULL where the run failed; the code that it then returns is not used. */
struct npl_instruction_sink {
	int (*on_program)(void *context, const struct npl_executed_program *program, struct npl_err *err);
	int (*on_instruction)(void *context, const struct npl_executed_instruction *instruction, struct npl_err *err);
	int (*on_end)(void *context, const struct npl_executed_end *end, struct npl_err *err);
	void *context;
	/* Is told the signals of the engine `rtl` (npulab/signal_sink.h), borrowed like the sink. NULL: none are. */
	const struct npl_signal_sink *signals;
};

/* From now on the sink (borrowed) gets the instructions of npl_device_run and npl_device_run_layer_group. NULL: none
 * are told. Returns NPL_EUSAGE when the device makes no programs, with the drivers that do, and for a sink with signals
 * when the device does not run the engine `rtl`. */
int npl_device_tell_instructions(struct npl_device *device, const struct npl_instruction_sink *sink,
				 struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
