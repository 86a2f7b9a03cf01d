/* SPDX-License-Identifier: MIT
 *
 * Queues of the register-level engine (rtl.h). The number of slots of a queue is a power of two. */
#include "rtl.h"

#include <stdlib.h>
#include <string.h>

bool dn_rtl_fifo_open(struct dn_rtl_fifo *fifo, size_t size, uint64_t capacity)
{
	*fifo = (struct dn_rtl_fifo){.size = size};
	while (fifo->mask + 1 < capacity)
		fifo->mask = 2 * fifo->mask + 1;
	fifo->slot = calloc((size_t)fifo->mask + 1, size);
	return fifo->slot != NULL;
}

static bool grow(struct dn_rtl_fifo *fifo)
{
	struct dn_rtl_fifo larger;
	if (!dn_rtl_fifo_open(&larger, fifo->size, 2 * (fifo->mask + 1)))
		return false;
	larger.head = fifo->head;
	larger.tail = fifo->tail;
	for (uint64_t i = fifo->head; i < fifo->tail; i++)
		memcpy(dn_rtl_fifo_at(&larger, i), dn_rtl_fifo_at(fifo, i), fifo->size);
	free(fifo->slot);
	*fifo = larger;
	return true;
}

void *dn_rtl_fifo_push(struct dn_rtl_fifo *fifo)
{
	if (fifo->tail - fifo->head > fifo->mask && !grow(fifo))
		return NULL;
	return memset(dn_rtl_fifo_at(fifo, fifo->tail++), 0, fifo->size);
}
