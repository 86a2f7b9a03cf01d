/* SPDX-License-Identifier: MIT
 *
 * One channel of the DRAM engine that skips cycles (dram_fast.h). */
#include <string.h>

#include "dram_fast.h"

#define LONG_AGO (INT64_MIN / 4)
#define FAR_OFF  (INT64_MAX / 4)

static inline void at_least(int64_t *time, int64_t value)
{
	if (*time < value)
		*time = value;
}

static int banks_per_rank(const struct dram_config *c)
{
	return (int)(c->bank_groups * c->banks);
}

static void note_next_due(struct dram_channel *ch)
{
	ch->next_due = ch->rank[0].refresh_due;
	for (int r = 1; r < ch->config->ranks; r++)
		ch->next_due = ch->rank[r].refresh_due < ch->next_due ? ch->rank[r].refresh_due : ch->next_due;
}

void dram_channel_reset(struct dram_channel *ch)
{
	const struct dram_config *c = ch->config;
	const int per_rank = banks_per_rank(c), banks = (int)c->ranks * per_rank;
	ch->writing = ch->planned = false;
	memset(ch->n_waiting, 0, sizeof ch->n_waiting);
	memset(ch->busy_banks, 0, sizeof ch->busy_banks);
	memset(ch->waiting_writes, 0, sizeof ch->waiting_writes);
	ch->ages = 0;
	ch->pending = 0;
	ch->count = (struct dram_counts){0};
	ch->completions.head = ch->completions.tail = 0;
	for (int b = 0; b < banks; b++)
		ch->bank[b] = (struct dram_bank){
			.open_row = -1,
			.earliest_act = LONG_AGO,
			.earliest_pre = LONG_AGO,
			.earliest_column = {LONG_AGO, LONG_AGO},
			.list = {{DRAM_NONE, DRAM_NONE, DRAM_NONE}, {DRAM_NONE, DRAM_NONE, DRAM_NONE}},
			.rank = (uint8_t)(b / per_rank),
			.group = (uint8_t)(b / c->banks)};
	for (int g = 0; g < c->ranks * c->bank_groups; g++)
		ch->group[g] = (struct dram_group){LONG_AGO, {LONG_AGO, LONG_AGO}};
	for (int r = 0; r < c->ranks; r++)
		ch->rank[r] = (struct dram_rank){.earliest_act = LONG_AGO,
						 .earliest_column = {LONG_AGO, LONG_AGO},
						 .refresh_due = c->trefi * (r + 1) / c->ranks,
						 .activates = {LONG_AGO, LONG_AGO, LONG_AGO, LONG_AGO}};
	note_next_due(ch);
	ch->free = 0;
	for (int i = 0; i < 2 * DRAM_MAX_QUEUE; i++)
		ch->entry[i].next = i + 1 < 2 * DRAM_MAX_QUEUE ? (uint16_t)(i + 1) : DRAM_NONE;
}

void dram_channel_open(struct dram_channel *ch, const struct dram_config *c)
{
	ch->config = c;
	ch->burst = (int64_t)dram_burst_cycles(c);
	ch->burst_to_burst = ch->burst > c->tccd_s ? ch->burst : c->tccd_s;
	ch->read_data = c->cl + ch->burst;
	ch->write_data = c->cwl + ch->burst;
	ch->write_to_pre = ch->write_data + c->twr;
	ch->write_to_read_s = ch->write_data + c->twtr_s;
	ch->write_to_read_l = ch->write_data + c->twtr_l;
	ch->write_to_other = ch->write_data + c->turnaround - c->cl;
	ch->read_to_write = ch->read_data + c->turnaround - c->cwl;
	dram_channel_reset(ch);
}

static unsigned hash_of(uint32_t bank, uint32_t row, uint32_t column)
{
	return (column + row * 31 + bank * 57) % DRAM_FILTER;
}

bool dram_channel_has_queued_write(const struct dram_channel *ch, const struct dram_address *location)
{
	if (!ch->n_waiting[DRAM_WRITE] || !ch->waiting_writes[hash_of(location->bank, location->row, location->column)])
		return false;
	const struct dram_list *list = &ch->bank[location->bank].list[DRAM_WRITE];
	for (uint16_t i = list->first; i != DRAM_NONE; i = ch->entry[i].next)
		if (ch->entry[i].row == location->row && ch->entry[i].column == location->column)
			return true;
	return false;
}

