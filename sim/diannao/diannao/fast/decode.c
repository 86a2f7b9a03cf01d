/* SPDX-License-Identifier: MIT
 *
 * Ends and decodes instructions (fast.h): which rows by number they read and free, what they load and store. Counters
 * that do not depend on time are counted here. */
#include "fast.h"

#include "core/base/arith.h"

static uint64_t rows_of(uint64_t bytes, uint64_t row_bytes)
{
	return npl_div_up_u64(bytes, row_bytes);
}

static void append(struct dn_fast *f, struct dn_fast_buffer *b, uint64_t address, uint32_t bytes, uint64_t row_bytes)
{
	const struct dn_fast_load load = {f->index, address, bytes, (uint32_t)rows_of(bytes, row_bytes)};
	b->next += load.rows;
	dn_fast_add_load(b, &load);
}

static void decode_sb(struct dn_fast *f, const struct dn_instruction *instruction, struct dn_fast_entry *e)
{
	struct dn_fast_buffer *b = &f->sb;
	uint64_t row = b->next;
	if (instruction->sb.op == DN_LOAD) {
		f->outcome->counters.synapse_bytes += instruction->sb.size;
		append(f, b, instruction->sb.address, instruction->sb.size, f->sb_row_bytes);
	}
	if (instruction->sb.op == DN_READ)
		row = b->oldest + instruction->sb.address / f->sb_row_bytes;
	if (instruction->sb.op == DN_READ || (instruction->sb.op == DN_LOAD && dn_uses_nfu(instruction))) {
		const uint64_t rows = instruction->sb.size / f->sb_row_bytes;
		e->reads_sb = dn_uses_nfu(instruction);
		e->sb_row = row;
		e->steps = (uint32_t)rows;
		if (!instruction->sb.reuse)
			b->oldest = row + rows;
	}
	e->sb_freed = b->oldest;
}

static void decode_nbin(struct dn_fast *f, const struct dn_instruction *instruction, struct dn_fast_entry *e)
{
	struct dn_fast_buffer *b = &f->nbin;
	if (instruction->nbin.op == DN_LOAD) {
		f->outcome->counters.input_bytes += instruction->nbin.size;
		append(f, b, instruction->nbin.address, instruction->nbin.size, f->row_bytes);
	}
	if (instruction->nbin.op == DN_READ || (instruction->nbin.op == DN_LOAD && dn_uses_nfu(instruction))) {
		e->reads_nbin = dn_uses_nfu(instruction);
		e->nbin_stride = instruction->nbin.stride ? instruction->nbin.stride : 1;
		e->nbin_row = b->oldest + instruction->nbin.begin;
		e->nbin_last = instruction->nbin.stride ? b->oldest + instruction->nbin.end : b->next - 1;
		e->steps = (uint32_t)((e->nbin_last - e->nbin_row) / e->nbin_stride + 1);
		if (!instruction->nbin.reuse)
			b->oldest = e->nbin_last + 1;
	}
	e->nbin_freed = b->oldest;
}

static void decode_nbout(struct dn_fast *f, const struct dn_instruction *instruction, struct dn_fast_entry *e)
{
	struct dn_counters *n = &f->outcome->counters;
	n->nbout_rows += f->sum_rows * ((instruction->nbout.read == DN_READ) + (instruction->nbout.write == DN_WRITE));
	if (instruction->nbout.write != DN_STORE)
		return;
	if (instruction->nbout.size) {
		f->open_store.address = instruction->nbout.address;
		f->open_store.bytes = f->open_store.bytes_left = instruction->nbout.size;
		n->output_bytes += instruction->nbout.size;
	}
	const bool wide = instruction->nfu.out == DN_TO_NBOUT && instruction->nfu.nfu2 == DN_ADD;
	const uint64_t width = wide ? 4 : 2, full_bytes = f->lanes * width;
	const uint64_t bytes = f->open_store.bytes_left < full_bytes ? f->open_store.bytes_left : full_bytes;
	f->open_store.bytes_left -= bytes;
	e->result_rows = wide ? 2 : 1;
	e->completes = !f->open_store.bytes_left;
	e->store_address = f->open_store.address;
	e->store_bytes = f->open_store.bytes;
	n->nbout_rows += e->result_rows;
	n->nfu3_operations += instruction->nfu.out == DN_TO_NFU3 ? bytes / width : 0;
}

