/* SPDX-License-Identifier: MIT
 *
 * Laws that hold for any DRAM, read off the port while random memories work on random requests:
 *
 *  - what goes in comes out, once: requests, commands and completions add up, and so do the cycles of a rank;
 *  - the data bus of a channel carries one burst at a time;
 *  - refreshes come as often as they must;
 *  - on one channel of one rank counters tell which command was given in which cycle, and completions to which bank:
 *    one command a cycle, and between any two of them JEDEC's times.
 *
 * The engines' own notes of when what may come next have no part in it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/sim/dram/case.h"
#include "tests/kit/support.h"

#define SEED 0xd7a3ull

enum { REQUESTS = 600, LONG_AGO = -1000000 };
enum command { NOTHING, ACT, PRE, RD, WR, REF };

struct request {
	struct dram_case_place place;
	uint64_t done;
	bool is_write, forwarded, completed;
};

struct history {
	struct dram_config config;
	char mapping[DRAM_CASE_MAPPING];
	uint64_t seed, rng, capacity; /* cycles that there is room for */
	struct npl_memory *memory;
	struct npl_memory_counters count;
	int pushed, completed;
	struct request request[REQUESTS];
	uint8_t *command; /* by cycle */
	int *served;      /* by cycle: the request whose burst it was, or -1 */
};

#define SAY(h, format, ...)                                                                                            \
	"seed %llu at %llu: " format, (unsigned long long)(h)->seed, (unsigned long long)npl_memory_now((h)->memory),  \
		__VA_ARGS__

static uint64_t burst_of(const struct history *h)
{
	const struct dram_config *c = &h->config;
	return (uint64_t)((c->burst_length + c->transfers_per_clock - 1) / c->transfers_per_clock);
}

/* Draws one request; most requests touch few rows. */
static void push(struct history *h)
{
	const uint64_t bytes = npl_memory_info(h->memory)->access_bytes,
		       accesses = npl_memory_info(h->memory)->capacity_bytes / bytes;
	uint64_t access = (uint64_t)test_range(&h->rng, 0, test_range(&h->rng, 0, 3) ? 60 : (int64_t)accesses - 1);
	struct npl_memory_request r = {.address = access % accesses * bytes,
				       .bytes = bytes,
				       .tag = (uint64_t)h->pushed,
				       .is_write = test_range(&h->rng, 0, 9) < 3};
	if (!npl_memory_can_accept(h->memory, &r))
		return;
	const uint64_t before = h->count.forwarded;
	npl_memory_push(h->memory, &r);
	npl_memory_counters(h->memory, &h->count);
	h->request[h->pushed] = (struct request){.place = dram_case_locate(&h->config, r.address),
						 .is_write = r.is_write,
						 .done = npl_memory_now(h->memory) + 1,
						 .forwarded = h->count.forwarded != before};
	cr_assert(!r.is_write || !h->request[h->pushed].forwarded, SAY(h, "a write, %d, is forwarded", h->pushed));
	h->pushed++;
}

static void take(struct history *h)
{
	for (struct npl_memory_completion completion; npl_memory_completed(h->memory, &completion); h->completed++) {
		struct request *r = &h->request[completion.tag];
		cr_assert(completion.tag < (uint64_t)h->pushed && !r->completed,
			  SAY(h, "%d comes twice", (int)completion.tag));
		cr_assert_leq(completion.cycle, npl_memory_now(h->memory),
			      SAY(h, "%d comes early", (int)completion.tag));
		cr_assert(!r->forwarded || completion.cycle == r->done,
			  SAY(h, "%d is forwarded late", (int)completion.tag));
		r->done = completion.cycle;
		r->completed = true;
	}
}

/* The command of the cycle that has passed, by what it counted. */
static void note(struct history *h, uint64_t cycle)
{
	struct npl_memory_counters now;
	npl_memory_counters(h->memory, &now);
	const uint64_t n_commands[] = {[ACT] = now.activates - h->count.activates,
				       [PRE] = now.precharges - h->count.precharges,
				       [RD] = now.read_commands - h->count.read_commands,
				       [WR] = now.write_commands - h->count.write_commands,
				       [REF] = now.refreshes - h->count.refreshes};
	uint64_t all = 0;
	for (int k = ACT; k <= REF; k++) {
		all += n_commands[k];
		if (n_commands[k])
			h->command[cycle] = (uint8_t)k;
	}
	cr_assert_leq(all, 1, SAY(h, "%d commands in a cycle", (int)all));
	h->count = now;
}

static void work(struct history *h, bool each_cycle)
{
	int64_t busy = test_range(&h->rng, 1, 40);
	while (h->completed < REQUESTS && npl_memory_now(h->memory) < h->capacity) {
		const uint64_t now = npl_memory_now(h->memory);
		for (int64_t k = test_range(&h->rng, 0, 3); k > 0 && h->pushed < REQUESTS; k--)
			if (test_range(&h->rng, 1, 40) <= busy)
				push(h);
		npl_memory_advance(h->memory, now + (each_cycle ? 1 : (uint64_t)test_range(&h->rng, 1, 50)), 0);
		if (each_cycle)
			note(h, now);
		take(h);
		if (!test_range(&h->rng, 0, 200))
			busy = test_range(&h->rng, 1, 40);
	}
	npl_memory_counters(h->memory, &h->count);
}