void dram_channel_push(struct dram_channel *ch, const struct dram_address *location, int direction, uint64_t tag)
{
	struct dram_bank *bank = &ch->bank[location->bank];
	struct dram_list *list = &bank->list[direction];
	const uint16_t i = ch->free;
	struct dram_entry *entry = &ch->entry[i];
	ch->free = entry->next;
	*entry = (struct dram_entry){.tag = tag,
				     .age = ch->ages++,
				     .row = location->row,
				     .column = location->column,
				     .next = DRAM_NONE,
				     .previous = list->last,
				     .bank = (uint8_t)location->bank};
	/* Only its oldest request and its oldest hit decide for a bank. Which direction goes can change only by a
	 * request of the other direction. */
	if (list->last == DRAM_NONE) {
		list->first = i;
		ch->busy_banks[direction] |= UINT64_C(1) << location->bank;
		ch->planned = false;
	} else {
		ch->entry[list->last].next = i;
	}
	list->last = i;
	if (list->hit == DRAM_NONE && bank->open_row == (int64_t)location->row) {
		list->hit = i;
		ch->planned = false;
	}
	if (ch->writing != (direction == DRAM_WRITE))
		ch->planned = false;
	ch->n_waiting[direction]++;
	ch->pending++;
	if (direction == DRAM_WRITE)
		ch->waiting_writes[hash_of(location->bank, location->row, location->column)]++;
}

/* Takes an entry out of its list. If it was the oldest hit, the next hit after it becomes that. */
static inline void leave(struct dram_channel *ch, int direction, uint16_t i)
{
	struct dram_entry *entry = &ch->entry[i];
	struct dram_bank *bank = &ch->bank[entry->bank];
	struct dram_list *list = &bank->list[direction];
	uint16_t hit = entry->next;
	while (hit != DRAM_NONE && (int64_t)ch->entry[hit].row != bank->open_row)
		hit = ch->entry[hit].next;
	list->hit = hit;
	*(entry->previous == DRAM_NONE ? &list->first : &ch->entry[entry->previous].next) = entry->next;
	*(entry->next == DRAM_NONE ? &list->last : &ch->entry[entry->next].previous) = entry->previous;
	if (list->first == DRAM_NONE)
		ch->busy_banks[direction] &= ~(UINT64_C(1) << entry->bank);
	if (direction == DRAM_WRITE)
		ch->waiting_writes[hash_of(entry->bank, entry->row, entry->column)]--;
	ch->n_waiting[direction]--;
	entry->next = ch->free;
	ch->free = i;
}

void dram_channel_forward(struct dram_channel *ch, int64_t now, uint64_t tag)
{
	ch->count.forwarded++;
	ch->pending++;
	memory_ring_add(&ch->completions, (uint64_t)now + 1, tag);
}

static bool next_writing(const struct dram_channel *ch)
{
	const struct dram_config *c = ch->config;
	const int reads = ch->n_waiting[DRAM_READ], writes = ch->n_waiting[DRAM_WRITE];
	if (ch->writing)
		return writes && (writes >= c->write_low || !reads);
	return writes > c->write_high || (writes && !reads);
}

/* The best command so far. A candidate replaces it if it can issue earlier or, in the same cycle, comes first in order:
 * refreshes by rank and bank, then bursts by age, then row commands by age. */
struct choice {
	struct dram_plan plan;
	uint64_t order;
};

static inline void offer(struct choice *best, int64_t cycle, int action, int bank, uint64_t order)
{
	if (cycle > best->plan.cycle || (cycle == best->plan.cycle && order >= best->order))
		return;
	best->plan.cycle = cycle;
	best->plan.action = action;
	best->plan.bank = bank;
	best->order = order;
}

static inline int64_t max3(int64_t a, int64_t b, int64_t c)
{
	a = a > b ? a : b;
	return a > c ? a : c;
}

