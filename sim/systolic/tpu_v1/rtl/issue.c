/* SPDX-License-Identifier: MIT
 *
 * Instruction issue. Each instruction is looked at until it can go to its unit's queue, or until it is done if no unit
 * executes it; then comes the next one. */
#include "rtl.h"

static unsigned busy_units(const struct tpu_rtl *rtl)
{
	unsigned busy = 0;
	for (enum tpu_unit unit = 0; unit < TPU_UNITS; unit++)
		busy |= (unsigned)!tpu_rtl_idle(rtl, unit) << unit;
	return busy;
}

void tpu_rtl_issue_drive(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires)
{
	const struct tpu_rtl_issue *issue = &rtl->issue;
	wires->target_unit = TPU_UNITS;
	if (issue->pause) {
		/* Any instruction makes issue pause for issue_cycles - 1. A longer pause is a sync's own time, which
		 * comes first. */
		wires->sync_pauses = issue->pause >= (uint64_t)rtl->context.config->issue_cycles;
		return;
	}
	const struct tpu_instruction *instruction = &tpu_code(rtl->context.program)[issue->next];
	enum tpu_unit unit = tpu_unit_of(instruction->opcode);
	if (instruction->opcode == TPU_SYNC)
		wires->awaited_units = instruction->flags & busy_units(rtl);
	else if (instruction->opcode == TPU_HALT)
		wires->awaited_units = busy_units(rtl);
	if (unit == TPU_UNITS) {
		wires->issues = !wires->awaited_units;
		return;
	}
	const struct tpu_rtl_queue *queue = tpu_rtl_queue_of(rtl, unit);
	wires->issues = queue->count < queue->slots;
	if (wires->issues) {
		wires->target_unit = unit;
		wires->issued = (struct tpu_rtl_issued){issue->next, *instruction, issue->registers};
	}
}

bool tpu_rtl_issue_clock(struct tpu_rtl_issue *issue, const struct tpu_rtl_wires *wires,
			 struct tpu_rtl_context *context)
{
	if (issue->pause)
		return issue->pause--;
	if (!wires->issues)
		return false;
	const struct tpu_instruction *instruction = &tpu_code(context->program)[issue->next];
	tpu_rtl_begins(context, TPU_ISSUED, issue->next);
	context->outcome->counters.instructions++;
	if (instruction->opcode == TPU_SET_CONFIG)
		issue->registers.value[instruction->operand] = instruction->length;
	issue->halted = instruction->opcode == TPU_HALT;
	issue->next++;
	issue->pause = (uint64_t)context->config->issue_cycles - 1;
	if (instruction->opcode == TPU_SYNC)
		issue->pause += (uint64_t)context->config->sync_cycles;
	return true;
}
