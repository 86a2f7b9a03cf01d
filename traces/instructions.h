/* SPDX-License-Identifier: MIT
 *
 * The lines of a trace that tell of instructions (docs/traces.md). A thread of its own makes and writes them, where
 * npl_threads_allowed() lets it: making them takes as long as telling, and telling as long as the machine's engine. */
#ifndef NPULAB_TRACES_INSTRUCTIONS_H
#define NPULAB_TRACES_INSTRUCTIONS_H

#include "npulab/instruction_sink.h"
#include "stream.h"

struct trace_instructions;
/* The output is borrowed. With `own_thread` nobody else may use it between trace_instructions_program and
 * trace_instructions_end. */
int trace_instructions_open(struct trace_out *out, bool own_thread, struct trace_instructions **opened,
			    struct npl_err *err);
void trace_instructions_close(struct trace_instructions *instructions); /* accepts NULL */
/* A program begins; it is borrowed until its end. */
void trace_instructions_program(struct trace_instructions *instructions, const struct npl_executed_program *program);
void trace_instructions_add(struct trace_instructions *instructions, const struct npl_executed_instruction *told);
/* Waits until all lines are in the output. */
void trace_instructions_end(struct trace_instructions *instructions);
/* Returns how many of the lines so far are no events: `block` and `of`. */
uint64_t trace_instructions_between(const struct trace_instructions *instructions);

#endif
