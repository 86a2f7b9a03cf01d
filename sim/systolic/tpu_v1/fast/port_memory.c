/* SPDX-License-Identifier: MIT
 *
 * The fast engine's weight memory behind the memory port (npulab/memory.h). The memory goes ahead of the schedule as
 * far as is known what is asked of it: from the cycle in which a transfer may begin until the memory has taken the last
 * access of the transfer. It goes further only when nothing else can be resolved: whatever may begin then waits, in the
 * end, for a transfer under way. */
#include "fast.h"

#include <stdlib.h>

int tpu_fast_port_open(struct tpu_fast_timing *timing, struct npl_memory *weights, struct npl_err *err)
{
	struct tpu_fast_port *port = &timing->port;
	port->memory = weights;
	if (!weights)
		return 0;
	npl_memory_reset(weights);
	port->clock = (struct npl_hz){timing->config->clock_hz, 1};
	port->memory_clock = npl_memory_info(weights)->clock;
	port->capacity = (uint64_t)(timing->config->fifo_tiles + timing->config->parameter_tables);
	port->transfer = calloc(port->capacity, sizeof *port->transfer);
	if (port->transfer)
		return 0;
	return npl_fail(err, NPL_ENOMEM, "out of memory for transfers of weights");
}

/* The number of requests or answers handled at a time. */
enum { AT_ONCE = 64 };

/* Takes answers of the memory. Says whether a transfer arrived. */
static bool take_completions(struct tpu_fast_timing *timing)
{
	struct tpu_fast_port *port = &timing->port;
	struct npl_memory_completion completion[AT_ONCE];
	const uint64_t arrived_before = port->transfers_arrived;
	for (uint64_t n = AT_ONCE; n == AT_ONCE;) {
		n = npl_memory_take(port->memory, completion, AT_ONCE);
		struct tpu_fast_transfer *transfer = NULL; /* mostly that of the completion before */
		for (uint64_t i = 0; i < n; i++) {
			if (!transfer || completion[i].tag != completion[i - 1].tag)
				transfer = &port->transfer[completion[i].tag % port->capacity];
			transfer->accesses--;
			transfer->completion_cycle = completion[i].cycle;
		}
	}
	while (port->transfers_arrived < port->transfers_issued &&
	       !port->transfer[port->transfers_arrived % port->capacity].accesses) {
		const struct tpu_fast_transfer *first = &port->transfer[port->transfers_arrived++ % port->capacity];
		uint64_t cycle = npl_hz_ceil(first->completion_cycle, &port->memory_clock, &port->clock);
		if (cycle <= first->begin_cycle)
			cycle = first->begin_cycle + 1;
		if (cycle < port->free_cycle) /* transfers arrive in the order in which they began */
			cycle = port->free_cycle;
		port->free_cycle = cycle;
		tpu_fast_arrive(timing, first->is_table, first->job, cycle);
	}
	return port->transfers_arrived > arrived_before;
}

static void advance_to(struct tpu_fast_timing *timing, uint64_t cycle)
{
	struct tpu_fast_port *port = &timing->port;
	npl_memory_advance(port->memory, npl_hz_ceil(cycle, &port->clock, &port->memory_clock), 0);
}

/* Feeds requests as soon as the memory takes them. */
static void feed(struct tpu_fast_timing *timing, const struct npl_memory_request *requests, uint64_t n)
{
	struct npl_memory *memory = timing->port.memory;
	struct npl_memory_feed feed = {.requests = requests, .n = n};
	while (npl_memory_feed(memory, &feed), feed.n_pushed < n) {
		const uint64_t pending = npl_memory_pending(memory);
		take_completions(timing);
		if (npl_memory_pending(memory) == pending)
			npl_memory_advance(memory, UINT64_MAX / 4, NPL_MEMORY_ROOM | NPL_MEMORY_COMPLETION);
	}
}

/* Asks for the bytes of the next transfer. Returns the cycle of the machine in which memory takes the first of them. */
static uint64_t issue_transfer(struct tpu_fast_timing *timing, uint64_t address, uint64_t end)
{
	struct tpu_fast_port *port = &timing->port;
	struct npl_memory_request request[AT_ONCE];
	const uint64_t access = npl_memory_info(port->memory)->access_bytes;
	uint64_t first = 0, most = access ? access - address % access : end - address; /* bytes of the next request */
	for (uint64_t n_issued = 0, max_requests = 1; address < end; max_requests = AT_ONCE) {
		uint64_t n = 0;
		for (; n < max_requests && address < end; address += request[n++].bytes) {
			const uint64_t bytes = end - address < most ? end - address : most;
			request[n] = (struct npl_memory_request){address, bytes, port->transfers_issued, false};
			most = access;
		}
		port->transfer[port->transfers_issued % port->capacity].accesses += n;
		feed(timing, request, n);
		if (!n_issued)
			first = npl_memory_now(port->memory);
		n_issued += n;
	}
	return npl_hz_floor(first, &port->memory_clock, &port->clock);
}

bool tpu_fast_ask_weights(struct tpu_fast_timing *timing)
{
	struct tpu_fast_port *port = &timing->port;
	const uint64_t columns = (uint64_t)timing->config->columns;
	struct tpu_fast_next next;
	bool moved = false;
	while (tpu_fast_next_transfer(timing, &next)) {
		struct tpu_fast_transfer *transfer = &port->transfer[port->transfers_issued % port->capacity];
		*transfer = (struct tpu_fast_transfer){.is_table = next.is_table};
		advance_to(timing, next.ready);
		take_completions(timing);
		transfer->begin_cycle = issue_transfer(timing, next.row * columns, (next.row + next.rows) * columns);
		transfer->job = tpu_fast_begin_transfer(timing, next.is_table, transfer->begin_cycle);
		port->transfers_issued++;
		moved = true;
	}
	return take_completions(timing) || moved;
}

bool tpu_fast_await_weights(struct tpu_fast_timing *timing)
{
	struct tpu_fast_port *port = &timing->port;
	if (port->transfers_arrived == port->transfers_issued)
		return false;
	while (!take_completions(timing))
		npl_memory_advance(port->memory, UINT64_MAX / 4, NPL_MEMORY_COMPLETION);
	return true;
}

void tpu_fast_count_weight_memory(struct tpu_fast_timing *timing)
{
	if (timing->port.memory)
		advance_to(timing, timing->outcome->cycles);
	tpu_count_weight_memory(timing->port.memory, &timing->outcome->counters);
}
