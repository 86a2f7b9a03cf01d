/* SPDX-License-Identifier: MIT
 *
 * Finds why a program can never end, once the fast engine's schedule has nothing left to resolve: what the first
 * unresolved instruction of each unit waits for, and what the issue stage waits for. */
#include "sim/systolic/tpu_v1/engine/stuck.h"
#include "fast.h"

static bool is_blocked(const struct tpu_fast_timing *timing, enum tpu_unit unit)
{
	return timing->unit[unit].jobs_resolved < timing->unit[unit].jobs_issued;
}

static const struct tpu_instruction *instruction_of(const struct tpu_fast_timing *timing,
						    const struct tpu_fast_job *job)
{
	return &tpu_code(timing->program)[job->index];
}

static bool uses_accumulators(const struct tpu_instruction *in)
{
	return tpu_unit_of(in->opcode) == TPU_MATRIX || !(in->flags & TPU_ACTIVATE_FROM_BUFFER);
}

/* Returns the first of the other unit's instructions that uses accumulators of this job and is not resolved.
 * job->waits_for_job is the last of these instructions. */
static int64_t first_with_its_accumulators(const struct tpu_fast_timing *timing, const struct tpu_fast_job *job,
					   const struct tpu_fast_unit *other)
{
	const struct tpu_instruction *in = instruction_of(timing, job);
	for (int64_t i = other->jobs_resolved; i < other->jobs_issued && other->job[i].index < job->index; i++) {
		const struct tpu_instruction *user = instruction_of(timing, &other->job[i]);
		if (uses_accumulators(user) && user->operand < (int64_t)in->operand + in->length &&
		    in->operand < (int64_t)user->operand + user->length)
			return other->job[i].index;
	}
	return -1;
}

static struct tpu_waiting unit_waits(const struct tpu_fast_timing *timing, enum tpu_unit unit_id)
{
	const struct tpu_fast_unit *unit = &timing->unit[unit_id];
	if (!is_blocked(timing, unit_id))
		return (struct tpu_waiting){.index = -1};
	const struct tpu_fast_job *job = &unit->job[unit->jobs_resolved];
	struct tpu_waiting waiting = {.index = job->index};
	if (unit_id == TPU_WEIGHTS) {
		waiting.reason = instruction_of(timing, job)->flags & TPU_WEIGHTS_PARAMETERS ? TPU_FOR_TABLE_SPACE
											     : TPU_FOR_TILE_SPACE;
	} else if (job->switch_to >= (unit_id == TPU_MATRIX ? timing->tiles_popped : timing->tables_loaded)) {
		waiting.reason = unit_id == TPU_MATRIX ? TPU_FOR_A_TILE : TPU_FOR_A_TABLE;
	} else {
		const enum tpu_unit other = unit_id == TPU_MATRIX ? TPU_ACTIVATION : TPU_MATRIX;
		waiting.reason = unit_id == TPU_MATRIX ? TPU_FOR_READS : TPU_FOR_WRITES;
		waiting.blocker = first_with_its_accumulators(timing, job, &timing->unit[other]);
	}
	return waiting;
}

static struct tpu_waiting issue_waits(const struct tpu_fast_timing *timing)
{
	const struct tpu_instruction *in = &tpu_code(timing->program)[timing->next];
	const unsigned units = in->opcode == TPU_SYNC ? in->flags : (1u << TPU_UNITS) - 1;
	struct tpu_waiting waiting = {.index = timing->next, .reason = TPU_FOR_UNITS};
	if (tpu_unit_of(in->opcode) < TPU_UNITS) {
		waiting.reason = TPU_FOR_A_QUEUE;
		waiting.units = 1u << tpu_unit_of(in->opcode);
		return waiting;
	}
	for (enum tpu_unit u = 0; u < TPU_UNITS; u++)
		waiting.units |= units & (unsigned)is_blocked(timing, u) << u;
	return waiting;
}

int tpu_fast_stuck(const struct tpu_fast_timing *timing, struct npl_err *err)
{
	const struct tpu_waiting all[] = {unit_waits(timing, TPU_WEIGHTS), unit_waits(timing, TPU_MATRIX),
					  unit_waits(timing, TPU_ACTIVATION), issue_waits(timing)};
	return tpu_fail_deadlock(timing->program, all, 4, err);
}
