/* SPDX-License-Identifier: MIT
 *
 * The performance counters that classify each cycle (Jouppi et al., Table 3): every cycle is in one of four classes.
 * The other counters count events where they happen. */
#include "rtl.h"

/* Says whether the next instruction wants a tile that is not in the shadow plane. */
static bool waits_for_tile(const struct tpu_rtl *rtl)
{
	const struct tpu_rtl_queue *queue = &rtl->matrix.queue;
	return queue->count > 0 && tpu_rtl_queue_at(queue, 0)->instruction.flags & TPU_MATRIX_SWITCH &&
	       !rtl->shifter.full;
}

static void count_cells(const struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires, struct tpu_counters *count)
{
	uint64_t cells = (uint64_t)(rtl->context.config->rows * rtl->context.config->columns);
	uint64_t useful = tpu_rtl_register(tpu_rtl_entering(&rtl->matrix, wires), TPU_REG_USEFUL_CELLS);
	count->useful_macs += useful;
	count->unused_macs += cells - useful;
}

/* Counts what issue does in a cycle in which the array has no work. */
static void count_wait(const struct tpu_rtl_wires *wires, struct tpu_rtl_context *context)
{
	const unsigned results = 1u << TPU_MATRIX | 1u << TPU_ACTIVATION;
	if (wires->awaited_units & 1u << TPU_HOST_IN)
		tpu_rtl_attribute(context, TPU_CYCLES_INPUT_STALL, -1);
	else if (wires->awaited_units & results)
		tpu_rtl_attribute(context, TPU_CYCLES_RAW_STALL, -1);
	else if (wires->awaited_units & 1u << TPU_HOST_OUT)
		tpu_rtl_attribute(context, TPU_CYCLES_OUTPUT_STALL, -1);
	else if (wires->sync_pauses)
		tpu_rtl_attribute(context, TPU_CYCLES_SYNC_PAUSE, -1);
}

void tpu_rtl_count_cycle(const struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires, struct tpu_rtl_context *context)
{
	struct tpu_counters *count = &context->outcome->counters;
	if (wires->row_enters) {
		count->ub_rows_read++;
		count_cells(rtl, wires, count);
		tpu_rtl_attribute(context, TPU_CYCLES_ARRAY_ACTIVE, tpu_rtl_entering(&rtl->matrix, wires)->index);
	} else if (waits_for_tile(rtl)) {
		tpu_rtl_attribute(context, wires->weights_enter ? TPU_CYCLES_WEIGHT_SHIFT : TPU_CYCLES_WEIGHT_STALL,
				  tpu_rtl_queue_at(&rtl->matrix.queue, 0)->index);
	} else {
		tpu_rtl_attribute(context, TPU_CYCLES_NON_MATRIX, -1);
		count_wait(wires, context);
	}
}
