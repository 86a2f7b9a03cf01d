/* SPDX-License-Identifier: MIT
 *
 * The fast engine's weight memory behind the memory port (npulab/memory.h). The memory goes ahead of the schedule as far as is
 * known what is asked of it: from the cycle in which a transfer may begin until the memory has taken the last of its accesses. Beyond
 * that it goes only when nothing else can be resolved: whatever may begin then waits, at last, for a transfer under way. */
#include "fast.h"

#include <stdlib.h>

int tpu_fast_port_open(struct tpu_fast_schedule *s, struct npl_memory *weights, struct npl_err *err)
{
	struct tpu_fast_port *port = &s->port;
	port->memory = weights;
	if (!weights)
		return 0;
	npl_memory_reset(weights);
	port->clock = (struct npl_hz){s->config->clock_hz, 1};
	port->memory_clock = npl_memory_info(weights)->clock;
	port->room = (uint64_t)(s->config->fifo_tiles + s->config->parameter_tables);
	port->transfer = calloc(port->room, sizeof *port->transfer);
	if (port->transfer)
		return 0;
	return npl_fail(err, NPL_ENOMEM, "fast engine: out of memory for transfers of weights");
}

/* Whether a transfer arrived. */
static bool take_answers(struct tpu_fast_schedule *s)
{
	struct tpu_fast_port *port = &s->port;
	struct npl_memory_completion answer;
	const uint64_t before = port->arrived;
	while (npl_memory_completed(port->memory, &answer)) {
		struct tpu_fast_transfer *of = &port->transfer[answer.tag % port->room];
		of->accesses--;
		of->answered = answer.cycle;
	}
	while (port->arrived < port->asked && !port->transfer[port->arrived % port->room].accesses) {
		const struct tpu_fast_transfer *first = &port->transfer[port->arrived++ % port->room];
		uint64_t cycle = npl_hz_ceil(first->answered, &port->memory_clock, &port->clock);
		if (cycle <= first->begun)
			cycle = first->begun + 1;
		if (cycle < port->cycle) /* they arrive in their order */
			cycle = port->cycle;
		port->cycle = cycle;
		tpu_fast_arrive(s, first->is_table, first->job, cycle);
	}
	return port->arrived > before;
}

static void advance_to(struct tpu_fast_schedule *s, uint64_t cycle)
{
	struct tpu_fast_port *port = &s->port;
	npl_memory_advance(port->memory, npl_hz_ceil(cycle, &port->clock, &port->memory_clock), 0);
}

/* Asks for the bytes of the next transfer as the memory takes them; the cycle of the machine that the first is taken in. */
static uint64_t ask(struct tpu_fast_schedule *s, uint64_t address, uint64_t end)
{
	struct tpu_fast_port *port = &s->port;
	const uint64_t access = npl_memory_info(port->memory)->access_bytes;
	struct npl_memory_request request = {.tag = port->asked};
	uint64_t first = 0;
	for (request.address = address; request.address < end; request.address += request.bytes) {
		request.bytes = end - request.address;
		if (access && request.bytes > access - request.address % access)
			request.bytes = access - request.address % access;
		while (!npl_memory_can_accept(port->memory, &request)) {
			npl_memory_advance(port->memory, UINT64_MAX / 4, NPL_MEMORY_ROOM);
			take_answers(s);
		}
		if (request.address == address)
			first = npl_memory_now(port->memory);
		port->transfer[port->asked % port->room].accesses++;
		npl_memory_push(port->memory, &request);
	}
	return npl_hz_floor(first, &port->memory_clock, &port->clock);
}

bool tpu_fast_ask_weights(struct tpu_fast_schedule *s)
{
	struct tpu_fast_port *port = &s->port;
	const uint64_t columns = (uint64_t)s->config->columns;
	struct tpu_fast_next next;
	bool moved = false;
	while (tpu_fast_next_transfer(s, &next)) {
		struct tpu_fast_transfer *transfer = &port->transfer[port->asked % port->room];
		*transfer = (struct tpu_fast_transfer){.is_table = next.is_table};
		advance_to(s, next.ready);
		take_answers(s);
		transfer->begun = ask(s, next.row * columns, (next.row + next.rows) * columns);
		transfer->job = tpu_fast_begin_transfer(s, next.is_table, transfer->begun);
		port->asked++;
		moved = true;
	}
	return take_answers(s) || moved;
}

bool tpu_fast_await_weights(struct tpu_fast_schedule *s)
{
	struct tpu_fast_port *port = &s->port;
	if (port->arrived == port->asked)
		return false;
	while (!take_answers(s))
		npl_memory_advance(port->memory, UINT64_MAX / 4, NPL_MEMORY_COMPLETION);
	return true;
}

void tpu_fast_count_weight_memory(struct tpu_fast_schedule *s)
{
	if (s->port.memory)
		advance_to(s, s->outcome->cycles);
	tpu_count_weight_memory(s->port.memory, &s->outcome->counter);
}
