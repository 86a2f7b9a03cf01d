/* SPDX-License-Identifier: MIT
 *
 * The fast engine's time (fast.h): it goes from one boundary at which something happens to the next. */
#include "fast.h"

#include <stdlib.h>

#include "core/base/refuse.h"

static uint64_t to_memory(const struct dn_fast *f, uint64_t boundary)
{
	return f->one_clock || boundary == DN_NEVER ? boundary : npl_hz_ceil(boundary, &f->machine, &f->memory_clock);
}

static uint64_t to_machine(const struct dn_fast *f, uint64_t boundary)
{
	return f->one_clock ? boundary : npl_hz_ceil(boundary, &f->memory_clock, &f->machine);
}

static bool has_ended(const struct dn_fast *f)
{
	return f->ended && f->queue_head == f->queue_tail && dn_fast_requests_ended(f);
}

/* Returns the machine's next boundary after `now` at which something happens if nothing arrives. */
static uint64_t next_event(const struct dn_fast *f)
{
	uint64_t next = dn_fast_nfu_end(f);
	if (f->queue_head == f->queue_tail && f->drained > f->now)
		next = f->drained; /* a SYNC or the end may wait for this boundary */
	if (f->fetched && f->queue_tail - f->queue_head < (uint64_t)f->config->dma_queue && dn_fast_may_decode(f))
		next = f->now + 1; /* what it waited for arrived at once */
	if (f->stores_pushed < f->stores_put) {
		const uint64_t ready = f->store[f->stores_pushed & f->store_mask].ready;
		if (ready > f->now && ready < next)
			next = ready;
	}
	/* A request that then completes at once comes after this boundary's first steps. */
	const uint64_t port_free = to_machine(f, npl_dma_kept_until(f->dma));
	return port_free > f->now && port_free < next ? port_free : next;
}

/* Takes memory to its first boundary at or after the machine's boundary `now`. What has completed by then arrives; what
 * completes between the two boundaries arrives at the machine's next one. */
static void advance_memory(struct dn_fast *f)
{
	const uint64_t until = to_memory(f, f->now),
		       last_boundary = f->one_clock ? until : npl_hz_floor(f->now, &f->machine, &f->memory_clock);
	while (npl_memory_now(f->memory) <= last_boundary) {
		dn_fast_take_arrivals(f);
		if (npl_memory_now(f->memory) == until)
			return;
		npl_dma_advance(f->dma, until, true);
	}
}

/* Goes on from a boundary at which requests have been made to the next at which something happens. */
static int advance(struct dn_fast *f)
{
	for (;;) {
		if (has_ended(f))
			return 0;
		uint64_t next = next_event(f);
		if (next == DN_NEVER && !npl_dma_pending(f->dma))
			return dn_fail_deadlock(f->now, (int64_t)f->index, f->err);
		if (npl_dma_advance(f->dma, to_memory(f, next), true)) {
			const uint64_t arrival = to_machine(f, npl_memory_now(f->memory));
			if (arrival == f->now) { /* it arrives at once */
				dn_fast_take_arrivals(f);
				continue;
			}
			next = arrival < next ? arrival : next;
		}
		dn_fast_nfu_run(f, next);
		return 0;
	}
}

static int run(struct dn_fast *f)
{
	for (;;) {
		if (dn_fast_end_and_decode(f) || dn_fast_push_requests(f))
			return f->err->code;
		const uint64_t now = f->now;
		if (advance(f))
			return f->err->code;
		if (f->now == now)
			return 0; /* the program has ended */
		if (f->now > f->longest || f->repetition.cycles > f->longest - f->now)
			return dn_fail_too_long(f->engine_input, f->err);
		advance_memory(f);
	}
}

static uint64_t ring_mask(uint64_t places)
{
	uint64_t mask = 1;
	while (mask + 1 < places)
		mask = 2 * mask + 1;
	return mask;
}