static void sums(const struct history *h)
{
	const struct dram_config *c = &h->config;
	const struct npl_memory_counters *n = &h->count;
	const uint64_t now = npl_memory_now(h->memory), ranks = (uint64_t)(c->channels * c->ranks);
	cr_assert_eq(h->completed, REQUESTS, SAY(h, "%d completed", h->completed));
	cr_assert_eq(npl_memory_pending(h->memory), 0);
	cr_assert_eq(n->reads + n->writes, REQUESTS);
	cr_assert_eq(n->read_commands + n->forwarded, n->reads, SAY(h, "%d reads", (int)n->reads));
	cr_assert_eq(n->write_commands, n->writes, SAY(h, "%d writes", (int)n->writes));
	cr_assert_eq(n->active_rank_cycles + n->idle_rank_cycles, now * ranks, SAY(h, "%d ranks", (int)ranks));
	cr_assert(n->activates >= n->precharges &&
			  n->activates - n->precharges <= ranks * (uint64_t)(c->bank_groups * c->banks),
		  SAY(h, "%d rows open", (int)(n->activates - n->precharges)));
	cr_assert(n->row_hits + n->activates >= n->read_commands + n->write_commands &&
			  n->row_hits <= n->read_commands + n->write_commands,
		  SAY(h, "%d row hits", (int)n->row_hits));
	/* Rank r of R is due at tREFI (r + 1) / R, and every tREFI; a refresh may be under way. */
	uint64_t due = 0;
	for (int64_t r = 0; r < c->ranks; r++) {
		const uint64_t first = (uint64_t)(c->trefi * (r + 1) / c->ranks);
		due += now > first ? (now - first - 1) / (uint64_t)c->trefi + 1 : 0;
	}
	due *= (uint64_t)c->channels;
	cr_assert(n->refreshes <= due && n->refreshes + ranks >= due,
		  SAY(h, "%d refreshes, %d were due", (int)n->refreshes, (int)due));
}

/* Bursts of a channel, in the order in which they end. */
static void data_bus(const struct history *h)
{
	for (int i = 0; i < REQUESTS; i++)
		for (int k = 0; k < REQUESTS; k++) {
			const struct request *a = &h->request[i], *b = &h->request[k];
			if (i == k || a->forwarded || b->forwarded || a->place.channel != b->place.channel ||
			    a->done > b->done)
				continue;
			cr_assert_geq(b->done - a->done, burst_of(h), SAY(h, "%d and %d on the bus", i, k));
			/* One bank, one row, one direction: in turn. */
			cr_assert(i < k || a->is_write != b->is_write || a->place.row != b->place.row ||
					  a->place.bank != b->place.bank || a->place.group != b->place.group ||
					  a->place.rank != b->place.rank,
				  SAY(h, "%d goes before %d", i, k));
		}
}

struct past {
	int64_t act[4], ref, pre, column[2], first_act; /* column: RD, WR */
	int64_t group[16][2], bank[DRAM_MAX_BANKS][2];
	int64_t row[DRAM_MAX_BANKS];
	int64_t open, refreshes;
	uint64_t active;
};

#define APART(h, t, since, least, what)                                                                                \
	cr_assert_geq((t) - (since), (least), "seed %llu: at %d %s, %d after %d, must be %d",                          \
		      (unsigned long long)(h)->seed, (int)(t), what, (int)((t) - (since)), (int)(since), (int)(least))

static void column(const struct history *h, struct past *p, int64_t t, bool write)
{
	const struct dram_config *c = &h->config;
	const int64_t burst = (int64_t)burst_of(h), data = c->cwl + burst;
	cr_assert_geq(h->served[t], 0, "seed %llu: at %d a burst for nobody", (unsigned long long)h->seed, (int)t);
	const struct request *r = &h->request[h->served[t]];
	cr_assert_eq(r->is_write, write);
	const uint64_t g = r->place.group, b = g * (uint64_t)c->banks + r->place.bank;
	APART(h, t, p->column[write], burst > c->tccd_s ? burst : c->tccd_s, "tCCD_S");
	APART(h, t, p->group[g][write], c->tccd_l, "tCCD_L");
	if (write) {
		APART(h, t, p->column[0], c->cl + burst + c->turnaround - c->cwl, "read to write");
	} else {
		APART(h, t, p->column[1], data + c->twtr_s, "tWTR_S");
		APART(h, t, p->group[g][1], data + c->twtr_l, "tWTR_L");
	}
	const int64_t rcd = write ? c->trcd_wr : c->trcd_rd;
	APART(h, t, p->first_act, rcd, "tRCD");
	APART(h, t, p->ref, c->trfc + rcd, "tRFC and tRCD");
	p->row[b] = (int64_t)r->place.row;
	p->column[write] = p->group[g][write] = p->bank[b][write] = t;
}

