/* SPDX-License-Identifier: MIT
 *
 * The queue in front of a unit: issued instructions, each with the configuration registers at its issue. */
#include "rtl.h"

#include <stdlib.h>

bool tpu_rtl_queue_open(struct tpu_rtl_queue *queue, int64_t slots)
{
	*queue = (struct tpu_rtl_queue){.slots = slots};
	queue->slot = calloc((size_t)slots, sizeof *queue->slot);
	return queue->slot;
}

void tpu_rtl_queue_push(struct tpu_rtl_queue *queue, const struct tpu_rtl_issued *issued)
{
	int64_t index = queue->first + queue->count++;
	queue->slot[index < queue->slots ? index : index - queue->slots] = *issued;
}

struct tpu_rtl_issued tpu_rtl_queue_pop(struct tpu_rtl_queue *queue)
{
	struct tpu_rtl_issued head = queue->slot[queue->first];
	queue->first = (queue->first + 1) % queue->slots;
	queue->count--;
	return head;
}

const struct tpu_rtl_queue *tpu_rtl_queue_of(const struct tpu_rtl *rtl, enum tpu_unit unit)
{
	switch (unit) {
	case TPU_HOST_IN:
		return &rtl->link[0].queue;
	case TPU_HOST_OUT:
		return &rtl->link[1].queue;
	case TPU_WEIGHTS:
		return &rtl->weights.queue;
	case TPU_MATRIX:
		return &rtl->matrix.queue;
	default:
		return &rtl->activate.queue;
	}
}

bool tpu_rtl_idle(const struct tpu_rtl *rtl, enum tpu_unit unit)
{
	if (tpu_rtl_queue_of(rtl, unit)->count)
		return false;
	switch (unit) {
	case TPU_HOST_IN:
		return !rtl->link[0].busy;
	case TPU_HOST_OUT:
		return !rtl->link[1].busy;
	case TPU_WEIGHTS:
		return rtl->weights.transfers_left == 0 && rtl->weights.remainder == 0 && rtl->weights.port.count == 0;
	case TPU_MATRIX:
		return rtl->matrix.in_flight == 0;
	default:
		return !rtl->activate.busy;
	}
}