#define BURSTS (UINT64_C(1) << 62)
#define ROWS   (UINT64_C(1) << 63)

/* Offers what a rank that is due may do next. */
static void offer_refresh(const struct dram_channel *ch, int r, int64_t now, struct choice *best)
{
	const int per_rank = banks_per_rank(ch->config);
	int64_t ready = now;
	for (int b = r * per_rank; b < (r + 1) * per_rank; b++) {
		const struct dram_bank *bank = &ch->bank[b];
		if (bank->open_row >= 0)
			offer(best, bank->earliest_pre > now ? bank->earliest_pre : now, DRAM_DO_CLOSE, b, (uint64_t)b);
		at_least(&ready, bank->earliest_act);
	}
	if (!ch->rank[r].open_banks)
		offer(best, ready, DRAM_DO_REFRESH, r, (uint64_t)(r * per_rank));
}

static int64_t burst_at(const struct dram_channel *ch, const struct dram_bank *bank, int direction)
{
	return max3(bank->earliest_column[direction], ch->group[bank->group].earliest_column[direction],
		    ch->rank[bank->rank].earliest_column[direction]);
}

static void offer_bank(const struct dram_channel *ch, int b, int direction, int64_t now, struct choice *best)
{
	const struct dram_bank *bank = &ch->bank[b];
	const struct dram_list *list = &bank->list[direction];
	const struct dram_rank *rank = &ch->rank[bank->rank];
	const struct dram_group *group = &ch->group[bank->group];
	if (rank->refresh_due <= now)
		return;
	if (list->hit != DRAM_NONE) {
		int64_t cycle = burst_at(ch, bank, direction);
		offer(best, cycle > now ? cycle : now, DRAM_DO_BURST, b, BURSTS | ch->entry[list->hit].age);
	} else if (bank->open_row >= 0) {
		offer(best, bank->earliest_pre > now ? bank->earliest_pre : now, DRAM_DO_PRE, b,
		      ROWS | ch->entry[list->first].age);
	} else {
		int64_t cycle = max3(bank->earliest_act, group->earliest_act, rank->earliest_act);
		offer(best, cycle > now ? cycle : now, DRAM_DO_ACT, b, ROWS | ch->entry[list->first].age);
	}
}

void dram_channel_plan(struct dram_channel *ch, int64_t now)
{
	const struct dram_config *c = ch->config;
	ch->writing = next_writing(ch);
	const int direction = ch->writing ? DRAM_WRITE : DRAM_READ;
	for (;;) {
		struct choice best = {{FAR_OFF, DRAM_DO_NOTHING, 0}, UINT64_MAX};
		int64_t next_due = FAR_OFF;
		for (int r = 0; r < c->ranks; r++) {
			if (ch->rank[r].refresh_due <= now)
				offer_refresh(ch, r, now, &best);
			else if (ch->rank[r].refresh_due < next_due)
				next_due = ch->rank[r].refresh_due;
		}
		for (uint64_t banks_left = ch->busy_banks[direction]; banks_left; banks_left &= banks_left - 1)
			offer_bank(ch, __builtin_ctzll(banks_left), direction, now, &best);
		if (best.plan.cycle < next_due) {
			ch->plan = best.plan;
			ch->planned = true;
			return;
		}
		now = next_due; /* from there on the rank's requests wait */
	}
}

static void activate(struct dram_channel *ch, int b, int64_t t)
{
	const struct dram_config *c = ch->config;
	struct dram_bank *bank = &ch->bank[b];
	struct dram_rank *rank = &ch->rank[bank->rank];
	const int direction = ch->writing ? DRAM_WRITE : DRAM_READ;
	struct dram_entry *first = &ch->entry[bank->list[direction].first];
	first->activated = true;
	bank->open_row = first->row;
	bank->earliest_act = t + c->trc;
	bank->earliest_pre = t + c->tras;
	bank->earliest_column[DRAM_READ] = t + c->trcd_rd;
	bank->earliest_column[DRAM_WRITE] = t + c->trcd_wr;
	rank->activates[rank->oldest] = t;
	rank->oldest = (rank->oldest + 1) % 4;
	at_least(&rank->earliest_act, t + c->trrd_s);
	at_least(&rank->earliest_act, rank->activates[rank->oldest] + c->tfaw);
	at_least(&ch->group[bank->group].earliest_act, t + c->trrd_l);
	if (!rank->open_banks++)
		rank->active_since = t + 1;
	for (int d = 0; d < DRAM_DIRECTIONS; d++) {
		uint16_t i = bank->list[d].first;
		while (i != DRAM_NONE && (int64_t)ch->entry[i].row != bank->open_row)
			i = ch->entry[i].next;
		bank->list[d].hit = i;
	}
	ch->count.activates++;
}

