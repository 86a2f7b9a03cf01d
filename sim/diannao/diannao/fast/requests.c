/* SPDX-License-Identifier: MIT
 *
 * Takes loads and stores through the DMAs (fast.h). A load goes to its DMA when the buffer has room for it, a store
 * when its results are in NBout. The DMAs decide the order of the three. Each row of SB is a descriptor, as rows arrive
 * one by one. */
#include <inttypes.h>

#include "fast.h"

/* Adds a load to the ring, which always has a free place: decoding waits for one. */
void dn_fast_add_load(struct dn_fast_buffer *buffer, const struct dn_fast_load *load)
{
	buffer->load[buffer->loads_put++ & buffer->mask] = *load;
}

void dn_fast_add_store(struct dn_fast *f, const struct dn_fast_store *store)
{
	f->store[f->stores_put++ & f->store_mask] = *store;
}

/* Queues of the DMAs have no limit here, as a single SB load is many descriptors. */
static int push(struct dn_fast *f, int engine, const struct npl_dma_descriptor *descriptor)
{
	if (!npl_dma_can_push(f->dma, engine)) {
		f->descriptor_room *= 2;
		if (npl_dma_lengthen(f->dma, f->descriptor_room, f->err))
			return f->err->code;
	}
	npl_dma_push(f->dma, engine, descriptor);
	return 0;
}

/* Returns the next load, which takes its rows; NULL: there is none, or no room for it. */
static const struct dn_fast_load *next_load(struct dn_fast_buffer *b)
{
	const struct dn_fast_load *load = &b->load[b->loads_pushed & b->mask];
	if (b->loads_pushed == b->loads_put || (int64_t)(b->rows_taken + load->rows - b->rows_freed) > (int64_t)b->rows)
		return NULL;
	b->rows_taken += load->rows;
	b->loads_pushed++;
	return load;
}

static int push_nbin(struct dn_fast *f)
{
	for (const struct dn_fast_load *load; (load = next_load(&f->nbin));) {
		const struct npl_dma_descriptor all = {
			.address = load->address, .row_bytes = load->bytes, .tag = load->rows};
		if (push(f, DN_DMA_NBIN, &all))
			return f->err->code;
	}
	return 0;
}

/* Pushes the rows of SB's loads. The tag says whether a row is the last of its load. */
static int push_sb(struct dn_fast *f)
{
	for (const struct dn_fast_load *load; (load = next_load(&f->sb));)
		for (uint32_t i = 1; i <= load->rows; i++) {
			const struct npl_dma_descriptor row = {.address = load->address + (i - 1) * f->sb_row_bytes,
							       .row_bytes = f->sb_row_bytes,
							       .tag = i == load->rows,
							       .continues = i < load->rows};
			if (push(f, DN_DMA_SB, &row))
				return f->err->code;
		}
	return 0;
}

static int push_nbout(struct dn_fast *f)
{
	for (; f->stores_pushed < f->stores_put; f->stores_pushed++) {
		const struct dn_fast_store *store = &f->store[f->stores_pushed & f->store_mask];
		const struct npl_dma_descriptor all = {
			.address = store->address, .row_bytes = store->bytes, .tag = store->rows, .is_write = true};
		if (store->ready > f->now)
			return 0;
		if (push(f, DN_DMA_NBOUT, &all))
			return f->err->code;
	}
	return 0;
}

int dn_fast_push_requests(struct dn_fast *f)
{
	return push_nbin(f) || push_sb(f) || push_nbout(f) ? f->err->code : 0;
}

static void load_arrived(struct dn_fast *f, struct dn_fast_buffer *b, enum dn_event event)
{
	dn_fast_tell(f, event, b->load[b->loads_arrived++ & b->mask].index, f->now);
}

void dn_fast_take_arrivals(struct dn_fast *f)
{
	struct npl_memory_completion c;
	while (npl_dma_completed(f->dma, DN_DMA_NBIN, &c)) {
		f->nbin.rows_arrived += c.tag;
		load_arrived(f, &f->nbin, DN_NBIN_ARRIVED);
	}
	while (npl_dma_completed(f->dma, DN_DMA_SB, &c)) {
		f->sb.rows_arrived++;
		if (c.tag)
			load_arrived(f, &f->sb, DN_SB_ARRIVED);
	}
	while (npl_dma_completed(f->dma, DN_DMA_NBOUT, &c)) {
		f->free_result_rows += c.tag;
		dn_fast_tell(f, DN_STORED, f->store[f->stores_completed++ & f->store_mask].index, f->now);
	}
}
