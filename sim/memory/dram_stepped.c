/* SPDX-License-Identifier: MIT
 *
 * DRAM that is looked at in every cycle: the rules of dram.h as they are stated there, one after the other, to be read
 * and to check the engine that skips cycles (dram_fast.c). It remembers the cycle and location of the last command of
 * each kind, and checks for every request in every cycle whether its next command may follow all of them. */
#include <stdlib.h>
#include <string.h>

#include "dram.h"

#include "core/base/arith.h"
#include "core/base/refuse.h"

#define NEVER (INT64_MIN / 2)

enum command { ACT, PRE, RD, WR, COMMANDS };

struct waiting {
	struct dram_address location;
	uint64_t tag, access;
	bool activated; /* a row was opened for it */
};

struct queue {
	struct waiting entry[DRAM_MAX_QUEUE]; /* the oldest first */
	int n;
};

/* The cycles of the last commands. */
struct bank {
	int64_t last[COMMANDS];
	int64_t open_row; /* -1: none */
};

struct group {
	int64_t last[COMMANDS];
};

struct rank {
	int64_t last[COMMANDS], last_refresh, refresh_due;
	int64_t activates[4]; /* the last four, the oldest first */
};

struct channel {
	struct bank bank[DRAM_MAX_BANKS];
	struct group group[DRAM_MAX_BANKS];
	struct rank rank[DRAM_MAX_BANKS];
	struct queue reads, writes;
	bool writing;
	int64_t last[COMMANDS]; /* anywhere on the channel */
	int64_t last_rank[COMMANDS];
	struct dram_counts count;
	struct memory_ring completions;
	int pending; /* accepted and not taken */
};

struct stepped {
	const struct dram_config *config;
	struct dram_mapping mapping;
	int64_t now;
	uint64_t access_bytes, n_pushed[2], bytes[2], n_completed;
	struct channel channel[];
};

static int64_t burst(const struct dram_config *c)
{
	return (int64_t)dram_burst_cycles(c);
}

/* Returns the first cycle in which the channel's data bus is free: bursts follow each other without a gap within a rank
 * and direction. */
static int64_t bus_free(const struct stepped *m, const struct channel *ch, enum command command, int64_t rank)
{
	const struct dram_config *c = m->config;
	const int64_t same_rank = ch->last_rank[command] == rank ? 0 : c->turnaround;
	int64_t cycle = ch->last[command] + burst(c) + same_rank;
	if (command == RD)
		return npl_max_i64(cycle, ch->last_rank[WR] == rank
						  ? NEVER
						  : ch->last[WR] + c->cwl + burst(c) + c->turnaround - c->cl);
	return npl_max_i64(cycle, ch->last[RD] + c->cl + burst(c) + c->turnaround - c->cwl);
}

/* Returns the first cycle in which timing allows the command. */
static int64_t earliest_cycle(const struct stepped *m, const struct channel *ch, enum command command,
			      const struct dram_address *location)
{
	const struct dram_config *c = m->config;
	const struct bank *bank = &ch->bank[location->bank];
	const struct rank *rank = &ch->rank[location->rank];
	const struct group *group = &ch->group[location->rank * c->bank_groups + location->group];
	int64_t cycle;
	switch (command) {
	case ACT:
		cycle = npl_max_i64(bank->last[ACT] + c->trc, bank->last[PRE] + c->trp);
		cycle = npl_max_i64(cycle, npl_max_i64(rank->last[ACT] + c->trrd_s, group->last[ACT] + c->trrd_l));
		return npl_max_i64(cycle, npl_max_i64(rank->activates[0] + c->tfaw, rank->last_refresh + c->trfc));
	case PRE:
		cycle = npl_max_i64(bank->last[ACT] + c->tras, bank->last[RD] + c->trtp);
		return npl_max_i64(cycle, bank->last[WR] + c->cwl + burst(c) + c->twr);
	case RD:
		cycle = npl_max_i64(bank->last[ACT] + c->trcd_rd, bus_free(m, ch, RD, location->rank));
		cycle = npl_max_i64(cycle, npl_max_i64(rank->last[RD] + c->tccd_s, group->last[RD] + c->tccd_l));
		return npl_max_i64(cycle, npl_max_i64(rank->last[WR] + c->twtr_s, group->last[WR] + c->twtr_l) +
						  c->cwl + burst(c));
	default:
		cycle = npl_max_i64(bank->last[ACT] + c->trcd_wr, bus_free(m, ch, WR, location->rank));
		return npl_max_i64(cycle, npl_max_i64(rank->last[WR] + c->tccd_s, group->last[WR] + c->tccd_l));
	}
}