static uint8_t pipeline_stages(const struct dn_config *c, const struct dn_instruction *instruction)
{
	return (uint8_t)((instruction->nfu.nfu1 != DN_NFU1_NOP ? c->nfu1_stages : 0) + c->nfu2_stages +
			 (instruction->nfu.out == DN_TO_NFU3 ? c->nfu3_stages : 0));
}

static void decode(struct dn_fast *f)
{
	const struct dn_instruction *instruction = &f->next;
	struct dn_fast_entry *e = &f->queue[f->queue_tail++ & f->queue_mask];
	struct dn_counters *n = &f->outcome->counters;
	*e = (struct dn_fast_entry){.index = f->index};
	decode_sb(f, instruction, e);
	decode_nbin(f, instruction, e);
	if (dn_uses_nfu(instruction)) {
		const uint64_t macs = e->steps * f->lanes * f->lanes;
		*(instruction->nfu.nfu1 == DN_MULT ? &n->useful_macs : &n->idle_lanes) += macs;
		n->nbin_rows += e->reads_nbin ? e->steps : 0;
		n->sb_rows += e->reads_sb ? e->steps : 0;
		e->by_nfu1 = instruction->nfu.nfu1 != DN_NFU1_NOP;
		e->stages_to_leave = pipeline_stages(f->config, instruction);
		decode_nbout(f, instruction, e);
	} else {
		e->steps = 0;
	}
	if (f->values)
		dn_fast_values_execute(f->values, instruction);
	dn_fast_tell(f, DN_DECODED, f->index++, f->now);
	f->ended = instruction->cp.op == DN_CP_END;
	f->fetched = false;
}

bool dn_fast_requests_ended(const struct dn_fast *f)
{
	return f->drained <= f->now && f->nbin.rows_arrived == f->nbin.next && f->sb.rows_arrived == f->sb.next &&
	       f->stores_completed == f->stores_put;
}

static bool is_full(const struct dn_fast *f, const struct dn_fast_buffer *buffer)
{
	return buffer->loads_put - buffer->loads_arrived >= (uint64_t)f->config->dma_queue;
}

bool dn_fast_may_decode(const struct dn_fast *f)
{
	if ((f->next.sb.op == DN_LOAD && is_full(f, &f->sb)) || (f->next.nbin.op == DN_LOAD && is_full(f, &f->nbin)))
		return false;
	return f->next.cp.op != DN_CP_SYNC || (f->queue_head == f->queue_tail && dn_fast_requests_ended(f));
}

/* Decodes as many instructions as the queue takes. *any_decoded: whether there was one. */
static int decode_all(struct dn_fast *f, bool *any_decoded)
{
	while (!f->ended && f->queue_tail - f->queue_head < (uint64_t)f->config->dma_queue) {
		if (!f->fetched) {
			if (f->repetition.enabled && dn_fast_skip_repeats(f))
				return f->err->code;
			f->engine_input->stream.next(f->engine_input->stream.state, &f->next);
			f->fetched = true;
		}
		if (!dn_fast_may_decode(f))
			return 0;
		decode(f);
		*any_decoded = true;
	}
	return 0;
}

/* Ends the instructions at the head that have taken all their steps, if they have any. */
static void end_all(struct dn_fast *f)
{
	for (const struct dn_fast_entry *e; (e = dn_fast_head(f)) && f->head_steps == e->steps; f->head_steps = 0) {
		f->nbin.rows_freed = e->nbin_freed;
		f->sb.rows_freed = e->sb_freed;
		f->queue_head++;
		dn_fast_tell(f, DN_ENDED, e->index, f->now);
	}
}

int dn_fast_end_and_decode(struct dn_fast *f)
{
	for (bool any_decoded = true; any_decoded;) {
		any_decoded = false;
		end_all(f);
		if (decode_all(f, &any_decoded))
			return f->err->code;
	}
	return 0;
}
