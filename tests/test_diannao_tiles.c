/* SPDX-License-Identifier: MIT
 *
 * Promise: the tiles of a layer load what they read before they run, and once; they store each result once; buffers are
 * never overfull and nothing is freed that is still read; and what the simulation does from event to event is what a
 * walk through every cycle does. */
#include <stdio.h>
#include <stdlib.h>

#include "diannao/schedule.h"
#include "diannao_fixture.h"

/* What is in the layer's part of memory from `base` on, byte by byte. */
struct map {
	uint64_t base, size;
	uint8_t *byte;
};

static struct map map_of(uint64_t base, uint64_t end)
{
	struct map m = {base, end - base, calloc(1, end > base ? end - base : 1)};
	cr_assert(m.byte);
	return m;
}

/* Marks the bytes of a descriptor, of which none was marked. */
static void mark(struct map *m, const struct npl_dma_descriptor *d, const char *what, uint64_t seed)
{
	for (uint64_t j = 0; j < (d->count[1] ? d->count[1] : 1); j++)
		for (uint64_t i = 0; i < (d->count[0] ? d->count[0] : 1); i++) {
			uint64_t at = d->address + i * (uint64_t)d->stride[0] + j * (uint64_t)d->stride[1] - m->base;
			cr_assert(at < m->size && d->row_bytes <= m->size - at, "seed %llu: %s outside",
				  (unsigned long long)seed, what);
			for (uint64_t b = at; b < at + d->row_bytes; b++)
				cr_assert_eq(m->byte[b]++, 0, "seed %llu: %s twice", (unsigned long long)seed, what);
		}
}

/* How many NBin rows the tile reads: different ones. */
struct need {
	uint8_t *seen;
	int64_t rows;
};

/* Every input value under row `row` of the window of this position has been loaded. */
static void reads(const struct dn_schedule *s, const struct dn_cursor *c, const struct map *in, int64_t position,
		  int64_t row, struct need *need, uint64_t seed)
{
	const struct dn_work *w = s->work;
	const struct npl_window *v = &w->window;
	int64_t tn = s->config->tn, tap = row / s->in_rows, part = row % s->in_rows;
	int64_t y = position / w->out[1] * v->stride[0] + tap / v->kernel[1] * v->dilation[0] - v->pad_begin[0];
	int64_t x = position % w->out[1] * v->stride[1] + tap % v->kernel[1] * v->dilation[1] - v->pad_begin[1];
	if (y < 0 || y >= w->in[0] || x < 0 || x >= w->in[1])
		return;
	int64_t first = s->sums ? part * tn : c->maps * tn;
	for (int64_t i = first; i < first + tn && i < w->ni; i++) {
		int64_t at = 2 * (((c->image * w->in[0] + y) * w->in[1] + x) * s->channels + c->group * w->ni + i);
		need->rows += i == first && !need->seen[at];
		need->seen[at] = 1;
		cr_assert(in->byte[at] && in->byte[at + 1],
			  "seed %llu: position %lld reads row %lld, which is not there", (unsigned long long)seed,
			  (long long)position, (long long)row);
	}
}

/* NBin forgets when the nest says so: at each chunk of each position, or at a new tile of columns, pass or row. */
static bool forgets(const struct dn_schedule *s, const struct dn_cursor *c)
{
	if (!s->tiles->resident)
		return c->sub == c->pass && c->row == c->chunk;
	if (c->sub != c->pass || c->x != c->first || (c->y && c->held.rows_slide))
		return false;
	return c->y || !c->pass || !c->held.all_fits;
}

