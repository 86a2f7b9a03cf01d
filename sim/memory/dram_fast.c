/* SPDX-License-Identifier: MIT
 *
 * The memory of the DRAM engine that skips (dram_fast.h): its channels, and the port before them. */
#include <stdlib.h>
#include <string.h>

#include "dram_fast.h"

struct fast {
	const struct dram_config *config;
	struct dram_mapping mapping;
	int64_t now;
	int channels;
	uint64_t pushed[DRAM_DIRECTIONS], bytes[DRAM_DIRECTIONS], completed;
	/* Whoever asks whether an access is taken pushes it next, or asks again. */
	uint64_t located;
	struct dram_place place;
	struct dram_channel channel[];
};

static void fast_reset(void *state)
{
	struct fast *m = state;
	m->now = 0;
	m->completed = 0;
	memset(m->pushed, 0, sizeof m->pushed);
	memset(m->bytes, 0, sizeof m->bytes);
	for (int i = 0; i < m->channels; i++)
		dram_channel_reset(&m->channel[i]);
}

static void fast_close(void *state)
{
	free(state);
}

static int fast_open(void *config, const struct npl_memory_options *options, struct npl_memory_info *info, void **state,
		     struct npl_err *err)
{
	struct dram_config *c = config;
	if (dram_open_config(c, options, info, err))
		return err->code;
	struct fast *m = calloc(1, sizeof *m + (size_t)c->channels * sizeof *m->channel);
	if (!m)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", info->name);
	m->config = c;
	*state = m;
	if (dram_mapping_of(c, info->name, &m->mapping, err))
		return err->code;
	m->place = dram_locate(&m->mapping, m->located);
	for (; m->channels < c->channels; m->channels++)
		dram_channel_open(&m->channel[m->channels], c);
	return 0;
}

static const struct dram_place *locate(struct fast *m, uint64_t address)
{
	if (m->located != address) {
		m->place = dram_locate(&m->mapping, address);
		m->located = address;
	}
	return &m->place;
}

static bool fast_can_accept(void *state, const struct npl_memory_request *request)
{
	struct fast *m = state;
	const struct dram_place *place = locate(m, request->address);
	const struct dram_channel *ch = &m->channel[place->channel];
	if (ch->pending == MEMORY_MAX_PENDING)
		return false;
	if (request->is_write)
		return ch->waiting[DRAM_WRITE] < m->config->write_queue;
	return ch->waiting[DRAM_READ] < m->config->read_queue || dram_channel_writes(ch, place);
}

static void fast_push(void *state, const struct npl_memory_request *request)
{
	struct fast *m = state;
	const struct dram_place *place = locate(m, request->address);
	const int direction = request->is_write ? DRAM_WRITE : DRAM_READ;
	struct dram_channel *ch = &m->channel[place->channel];
	m->pushed[direction]++;
	m->bytes[direction] += request->bytes;
	if (!request->is_write && dram_channel_writes(ch, place))
		dram_channel_forward(ch, m->now, request->tag);
	else
		dram_channel_push(ch, place, direction, request->tag);
}

/* The channel whose first completion is the earliest, of those as early the first. NULL: none is known. */
static struct dram_channel *first_done(struct fast *m, uint64_t *cycle)
{
	struct dram_channel *first = NULL;
	for (int i = 0; i < m->channels; i++) {
		const struct npl_memory_completion *done = memory_ring_first(&m->channel[i].done);
		if (!done || (first && done->cycle >= *cycle))
			continue;
		first = &m->channel[i];
		*cycle = done->cycle;
	}
	return first;
}

static bool fast_completed(void *state, struct npl_memory_completion *completion)
{
	struct fast *m = state;
	uint64_t cycle;
	struct dram_channel *ch = first_done(m, &cycle);
	if (!ch || cycle > (uint64_t)m->now)
		return false;
	*completion = *memory_ring_first(&ch->done);
	ch->done.taken++;
	ch->pending--;
	m->completed++;
	return true;
}

/* The cycle of the next command of any channel. */
static int64_t next_command(struct fast *m)
{
	int64_t next = INT64_MAX;
	for (int i = 0; i < m->channels; i++) {
		struct dram_channel *ch = &m->channel[i];
		if (!ch->planned)
			dram_channel_plan(ch, m->now);
		if (ch->plan.cycle < next)
			next = ch->plan.cycle;
	}
	return next;
}

static void fast_advance(void *state, uint64_t until, unsigned stop)
{
	struct fast *m = state;
	while ((uint64_t)m->now < until) {
		uint64_t limit = until, done = 0;
		if (stop & NPL_MEMORY_COMPLETION && first_done(m, &done) && done < limit)
			limit = done;
		if (limit <= (uint64_t)m->now)
			return;
		int64_t next = next_command(m);
		if ((uint64_t)next >= limit) {
			m->now = (int64_t)limit;
			return;
		}
		bool room = false;
		for (int i = 0; i < m->channels; i++)
			if (m->channel[i].plan.cycle == next)
				room |= dram_channel_issue(&m->channel[i]);
		m->now = next + 1;
		if (room && stop & NPL_MEMORY_ROOM)
			return;
	}
}

static uint64_t fast_now(const void *state)
{
	return (uint64_t)((const struct fast *)state)->now;
}

static uint64_t fast_pending(const void *state)
{
	const struct fast *m = state;
	return m->pushed[DRAM_READ] + m->pushed[DRAM_WRITE] - m->completed;
}

static void fast_count(const void *state, struct npl_memory_counters *counters)
{
	const struct fast *m = state;
	*counters = (struct npl_memory_counters){.reads = m->pushed[DRAM_READ],
						 .writes = m->pushed[DRAM_WRITE],
						 .read_bytes = m->bytes[DRAM_READ],
						 .written_bytes = m->bytes[DRAM_WRITE]};
	for (int i = 0; i < m->channels; i++) {
		struct dram_counts count = m->channel[i].count;
		count.active_rank_cycles = dram_channel_active_cycles(&m->channel[i], m->now);
		dram_add_counts(counters, &count);
	}
	counters->idle_rank_cycles = (uint64_t)(m->now * m->channels * m->config->ranks) - counters->active_rank_cycles;
}

const struct memory_model memory_dram = {
	.name = "dram",
	.params = dram_params,
	.config_bytes = sizeof(struct dram_config),
	.open = fast_open,
	.close = fast_close,
	.reset = fast_reset,
	.can_accept = fast_can_accept,
	.push = fast_push,
	.advance = fast_advance,
	.now = fast_now,
	.pending = fast_pending,
	.completed = fast_completed,
	.count = fast_count,
	.energy = dram_energy,
};
