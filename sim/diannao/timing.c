/* SPDX-License-Identifier: MIT
 *
 * When the tiles of a layer run. Chen et al., ASPLOS 2014, section 5.3.2: each buffer has a DMA with a queue of its
 * own, requests go out as soon as the buffer has room, far ahead of the NFU if it has much, and buffers have two ports,
 * so that the NFU reads while they load. Here a tile begins when all that it reads is there and NBout has room for what
 * it leaves; what is not read again is free at its end; its results reach NBout through the pipeline, or wait there
 * when NBout is full, and keep their rows until memory has them.
 *
 * Rooms are counted, rows have no places (the paper's NBin is circular). Cost is per tile and request. Of a wait for
 * several, the cycles in which synapses are missing count for SB, of the others those in which inputs are for NBin, the
 * rest for NBout; and so does what the last results take to leave.
 *
 * Not modelled: instructions and their decoding, a cost of each request beside its bytes. */
#include <inttypes.h>
#include <stdlib.h>

#include "schedule.h"

#define NEVER           INT64_MAX
#define LONGEST_SECONDS 400000000 /* 12 years: 4e18 cycles of the fastest clock are within 63 bits */

/* The way of the NBin or SB load of each tile that has one. */
struct loader {
	struct dn_cursor at;
	struct dn_tile tile;
	bool more;                  /* tile is one whose load is to be asked for, from `from` on */
	int64_t from;               /* NBin: of dn_next_input; SB: rows */
	int64_t free;               /* rows of the buffer */
	bool granted;               /* NBin: the rows are taken */
	uint64_t pushed, completed; /* descriptors */
	/* Loads asked for whose tile has not begun: how many descriptors must have completed. */
	uint64_t *mark;
	uint64_t mask, put, taken;
};

struct result {         /* that waits for the pipeline or for the DMA's queue */
	uint64_t ready; /* machine's boundary */
	struct npl_dma_descriptor descriptor;
};

struct timing {
	struct dn_schedule schedule;
	struct npl_memory *memory;
	struct npl_dma *dma;
	struct npl_hz machine, memory_clock;
	uint64_t longest, longest_memory; /* LONGEST_SECONDS in cycles of each */
	bool one_clock;
	struct loader load[2]; /* DN_NBIN, DN_SB */
	/* NFU: the tile that runs, or waits to */
	struct dn_cursor at;
	struct dn_tile tile;
	bool more, busy;
	uint64_t end, waited; /* boundary at which it ends; up to which waiting has been counted */
	/* NBout */
	int64_t out_free;
	struct result *result;
	uint64_t mask, put, taken, leaving, fill;
	uint64_t last; /* boundary at which the last results left */
	struct dn_counters *counters;
};

static uint64_t to_memory(const struct timing *t, uint64_t boundary)
{
	return t->one_clock ? boundary : npl_hz_ceil(boundary, &t->machine, &t->memory_clock);
}

static uint64_t to_machine(const struct timing *t, uint64_t boundary)
{
	return t->one_clock ? boundary : npl_hz_ceil(boundary, &t->memory_clock, &t->machine);
}

/* The next tile that loads something. */
static void next_load(struct timing *t, int which)
{
	struct loader *l = &t->load[which];
	do
		l->more = dn_next_tile(&t->schedule, &l->at, &l->tile);
	while (l->more && !(which == DN_SB ? l->tile.sb_rows : l->tile.nbin_rows));
	l->from = 0;
	l->granted = false;
}

static void loaded(struct timing *t, int which)
{
	struct loader *l = &t->load[which];
	l->mark[l->put++ & l->mask] = l->pushed;
	next_load(t, which);
}

/* All rows of a tile's inputs at once, as many descriptors as the queue takes. */
static void feed_nbin(struct timing *t)
{
	struct loader *l = &t->load[DN_NBIN];
	struct npl_dma_descriptor d;
	while (l->more) {
		if (!l->granted && l->free < l->tile.nbin_rows)
			return;
		if (!l->granted)
			l->free -= l->tile.nbin_rows;
		l->granted = true;
		while (npl_dma_can_push(t->dma, DN_NBIN) && dn_next_input(&t->schedule, &l->at, &l->from, &d)) {
			npl_dma_push(t->dma, DN_NBIN, &d);
			l->pushed++;
		}
		if (!npl_dma_can_push(t->dma, DN_NBIN))
			return;
		loaded(t, DN_NBIN);
	}
}