static int open_buffer(struct dn_fast *f, struct dn_fast_buffer *b, int64_t rows)
{
	b->rows = (uint64_t)rows;
	b->mask = ring_mask((uint64_t)f->config->dma_queue);
	b->load = malloc((b->mask + 1) * sizeof *b->load);
	return b->load ? 0 : npl_no_memory(f->err);
}

static int open_dma(struct dn_fast *f)
{
	const struct dn_config *c = f->config;
	f->descriptor_room = 64;
	const struct npl_dma_config dma = {.engines = DN_DMAS,
					   .queue = f->descriptor_room,
					   .burst_bytes = c->dma_burst_bytes,
					   .whole_requests = true,
					   .request_cycles = (int64_t)to_memory(f, (uint64_t)c->dma_request_cycles)};
	return npl_dma_open(f->memory, &dma, &f->dma, f->err);
}

static int open_run(struct dn_fast *f)
{
	const struct dn_config *c = f->config;
	const int64_t result_rows = c->nbout_rows - c->nbout_sum_rows;
	f->machine = (struct npl_hz){c->clock_hz, 1};
	f->memory_clock = npl_memory_info(f->memory)->clock;
	f->one_clock = f->machine.numerator * f->memory_clock.denominator == f->memory_clock.numerator;
	f->longest = npl_hz_floor(DN_MAX_SECONDS, &(struct npl_hz){1, 1}, &f->machine);
	f->row_bytes = (uint64_t)dn_row_bytes(c);
	f->sb_row_bytes = (uint64_t)dn_sb_row_bytes(c);
	f->lanes = (uint64_t)c->tn;
	f->sum_rows = (uint64_t)dn_sum_rows(c);
	f->free_result_rows = (uint64_t)(result_rows > 0 ? result_rows : 0);
	f->queue_mask = ring_mask((uint64_t)c->dma_queue);
	f->store_mask = ring_mask(f->free_result_rows + 1);
	f->queue = malloc((f->queue_mask + 1) * sizeof *f->queue);
	f->store = malloc((f->store_mask + 1) * sizeof *f->store);
	if (!f->queue || !f->store)
		return npl_no_memory(f->err);
	if (open_buffer(f, &f->nbin, c->nbin_rows) || open_buffer(f, &f->sb, c->sb_rows) || open_dma(f))
		return f->err->code;
	f->repetition.enabled = f->engine_input->stream.count_repeats && !f->engine_input->memory.bytes && f->one_clock;
	if (f->repetition.enabled && f->engine_input->observer && dn_fast_remember(f))
		return f->err->code;
	return f->engine_input->memory.bytes
		       ? dn_fast_values_open(f->engine_input, false, &f->outcome->counters, &f->values, f->err)
		       : 0;
}

static void close_run(struct dn_fast *f)
{
	dn_fast_repetition_free(f);
	dn_fast_values_close(f->values);
	npl_dma_close(f->dma);
	free(f->nbin.load);
	free(f->sb.load);
	free(f->queue);
	free(f->store);
	free(f->told);
}

static void finish(struct dn_fast *f)
{
	struct dn_outcome *outcome = f->outcome;
	outcome->cycles = f->now + f->repetition.cycles;
	npl_memory_advance(f->memory, to_memory(f, outcome->cycles), 0);
	npl_memory_counters(f->memory, &outcome->memory);
	dn_fast_repetition_count(f);
	dn_count_memory(&outcome->memory, &outcome->counters);
}

int dn_run_fast(const struct dn_engine_input *engine_input, struct dn_outcome *outcome, struct npl_err *err)
{
	struct dn_fast *f = calloc(1, sizeof *f); /* on the heap: its 70 KB are more than a small stack has */
	if (!f)
		return npl_no_memory(err);
	f->engine_input = engine_input;
	f->outcome = outcome;
	f->config = engine_input->config;
	f->err = err;
	f->memory = engine_input->port;
	*outcome = (struct dn_outcome){0};
	npl_memory_reset(engine_input->port);
	int rc = open_run(f);
	if (!rc)
		rc = run(f);
	if (!rc)
		finish(f);
	close_run(f);
	free(f);
	return rc;
}