static void precharge(struct dram_channel *ch, int b, int64_t t)
{
	struct dram_bank *bank = &ch->bank[b];
	struct dram_rank *rank = &ch->rank[bank->rank];
	bank->open_row = -1;
	bank->list[DRAM_READ].hit = bank->list[DRAM_WRITE].hit = DRAM_NONE;
	at_least(&bank->earliest_act, t + ch->config->trp);
	if (!--rank->open_banks)
		ch->count.active_rank_cycles += (uint64_t)(t + 1 - rank->active_since);
	ch->count.precharges++;
}

static void refresh(struct dram_channel *ch, int r, int64_t t)
{
	const struct dram_config *c = ch->config;
	const int per_rank = banks_per_rank(c);
	for (int b = r * per_rank; b < (r + 1) * per_rank; b++)
		at_least(&ch->bank[b].earliest_act, t + c->trfc);
	ch->rank[r].refresh_due += c->trefi;
	note_next_due(ch);
	ch->count.refreshes++;
}

/* Returns how many refreshes of the rank go out exactly when they are due, from the next one on: all those before
 * `until` but the last two. This holds if nothing else happens. It returns 0 if a bank would not be ready, or if
 * another rank is due in the same cycle. */
static int64_t lone_refreshes(const struct dram_channel *ch, int r, int64_t now, int64_t until)
{
	const struct dram_config *c = ch->config;
	const int per_rank = banks_per_rank(c);
	const struct dram_rank *rank = &ch->rank[r];
	if (rank->open_banks || rank->refresh_due < now || c->trfc > c->trefi)
		return 0;
	for (int b = r * per_rank; b < (r + 1) * per_rank; b++)
		if (ch->bank[b].earliest_act > rank->refresh_due)
			return 0;
	for (int other_rank = 0; other_rank < c->ranks; other_rank++)
		if (other_rank != r && (ch->rank[other_rank].refresh_due - rank->refresh_due) % c->trefi == 0)
			return 0;
	return until > rank->refresh_due ? (until - 1 - rank->refresh_due) / c->trefi - 1 : 0;
}

bool dram_channel_is_idle(const struct dram_channel *ch, int64_t now, int64_t until)
{
	bool idle = !ch->n_waiting[DRAM_READ] && !ch->n_waiting[DRAM_WRITE];
	for (int r = 0; r < ch->config->ranks && idle; r++)
		idle = lone_refreshes(ch, r, now, until) > 0;
	return idle;
}

void dram_channel_skip_refreshes(struct dram_channel *ch, int64_t now, int64_t until)
{
	int64_t n[DRAM_MAX_BANKS];
	for (int r = 0; r < ch->config->ranks; r++)
		n[r] = lone_refreshes(ch, r, now, until);
	for (int r = 0; r < ch->config->ranks; r++) {
		ch->rank[r].refresh_due += n[r] * ch->config->trefi;
		ch->count.refreshes += (uint64_t)n[r];
	}
	note_next_due(ch);
	ch->planned = false;
}

/* Applies the waits that a burst causes: for its group and rank, and on other ranks for the data bus. */
static inline void read_burst(struct dram_channel *ch, struct dram_bank *bank, int64_t t)
{
	const struct dram_config *c = ch->config;
	struct dram_rank *rank = &ch->rank[bank->rank];
	at_least(&bank->earliest_pre, t + c->trtp);
	at_least(&ch->group[bank->group].earliest_column[DRAM_READ], t + c->tccd_l);
	at_least(&rank->earliest_column[DRAM_READ], t + ch->burst_to_burst);
	at_least(&rank->earliest_column[DRAM_WRITE], t + ch->read_to_write);
	for (struct dram_rank *other_rank = ch->rank; other_rank < ch->rank + c->ranks; other_rank++) {
		if (other_rank == rank)
			continue;
		at_least(&other_rank->earliest_column[DRAM_READ], t + ch->burst + c->turnaround);
		at_least(&other_rank->earliest_column[DRAM_WRITE], t + ch->read_to_write);
	}
}

