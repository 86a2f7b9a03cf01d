/* SPDX-License-Identifier: MIT
 *
 * The whole register-level engine: all blocks drive their wires, then the clock comes, until the program has halted.
 * rtl.h lists the parts; docs/tpu-isa.md says what they do together.
 *
 * Not modelled: banks and ports of the unified buffer (it gives and takes what a cycle needs), and the host except for
 * its memory. */
#include "rtl.h"

#include <stdlib.h>

static void drive_wires(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires)
{
	*wires = (struct tpu_rtl_wires){0};
	tpu_rtl_issue_drive(rtl, wires);
	tpu_rtl_link_drive(&rtl->link[0], wires);
	tpu_rtl_link_drive(&rtl->link[1], wires);
	tpu_rtl_activate_drive(rtl, wires); /* in this order: see rtl.h */
	tpu_rtl_matrix_drive(rtl, wires);
	tpu_rtl_shifter_drive(rtl, wires);
}

/* Clocks all blocks. Says whether any register has changed. */
static bool clock_all(struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires)
{
	struct tpu_rtl_context *context = &rtl->context;
	bool changed = tpu_rtl_issue_clock(&rtl->issue, wires, context);
	changed |= tpu_rtl_link_clock(&rtl->link[0], wires, context);
	changed |= tpu_rtl_link_clock(&rtl->link[1], wires, context);
	changed |= tpu_rtl_weights_clock(&rtl->weights, wires, context);
	changed |= tpu_rtl_shifter_clock(&rtl->shifter, wires, context);
	changed |= tpu_rtl_activate_clock(&rtl->activate, wires, context);
	changed |= tpu_rtl_matrix_clock(&rtl->matrix, wires, context);
	context->cycle++;
	return changed;
}

static int run(struct tpu_rtl *rtl)
{
	struct tpu_rtl_context *context = &rtl->context;
	struct tpu_rtl_wires wires;
	while (!rtl->issue.halted) {
		drive_wires(rtl, &wires);
		if (rtl->signals)
			tpu_rtl_signals_first(rtl, &wires);
		tpu_rtl_count_cycle(rtl, &wires, context);
		bool changed = clock_all(rtl, &wires);
		if (rtl->signals)
			tpu_rtl_signals_last(rtl, &wires);
		tpu_rtl_tell(context, context->cycle);
		if (context->rc)
			return context->rc;
		if (!changed)
			return tpu_rtl_stuck(rtl, &wires, context->err);
	}
	tpu_rtl_tell(context, UINT64_MAX);
	tpu_rtl_end_intervals(context);
	context->outcome->cycles = context->cycle;
	tpu_count_weight_memory(rtl->weights.port.memory, &context->outcome->counters);
	return 0;
}

/* Returns the slots of a unit's queue: never more than the program has instructions for it. */
static int64_t queue_slots(const struct tpu_rtl_context *context, enum tpu_unit unit)
{
	int64_t count = 0, capacity = context->config->queue_instructions;
	for (int64_t i = 0; i < context->program->count && count < capacity; i++)
		count += tpu_unit_of(tpu_code(context->program)[i].opcode) == unit;
	return count ? count : 1;
}

static int open_machine(struct tpu_rtl *rtl)
{
	struct tpu_rtl_context *context = &rtl->context;
	const struct tpu_config *config = context->config;
	if (tpu_rtl_activity_open(context))
		return context->err->code;
	rtl->issue.registers = tpu_reset_registers(config->rows, config->columns);
	rtl->link[0].unit = TPU_HOST_IN;
	rtl->link[1].unit = TPU_HOST_OUT;
	if (!tpu_rtl_queue_open(&rtl->link[0].queue, queue_slots(context, TPU_HOST_IN)) ||
	    !tpu_rtl_queue_open(&rtl->link[1].queue, queue_slots(context, TPU_HOST_OUT)))
		return npl_fail(context->err, NPL_ENOMEM, "out of memory for the rtl engine");
	int rc = tpu_rtl_weights_open(&rtl->weights, config, queue_slots(context, TPU_WEIGHTS), context->err);
	if (!rc)
		rc = tpu_rtl_matrix_open(&rtl->matrix, config, queue_slots(context, TPU_MATRIX), context->err);
	if (!rc)
		rc = tpu_rtl_activate_open(&rtl->activate, config, queue_slots(context, TPU_ACTIVATION), context->err);
	rtl->matrix.unit.counts_activity = context->last_row != NULL;
	return rc;
}

static void close_machine(struct tpu_rtl *rtl)
{
	tpu_rtl_activity_close(&rtl->context);
	tpu_rtl_observe_close(&rtl->context);
	sim_signals_close(rtl->signals);
	free(rtl->link[0].queue.slot);
	free(rtl->link[1].queue.slot);
	tpu_rtl_weights_close(&rtl->weights);
	tpu_rtl_matrix_close(&rtl->matrix);
	tpu_rtl_activate_close(&rtl->activate);
}

int tpu_run_rtl(const struct tpu_engine_input *engine_input, struct tpu_outcome *outcome, struct npl_err *err)
{
	*outcome = (struct tpu_outcome){0};
	struct tpu_rtl rtl = {.context = {.config = engine_input->config,
					  .program = engine_input->program,
					  .memory = &engine_input->memory,
					  .observer = engine_input->observer,
					  .activity = engine_input->activity,
					  .outcome = outcome,
					  .err = err}};
	int rc = open_machine(&rtl);
	if (!rc)
		rc = tpu_rtl_signals_open(&rtl, engine_input->signals);
	if (!rc)
		rc = run(&rtl);
	close_machine(&rtl);
	return rc;
}