static void check_tiles(const struct dn_config *config, const struct dn_case *c, uint64_t seed, int kinds[2])
{
	struct dn_work work;
	struct dn_traffic traffic;
	struct dn_counters counters = {0};
	struct dn_schedule s;
	struct dn_cursor at = {0};
	struct dn_tile tile;
	struct npl_dma_descriptor d;
	if (!dn_planned(config, c, &work, &traffic))
		return;
	dn_count(config, &work, &traffic, &counters);
	dn_schedule_of(config, &work, &traffic, &s);
	kinds[traffic.resident]++;
	struct map in = map_of(0, s.synapse_base), kernels = map_of(s.synapse_base, s.out_base),
		   out = map_of(s.out_base, s.memory_bytes);
	struct need need = {calloc(1, in.size + 1), 0};
	int64_t held[3] = {0, 0, 0}; /* rows of NBin, SB, NBout */
	uint64_t steps = 0, results = 0, rows = 0;
	while (dn_next_tile(&s, &at, &tile)) {
		held[0] += tile.nbin_rows;
		held[1] += tile.sb_rows;
		held[2] += tile.nbout_taken;
		cr_assert(held[0] <= config->nbin_rows && held[1] <= config->sb_rows && held[2] <= config->nbout_rows,
			  "seed %llu: %lld, %lld, %lld rows held", (unsigned long long)seed, (long long)held[0],
			  (long long)held[1], (long long)held[2]);
		if (forgets(&s, &at))
			memset(in.byte, 0, in.size);
		int64_t from = 0;
		while (tile.nbin_rows && dn_next_input(&s, &at, &from, &d))
			mark(&in, &d, "an input", seed);
		need.rows = 0;
		memset(need.seen, 0, in.size);
		if (traffic.resident)
			for (int64_t x = at.x; x < at.x_end; x++)
				for (int64_t r = 0; r < s.window_rows; r++)
					reads(&s, &at, &in, at.y * work.out[1] + x, r, &need, seed);
		else
			for (int64_t r = at.row; r < at.row_end; r++)
				reads(&s, &at, &in, at.position, r, &need, seed);
		cr_assert_geq(held[0], need.rows, "seed %llu: rows are freed that are still read",
			      (unsigned long long)seed);
		for (int64_t r = 0; r < tile.sb_rows; r += 3) { /* loads of up to 3 rows give the same as one */
			dn_synapses(&s, &at, r, r + 3 < tile.sb_rows ? r + 3 : tile.sb_rows, &d);
			cr_assert(d.address >= s.synapse_base && d.address + d.row_bytes <= s.out_base);
			if (!work.bias)
				cr_assert_eq(d.row_bytes % (uint64_t)dn_sb_row_bytes(config), 0);
			for (uint64_t b = d.address; b < d.address + d.row_bytes; b++)
				kernels.byte[b - s.synapse_base] = 1;
			rows += d.row_bytes;
		}
		if (tile.nbout_left) {
			dn_results(&s, &at, &d);
			mark(&out, &d, "a result", seed);
			results += d.row_bytes * d.count[0];
		}
		held[0] -= tile.nbin_freed;
		held[1] -= tile.sb_freed;
		held[2] -= tile.nbout_freed + tile.nbout_left;
		steps += tile.steps;
	}
	cr_assert_eq(steps, counters.nfu_active, "seed %llu", (unsigned long long)seed);
	cr_assert(!held[0] && !held[2] && (!held[1] || s.kept), "seed %llu: something stays", (unsigned long long)seed);
	cr_assert_eq(results, traffic.output_bytes);
	cr_assert_eq(results, out.size, "every result is stored");
	cr_assert_eq(rows, traffic.synapse_bytes);
	for (uint64_t b = 0; b < (uint64_t)(work.groups * s.groups) * s.record_bytes && counters.nfu_active; b++)
		cr_assert(kernels.byte[b], "seed %llu: a synapse is never loaded", (unsigned long long)seed);
	free(need.seen);
	free(in.byte);
	free(kernels.byte);
	free(out.byte);
}

Test(diannao_tiles, tiles_load_what_they_read_and_store_what_they_make)
{
	int kinds[2] = {0, 0};
	for (uint64_t seed = 1; seed <= 600; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
		struct dn_config config = dn_random_machine(&rng);
		struct dn_case c;
		dn_random_case(&c, &rng);
		if (c.w.shape.rank && test_range(&rng, 0, 1))
			c.y.dtype = NPL_I32;
		check_tiles(&config, &c, seed, kinds);
	}
	cr_assert(kinds[0] > 100 && kinds[1] > 100, "%d streamed, %d resident", kinds[0], kinds[1]);
}

/* The same rules once more, cycle by cycle: what sim/diannao/timing.c does from event to event, on one clock. */
struct walker {
	struct dn_tile *tile;
	struct dn_cursor *at;
	size_t tiles;
};

