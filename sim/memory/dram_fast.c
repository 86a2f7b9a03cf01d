/* SPDX-License-Identifier: MIT
 *
 * The memory of the DRAM engine that skips cycles (dram_fast.h): its channels, and the port in front of them. */
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "dram_fast.h"

struct fast {
	const struct dram_config *config;
	struct dram_mapping mapping;
	int64_t now;
	int channels;
	uint64_t n_pushed[DRAM_DIRECTIONS], bytes[DRAM_DIRECTIONS], n_completed;
	/* The location of the last address asked about: the asker offers that access next, and offers a refused one
	 * again. */
	uint64_t location_address;
	struct dram_address location;
	struct dram_channel channel[];
};

static void fast_reset(void *state)
{
	struct fast *m = state;
	m->now = 0;
	m->n_completed = 0;
	memset(m->n_pushed, 0, sizeof m->n_pushed);
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
		return npl_no_memory(err);
	m->config = c;
	*state = m;
	if (dram_mapping_of(c, &m->mapping, err))
		return err->code;
	m->location = dram_locate(&m->mapping, m->location_address);
	for (; m->channels < c->channels; m->channels++)
		dram_channel_open(&m->channel[m->channels], c);
	return 0;
}

static const struct dram_address *locate(struct fast *m, uint64_t address)
{
	const uint64_t differs = m->location_address ^ address;
	if (differs & m->mapping.row_bits)
		m->location = dram_locate(&m->mapping, address);
	else if (differs)
		dram_locate_in_row(&m->mapping, address, &m->location);
	m->location_address = address;
	return &m->location;
}

/* How a channel takes a request. */
enum acceptance { NOT_ACCEPTED, INTO_QUEUE, OUT_OF_WRITES };

static inline enum acceptance acceptance_of(const struct fast *m, const struct dram_channel *ch,
					    const struct dram_address *location, bool is_write)
{
	if (ch->pending == NPL_MEMORY_MAX_PENDING)
		return NOT_ACCEPTED;
	if (is_write)
		return ch->n_waiting[DRAM_WRITE] < m->config->write_queue ? INTO_QUEUE : NOT_ACCEPTED;
	if (ch->n_waiting[DRAM_WRITE] && dram_channel_has_queued_write(ch, location))
		return OUT_OF_WRITES;
	return ch->n_waiting[DRAM_READ] < m->config->read_queue ? INTO_QUEUE : NOT_ACCEPTED;
}

static bool fast_can_accept(void *state, const struct npl_memory_request *request)
{
	struct fast *m = state;
	const struct dram_address *location = locate(m, request->address);
	return acceptance_of(m, &m->channel[location->channel], location, request->is_write) != NOT_ACCEPTED;
}

static inline void push(struct fast *m, const struct npl_memory_request *request, uint64_t tag,
			const struct dram_address *location, enum acceptance acceptance)
{
	const int direction = request->is_write ? DRAM_WRITE : DRAM_READ;
	struct dram_channel *ch = &m->channel[location->channel];
	m->n_pushed[direction]++;
	m->bytes[direction] += request->bytes;
	if (acceptance == OUT_OF_WRITES)
		dram_channel_forward(ch, m->now, tag);
	else
		dram_channel_push(ch, location, direction, tag);
}

static void fast_push(void *state, const struct npl_memory_request *request)
{
	struct fast *m = state;
	const struct dram_address *location = locate(m, request->address);
	push(m, request, request->tag, location,
	     acceptance_of(m, &m->channel[location->channel], location, request->is_write));
}

/* Returns the channel with the earliest completion, if that comes before *until; of several, the first channel. *until
 * becomes the cycle of the earliest completion of the other channels. NULL: none comes before *until. */
static struct dram_channel *first_done(struct fast *m, uint64_t *until)
{
	struct dram_channel *first = NULL;
	uint64_t cycle = *until;
	for (struct dram_channel *ch = m->channel, *end = ch + m->channels; ch < end; ch++) {
		const struct npl_memory_completion *completion = memory_ring_first(&ch->completions);
		if (!completion)
			continue;
		if (completion->cycle < cycle) {
			*until = cycle;
			cycle = completion->cycle;
			first = ch;
		} else if (completion->cycle < *until) {
			*until = completion->cycle;
		}
	}
	return first;
}

static uint64_t fast_take(void *state, struct npl_memory_completion *completions, uint64_t capacity)
{
	struct fast *m = state;
	const uint64_t end = (uint64_t)m->now + 1;
	uint64_t n = 0;
	for (uint64_t until = 0; n < capacity && until < end;) {
		until = end;
		struct dram_channel *ch = first_done(m, &until);
		if (!ch)
			break;
		const struct npl_memory_completion *completion = memory_ring_first(&ch->completions);
		do { /* takes from this channel as long as no other one has an earlier completion */
			completions[n++] = *completion;
			ch->completions.head++;
			ch->pending--;
		} while (n < capacity && (completion = memory_ring_first(&ch->completions)) &&
			 completion->cycle < until);
	}
	m->n_completed += n;
	return n;
}