static void note_command(struct stepped *m, struct channel *ch, enum command command,
			 const struct dram_address *location)
{
	struct rank *rank = &ch->rank[location->rank];
	ch->bank[location->bank].last[command] = m->now;
	ch->group[location->rank * m->config->bank_groups + location->group].last[command] = m->now;
	ch->last_rank[command] = location->rank;
	ch->last[command] = rank->last[command] = m->now;
	if (command == ACT) {
		memmove(rank->activates, rank->activates + 1, 3 * sizeof *rank->activates);
		rank->activates[3] = m->now;
		ch->bank[location->bank].open_row = location->row;
		ch->count.activates++;
	} else if (command == PRE) {
		ch->bank[location->bank].open_row = -1;
		ch->count.precharges++;
	}
}

/* Gives a rank that is due PRE and REF, and nothing else. Says whether there was a command. */
static bool refresh(struct stepped *m, struct channel *ch)
{
	const struct dram_config *c = m->config;
	const int64_t banks = c->bank_groups * c->banks;
	for (int64_t r = 0; r < c->ranks; r++) {
		struct rank *rank = &ch->rank[r];
		int64_t ready = rank->last_refresh + c->trfc, n_open = 0;
		if (rank->refresh_due > m->now)
			continue;
		for (int64_t b = 0; b < banks; b++) {
			struct dram_address location = {.rank = (uint32_t)r,
							.group = (uint32_t)(b / c->banks),
							.bank = (uint32_t)(r * banks + b)};
			const struct bank *bank = &ch->bank[location.bank];
			if (bank->open_row >= 0 && earliest_cycle(m, ch, PRE, &location) <= m->now) {
				note_command(m, ch, PRE, &location);
				return true;
			}
			n_open += bank->open_row >= 0;
			ready = npl_max_i64(ready, npl_max_i64(bank->last[PRE] + c->trp, bank->last[ACT] + c->trc));
		}
		if (!n_open && ready <= m->now) {
			rank->last_refresh = m->now;
			rank->refresh_due += c->trefi;
			ch->count.refreshes++;
			return true;
		}
	}
	return false;
}

static void choose_direction(const struct dram_config *c, struct channel *ch)
{
	if (!ch->writing)
		ch->writing = ch->writes.n > c->write_high || (!ch->reads.n && ch->writes.n);
	else if ((ch->writes.n < c->write_low && ch->reads.n) || !ch->writes.n)
		ch->writing = false;
}

static bool due(const struct stepped *m, const struct channel *ch, const struct waiting *w)
{
	return ch->rank[w->location.rank].refresh_due <= m->now;
}

static bool row_is_open(const struct channel *ch, const struct waiting *w)
{
	return ch->bank[w->location.bank].open_row == (int64_t)w->location.row;
}

/* Serves the oldest request whose burst can go now. Says whether there was one. */
static bool serve(struct stepped *m, struct channel *ch, struct queue *queue)
{
	const struct dram_config *c = m->config;
	const enum command command = ch->writing ? WR : RD;
	for (int i = 0; i < queue->n; i++) {
		struct waiting *w = &queue->entry[i];
		if (!row_is_open(ch, w) || due(m, ch, w) || earliest_cycle(m, ch, command, &w->location) > m->now)
			continue;
		note_command(m, ch, command, &w->location);
		ch->count.row_hits += !w->activated;
		*(command == WR ? &ch->count.write_commands : &ch->count.read_commands) += 1;
		memory_ring_add(&ch->completions, (uint64_t)(m->now + (command == WR ? c->cwl : c->cl) + burst(c)),
				w->tag);
		queue->n--;
		memmove(w, w + 1, (size_t)(queue->n - i) * sizeof *w);
		return true;
	}
	return false;
}