static struct walker walker_of(const struct dn_schedule *s)
{
	struct walker w = {0};
	struct dn_cursor at = {0};
	struct dn_tile tile;
	while (dn_next_tile(s, &at, &tile)) {
		w.tile = realloc(w.tile, (w.tiles + 1) * sizeof *w.tile);
		w.at = realloc(w.at, (w.tiles + 1) * sizeof *w.at);
		cr_assert(w.tile && w.at);
		w.tile[w.tiles] = tile;
		w.at[w.tiles++] = at;
	}
	return w;
}

struct walked_load {          /* of NBin or SB */
	size_t next;          /* tile */
	int64_t from, free;   /* in the tile's load; rows */
	bool taken;           /* NBin: rows of this load */
	uint64_t asked, came; /* descriptors */
	uint64_t *needed;     /* by tile: how many must have come; UINT64_MAX: not all asked for */
};

static void walk_loads(const struct dn_schedule *s, const struct walker *w, struct npl_dma *dma, int which,
		       struct walked_load *l)
{
	struct npl_dma_descriptor d;
	for (; l->next < w->tiles; l->next++, l->from = 0, l->taken = false) {
		const struct dn_tile *t = &w->tile[l->next];
		int64_t rows = which == DN_SB ? t->sb_rows : t->nbin_rows;
		if (rows && which == DN_NBIN && !l->taken && l->free < rows)
			return;
		if (rows && which == DN_NBIN && !l->taken) {
			l->free -= rows;
			l->taken = true;
		}
		while (rows && which == DN_NBIN) {
			int64_t before = l->from;
			if (!npl_dma_can_push(dma, which))
				return;
			if (!dn_next_input(s, &w->at[l->next], &l->from, &d)) {
				l->from = before;
				break;
			}
			npl_dma_push(dma, which, &d);
			l->asked++;
		}
		while (which == DN_SB && l->from < rows) {
			int64_t left = rows - l->from, now = left < l->free ? left : l->free;
			if (!npl_dma_can_push(dma, which) || now == 0 || (now < left && now < s->config->sb_rows / 8))
				return;
			dn_synapses(s, &w->at[l->next], l->from, l->from + now, &d);
			npl_dma_push(dma, which, &d);
			l->asked++;
			l->from += now;
			l->free -= now;
		}
		if (rows)
			l->needed[l->next] = l->asked;
	}
}

static void walk(const struct dn_config *config, const struct dn_work *work, const struct dn_traffic *traffic,
		 struct npl_memory *memory, struct npl_dma *dma, struct dn_counters *c)
{
	struct dn_schedule s;
	dn_schedule_of(config, work, traffic, &s);
	struct walker w = walker_of(&s);
	struct walked_load load[2] = {{.free = config->nbin_rows}, {.free = config->sb_rows}};
	uint64_t *ready = calloc(w.tiles + 1, sizeof *ready), end = 0, last_left = 0;
	int64_t out_free = config->nbout_rows + (int64_t)c->nfu_fill * s.result_rows;
	size_t begun = 0, ended = 0, stored = 0, left = 0, results = 0;
	for (int i = 0; i < 2; i++) {
		load[i].needed = malloc((w.tiles + 1) * sizeof *load[i].needed);
		for (size_t t = 0; t < w.tiles; t++)
			load[i].needed[t] = (i == DN_SB ? w.tile[t].sb_rows : w.tile[t].nbin_rows) ? UINT64_MAX : 0;
	}
	for (size_t t = 0; t < w.tiles; t++)
		results += w.tile[t].nbout_left > 0;
	while (ended < w.tiles || left < results) {
		uint64_t now = npl_memory_now(memory);
		struct npl_memory_completion done;
		if (ended < begun && end == now) {
			const struct dn_tile *t = &w.tile[ended];
			load[DN_NBIN].free += t->nbin_freed;
			load[DN_SB].free += t->sb_freed;
			out_free += t->nbout_freed;
			ready[ended++] = now + c->nfu_fill;
		}
		for (int i = 0; i < 2; i++)
			while (npl_dma_completed(dma, i, &done))
				load[i].came++;
		for (; npl_dma_completed(dma, DN_NBOUT, &done); left++, last_left = now)
			out_free += (int64_t)done.tag;
		walk_loads(&s, &w, dma, DN_NBIN, &load[DN_NBIN]);
		walk_loads(&s, &w, dma, DN_SB, &load[DN_SB]);
		for (; stored < ended && ready[stored] <= now; stored++) {
			struct npl_dma_descriptor d;
			if (!w.tile[stored].nbout_left)
				continue;
			if (!npl_dma_can_push(dma, DN_NBOUT))
				break;
			dn_results(&s, &w.at[stored], &d);
			d.tag = (uint64_t)w.tile[stored].nbout_left;
			npl_dma_push(dma, DN_NBOUT, &d);
		}
		if (begun == ended && begun < w.tiles) {
			const struct dn_tile *t = &w.tile[begun];
			if (load[DN_SB].came < load[DN_SB].needed[begun])
				c->wait_sb++;
			else if (load[DN_NBIN].came < load[DN_NBIN].needed[begun])
				c->wait_nbin++;
			else if (out_free < t->nbout_taken)
				c->wait_nbout++;
			else {
				out_free -= t->nbout_taken;
				end = now + t->steps;
				begun++;
			}
		}
		npl_dma_step(dma);
		cr_assert_lt(now, 10000000);
	}
	if (last_left > end + c->nfu_fill)
		c->wait_nbout += last_left - end - c->nfu_fill;
	free(w.tile);
	free(w.at);
	free(ready);
	free(load[0].needed);
	free(load[1].needed);
}

