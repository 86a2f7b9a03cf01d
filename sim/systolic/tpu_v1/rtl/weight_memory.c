/* SPDX-License-Identifier: MIT
 *
 * Weight memory behind the memory port (npulab/memory.h), cycle by cycle of its own clock. In each of these cycles the
 * unit asks for as many accesses of the transfer under way as the memory takes. When all are asked for, the next
 * transfer may begin. Answers come in any order; tiles and tables arrive in their order, at the first boundary of the
 * machine at or after their last answer. */
#include "rtl.h"

#include <stdlib.h>

int tpu_rtl_weight_memory_open(struct tpu_rtl_weight_memory *behind, const struct tpu_config *config,
			       struct npl_err *err)
{
	if (tpu_weight_memory_open(config, true, &behind->memory, err))
		return err->code;
	if (!behind->memory)
		return 0;
	behind->capacity = config->fifo_tiles + config->parameter_tables;
	behind->transfer = calloc((size_t)behind->capacity, sizeof *behind->transfer);
	if (!behind->transfer)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the rtl engine");
	const struct npl_hz clock = npl_memory_info(behind->memory)->clock;
	int64_t own = config->clock_hz * clock.denominator, common = npl_gcd(own, clock.numerator);
	behind->memory_period = own / common;
	behind->machine_period = clock.numerator / common;
	return 0;
}

void tpu_rtl_weight_memory_close(struct tpu_rtl_weight_memory *behind)
{
	npl_memory_close(behind->memory);
	free(behind->transfer);
}

static struct tpu_rtl_transfer *transfer_at(const struct tpu_rtl_weight_memory *behind, int64_t position)
{
	return &behind->transfer[(behind->first + position) % behind->capacity];
}

/* Finds the next access of the transfer under way, or the first access of the next transfer. Returns false where there
 * is none. */
static bool next_access(const struct tpu_rtl_weights *weights, const struct tpu_config *config, uint64_t *address)
{
	const struct tpu_rtl_weight_memory *behind = &weights->port;
	const struct tpu_rtl_transfer *last = behind->count ? transfer_at(behind, behind->count - 1) : NULL;
	if (!last || last->address == last->end)
		return tpu_rtl_weights_next(weights, config, address);
	*address = last->address;
	return true;
}

static void ask(struct tpu_rtl_weights *weights, struct tpu_rtl_context *context, struct npl_memory_request *request)
{
	struct tpu_rtl_weight_memory *behind = &weights->port;
	struct tpu_rtl_transfer *last = behind->count ? transfer_at(behind, behind->count - 1) : NULL;
	const uint64_t access = npl_memory_info(behind->memory)->access_bytes;
	if (!last || last->address == last->end) {
		last = transfer_at(behind, behind->count++);
		tpu_rtl_weights_begin(weights, context, last);
	}
	uint64_t end = access ? (last->address / access + 1) * access : last->end;
	end = end < last->end ? end : last->end;
	request->bytes = end - last->address;
	request->tag = behind->arrived + (uint64_t)behind->count - 1;
	npl_memory_push(behind->memory, request);
	last->address = end;
	last->accesses++;
}

static void take_answers(struct tpu_rtl_weight_memory *behind)
{
	struct npl_memory_completion answer;
	while (npl_memory_completed(behind->memory, &answer)) {
		struct tpu_rtl_transfer *transfer = transfer_at(behind, (int64_t)(answer.tag - behind->arrived));
		transfer->accesses--;
		transfer->answered = answer.cycle;
	}
}

/* Whether all of the transfer has come by the end of this cycle of the machine. */
static bool has_come(const struct tpu_rtl_weight_memory *behind, const struct tpu_rtl_transfer *transfer)
{
	if (transfer->address < transfer->end || transfer->accesses)
		return false;
	return transfer->answered < npl_memory_now(behind->memory) || !behind->ahead;
}

bool tpu_rtl_weight_memory_clock(struct tpu_rtl_weights *weights, struct tpu_rtl_context *context)
{
	struct tpu_rtl_weight_memory *behind = &weights->port;
	struct npl_memory_request request = {.bytes = 1};
	/* the next cycle of weight memory may be several cycles of the machine away */
	const bool changed = behind->count > 0 || next_access(weights, context->config, &request.address);
	for (behind->ahead += behind->machine_period; behind->ahead > 0; behind->ahead -= behind->memory_period) {
		while (next_access(weights, context->config, &request.address) &&
		       npl_memory_can_accept(behind->memory, &request))
			ask(weights, context, &request);
		npl_memory_step(behind->memory);
		take_answers(behind);
	}
	while (behind->count && has_come(behind, transfer_at(behind, 0))) {
		tpu_rtl_weights_arrive(weights, context, transfer_at(behind, 0));
		behind->first = (behind->first + 1) % behind->capacity;
		behind->count--;
		behind->arrived++;
	}
	return changed;
}