static bool row_is_wanted(const struct channel *ch, const struct queue *queue, uint32_t bank)
{
	for (int i = 0; i < queue->n; i++)
		if (queue->entry[i].location.bank == bank && row_is_open(ch, &queue->entry[i]))
			return true;
	return false;
}

/* Opens a row for the oldest request whose row can be opened now, or closes another row for it. */
static void prepare(struct stepped *m, struct channel *ch, struct queue *queue)
{
	for (int i = 0; i < queue->n; i++) {
		struct waiting *w = &queue->entry[i];
		bool is_open = ch->bank[w->location.bank].open_row >= 0;
		enum command command = is_open ? PRE : ACT;
		if (row_is_open(ch, w) || due(m, ch, w) || earliest_cycle(m, ch, command, &w->location) > m->now ||
		    (is_open && row_is_wanted(ch, queue, w->location.bank)))
			continue;
		w->activated |= command == ACT;
		note_command(m, ch, command, &w->location);
		return;
	}
}

static void step_channel(struct stepped *m, struct channel *ch)
{
	const struct dram_config *c = m->config;
	choose_direction(c, ch);
	struct queue *queue = ch->writing ? &ch->writes : &ch->reads;
	for (int64_t r = 0; r < c->ranks; r++) {
		bool any_open = false;
		for (int64_t b = 0; b < c->bank_groups * c->banks; b++)
			any_open |= ch->bank[r * c->bank_groups * c->banks + b].open_row >= 0;
		ch->count.active_rank_cycles += any_open;
	}
	if (!refresh(m, ch) && !serve(m, ch, queue))
		prepare(m, ch, queue);
}

static void stepped_reset(void *state)
{
	struct stepped *m = state;
	const struct dram_config *c = m->config;
	m->now = 0;
	m->n_completed = 0;
	memset(m->n_pushed, 0, sizeof m->n_pushed);
	memset(m->bytes, 0, sizeof m->bytes);
	for (int64_t i = 0; i < c->channels; i++) {
		struct channel *ch = &m->channel[i];
		memset(ch, 0, sizeof *ch);
		for (int k = 0; k < COMMANDS; k++) {
			ch->last[k] = NEVER;
			ch->last_rank[k] = -1;
			for (int b = 0; b < DRAM_MAX_BANKS; b++)
				ch->bank[b].last[k] = ch->group[b].last[k] = ch->rank[b].last[k] = NEVER;
		}
		for (int b = 0; b < DRAM_MAX_BANKS; b++) {
			ch->bank[b].open_row = -1;
			ch->rank[b].last_refresh = NEVER;
			ch->rank[b].refresh_due = c->trefi * (b + 1) / c->ranks;
			for (int k = 0; k < 4; k++)
				ch->rank[b].activates[k] = NEVER;
		}
	}
}

static void stepped_close(void *state)
{
	free(state);
}

static int stepped_open(void *config, const struct npl_memory_options *options, struct npl_memory_info *info,
			void **state, struct npl_err *err)
{
	struct dram_config *c = config;
	if (dram_open_config(c, options, info, err))
		return err->code;
	struct stepped *m = malloc(sizeof *m + (size_t)c->channels * sizeof *m->channel);
	if (!m)
		return npl_no_memory(err);
	*m = (struct stepped){.config = c, .access_bytes = dram_access_bytes(c)};
	*state = m;
	if (dram_mapping_of(c, &m->mapping, err))
		return err->code;
	stepped_reset(m);
	return 0;
}

static const struct waiting *find(const struct queue *queue, uint64_t access)
{
	for (int i = 0; i < queue->n; i++)
		if (queue->entry[i].access == access)
			return &queue->entry[i];
	return NULL;
}

static bool stepped_can_accept(void *state, const struct npl_memory_request *request)
{
	const struct stepped *m = state;
	const struct dram_address location = dram_locate(&m->mapping, request->address);
	const struct channel *ch = &m->channel[location.channel];
	if (ch->pending == NPL_MEMORY_MAX_PENDING)
		return false;
	if (request->is_write)
		return ch->writes.n < m->config->write_queue;
	return ch->reads.n < m->config->read_queue || find(&ch->writes, request->address / m->access_bytes);
}

