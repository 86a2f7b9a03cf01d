/* SPDX-License-Identifier: MIT
 *
 * The scoreboard of accumulator rows. An activate waits for the writes of the matrix instructions before it, a matrix
 * instruction for the reads of the activates before it. "Before" is the order of the program. An instruction that has
 * been issued and has not ended is in a queue or under way, so the scoreboard looks there. An instruction under way on
 * the same rows always comes before in the program: had it come later, it would have had to wait itself. */
#include "rtl.h"

static bool overlap(const struct tpu_instruction *a, int64_t first, int64_t end)
{
	return a->operand < end && first < (int64_t)a->operand + a->length;
}

static bool share_accumulators(const struct tpu_rtl_issued *a, const struct tpu_rtl_issued *b)
{
	return overlap(&a->instruction, b->instruction.operand,
		       (int64_t)b->instruction.operand + b->instruction.length);
}

static bool reads_accumulators(const struct tpu_rtl_issued *activate)
{
	return !(activate->instruction.flags & TPU_ACTIVATE_FROM_BUFFER);
}

int64_t tpu_rtl_unwritten(const struct tpu_rtl *rtl, const struct tpu_rtl_issued *activate)
{
	const struct tpu_rtl_matrix *matrix = &rtl->matrix;
	if (!reads_accumulators(activate))
		return -1;
	for (int64_t i = 0; i < matrix->in_flight; i++) {
		const struct tpu_rtl_flight *f = &matrix->flight[(matrix->first_flight + i) % matrix->flights];
		if (overlap(&activate->instruction, f->first, f->end))
			return f->index;
	}
	for (int64_t i = 0; i < matrix->queue.count; i++) {
		const struct tpu_rtl_issued *waits = tpu_rtl_queue_at(&matrix->queue, i);
		if (waits->index > activate->index)
			break;
		if (share_accumulators(waits, activate))
			return waits->index;
	}
	return -1;
}

/* Returns the cycles from the beginning of this one until the activate that starts in it or is under way has read
 * everything. */
static uint64_t cycles_of_reading(const struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires)
{
	return wires->activate_starts ? wires->reading : rtl->activate.reading;
}

int64_t tpu_rtl_unread(const struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires,
		       const struct tpu_rtl_issued *matrix)
{
	const struct tpu_rtl_activate *activate = &rtl->activate;
	const struct tpu_config *config = rtl->context.config;
	uint64_t first_write = (uint64_t)(config->rows - 1 + config->matrix_registers);
	int64_t started = wires->activate_starts ? 1 : 0; /* instructions of the queue that start in this cycle */
	const struct tpu_rtl_issued *now = started ? tpu_rtl_queue_at(&activate->queue, 0) : &activate->current;
	if (cycles_of_reading(rtl, wires) > first_write && reads_accumulators(now) && share_accumulators(now, matrix))
		return now->index;
	for (int64_t i = started; i < activate->queue.count; i++) {
		const struct tpu_rtl_issued *waits = tpu_rtl_queue_at(&activate->queue, i);
		if (waits->index > matrix->index)
			break;
		if (reads_accumulators(waits) && share_accumulators(waits, matrix))
			return waits->index;
	}
	return -1;
}
