/* SPDX-License-Identifier: MIT
 *
 * Handles a machine that has come to a stop before its halt. A cycle has changed no register, and as nothing comes from
 * outside, no later cycle will. For every instruction that waits, this file finds what it waits for. */
#include "sim/systolic/tpu_v1/engine/stuck.h"
#include "rtl.h"

static const struct tpu_waiting not_waiting = {.index = -1};

static struct tpu_waiting weights_wait(const struct tpu_rtl *rtl)
{
	const struct tpu_rtl_weights *weights = &rtl->weights;
	if (!weights->transfers_left && !weights->queue.count)
		return not_waiting;
	const struct tpu_rtl_issued *issued = weights->transfers_left ? &weights->current
								      : tpu_rtl_queue_at(&weights->queue, 0);
	return (struct tpu_waiting){.index = issued->index,
				    .reason = tpu_rtl_brings(issued) == TPU_RTL_TILE ? TPU_FOR_TILE_SPACE
										     : TPU_FOR_TABLE_SPACE};
}

static struct tpu_waiting matrix_waits(const struct tpu_rtl *rtl)
{
	static const struct tpu_rtl_wires no_wires = {0};
	if (!rtl->matrix.queue.count)
		return not_waiting;
	const struct tpu_rtl_issued *issued = tpu_rtl_queue_at(&rtl->matrix.queue, 0);
	if (issued->instruction.flags & TPU_MATRIX_SWITCH && !rtl->shifter.full)
		return (struct tpu_waiting){.index = issued->index, .reason = TPU_FOR_A_TILE};
	return (struct tpu_waiting){
		.index = issued->index, .reason = TPU_FOR_READS, .blocker = tpu_rtl_unread(rtl, &no_wires, issued)};
}

static struct tpu_waiting activate_waits(const struct tpu_rtl *rtl)
{
	if (!rtl->activate.queue.count)
		return not_waiting;
	const struct tpu_rtl_issued *issued = tpu_rtl_queue_at(&rtl->activate.queue, 0);
	if (issued->instruction.flags & TPU_ACTIVATE_SWITCH && !rtl->weights.fifo[TPU_RTL_TABLE].slots_arrived)
		return (struct tpu_waiting){.index = issued->index, .reason = TPU_FOR_A_TABLE};
	return (struct tpu_waiting){
		.index = issued->index, .reason = TPU_FOR_WRITES, .blocker = tpu_rtl_unwritten(rtl, issued)};
}

static struct tpu_waiting issue_waits(const struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires)
{
	struct tpu_waiting waiting = {.index = rtl->issue.next, .reason = TPU_FOR_UNITS, .units = wires->awaited_units};
	enum tpu_unit unit = tpu_unit_of(tpu_code(rtl->context.program)[rtl->issue.next].opcode);
	if (unit < TPU_UNITS) {
		waiting.reason = TPU_FOR_A_QUEUE;
		waiting.units = 1u << unit;
	}
	return waiting;
}

int tpu_rtl_stuck(const struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires, struct npl_err *err)
{
	const struct tpu_waiting all[] = {weights_wait(rtl), matrix_waits(rtl), activate_waits(rtl),
					  issue_waits(rtl, wires)};
	return tpu_fail_deadlock(rtl->context.program, all, 4, err);
}
