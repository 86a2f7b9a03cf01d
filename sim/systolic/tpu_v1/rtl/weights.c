/* SPDX-License-Identifier: MIT
 *
 * The weights unit: transfers from weight memory, and the two FIFOs that they fill. With the preset fixed, each cycle
 * gives bytes_per_second of credit, and a transfer costs its bytes times clock_hz. So transfers follow each other
 * without rounding, within a cycle too: 64 KiB at 34,133,333,334 B/s and 700 MHz take 1343.99999997 cycles. The rest of
 * a cycle in which nothing can begin is lost. weight_memory.c does any other memory.
 *
 * A transfer takes its slot when it begins. Slots become free by the wires of the shifter (a tile has left) and of the
 * activation unit (a table came into use); the port sees this in the next cycle. */
#include "rtl.h"

#include <stdlib.h>
#include <string.h>

static bool fifo_open(struct tpu_rtl_fifo *fifo, int64_t slots)
{
	*fifo = (struct tpu_rtl_fifo){.slots = slots};
	fifo->row = calloc((size_t)slots, sizeof *fifo->row);
	return fifo->row;
}

int tpu_rtl_weights_open(struct tpu_rtl_weights *weights, const struct tpu_config *config, int64_t queue_slots,
			 struct npl_err *err)
{
	if (!tpu_rtl_queue_open(&weights->queue, queue_slots) ||
	    !fifo_open(&weights->fifo[TPU_RTL_TILE], config->fifo_tiles) ||
	    !fifo_open(&weights->fifo[TPU_RTL_TABLE], config->parameter_tables))
		return npl_fail(err, NPL_ENOMEM, "out of memory for the rtl engine");
	return tpu_rtl_weight_memory_open(&weights->port, config, err);
}

void tpu_rtl_weights_close(struct tpu_rtl_weights *weights)
{
	tpu_rtl_weight_memory_close(&weights->port);
	free(weights->queue.slot);
	free(weights->fifo[TPU_RTL_TILE].row);
	free(weights->fifo[TPU_RTL_TABLE].row);
}

static void fifo_take(struct tpu_rtl_fifo *fifo, int64_t row)
{
	fifo->row[(fifo->first + fifo->slots_taken++) % fifo->slots] = row;
}

static void fifo_pop(struct tpu_rtl_fifo *fifo)
{
	fifo->first = (fifo->first + 1) % fifo->slots;
	fifo->slots_taken--;
	fifo->slots_arrived--;
}

static int64_t weight_rows(const struct tpu_config *config, enum tpu_rtl_item item)
{
	return item == TPU_RTL_TILE ? config->rows : TPU_TABLE_ROWS;
}

static const struct tpu_rtl_issued *next_instruction(const struct tpu_rtl_weights *weights)
{
	return weights->transfers_left ? &weights->current : tpu_rtl_queue_at(&weights->queue, 0);
}

bool tpu_rtl_weights_next(const struct tpu_rtl_weights *weights, const struct tpu_config *config, uint64_t *address)
{
	if (!weights->transfers_left && !weights->queue.count)
		return false;
	const struct tpu_rtl_issued *next = next_instruction(weights);
	const struct tpu_rtl_fifo *fifo = &weights->fifo[tpu_rtl_brings(next)];
	if (fifo->slots_taken == fifo->slots)
		return false;
	*address = (uint64_t)(weights->transfers_left ? weights->row : next->instruction.length) *
		   (uint64_t)config->columns;
	return true;
}

void tpu_rtl_weights_begin(struct tpu_rtl_weights *weights, struct tpu_rtl_context *context,
			   struct tpu_rtl_transfer *transfer)
{
	enum tpu_rtl_item item = tpu_rtl_brings(next_instruction(weights));
	if (!weights->transfers_left) {
		weights->current = tpu_rtl_queue_pop(&weights->queue);
		weights->transfers_left = weights->current.instruction.operand;
		weights->row = weights->current.instruction.length;
	}
	int64_t rows = weight_rows(context->config, item), columns = context->config->columns;
	fifo_take(&weights->fifo[item], weights->row);
	*transfer = (struct tpu_rtl_transfer){.item = item,
					      .index = weights->current.index,
					      .is_last = weights->transfers_left == 1,
					      .address = (uint64_t)(weights->row * columns),
					      .end = (uint64_t)((weights->row + rows) * columns)};
	weights->row += rows;
	weights->transfers_left--;
	context->outcome->counters.weight_bytes += (uint64_t)(rows * columns);
}

void tpu_rtl_weights_arrive(struct tpu_rtl_weights *weights, struct tpu_rtl_context *context,
			    const struct tpu_rtl_transfer *transfer)
{
	struct tpu_rtl_fifo *fifo = &weights->fifo[transfer->item];
	fifo->slots_arrived++;
	tpu_rtl_ends(context, transfer->item == TPU_RTL_TILE ? TPU_TILE_PUSHED : TPU_TABLE_LOADED, fifo->n_pushed++);
	if (transfer->is_last)
		tpu_rtl_retired(context, transfer->index);
}

/* Begins, with the preset fixed, the next transfer if there is one and room for it. Says whether it did. */
static bool begin(struct tpu_rtl_weights *weights, struct tpu_rtl_context *context)
{
	uint64_t address;
	if (!tpu_rtl_weights_next(weights, context->config, &address))
		return false;
	tpu_rtl_weights_begin(weights, context, &weights->transfer);
	weights->remainder = (weights->transfer.end - weights->transfer.address) * (uint64_t)context->config->clock_hz;
	return true;
}

static bool fixed_clock(struct tpu_rtl_weights *weights, struct tpu_rtl_context *context)
{
	bool changed = false;
	uint64_t credit = (uint64_t)context->config->weight_bytes_per_second;
	while (credit && (weights->remainder || begin(weights, context))) {
		uint64_t part = weights->remainder < credit ? weights->remainder : credit;
		weights->remainder -= part;
		credit -= part;
		changed = true;
		if (!weights->remainder)
			tpu_rtl_weights_arrive(weights, context, &weights->transfer);
	}
	return changed;
}

bool tpu_rtl_weights_clock(struct tpu_rtl_weights *weights, const struct tpu_rtl_wires *wires,
			   struct tpu_rtl_context *context)
{
	bool changed = wires->tile_popped || wires->table_used || wires->target_unit == TPU_WEIGHTS;
	changed |= weights->port.memory ? tpu_rtl_weight_memory_clock(weights, context) : fixed_clock(weights, context);
	if (wires->tile_popped)
		fifo_pop(&weights->fifo[TPU_RTL_TILE]);
	if (wires->table_used)
		fifo_pop(&weights->fifo[TPU_RTL_TABLE]);
	if (wires->target_unit == TPU_WEIGHTS)
		tpu_rtl_queue_push(&weights->queue, &wires->issued);
	return changed;
}

void tpu_rtl_weight_bytes(const struct tpu_rtl_context *context, int64_t row, int64_t count, uint8_t *bytes)
{
	const struct tpu_memory *memory = context->memory;
	size_t first = (size_t)row * (size_t)context->config->columns, copied = 0;
	if (!memory->timing_only && first < memory->weight_bytes) {
		copied = memory->weight_bytes - first;
		if (copied > (size_t)count)
			copied = (size_t)count;
		memcpy(bytes, memory->weights + first, copied);
	}
	memset(bytes + copied, 0, (size_t)count - copied);
}
