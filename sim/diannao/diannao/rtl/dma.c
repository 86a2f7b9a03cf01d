/* SPDX-License-Identifier: MIT
 *
 * The three DMAs and the port that they share (rtl.h; docs/diannao-isa.md, section Time). Control puts a request into
 * the queue of its DMA. The port serves one request after the other, an access at a time, round robin. Accesses
 * complete in any order and count in the order of their issue.
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
	const struct npl_memory_info *info = npl_memory_info(rtl->engine_input->port);
	const struct npl_hz machine = {rtl->config->clock_hz, 1};
	const int64_t machine_rate = machine.numerator * info->clock.denominator,
		      common = npl_gcd(machine_rate, info->clock.numerator);
	rtl->port = (struct dn_rtl_port){
		.memory = rtl->engine_input->port,
		.owner = -1,
		.request_cycles = npl_hz_ceil((uint64_t)rtl->config->dma_request_cycles, &machine, &info->clock),
		.access_bytes = info->access_bytes,
		.machine_period = info->clock.numerator / common,
		.memory_period = machine_rate / common};
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
static struct dn_rtl_request *issuing_request(const struct dn_rtl_dma *dma)
{
	return dma->issuing < dma->request.tail ? dn_rtl_fifo_at(&dma->request, dma->issuing) : NULL;
}

static struct dn_rtl_buffer *buffer_of(struct dn_rtl *rtl, int dma_id)
{
	return dma_id == DN_DMA_SB ? &rtl->sb : &rtl->nbin;
}

static bool has_ready_request(const struct dn_rtl *rtl, int dma_id)
{
	const struct dn_rtl_request *request = issuing_request(&rtl->dma[dma_id]);
	const struct dn_rtl_buffer *buffer = dma_id == DN_DMA_SB ? &rtl->sb : &rtl->nbin;
	if (!request)
		return false;
	if (dma_id == DN_DMA_NBOUT)
		return request->filled_bytes == request->bytes;
	return request->rows <= buffer->rows - (buffer->rows_taken - buffer->rows_freed);
}

/* Returns the DMA that has the port or may have it now; -1: none. */
static int granted_dma(const struct dn_rtl *rtl)
{
	const struct dn_rtl_port *port = &rtl->port;
	if (port->owner >= 0)
		return port->owner;
	if (npl_memory_now(port->memory) < port->kept_until)
		return -1;
	for (int i = 0; i < DN_DMAS; i++)
		if (has_ready_request(rtl, (port->round_robin + i) % DN_DMAS))
			return (port->round_robin + i) % DN_DMAS;
	return -1;
}

/* Returns the bytes of the request's next access. */
static uint64_t access_of(const struct dn_rtl *rtl, int dma_id, const struct dn_rtl_request *request)
{
	const uint64_t access = rtl->port.access_bytes, burst = (uint64_t)rtl->config->dma_burst_bytes;
	const uint64_t bytes_left = request->bytes - request->issued_bytes, row = (uint64_t)rtl->sb_row_bytes;
	if (access)
		return npl_min_u64(bytes_left, access - (request->address + request->issued_bytes) % access);
	if (dma_id != DN_DMA_SB)
		return npl_min_u64(bytes_left, burst - request->issued_bytes % burst);
	const uint64_t in_row = request->issued_bytes % row;
	return npl_min_u64(row - in_row, burst - in_row % burst);
}

static void begin_request(struct dn_rtl *rtl, int dma_id, const struct dn_rtl_request *request)
{
	struct dn_rtl_port *port = &rtl->port;
	port->owner = dma_id;
	port->round_robin = (dma_id + 1) % DN_DMAS;
	port->kept_until = npl_memory_now(port->memory) + port->request_cycles;
	if (dma_id != DN_DMA_NBOUT)
		buffer_of(rtl, dma_id)->rows_taken += request->rows;
}

/* Asks for the next access of the DMA that has the port. Returns false where there is none, or memory refuses it. */
static bool issue_access(struct dn_rtl *rtl)
{
	struct dn_rtl_port *port = &rtl->port;
	const int dma_id = granted_dma(rtl);
	if (dma_id < 0)
		return false;
	struct dn_rtl_dma *dma = &rtl->dma[dma_id];
	struct dn_rtl_request *request = issuing_request(dma);
	const struct npl_memory_request next = {.address = request->address + request->issued_bytes,
						.bytes = access_of(rtl, dma_id, request),
						.tag = dma->access.tail * TAG_DMAS + (uint64_t)dma_id,
						.is_write = dma_id == DN_DMA_NBOUT};
	if (!npl_memory_can_accept(port->memory, &next))
		return false;
	struct dn_rtl_access *access = dn_rtl_fifo_push(&dma->access);
	if (!access) {
		rtl->rc = npl_fail(rtl->err, NPL_ENOMEM, "out of memory for the DMAs of the rtl engine");
		return false;
	}
	access->bytes = next.bytes;
	if (port->owner < 0)
		begin_request(rtl, dma_id, request);
	npl_memory_push(port->memory, &next);
	request->issued_bytes += next.bytes;
	if (request->issued_bytes == request->bytes) {
		dma->issuing++;
		port->owner = -1;
	}
	rtl->progress = true;
	return true;
}

