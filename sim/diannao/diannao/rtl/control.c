/* SPDX-License-Identifier: MIT
 *
 * The control processor (Chen et al., ASPLOS 2014, section 5.3). It decodes as far ahead as its window goes. From an
 * instruction it makes requests to the DMAs and an entry in the NFU's queue; it lets the entry at the head take its
 * steps, and ends it.
 *
 * Decoding is ahead of time: it knows by their numbers which rows will be held at the instruction's place in the
 * program, and takes rows as if all instructions before it had been done. */
#include "rtl.h"

#include <inttypes.h>
#include <stdlib.h>

int dn_rtl_control_open(struct dn_rtl *rtl)
{
	if (!dn_rtl_fifo_open(&rtl->control.queue, sizeof(struct dn_rtl_issued), (uint64_t)rtl->config->dma_queue))
		return npl_fail(rtl->err, NPL_ENOMEM, "out of memory for the queue of the rtl engine");
	return 0;
}

void dn_rtl_control_close(struct dn_rtl *rtl)
{
	free(rtl->control.queue.slot);
}

static struct dn_rtl_issued *head(const struct dn_rtl *rtl)
{
	const struct dn_rtl_fifo *queue = &rtl->control.queue;
	return dn_rtl_fifo_empty(queue) ? NULL : dn_rtl_fifo_at(queue, queue->head);
}

/* Functions that decode instructions. */

/* Says whether the instruction reads or writes sums in NBout. */
static bool has_sums(const struct dn_instruction *instruction)
{
	return dn_uses_nfu(instruction) &&
	       (instruction->nfu.in == DN_FROM_NBOUT ||
		(instruction->nfu.out == DN_TO_NBOUT && instruction->nbout.write != DN_STORE));
}

/* Returns what is wrong with the instruction, or NULL. The check of programs has excluded this; only faults by which
 * this engine would leave its own memory are looked for. */
static const char *fault_of(const struct dn_rtl *rtl, const struct dn_instruction *instruction)
{
	const struct dn_memory *memory = &rtl->engine_input->memory;
	const struct dn_rtl_control *control = &rtl->control;
	const uint64_t space = memory->bytes ? memory->size : UINT64_C(1) << DN_ADDRESS_BITS;
	const bool loads_sb = instruction->sb.op == DN_LOAD, loads_nbin = instruction->nbin.op == DN_LOAD;
	const bool stores = instruction->nbout.write == DN_STORE;
	const int64_t sums = instruction->nfu.begin ? 0 : control->sums;
	if ((loads_sb && (instruction->sb.address > space || instruction->sb.size > space - instruction->sb.address)) ||
	    (loads_nbin &&
	     (instruction->nbin.address > space || instruction->nbin.size > space - instruction->nbin.address)) ||
	    (stores && instruction->nbout.size &&
	     (instruction->nbout.address > space || instruction->nbout.size > space - instruction->nbout.address)))
		return "an address that is in memory";
	if ((loads_sb && (!instruction->sb.size || instruction->sb.size % (uint64_t)rtl->sb_row_bytes)) ||
	    (loads_nbin && !instruction->nbin.size))
		return "a load of whole rows";
	if (stores && (!dn_uses_nfu(instruction) || (instruction->nbout.size > 0) == (control->store_bytes_left > 0)))
		return "results for the store that is open";
	if (has_sums(instruction) && sums >= rtl->nbout.slots)
		return "a place for sums in NBout";
	const bool function = dn_uses_nfu(instruction) && instruction->nfu.out == DN_TO_NFU3;
	return function && instruction->nfu.nfu3 > rtl->engine_input->n_functions ? "a function of the program's table"
										  : NULL;
}

static void request(struct dn_rtl *rtl, int dma_id, uint64_t address, uint64_t bytes, int64_t rows)
{
	struct dn_rtl_request *request_slot = dn_rtl_fifo_push(&rtl->dma[dma_id].request);
	if (!request_slot) {
		rtl->rc = npl_fail(rtl->err, NPL_ENOMEM, "out of memory for the requests of the rtl engine");
		return;
	}
	request_slot->index = rtl->control.index;
	request_slot->address = address;
	request_slot->bytes = bytes;
	request_slot->rows = rows;
}

