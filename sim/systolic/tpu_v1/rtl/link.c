/* SPDX-License-Identifier: MIT
 *
 * One direction of the host link: read_host_memory or write_host_memory, one instruction after the other. First the
 * latency passes. Then each cycle brings its share of the bandwidth, counted in bytes times clock_hz so that nothing is
 * rounded. A row is written to its destination when its last byte has come. */
#include "rtl.h"

#include <string.h>

static int direction(const struct tpu_rtl_link *link)
{
	return link->unit == TPU_HOST_OUT;
}

void tpu_rtl_link_drive(const struct tpu_rtl_link *link, struct tpu_rtl_wires *wires)
{
	wires->link_starts[direction(link)] = !link->busy && link->queue.count > 0;
}

static void start(struct tpu_rtl_link *link, struct tpu_rtl_context *context)
{
	link->current = tpu_rtl_queue_pop(&link->queue);
	link->busy = true;
	link->latency = tpu_link_latency_cycles(context->config);
	link->bytes_left = (uint64_t)link->current.instruction.length *
			   tpu_rtl_register(&link->current, TPU_REG_HOST_ROW_BYTES);
	link->credit = 0;
	link->row_bytes = 0;
	link->row = 0;
	tpu_rtl_begins(context, TPU_HOST_STARTED, link->current.index);
}

static void move_row(const struct tpu_rtl_link *link, struct tpu_rtl_context *context)
{
	if (context->memory->timing_only)
		return;
	size_t width = (size_t)tpu_row_bytes(context->config);
	size_t bytes = tpu_rtl_register(&link->current, TPU_REG_HOST_ROW_BYTES);
	uint8_t *in_buffer = context->memory->buffer + ((size_t)link->current.instruction.ub + link->row) * width;
	uint8_t *in_host = context->memory->host + tpu_rtl_register(&link->current, TPU_REG_HOST_ADDRESS) +
			   (size_t)link->row * tpu_rtl_register(&link->current, TPU_REG_HOST_STRIDE);
	if (link->unit == TPU_HOST_OUT) {
		memcpy(in_host, in_buffer, bytes);
	} else {
		memcpy(in_buffer, in_host, bytes);
		memset(in_buffer + bytes, 0, width - bytes);
	}
	const bool inward = link->unit == TPU_HOST_IN;
	const uint64_t toggles = tpu_rtl_toggles(context, inward ? TPU_RTL_FROM_HOST : TPU_RTL_TO_HOST, 0, in_buffer,
						 (int64_t)width);
	tpu_rtl_count_activity(context, link->current.index,
			       &(struct tpu_activity){.ub_read_toggles = inward ? 0 : toggles,
						      .ub_write_toggles = inward ? toggles : 0});
}

static void transfer(struct tpu_rtl_link *link, struct tpu_rtl_context *context)
{
	struct tpu_counters *count = &context->outcome->counters;
	uint64_t clock_hz = (uint64_t)context->config->clock_hz;
	uint64_t row_bytes = tpu_rtl_register(&link->current, TPU_REG_HOST_ROW_BYTES);
	link->credit += tpu_link_bytes_per_second(context->config);
	uint64_t bytes = link->credit / clock_hz;
	link->credit %= clock_hz;
	if (bytes > link->bytes_left)
		bytes = link->bytes_left;
	link->bytes_left -= bytes;
	*(link->unit == TPU_HOST_IN ? &count->host_bytes_in : &count->host_bytes_out) += bytes;
	for (link->row_bytes += bytes; link->row_bytes >= row_bytes; link->row_bytes -= row_bytes) {
		move_row(link, context);
		link->row++;
		*(link->unit == TPU_HOST_IN ? &count->ub_rows_written : &count->ub_rows_read) += 1;
	}
}

bool tpu_rtl_link_clock(struct tpu_rtl_link *link, const struct tpu_rtl_wires *wires, struct tpu_rtl_context *context)
{
	bool arrives = wires->target_unit == link->unit;
	if (wires->link_starts[direction(link)])
		start(link, context);
	bool works = link->busy;
	if (link->busy && link->latency) {
		link->latency--;
	} else if (link->busy) {
		transfer(link, context);
		link->busy = link->bytes_left > 0;
	}
	if (works && !link->busy) {
		tpu_rtl_ends(context, TPU_HOST_ENDED, link->current.index);
		tpu_rtl_retired(context, link->current.index);
	}
	if (arrives)
		tpu_rtl_queue_push(&link->queue, &wires->issued);
	return works || arrives;
}