static void stepped_push(void *state, const struct npl_memory_request *request)
{
	struct stepped *m = state;
	const struct waiting w = {.location = dram_locate(&m->mapping, request->address),
				  .tag = request->tag,
				  .access = request->address / m->access_bytes};
	struct channel *ch = &m->channel[w.location.channel];
	ch->pending++;
	m->n_pushed[request->is_write]++;
	m->bytes[request->is_write] += request->bytes;
	if (!request->is_write && find(&ch->writes, w.access)) {
		ch->count.forwarded++;
		memory_ring_add(&ch->completions, (uint64_t)m->now + 1, w.tag);
		return;
	}
	struct queue *queue = request->is_write ? &ch->writes : &ch->reads;
	queue->entry[queue->n++] = w;
}

static uint64_t served(const struct stepped *m)
{
	uint64_t n = 0;
	for (int64_t i = 0; i < m->config->channels; i++)
		n += m->channel[i].count.read_commands + m->channel[i].count.write_commands;
	return n;
}

/* Returns the channel with the earliest completion that has come; of several, the first channel. NULL: none has
 * come. */
static struct channel *first_done(struct stepped *m)
{
	struct channel *first = NULL;
	uint64_t cycle = (uint64_t)m->now + 1;
	for (int64_t i = 0; i < m->config->channels; i++) {
		const struct npl_memory_completion *completion = memory_ring_first(&m->channel[i].completions);
		if (completion && completion->cycle < cycle) {
			cycle = completion->cycle;
			first = &m->channel[i];
		}
	}
	return first;
}

static void stepped_advance(void *state, uint64_t until, unsigned stop)
{
	struct stepped *m = state;
	while ((uint64_t)m->now < until && !(stop & NPL_MEMORY_COMPLETION && first_done(m))) {
		uint64_t served_before = served(m);
		for (int64_t i = 0; i < m->config->channels; i++)
			step_channel(m, &m->channel[i]);
		m->now++;
		if (stop & NPL_MEMORY_ROOM && served(m) != served_before)
			return;
	}
}

static uint64_t stepped_now(const void *state)
{
	return (uint64_t)((const struct stepped *)state)->now;
}

static uint64_t stepped_pending(const void *state)
{
	const struct stepped *m = state;
	return m->n_pushed[0] + m->n_pushed[1] - m->n_completed;
}

static uint64_t stepped_take(void *state, struct npl_memory_completion *completions, uint64_t capacity)
{
	struct stepped *m = state;
	struct channel *ch;
	uint64_t n = 0;
	while (n < capacity && (ch = first_done(m))) {
		completions[n++] = *memory_ring_first(&ch->completions);
		ch->completions.head++;
		ch->pending--;
		m->n_completed++;
	}
	return n;
}

static void stepped_count(const void *state, struct npl_memory_counters *counters)
{
	const struct stepped *m = state;
	const struct dram_config *c = m->config;
	*counters = (struct npl_memory_counters){.reads = m->n_pushed[0],
						 .writes = m->n_pushed[1],
						 .read_bytes = m->bytes[0],
						 .written_bytes = m->bytes[1]};
	for (int64_t i = 0; i < c->channels; i++)
		dram_add_counts(counters, &m->channel[i].count);
	counters->idle_rank_cycles = (uint64_t)(m->now * c->channels * c->ranks) - counters->active_rank_cycles;
}

const struct memory_model memory_dram_stepped = {
	.name = "dram",
	.params = dram_params,
	.config_bytes = sizeof(struct dram_config),
	.open = stepped_open,
	.close = stepped_close,
	.reset = stepped_reset,
	.can_accept = stepped_can_accept,
	.push = stepped_push,
	.advance = stepped_advance,
	.now = stepped_now,
	.pending = stepped_pending,
	.take = stepped_take,
	.count = stepped_count,
	.energy = dram_energy,
};
