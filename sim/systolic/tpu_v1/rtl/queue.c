/* SPDX-License-Identifier: MIT
 *
 * The queue in front of a unit: instructions as they were issued, each with the configuration registers of that time. */
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
	int64_t at = queue->first + queue->count++;
	queue->slot[at < queue->slots ? at : at - queue->slots] = *issued;
}

struct tpu_rtl_issued tpu_rtl_queue_pop(struct tpu_rtl_queue *queue)
{
	struct tpu_rtl_issued head = queue->slot[queue->first];
	queue->first = (queue->first + 1) % queue->slots;
	queue->count--;
	return head;
}
