/* SPDX-License-Identifier: MIT
 *
 * Weight memory behind the memory port (npulab/memory.h), cycle by cycle of its own clock. In each of these cycles the
 * unit asks for as many accesses of the transfer under way as the memory takes. When all are asked for, the next
 * transfer may begin. Answers come in any order; tiles and tables arrive in their order, at the first boundary of the
 * machine at or after their last answer. */
#include "core/base/arith.h"
#include "rtl.h"

#include <stdlib.h>

int tpu_rtl_weight_memory_open(struct tpu_rtl_weight_memory *port, const struct tpu_config *config, struct npl_err *err)
{
	if (tpu_weight_memory_open(config, true, &port->memory, err))
		return err->code;
	if (!port->memory)
		return 0;
	port->capacity = config->fifo_tiles + config->parameter_tables;
	port->transfer = calloc((size_t)port->capacity, sizeof *port->transfer);
	if (!port->transfer)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the rtl engine");
	const struct npl_hz clock = npl_memory_info(port->memory)->clock;
	int64_t machine_rate = config->clock_hz * clock.denominator, common = npl_gcd(machine_rate, clock.numerator);
	port->memory_period = machine_rate / common;
	port->machine_period = clock.numerator / common;
	return 0;
}

void tpu_rtl_weight_memory_close(struct tpu_rtl_weight_memory *port)
{
	npl_memory_close(port->memory);
	free(port->transfer);
}

static struct tpu_rtl_transfer *transfer_at(const struct tpu_rtl_weight_memory *port, int64_t position)
{
	return &port->transfer[(port->first + position) % port->capacity];
}

/* Finds the next access of the transfer under way, or the first access of the next transfer. Returns false where there
 * is none. */
static bool next_access(const struct tpu_rtl_weights *weights, const struct tpu_config *config, uint64_t *address)
{
	const struct tpu_rtl_weight_memory *port = &weights->port;
	const struct tpu_rtl_transfer *last = port->count ? transfer_at(port, port->count - 1) : NULL;
	if (!last || last->address == last->end)
		return tpu_rtl_weights_next(weights, config, address);
	*address = last->address;
	return true;
}

static void issue_access(struct tpu_rtl_weights *weights, struct tpu_rtl_context *context,
			 struct npl_memory_request *request)
{
	struct tpu_rtl_weight_memory *port = &weights->port;
	struct tpu_rtl_transfer *last = port->count ? transfer_at(port, port->count - 1) : NULL;
	const uint64_t access = npl_memory_info(port->memory)->access_bytes;
	if (!last || last->address == last->end) {
		last = transfer_at(port, port->count++);
		tpu_rtl_weights_begin(weights, context, last);
	}
	uint64_t end = access ? (last->address / access + 1) * access : last->end;
	end = end < last->end ? end : last->end;
	request->bytes = end - last->address;
	request->tag = port->n_arrived + (uint64_t)port->count - 1;
	npl_memory_push(port->memory, request);
	last->address = end;
	last->accesses++;
}

static void take_completions(struct tpu_rtl_weight_memory *port)
{
	struct npl_memory_completion completion;
	while (npl_memory_completed(port->memory, &completion)) {
		struct tpu_rtl_transfer *transfer = transfer_at(port, (int64_t)(completion.tag - port->n_arrived));
		transfer->accesses--;
		transfer->completion_cycle = completion.cycle;
	}
}

/* Says whether all of the transfer has come by the end of this cycle of the machine. */
static bool has_come(const struct tpu_rtl_weight_memory *port, const struct tpu_rtl_transfer *transfer)
{
	if (transfer->address < transfer->end || transfer->accesses)
		return false;
	return transfer->completion_cycle < npl_memory_now(port->memory) || !port->machine_lead;
}

bool tpu_rtl_weight_memory_clock(struct tpu_rtl_weights *weights, struct tpu_rtl_context *context)
{
	struct tpu_rtl_weight_memory *port = &weights->port;
	struct npl_memory_request request = {.bytes = 1};
	/* The next cycle of weight memory may be several cycles of the machine away. */
	const bool changed = port->count > 0 || next_access(weights, context->config, &request.address);
	for (port->machine_lead += port->machine_period; port->machine_lead > 0;
	     port->machine_lead -= port->memory_period) {
		while (next_access(weights, context->config, &request.address) &&
		       npl_memory_can_accept(port->memory, &request))
			issue_access(weights, context, &request);
		npl_memory_step(port->memory);
		take_completions(port);
	}
	while (port->count && has_come(port, transfer_at(port, 0))) {
		tpu_rtl_weights_arrive(weights, context, transfer_at(port, 0));
		port->first = (port->first + 1) % port->capacity;
		port->count--;
		port->n_arrived++;
	}
	return changed;
}