static void decode_sb(struct dn_rtl *rtl, const struct dn_instruction *instruction, struct dn_rtl_issued *issued)
{
	struct dn_rtl_held *loaded = &rtl->control.sb;
	const int64_t rows = instruction->sb.size / rtl->sb_row_bytes;
	if (instruction->sb.op == DN_READ_NOP)
		return;
	issued->sb_row = instruction->sb.op == DN_LOAD
				 ? loaded->next
				 : loaded->oldest + (int64_t)instruction->sb.address / rtl->sb_row_bytes;
	if (instruction->sb.op == DN_LOAD) {
		request(rtl, DN_DMA_SB, instruction->sb.address, instruction->sb.size, rows);
		loaded->next += rows;
	}
	if (dn_uses_nfu(instruction)) {
		issued->reads_sb = true;
		issued->steps = rows;
	}
	if (!instruction->sb.reuse && rows && (dn_uses_nfu(instruction) || instruction->sb.op == DN_READ))
		loaded->oldest = issued->sb_freed = issued->sb_row + rows;
}

static void decode_nbin(struct dn_rtl *rtl, const struct dn_instruction *instruction, struct dn_rtl_issued *issued)
{
	struct dn_rtl_held *loaded = &rtl->control.nbin;
	if (instruction->nbin.op == DN_READ_NOP)
		return;
	if (instruction->nbin.op == DN_LOAD) {
		const int64_t rows = (instruction->nbin.size + rtl->row_bytes - 1) / rtl->row_bytes;
		request(rtl, DN_DMA_NBIN, instruction->nbin.address, instruction->nbin.size, rows);
		loaded->next += rows;
	}
	const int64_t all = loaded->next - loaded->oldest;
	const int64_t begin = instruction->nbin.stride ? instruction->nbin.begin : 0,
		      end = instruction->nbin.stride ? instruction->nbin.end : all - 1;
	const int64_t stride = instruction->nbin.stride ? instruction->nbin.stride : 1;
	const int64_t rows = end < begin ? 0 : (end - begin) / stride + 1;
	issued->nbin_row = loaded->oldest + begin;
	issued->nbin_stride = stride;
	if (dn_uses_nfu(instruction)) {
		issued->reads_nbin = true;
		if (!issued->reads_sb)
			issued->steps = rows;
	}
	if (!instruction->nbin.reuse && rows && (dn_uses_nfu(instruction) || instruction->nbin.op == DN_READ))
		loaded->oldest = issued->nbin_freed = issued->nbin_row + (rows - 1) * stride + 1;
}

/* Decodes where the instruction's results go: to a new store, or to the one that is open. */
static void decode_store(struct dn_rtl *rtl, const struct dn_instruction *instruction, struct dn_rtl_bundle *bundle)
{
	struct dn_rtl_control *control = &rtl->control;
	if (instruction->nbout.write != DN_STORE)
		return;
	if (instruction->nbout.size) {
		control->store = rtl->dma[DN_DMA_NBOUT].request.tail;
		control->store_bytes_left = instruction->nbout.size;
		request(rtl, DN_DMA_NBOUT, instruction->nbout.address, instruction->nbout.size, 0);
		if (rtl->rc)
			return;
	}
	bundle->stores = true;
	bundle->store = control->store;
	bundle->wide = instruction->nfu.out == DN_TO_NBOUT && instruction->nfu.nfu2 == DN_ADD;
	bundle->rows = bundle->wide ? 2 : 1;
	bundle->lanes = (int64_t)control->store_bytes_left / (bundle->wide ? 4 : 2);
	if (bundle->lanes > rtl->tn)
		bundle->lanes = rtl->tn;
	control->store_bytes_left -= (uint64_t)bundle->lanes * (bundle->wide ? 4 : 2);
	struct dn_rtl_request *store = dn_rtl_fifo_at(&rtl->dma[DN_DMA_NBOUT].request, control->store);
	store->index = control->index;
}