/* Synapses row by row as SB has room, but not fewer than an eighth of it at a time. */
static void feed_sb(struct timing *t)
{
	struct loader *l = &t->load[DN_SB];
	const int64_t least = t->schedule.config->sb_rows / 8;
	struct npl_dma_descriptor d;
	while (l->more && npl_dma_can_push(t->dma, DN_SB)) {
		int64_t left = l->tile.sb_rows - l->from, rows = left < l->free ? left : l->free;
		if (rows < left && (!rows || rows < least))
			return;
		dn_synapses(&t->schedule, &l->at, l->from, l->from + rows, &d);
		npl_dma_push(t->dma, DN_SB, &d);
		l->pushed++;
		l->from += rows;
		l->free -= rows;
		if (rows == left)
			loaded(t, DN_SB);
	}
}

static void feed_nbout(struct timing *t, uint64_t now)
{
	while (t->taken < t->put && npl_dma_can_push(t->dma, DN_NBOUT)) {
		struct result *r = &t->result[t->taken & t->mask];
		if (to_memory(t, r->ready) > now)
			return;
		npl_dma_push(t->dma, DN_NBOUT, &r->descriptor);
		t->taken++;
		t->leaving++;
	}
}

static bool is_there(const struct loader *l, int64_t rows)
{
	return !rows || (l->taken < l->put && l->mark[l->taken & l->mask] <= l->completed);
}

/* What the NFU waits for, or NULL. */
static uint64_t *obstacle(struct timing *t)
{
	if (!is_there(&t->load[DN_SB], t->tile.sb_rows))
		return &t->counters->wait_sb;
	if (!is_there(&t->load[DN_NBIN], t->tile.nbin_rows))
		return &t->counters->wait_nbin;
	return t->out_free < t->tile.nbout_taken ? &t->counters->wait_nbout : NULL;
}

/* Counts waiting up to this boundary; what was missing until then still is. */
static void wait_until(struct timing *t, uint64_t boundary)
{
	if (t->busy || !t->more || boundary <= t->waited)
		return;
	*obstacle(t) += boundary - t->waited;
	t->waited = boundary;
}

static void begin_tile(struct timing *t)
{
	if (t->busy || !t->more || obstacle(t))
		return;
	t->load[DN_NBIN].taken += t->tile.nbin_rows > 0;
	t->load[DN_SB].taken += t->tile.sb_rows > 0;
	t->out_free -= t->tile.nbout_taken;
	t->end = t->waited + t->tile.steps;
	t->busy = true;
}

static void end_tile(struct timing *t)
{
	t->busy = false;
	t->waited = t->end;
	t->out_free += t->tile.nbout_freed;
	t->load[DN_NBIN].free += t->tile.nbin_freed;
	t->load[DN_SB].free += t->tile.sb_freed;
	if (t->tile.nbout_left) {
		struct result *r = &t->result[t->put++ & t->mask];
		dn_results(&t->schedule, &t->at, &r->descriptor);
		r->descriptor.tag = (uint64_t)t->tile.nbout_left;
		r->ready = t->end + t->fill;
	}
	t->more = dn_next_tile(&t->schedule, &t->at, &t->tile);
}

static void take_completions(struct timing *t)
{
	struct npl_memory_completion c;
	for (int i = DN_NBIN; i <= DN_SB; i++)
		while (npl_dma_completed(t->dma, i, &c))
			t->load[i].completed++;
	while (npl_dma_completed(t->dma, DN_NBOUT, &c)) {
		t->out_free += (int64_t)c.tag;
		t->leaving--;
		t->last = to_machine(t, c.cycle);
	}
}

static uint64_t longest(const struct npl_hz *clock)
{
	return npl_hz_floor(LONGEST_SECONDS, &(struct npl_hz){1, 1}, clock);
}

static int check_length(const struct timing *t, struct npl_err *err)
{
	if (t->end <= t->longest && npl_memory_now(t->memory) <= t->longest_memory)
		return 0;
	return npl_fail(err, NPL_EINPUT,
			"the layer takes longer than %d s at %" PRId64
			" Hz and %.4g bytes/s of memory %s, expected less",
			LONGEST_SECONDS, t->machine.numerator, npl_memory_info(t->memory)->peak_bytes_per_second,
			npl_memory_info(t->memory)->name);
}

