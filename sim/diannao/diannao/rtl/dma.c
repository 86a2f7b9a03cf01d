/* SPDX-License-Identifier: MIT
 *
 * The three DMAs and the port that they share (rtl.h; docs/diannao-isa.md, section Time). Control puts a request into
 * the queue of its DMA. The port serves one request after the other, an access at a time, round robin. Answers come in
 * any order and count in the order of asking.
 *
 * Memory has boundaries of its own. At one that comes before the machine's next boundary, the DMAs see the machine as
 * it was after its last one. At one that coincides with the machine's, they see what the machine has done there (rtl.c
 * then calls dn_rtl_requests_begin). */
#include "rtl.h"

#include "core/base/arith.h"

#include <stdlib.h>

#define TAG_DMAS 4 /* a power of two, at least DN_DMAS */

int dn_rtl_dma_open(struct dn_rtl *rtl)
{
	const struct npl_memory_info *info = npl_memory_info(rtl->execution->port);
	const struct npl_hz machine = {rtl->config->clock_hz, 1};
	const int64_t own = machine.numerator * info->clock.denominator, common = npl_gcd(own, info->clock.numerator);
	rtl->port = (struct dn_rtl_port){
		.memory = rtl->execution->port,
		.owner = -1,
		.request_cycles = npl_hz_ceil((uint64_t)rtl->config->dma_request_cycles, &machine, &info->clock),
		.access_bytes = info->access_bytes,
		.machine_period = info->clock.numerator / common,
		.memory_period = own / common};
	for (int i = 0; i < DN_DMAS; i++)
		if (!dn_rtl_fifo_open(&rtl->dma[i].request, sizeof(struct dn_rtl_request),
				      (uint64_t)rtl->config->dma_queue) ||
		    !dn_rtl_fifo_open(&rtl->dma[i].access, sizeof(struct dn_rtl_access), NPL_MEMORY_MAX_PENDING))
			return npl_fail(rtl->err, NPL_ENOMEM, "out of memory for the DMAs of the rtl engine");
	return 0;
}

void dn_rtl_dma_close(struct dn_rtl *rtl)
{
	for (int i = 0; i < DN_DMAS; i++) {
		free(rtl->dma[i].request.slot);
		free(rtl->dma[i].access.slot);
	}
}

/* Returns the request that is next at this DMA, or NULL. */
static struct dn_rtl_request *asking(const struct dn_rtl_dma *dma)
{
	return dma->asking < dma->request.put ? dn_rtl_fifo_at(&dma->request, dma->asking) : NULL;
}

static struct dn_rtl_buffer *buffer_of(struct dn_rtl *rtl, int which)
{
	return which == DN_DMA_SB ? &rtl->sb : &rtl->nbin;
}

static bool turn_has_come(const struct dn_rtl *rtl, int which)
{
	const struct dn_rtl_request *request = asking(&rtl->dma[which]);
	const struct dn_rtl_buffer *buffer = which == DN_DMA_SB ? &rtl->sb : &rtl->nbin;
	if (!request)
		return false;
	if (which == DN_DMA_NBOUT)
		return request->filled == request->bytes;
	return request->rows <= buffer->rows - (buffer->taken - buffer->freed);
}

/* Returns the DMA that has the port or may have it now; -1: none. */
static int who_is_next(const struct dn_rtl *rtl)
{
	const struct dn_rtl_port *port = &rtl->port;
	if (port->owner >= 0)
		return port->owner;
	if (npl_memory_now(port->memory) < port->kept_until)
		return -1;
	for (int i = 0; i < DN_DMAS; i++)
		if (turn_has_come(rtl, (port->turn + i) % DN_DMAS))
			return (port->turn + i) % DN_DMAS;
	return -1;
}

/* Returns the bytes of the request's next access. */
static uint64_t access_of(const struct dn_rtl *rtl, int which, const struct dn_rtl_request *request)
{
	const uint64_t access = rtl->port.access_bytes, burst = (uint64_t)rtl->config->dma_burst_bytes;
	const uint64_t left = request->bytes - request->asked, row = (uint64_t)rtl->sb_row_bytes;
	if (access)
		return npl_min_u64(left, access - (request->address + request->asked) % access);
	if (which != DN_DMA_SB)
		return npl_min_u64(left, burst - request->asked % burst);
	const uint64_t in_row = request->asked % row;
	return npl_min_u64(row - in_row, burst - in_row % burst);
}

static void begin(struct dn_rtl *rtl, int which, const struct dn_rtl_request *request)
{
	struct dn_rtl_port *port = &rtl->port;
	port->owner = which;
	port->turn = (which + 1) % DN_DMAS;
	port->kept_until = npl_memory_now(port->memory) + port->request_cycles;
	if (which != DN_DMA_NBOUT)
		buffer_of(rtl, which)->taken += request->rows;
}

