/* SPDX-License-Identifier: MIT
 *
 * Finds the cycles in which units work for layers (layer_cycles.h). */
#include "layer_cycles.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "occupancy.h"

static int on_program(void *context, const struct npl_executed_program *program, struct npl_err *err)
{
	struct trace_layer_cycles *cycles = context;
	struct trace_window *grown = npl_grow(cycles->window, cycles->n, &cycles->capacity, sizeof *grown);
	if (!grown)
		return npl_no_memory(err);
	cycles->window = grown;
	cycles->window[cycles->n++] = (struct trace_window){0, 0};
	cycles->program = *program;
	return 0;
}

/* Returns the cycle from which on its unit has the instruction. */
static uint64_t taken_of(const struct npl_executed_program *program, const struct npl_executed_instruction *instruction)
{
	uint64_t taken = instruction->time->begin;
	for (int k = 0; k < program->n_cycle_classes; k++) {
		const char *name = program->cycle_class[k].name;
		const enum trace_phase phase = trace_phase_of(name);
		/* Where a unit has the name of a class, these cycles are its work. */
		const bool waits = (phase == TRACE_IN_ISSUE || phase == TRACE_IN_QUEUE) &&
				   strcmp(name, instruction->unit) != 0;
		taken += waits ? instruction->time->cycles[k] : 0;
	}
	return taken;
}

static int on_instruction(void *context, const struct npl_executed_instruction *instruction, struct npl_err *err)
{
	struct trace_layer_cycles *cycles = context;
	struct trace_window *window = &cycles->window[cycles->n - 1];
	const int layer = instruction->layer;
	(void)err;
	if (layer < 0 || layer >= cycles->program.n_layers || !strstr(cycles->program.layer[layer], cycles->layer))
		return 0;
	const uint64_t taken = taken_of(&cycles->program, instruction);
	window->from = window->until ? npl_min_u64(window->from, taken) : taken;
	window->until = npl_max_u64(window->until, instruction->time->end);
	cycles->found = true;
	return 0;
}

struct npl_instruction_sink trace_layer_cycles_sink(struct trace_layer_cycles *cycles)
{
	return (struct npl_instruction_sink){
		.on_program = on_program, .on_instruction = on_instruction, .context = cycles};
}

void trace_layer_cycles_free(struct trace_layer_cycles *cycles)
{
	free(cycles->window);
	*cycles = (struct trace_layer_cycles){0};
}