/* Returns the cycle of the next command of any channel. */
static int64_t next_command(struct fast *m)
{
	int64_t next = INT64_MAX;
	for (struct dram_channel *ch = m->channel, *end = ch + m->channels; ch < end; ch++) {
		if (!ch->planned)
			dram_channel_plan(ch, m->now);
		if (ch->plan.cycle < next)
			next = ch->plan.cycle;
	}
	return next;
}

/* Returns the cycle of the first known completion, at most `until`. */
static uint64_t first_completion(const struct fast *m, uint64_t until)
{
	for (const struct dram_channel *ch = m->channel, *end = ch + m->channels; ch < end; ch++) {
		const struct npl_memory_completion *completion = memory_ring_first(&ch->completions);
		if (completion && completion->cycle < until)
			until = completion->cycle;
	}
	return until;
}

/* Counts at once all refreshes before `until` except the last ones, where channels have nothing else to do. */
static void skip_idle_refreshes(struct fast *m, uint64_t until)
{
	if (until > INT64_MAX || (int64_t)until - m->now < 4 * m->config->trefi)
		return;
	for (const struct dram_channel *ch = m->channel, *end = ch + m->channels; ch < end; ch++)
		if (!dram_channel_is_idle(ch, m->now, (int64_t)until))
			return;
	for (struct dram_channel *ch = m->channel, *end = ch + m->channels; ch < end; ch++)
		dram_channel_skip_refreshes(ch, m->now, (int64_t)until);
}

static void fast_advance(void *state, uint64_t until, unsigned stop)
{
	struct fast *m = state;
	while ((uint64_t)m->now < until) {
		const uint64_t limit = stop & NPL_MEMORY_COMPLETION ? first_completion(m, until) : until;
		if (limit <= (uint64_t)m->now)
			return;
		int64_t next = next_command(m);
		if ((uint64_t)next >= limit) {
			m->now = (int64_t)limit;
			return;
		}
		bool room = false, refreshed = false;
		for (struct dram_channel *ch = m->channel, *end = ch + m->channels; ch < end; ch++)
			if (ch->plan.cycle == next) {
				refreshed |= ch->plan.action == DRAM_DO_REFRESH;
				room |= dram_channel_issue(ch);
			}
		m->now = next + 1;
		if (__builtin_expect(refreshed, 0))
			skip_idle_refreshes(m, limit);
		if (room && stop & NPL_MEMORY_ROOM)
			return;
	}
}

static uint64_t fast_pending(const void *state)
{
	const struct fast *m = state;
	return m->n_pushed[DRAM_READ] + m->n_pushed[DRAM_WRITE] - m->n_completed;
}

/* Pushes requests until one is refused. Returns false where so many completions wait to be taken that they may be the
 * reason. */
static inline bool push_until_refused(struct fast *m, struct npl_memory_feed *feed, uint64_t max_per_cycle)
{
	for (; feed->n_pushed < feed->n && feed->n_pushed_now < max_per_cycle; feed->n_pushed++, feed->n_pushed_now++) {
		const struct npl_memory_request *request = &feed->requests[feed->n_pushed];
		const struct dram_address *location = locate(m, request->address);
		const struct dram_channel *ch = &m->channel[location->channel];
		const enum acceptance acceptance = acceptance_of(m, ch, location, request->is_write);
		if (acceptance == NOT_ACCEPTED)
			return fast_pending(m) < NPL_MEMORY_MAX_PENDING;
		push(m, request, request->tag + feed->tag_per_cycle * (uint64_t)m->now, location, acceptance);
	}
	return true;
}

static void fast_feed(void *state, struct npl_memory_feed *feed)
{
	struct fast *m = state;
	const uint64_t max_per_cycle = feed->per_cycle ? feed->per_cycle : UINT64_MAX;
	while (push_until_refused(m, feed, max_per_cycle) && feed->n_pushed < feed->n) {
		if (feed->n_pushed_now == max_per_cycle)
			fast_advance(m, (uint64_t)m->now + 1, 0);
		else
			fast_advance(m, UINT64_MAX, NPL_MEMORY_ROOM);
		feed->n_pushed_now = 0;
	}
}

static uint64_t fast_now(const void *state)
{
	return (uint64_t)((const struct fast *)state)->now;
}

static void fast_count(const void *state, struct npl_memory_counters *counters)
{
	const struct fast *m = state;
	*counters = (struct npl_memory_counters){.reads = m->n_pushed[DRAM_READ],
						 .writes = m->n_pushed[DRAM_WRITE],
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
	.feed = fast_feed,
	.advance = fast_advance,
	.now = fast_now,
	.pending = fast_pending,
	.take = fast_take,
	.count = fast_count,
	.energy = dram_energy,
};