static bool take_completions(struct dn_rtl *rtl)
{
	struct npl_memory_completion completion;
	bool any_completion = false;
	while (npl_memory_completed(rtl->port.memory, &completion)) {
		const struct dn_rtl_fifo *fifo = &rtl->dma[completion.tag % TAG_DMAS].access;
		((struct dn_rtl_access *)dn_rtl_fifo_at(fifo, completion.tag / TAG_DMAS))->completed = true;
		any_completion = rtl->progress = true;
	}
	return any_completion;
}

/* Begins requests while memory takes them. Ideal memory refuses requests only while it has more answers to give than it
 * holds. */
void dn_rtl_requests_begin(struct dn_rtl *rtl)
{
	do
		while (issue_access(rtl))
			;
	while (take_completions(rtl) && !rtl->rc);
}

bool dn_rtl_memory_follows(struct dn_rtl *rtl)
{
	struct dn_rtl_port *port = &rtl->port;
	bool coincides = false;
	for (port->machine_lead += port->machine_period; port->machine_lead >= port->memory_period && !rtl->rc;) {
		npl_memory_step(port->memory);
		port->machine_lead -= port->memory_period;
		take_completions(rtl);
		coincides = port->machine_lead == 0;
		if (!coincides)
			dn_rtl_requests_begin(rtl);
	}
	return coincides;
}

/* Takes more bytes of a load, in order: the rows that they complete are there. */
static void rows_arrive(struct dn_rtl *rtl, int dma_id, const struct dn_rtl_request *request, uint64_t completed_before)
{
	struct dn_rtl_buffer *buffer = buffer_of(rtl, dma_id);
	const uint64_t row_bytes = (uint64_t)(dma_id == DN_DMA_SB ? rtl->sb_row_bytes : rtl->row_bytes);
	const uint8_t *bytes = rtl->engine_input->memory.bytes;
	uint64_t end = request->completed_bytes, row = completed_before / row_bytes * row_bytes;
	if (dma_id == DN_DMA_NBIN) { /* rows of NBin arrive all at once or not at all */
		if (end < request->bytes)
			return;
		row = 0;
	}
	for (; row < end && (dma_id == DN_DMA_NBIN || row + row_bytes <= end); row += row_bytes)
		dn_rtl_row_arrives(buffer, bytes ? bytes + request->address + row : NULL,
				   (size_t)npl_min_u64(row_bytes, request->bytes - row));
}

static void complete_request(struct dn_rtl *rtl, int dma_id, const struct dn_rtl_request *request)
{
	static const enum dn_event events[] = {DN_NBIN_ARRIVED, DN_SB_ARRIVED, DN_STORED};
	struct dn_counters *n = &rtl->outcome->counters;
	if (dma_id == DN_DMA_NBOUT) {
		if (rtl->engine_input->memory.bytes)
			dn_rtl_results_read(&rtl->nbout, request->row,
					    rtl->engine_input->memory.bytes + request->address, request->bytes);
		rtl->nbout.rows_freed += request->rows;
	}
	*(dma_id == DN_DMA_NBOUT ? &n->output_bytes
	  : dma_id == DN_DMA_SB  ? &n->synapse_bytes
				 : &n->input_bytes) += request->bytes;
	dn_rtl_tell(rtl, events[dma_id], request->index);
}

void dn_rtl_arrivals(struct dn_rtl *rtl)
{
	for (int dma_id = 0; dma_id < DN_DMAS; dma_id++) {
		struct dn_rtl_dma *dma = &rtl->dma[dma_id];
		while (!dn_rtl_fifo_empty(&dma->access)) {
			const struct dn_rtl_access *access = dn_rtl_fifo_at(&dma->access, dma->access.head);
			if (!access->completed)
				break;
			struct dn_rtl_request *request = dn_rtl_fifo_at(&dma->request, dma->request.head);
			const uint64_t completed_before = request->completed_bytes;
			request->completed_bytes += access->bytes;
			dma->access.head++;
			if (dma_id != DN_DMA_NBOUT)
				rows_arrive(rtl, dma_id, request, completed_before);
			if (request->completed_bytes == request->bytes) {
				complete_request(rtl, dma_id, request);
				dma->request.head++;
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
		if (has_ready_request(rtl, i))
			return true;
	return false;
}