static inline void write_burst(struct dram_channel *ch, struct dram_bank *bank, int64_t t)
{
	const struct dram_config *c = ch->config;
	struct dram_rank *rank = &ch->rank[bank->rank];
	at_least(&bank->earliest_pre, t + ch->write_to_pre);
	at_least(&ch->group[bank->group].earliest_column[DRAM_WRITE], t + c->tccd_l);
	at_least(&ch->group[bank->group].earliest_column[DRAM_READ], t + ch->write_to_read_l);
	at_least(&rank->earliest_column[DRAM_WRITE], t + ch->burst_to_burst);
	at_least(&rank->earliest_column[DRAM_READ], t + ch->write_to_read_s);
	for (struct dram_rank *other_rank = ch->rank; other_rank < ch->rank + c->ranks; other_rank++) {
		if (other_rank == rank)
			continue;
		at_least(&other_rank->earliest_column[DRAM_WRITE], t + ch->burst + c->turnaround);
		at_least(&other_rank->earliest_column[DRAM_READ], t + ch->write_to_other);
	}
}

/* Plans the next burst after a burst of the only bank that has work: along its row there is nothing to compare. */
static inline void plan_next_burst(struct dram_channel *ch, int b, int direction)
{
	const struct dram_bank *bank = &ch->bank[b];
	if (ch->busy_banks[direction] != UINT64_C(1) << b || bank->list[direction].hit == DRAM_NONE)
		return;
	const int64_t cycle = burst_at(ch, bank, direction);
	if (next_writing(ch) != ch->writing || cycle >= ch->next_due)
		return; /* the direction is decided when the requests of the next cycle are there */
	ch->plan = (struct dram_plan){cycle, DRAM_DO_BURST, b};
	ch->planned = true;
}

static inline void serve(struct dram_channel *ch, int b, int direction, int64_t t)
{
	struct dram_bank *bank = &ch->bank[b];
	const uint16_t i = bank->list[direction].hit;
	ch->count.row_hits += !ch->entry[i].activated;
	if (direction == DRAM_WRITE) {
		write_burst(ch, bank, t);
		ch->count.write_commands++;
	} else {
		read_burst(ch, bank, t);
		ch->count.read_commands++;
	}
	memory_ring_add(&ch->completions, (uint64_t)(t + (direction == DRAM_WRITE ? ch->write_data : ch->read_data)),
			ch->entry[i].tag);
	leave(ch, direction, i);
	plan_next_burst(ch, b, direction);
}

bool dram_channel_issue(struct dram_channel *ch)
{
	const int64_t cycle = ch->plan.cycle;
	/* The plan has just been written member by member. Read as a whole it would have to wait for these stores. */
	const int bank = ch->plan.bank;
	ch->planned = false; /* the command may plan the next one */
	if (__builtin_expect(ch->plan.action == DRAM_DO_BURST, 1)) {
		if (ch->writing) /* each direction has code of its own */
			serve(ch, bank, DRAM_WRITE, cycle);
		else
			serve(ch, bank, DRAM_READ, cycle);
		return true;
	}
	if (ch->plan.action == DRAM_DO_REFRESH)
		refresh(ch, bank, cycle);
	else if (ch->plan.action == DRAM_DO_ACT)
		activate(ch, bank, cycle);
	else
		precharge(ch, bank, cycle);
	return false;
}

uint64_t dram_channel_active_cycles(const struct dram_channel *ch, int64_t now)
{
	uint64_t cycles = ch->count.active_rank_cycles;
	for (int r = 0; r < ch->config->ranks; r++)
		if (ch->rank[r].open_banks)
			cycles += (uint64_t)(now - ch->rank[r].active_since);
	return cycles;
}