static void decode_nfu(struct dn_rtl *rtl, const struct dn_instruction *instruction, struct dn_rtl_bundle *bundle)
{
	struct dn_rtl_control *control = &rtl->control;
	if (instruction->nfu.begin)
		control->sums = 0;
	*bundle = (struct dn_rtl_bundle){.present = true,
					 .nfu1 = instruction->nfu.nfu1,
					 .nfu2 = instruction->nfu.nfu2,
					 .in = instruction->nfu.in,
					 .out = instruction->nfu.out,
					 .nfu3 = instruction->nfu.nfu3,
					 .shift = instruction->nfu.shift,
					 .result_shift = instruction->nfu.result_shift,
					 .divisor = instruction->nfu.divisor,
					 .sums = control->sums};
	decode_store(rtl, instruction, bundle);
	control->sums += instruction->nfu.out != DN_TO_KEEP;
	if (instruction->nfu.end)
		control->sums = 0;
}

static void decode(struct dn_rtl *rtl)
{
	struct dn_rtl_control *control = &rtl->control;
	const struct dn_instruction *instruction = &control->next;
	const char *expected = fault_of(rtl, instruction);
	struct dn_rtl_issued *issued = expected ? NULL : dn_rtl_fifo_push(&control->queue);
	if (expected)
		rtl->rc = npl_fail(rtl->err, NPL_EINTERNAL, "instruction %" PRId64 " was not checked, expected %s",
				   control->index, expected);
	else if (!issued)
		rtl->rc = npl_fail(rtl->err, NPL_ENOMEM, "out of memory for the queue of the rtl engine");
	if (!issued)
		return;
	issued->index = control->index;
	decode_sb(rtl, instruction, issued);
	decode_nbin(rtl, instruction, issued);
	decode_nfu(rtl, instruction, &issued->bundle);
	dn_rtl_tell(rtl, DN_DECODED, control->index++);
	control->fetched = false;
	control->ended = instruction->cp.op == DN_CP_END;
	rtl->progress = true;
}

/* Says whether all decoded instructions have ended. A store that is not full is no request yet. */
static bool is_idle(const struct dn_rtl *rtl)
{
	const struct dn_rtl_fifo *stores = &rtl->dma[DN_DMA_NBOUT].request;
	return !head(rtl) && !rtl->nfu.in_flight && dn_rtl_fifo_empty(&rtl->dma[DN_DMA_NBIN].request) &&
	       dn_rtl_fifo_empty(&rtl->dma[DN_DMA_SB].request) &&
	       stores->tail - stores->head == (rtl->control.store_bytes_left > 0);
}

bool dn_rtl_has_ended(const struct dn_rtl *rtl)
{
	return rtl->control.ended && is_idle(rtl);
}

/* Says whether a DMA holds as many loads as it can. */
static bool is_full(const struct dn_rtl *rtl, int dma_id)
{
	const struct dn_rtl_fifo *requests = &rtl->dma[dma_id].request;
	return requests->tail - requests->head >= (uint64_t)rtl->config->dma_queue;
}

static bool may_decode(struct dn_rtl *rtl)
{
	struct dn_rtl_control *control = &rtl->control;
	if (control->ended || control->queue.tail - control->queue.head == (uint64_t)rtl->config->dma_queue)
		return false;
	if (!control->fetched)
		rtl->engine_input->stream.next(rtl->engine_input->stream.state, &control->next);
	control->fetched = true;
	if ((control->next.sb.op == DN_LOAD && is_full(rtl, DN_DMA_SB)) ||
	    (control->next.nbin.op == DN_LOAD && is_full(rtl, DN_DMA_NBIN)))
		return false;
	return control->next.cp.op != DN_CP_SYNC || is_idle(rtl);
}

/* Functions that end instructions and take steps. */

static bool end_head(struct dn_rtl *rtl)
{
	const struct dn_rtl_issued *issued = head(rtl);
	if (!issued || issued->steps_taken < issued->steps)
		return false;
	if (issued->nbin_freed)
		rtl->nbin.rows_freed = issued->nbin_freed;
	if (issued->sb_freed)
		rtl->sb.rows_freed = issued->sb_freed;
	dn_rtl_tell(rtl, DN_ENDED, issued->index);
	rtl->control.queue.head++;
	rtl->progress = true;
	return true;
}