/* From event to event: a tile ends, a result is ready, a descriptor has completed. */
static int run(struct timing *t, struct npl_err *err)
{
	while (t->more || t->busy || t->put > t->taken || t->leaving) {
		uint64_t now = npl_memory_now(t->memory), until = NEVER;
		feed_nbin(t);
		feed_sb(t);
		feed_nbout(t, now);
		begin_tile(t);
		if (check_length(t, err))
			return err->code;
		if (t->busy)
			until = to_memory(t, t->end);
		if (t->taken < t->put) {
			uint64_t ready = to_memory(t, t->result[t->taken & t->mask].ready);
			if (ready > now && ready < until)
				until = ready;
		}
		if (until == NEVER && !npl_dma_pending(t->dma))
			return npl_fail(err, NPL_EINTERNAL,
					"diannao: the NFU waits for what nobody brings, at cycle %" PRIu64, t->waited);
		npl_dma_advance(t->dma, until, true);
		now = npl_memory_now(t->memory);
		while (t->busy && to_memory(t, t->end) <= now) {
			end_tile(t);
			begin_tile(t);
		}
		wait_until(t, to_machine(t, now));
		take_completions(t);
		begin_tile(t);
	}
	return 0;
}

/* The DMAs must have moved what traffic.c said. */
static int check_bytes(const struct timing *t, const struct dn_traffic *traffic, struct npl_err *err)
{
	const struct npl_dma_counters *in = npl_dma_counters(t->dma, DN_NBIN), *sb = npl_dma_counters(t->dma, DN_SB),
				      *out = npl_dma_counters(t->dma, DN_NBOUT);
	if (in->read_bytes != traffic->input_bytes || sb->read_bytes != traffic->synapse_bytes ||
	    out->written_bytes != traffic->output_bytes)
		return npl_fail(err, NPL_EINTERNAL,
				"diannao: the DMAs moved %" PRIu64 ", %" PRIu64 " and %" PRIu64
				" bytes of inputs, synapses and results, expected %" PRIu64 ", %" PRIu64
				" and %" PRIu64,
				in->read_bytes, sb->read_bytes, out->written_bytes, traffic->input_bytes,
				traffic->synapse_bytes, traffic->output_bytes);
	return 0;
}

static void count_memory(struct npl_memory *memory, struct dn_counters *counters)
{
	struct npl_memory_counters n;
	npl_memory_counters(memory, &n);
	counters->dram_reads = n.reads;
	counters->dram_writes = n.writes;
	counters->dram_row_hits = n.row_hits;
	counters->dram_activates = n.activates;
	counters->dram_refreshes = n.refreshes;
}

/* Of a ring with a place for each row: a load or a result has one at least. */
static uint64_t ring_mask(int64_t rows)
{
	uint64_t mask = 1;
	while (mask < (uint64_t)rows)
		mask = 2 * mask + 1;
	return mask;
}

static int open_timing(struct timing *t, struct npl_err *err)
{
	const struct dn_config *c = t->schedule.config;
	t->load[DN_NBIN].free = c->nbin_rows;
	t->load[DN_SB].free = c->sb_rows;
	t->out_free = c->nbout_rows + (int64_t)t->fill * t->schedule.result_rows;
	t->mask = ring_mask(t->out_free);
	t->result = malloc((t->mask + 1) * sizeof *t->result);
	for (int i = DN_NBIN; i <= DN_SB; i++) {
		t->load[i].mask = ring_mask(t->load[i].free);
		t->load[i].mark = malloc((t->load[i].mask + 1) * sizeof *t->load[i].mark);
		next_load(t, i);
	}
	t->more = dn_next_tile(&t->schedule, &t->at, &t->tile);
	if (!t->result || !t->load[DN_NBIN].mark || !t->load[DN_SB].mark)
		return npl_fail(err, NPL_ENOMEM, "diannao: out of memory");
	return 0;
}

int dn_time(const struct dn_config *config, const struct dn_work *work, const struct dn_traffic *traffic,
	    struct npl_memory *memory, struct npl_dma *dma, struct dn_counters *counters, struct npl_err *err)
{
	struct timing t = {.memory = memory,
			   .dma = dma,
			   .machine = {config->clock_hz, 1},
			   .memory_clock = npl_memory_info(memory)->clock,
			   .fill = counters->nfu_fill,
			   .counters = counters};
	t.longest = longest(&t.machine);
	t.longest_memory = longest(&t.memory_clock);
	t.one_clock = t.machine.numerator * t.memory_clock.denominator == t.memory_clock.numerator;
	dn_schedule_of(config, work, traffic, &t.schedule);
	int code = open_timing(&t, err);
	if (!code)
		code = run(&t, err);
	if (!code)
		code = check_bytes(&t, traffic, err);
	if (!code) {
		uint64_t emptied = t.end + t.fill;
		counters->wait_nbout += t.last > emptied ? t.last - emptied : 0;
		npl_memory_advance(memory, to_memory(&t, dn_cycles(counters)), 0);
		count_memory(memory, counters);
	}
	free(t.result);
	free(t.load[DN_NBIN].mark);
	free(t.load[DN_SB].mark);
	return code;
}