Test(diannao_tiles, events_are_cycles_walked)
{
	char path[] = "/tmp/npulab-diannao-XXXXXX.yaml";
	int fd = mkstemps(path, 5);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	cr_assert(file);
	fputs("name: far\nmodel: fixed\nbytes_per_second: 60e9\nlatency_seconds: 40e-9\n", file);
	fclose(file);
	uint64_t waited[3] = {0, 0, 0};
	for (uint64_t seed = 1; seed <= 120; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
		struct dn_config config = dn_random_machine(&rng);
		struct dn_counters event = {0}, walked;
		struct dn_work work;
		struct dn_traffic traffic;
		struct dn_case c;
		struct npl_memory *memory;
		struct npl_dma *dma;
		struct npl_err err;
		dn_random_case(&c, &rng);
		if (!dn_planned(&config, &c, &work, &traffic))
			continue;
		const struct npl_memory_options options = {.clock = {config.clock_hz, 1}};
		const struct npl_dma_config engines = {.engines = DN_ENGINES,
						       .queue = config.dma_queue,
						       .burst_bytes = config.dma_burst_bytes,
						       .request_cycles = config.dma_request_cycles};
		cr_assert_eq(npl_memory_open(seed % 3 ? path : "diannao-250gbps", &options, &memory, &err), 0, "%s",
			     err.msg);
		cr_assert_eq(npl_dma_open(memory, &engines, &dma, &err), 0, "%s", err.msg);
		dn_count(&config, &work, &traffic, &event);
		walked = event;
		cr_assert_eq(dn_time(&config, &work, &traffic, memory, dma, &event, &err), 0, "seed %llu: %s",
			     (unsigned long long)seed, err.msg);
		npl_dma_reset(dma);
		walk(&config, &work, &traffic, memory, dma, &walked);
		cr_assert(event.wait_sb == walked.wait_sb && event.wait_nbin == walked.wait_nbin &&
				  event.wait_nbout == walked.wait_nbout,
			  "seed %llu: waits %llu, %llu, %llu; walked %llu, %llu, %llu", (unsigned long long)seed,
			  (unsigned long long)event.wait_sb, (unsigned long long)event.wait_nbin,
			  (unsigned long long)event.wait_nbout, (unsigned long long)walked.wait_sb,
			  (unsigned long long)walked.wait_nbin, (unsigned long long)walked.wait_nbout);
		waited[0] += event.wait_sb > 100;
		waited[1] += event.wait_nbin > 100;
		waited[2] += event.wait_nbout > 100;
		npl_dma_close(dma);
		npl_memory_close(memory);
	}
	remove(path);
	cr_assert(waited[0] > 10 && waited[1] > 10 && waited[2] > 10, "%llu, %llu and %llu layers wait long",
		  (unsigned long long)waited[0], (unsigned long long)waited[1], (unsigned long long)waited[2]);
}