/* Asks for the next access of the DMA that has the port. Returns false where there is none, or memory refuses it. */
static bool ask(struct dn_rtl *rtl)
{
	struct dn_rtl_port *port = &rtl->port;
	const int which = who_is_next(rtl);
	if (which < 0)
		return false;
	struct dn_rtl_dma *dma = &rtl->dma[which];
	struct dn_rtl_request *request = asking(dma);
	const struct npl_memory_request next = {.address = request->address + request->asked,
						.bytes = access_of(rtl, which, request),
						.tag = dma->access.put * TAG_DMAS + (uint64_t)which,
						.is_write = which == DN_DMA_NBOUT};
	if (!npl_memory_can_accept(port->memory, &next))
		return false;
	struct dn_rtl_access *access = dn_rtl_fifo_push(&dma->access);
	if (!access) {
		rtl->rc = npl_fail(rtl->err, NPL_ENOMEM, "out of memory for the DMAs of the rtl engine");
		return false;
	}
	access->bytes = next.bytes;
	if (port->owner < 0)
		begin(rtl, which, request);
	npl_memory_push(port->memory, &next);
	request->asked += next.bytes;
	if (request->asked == request->bytes) {
		dma->asking++;
		port->owner = -1;
	}
	rtl->progress = true;
	return true;
}

static bool take_answers(struct dn_rtl *rtl)
{
	struct npl_memory_completion answer;
	bool any = false;
	while (npl_memory_completed(rtl->port.memory, &answer)) {
		const struct dn_rtl_fifo *fifo = &rtl->dma[answer.tag % TAG_DMAS].access;
		((struct dn_rtl_access *)dn_rtl_fifo_at(fifo, answer.tag / TAG_DMAS))->answered = true;
		any = rtl->progress = true;
	}
	return any;
}

/* Ideal memory refuses requests only while it has more answers to give than it holds. */
void dn_rtl_requests_begin(struct dn_rtl *rtl)
{
	do
		while (ask(rtl))
			;
	while (take_answers(rtl) && !rtl->rc);
}

bool dn_rtl_memory_follows(struct dn_rtl *rtl)
{
	struct dn_rtl_port *port = &rtl->port;
	bool coincides = false;
	for (port->ahead += port->machine_period; port->ahead >= port->memory_period && !rtl->rc;) {
		npl_memory_step(port->memory);
		port->ahead -= port->memory_period;
		take_answers(rtl);
		coincides = port->ahead == 0;
		if (!coincides)
			dn_rtl_requests_begin(rtl);
	}
	return coincides;
}

/* Takes more bytes of a load, in order: the rows that they complete are there. */
static void rows_arrive(struct dn_rtl *rtl, int which, const struct dn_rtl_request *request, uint64_t before)
{
	struct dn_rtl_buffer *buffer = buffer_of(rtl, which);
	const uint64_t row_bytes = (uint64_t)(which == DN_DMA_SB ? rtl->sb_row_bytes : rtl->row_bytes);
	const uint8_t *bytes = rtl->execution->memory.bytes;
	uint64_t end = request->answered, row = before / row_bytes * row_bytes;
	if (which == DN_DMA_NBIN) { /* its rows arrive all at once or not at all */
		if (end < request->bytes)
			return;
		row = 0;
	}
	for (; row < end && (which == DN_DMA_NBIN || row + row_bytes <= end); row += row_bytes)
		dn_rtl_row_arrives(buffer, bytes ? bytes + request->address + row : NULL,
				   (size_t)npl_min_u64(row_bytes, request->bytes - row));
}

static void complete(struct dn_rtl *rtl, int which, const struct dn_rtl_request *request)
{
	static const enum dn_event what[] = {DN_NBIN_ARRIVED, DN_SB_ARRIVED, DN_STORED};
	struct dn_counters *n = &rtl->outcome->counters;
	if (which == DN_DMA_NBOUT) {
		if (rtl->execution->memory.bytes)
			dn_rtl_results_read(&rtl->nbout, request->row, rtl->execution->memory.bytes + request->address,
					    request->bytes);
		rtl->nbout.freed += request->rows;
	}
	*(which == DN_DMA_NBOUT ? &n->output_bytes
	  : which == DN_DMA_SB  ? &n->synapse_bytes
				: &n->input_bytes) += request->bytes;
	dn_rtl_tell(rtl, what[which], request->index);
}

void dn_rtl_arrivals(struct dn_rtl *rtl)
{
	for (int which = 0; which < DN_DMAS; which++) {
		struct dn_rtl_dma *dma = &rtl->dma[which];
		while (!dn_rtl_fifo_empty(&dma->access)) {
			const struct dn_rtl_access *access = dn_rtl_fifo_at(&dma->access, dma->access.taken);
			if (!access->answered)
				break;
			struct dn_rtl_request *request = dn_rtl_fifo_at(&dma->request, dma->request.taken);
			const uint64_t before = request->answered;
			request->answered += access->bytes;
			dma->access.taken++;
			if (which != DN_DMA_NBOUT)
				rows_arrive(rtl, which, request, before);
			if (request->answered == request->bytes) {
				complete(rtl, which, request);
				dma->request.taken++;
			}
			rtl->progress = true;
		}
	}
}

bool dn_rtl_dma_busy(const struct dn_rtl *rtl)
{
	if (rtl->port.owner >= 0 || npl_memory_pending(rtl->port.memory))
		return true;
	for (int i = 0; i < DN_DMAS; i++)
		if (turn_has_come(rtl, i))
			return true;
	return false;
}