/* Another row of a bank: its last burst, PRE, ACT. */
static void row_change(const struct history *h, const struct past *p, int64_t t, bool write)
{
	const struct dram_config *c = &h->config;
	const struct request *r = &h->request[h->served[t]];
	const uint64_t b = r->place.group * (uint64_t)c->banks + r->place.bank;
	const int64_t reopen = c->trp + (write ? c->trcd_wr : c->trcd_rd);
	if (p->row[b] < 0 || p->row[b] == (int64_t)r->place.row)
		return;
	APART(h, t, p->bank[b][0], c->trtp + reopen, "tRTP, tRP and tRCD");
	APART(h, t, p->bank[b][1], c->cwl + (int64_t)burst_of(h) + c->twr + reopen, "tWR, tRP and tRCD");
}

static void command(const struct history *h, struct past *p, int64_t t)
{
	const struct dram_config *c = &h->config;
	const int what = h->command[t];
	p->active += p->open > 0;
	cr_assert(what == NOTHING || what == PRE || what == REF || t < (p->refreshes + 1) * c->trefi,
		  "seed %llu: at %d a command while a refresh is due", (unsigned long long)h->seed, (int)t);
	switch (what) {
	case ACT:
		APART(h, t, p->act[3], c->trrd_s, "tRRD_S");
		APART(h, t, p->act[0], c->tfaw, "tFAW");
		APART(h, t, p->ref, c->trfc, "tRFC");
		memmove(p->act, p->act + 1, 3 * sizeof *p->act);
		p->act[3] = t;
		p->first_act = p->first_act == INT32_MAX ? t : p->first_act;
		p->open++;
		break;
	case PRE:
		APART(h, t, p->first_act, c->tras, "tRAS");
		p->pre = t;
		p->open--;
		break;
	case REF:
		cr_assert_eq(p->open, 0, "seed %llu: REF at %d with a row open", (unsigned long long)h->seed, (int)t);
		APART(h, t, p->pre, c->trp, "tRP");
		APART(h, t, p->act[3], c->trc, "tRC");
		p->refreshes++;
		cr_assert_geq(t, p->refreshes * c->trefi, "seed %llu: REF at %d", (unsigned long long)h->seed, (int)t);
		p->ref = t;
		break;
	case RD:
	case WR:
		row_change(h, p, t, what == WR);
		column(h, p, t, what == WR);
		break;
	default:
		break;
	}
	cr_assert(p->open >= 0 && p->open <= c->bank_groups * c->banks, "seed %llu: at %d %d rows open",
		  (unsigned long long)h->seed, (int)t, (int)p->open);
}

static void audit(struct history *h)
{
	const struct dram_config *c = &h->config;
	struct past p = {.ref = LONG_AGO, .pre = LONG_AGO, .first_act = INT32_MAX};
	for (int i = 0; i < 4; i++)
		p.act[i] = LONG_AGO;
	for (int d = 0; d < 2; d++) {
		p.column[d] = LONG_AGO;
		for (int g = 0; g < 16; g++)
			p.group[g][d] = LONG_AGO;
		for (int b = 0; b < DRAM_MAX_BANKS; b++)
			p.bank[b][d] = p.row[b] = LONG_AGO;
	}
	for (int i = 0; i < REQUESTS; i++) {
		const struct request *r = &h->request[i];
		if (r->forwarded)
			continue;
		const int64_t t = (int64_t)r->done - (r->is_write ? c->cwl : c->cl) - (int64_t)burst_of(h);
		cr_assert(t >= 0 && h->command[t] == (r->is_write ? WR : RD), SAY(h, "%d had no burst", i));
		h->served[t] = i;
	}
	for (int64_t t = 0; t < (int64_t)npl_memory_now(h->memory); t++)
		command(h, &p, t);
	cr_assert_eq(p.active, h->count.active_rank_cycles, SAY(h, "%d active cycles", (int)p.active));
}

static void one(uint64_t seed, bool commands)
{
	struct history *h = calloc(1, sizeof *h);
	struct npl_err err;
	h->seed = seed;
	h->rng = seed;
	dram_case_random(&h->config, h->mapping, &h->rng);
	h->config.trefi = 4 * dram_case_least_trefi(&h->config) + test_range(&h->rng, 0, 500);
	if (commands)
		h->config.channels = h->config.ranks = 1;
	h->capacity = 400000;
	h->memory = dram_case_open(&h->config, seed & 1, &err);
	cr_assert(h->memory, "seed %llu: %s", (unsigned long long)seed, err.msg);
	h->command = calloc(h->capacity + 1, sizeof *h->command);
	h->served = malloc((h->capacity + 1) * sizeof *h->served);
	memset(h->served, -1, (h->capacity + 1) * sizeof *h->served);
	work(h, commands);
	sums(h);
	data_bus(h);
	if (commands)
		audit(h);
	npl_memory_close(h->memory);
	free(h->command);
	free(h->served);
	free(h);
}

Test(dram_laws, any_memory_keeps_the_laws)
{
	for (uint64_t seed = SEED; seed < SEED + 200; seed++)
		one(seed, false);
}

Test(dram_laws, one_rank_cycle_by_cycle)
{
	for (uint64_t seed = SEED; seed < SEED + 200; seed++)
		one(seed, true);
}