void dn_rtl_end_and_decode(struct dn_rtl *rtl)
{
	for (bool changed = true; changed && !rtl->rc;) {
		changed = false;
		while (end_head(rtl))
			changed = true;
		while (!rtl->rc && may_decode(rtl)) {
			decode(rtl);
			changed = true;
		}
	}
}

/* Returns what the next step waits for; DN_CYCLES_NFU_ACTIVE: nothing. */
static enum dn_cycle_class obstacle(const struct dn_rtl *rtl, const struct dn_rtl_issued *issued)
{
	const struct dn_rtl_nbout *nbout = &rtl->nbout;
	if (issued->reads_sb && issued->sb_row >= rtl->sb.rows_arrived)
		return DN_CYCLES_WAIT_SB;
	if (issued->reads_nbin && issued->nbin_row >= rtl->nbin.rows_arrived)
		return DN_CYCLES_WAIT_NBIN;
	if (issued->bundle.stores && issued->steps_taken + 1 == issued->steps &&
	    nbout->rows_taken - nbout->rows_freed + issued->bundle.rows > nbout->result_rows)
		return DN_CYCLES_WAIT_NBOUT;
	return issued->bundle.nfu1 == DN_NFU1_NOP && rtl->nfu.in_nfu1 ? DN_CYCLES_NFU_FILL : DN_CYCLES_NFU_ACTIVE;
}

/* Takes rows of NBout for the step's results. */
static void take_rows(struct dn_rtl *rtl, struct dn_rtl_bundle *step)
{
	struct dn_rtl_request *store = dn_rtl_fifo_at(&rtl->dma[DN_DMA_NBOUT].request, step->store);
	step->row = rtl->nbout.rows_taken;
	if (!store->rows)
		store->row = step->row;
	store->rows += step->rows;
	rtl->nbout.rows_taken += step->rows;
}

/* Counts the step of this cycle, or what it waits for. */
static void count(struct dn_rtl *rtl, const struct dn_rtl_issued *issued, enum dn_cycle_class cycle_class)
{
	struct dn_counters *n = &rtl->outcome->counters;
	const uint64_t lanes = (uint64_t)(rtl->tn * rtl->tn), step = cycle_class == DN_CYCLES_NFU_ACTIVE;
	dn_rtl_attribute(rtl, cycle_class, issued->index);
	n->useful_macs += step && issued->bundle.nfu1 == DN_MULT ? lanes : 0;
	n->idle_lanes += step && issued->bundle.nfu1 != DN_MULT ? lanes : 0;
	n->nbin_rows += step && issued->reads_nbin;
	n->sb_rows += step && issued->reads_sb;
}

void dn_rtl_take_step(struct dn_rtl *rtl)
{
	struct dn_rtl_issued *issued = head(rtl);
	rtl->step.present = false;
	if (!issued) {
		dn_rtl_count_idle(rtl);
		return;
	}
	const enum dn_cycle_class cycle_class = obstacle(rtl, issued);
	count(rtl, issued, cycle_class);
	if (cycle_class != DN_CYCLES_NFU_ACTIVE)
		return;
	if (!issued->steps_taken)
		dn_rtl_tell(rtl, DN_STARTED, issued->index);
	rtl->step = issued->bundle;
	rtl->step.first = issued->steps_taken == 0;
	rtl->step.last = ++issued->steps_taken == issued->steps;
	rtl->step.stores &= rtl->step.last;
	if (rtl->step.stores)
		take_rows(rtl, &rtl->step);
	rtl->step_nbin = issued->reads_nbin ? issued->nbin_row : -1;
	rtl->step_sb = issued->reads_sb ? issued->sb_row : -1;
	issued->nbin_row += issued->nbin_stride;
	issued->sb_row++;
	rtl->nfu.in_flight++;
	rtl->stepped = true;
	rtl->last_step = rtl->cycle;
	rtl->last_stages_to_leave = (uint64_t)((issued->bundle.nfu1 != DN_NFU1_NOP ? rtl->config->nfu1_stages : 0) +
					       rtl->config->nfu2_stages +
					       (issued->bundle.out == DN_TO_NFU3 ? rtl->config->nfu3_stages : 0));
	rtl->progress = true;
}
