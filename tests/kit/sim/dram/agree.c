/* SPDX-License-Identifier: MIT
 *
 * Both DRAM engines side by side: see agree.h. What may be asked of a memory is asked of both whenever
 * something has happened: the time, whether this and that request would be accepted, completions, counters. After a
 * reset everything must come again as it came. */
#include "agree.h"

#include <stdio.h>
#include <string.h>

#include "case.h"
#include "tests/kit/support.h"

enum { FAST, STEPPED, ENGINES, STREAMS = 3, RECENT = 8 };

/* What requests are like for a while. */
struct mood {
	int64_t write_percent, most_offers, most_idle;
	int64_t stream, near, recent, stride; /* of 100 addresses; the others are anywhere */
	bool lazy;                            /* takes no completions, until no more is accepted */
	bool feeds;
	int64_t left; /* rounds */
};

struct pair {
	const struct dram_config *config;
	struct npl_memory *memory[ENGINES];
	uint64_t rng, accesses, access_bytes;
	uint64_t stream[STREAMS], recent[RECENT], base, stride;
	uint64_t tags, hash;
	struct mood mood;
	char *reason;
	size_t n;
};

static bool report_difference(struct pair *p, const char *label, uint64_t fast, uint64_t stepped)
{
	snprintf(p->reason, p->n, "at %llu: %s: %llu when skipping, %llu when looking at every cycle",
		 (unsigned long long)npl_memory_now(p->memory[STEPPED]), label, (unsigned long long)fast,
		 (unsigned long long)stepped);
	return false;
}

static bool same_time(struct pair *p)
{
	const uint64_t fast = npl_memory_now(p->memory[FAST]), stepped = npl_memory_now(p->memory[STEPPED]);
	return fast == stepped || report_difference(p, "has come to", fast, stepped);
}

static void change_mood(struct pair *p)
{
	static const int64_t writes[] = {0, 5, 30, 50, 80, 100};
	struct mood *m = &p->mood;
	m->write_percent = writes[test_range(&p->rng, 0, 5)];
	m->most_offers = test_range(&p->rng, 0, 2) ? test_range(&p->rng, 0, 4) : 40;
	m->most_idle = test_range(&p->rng, 0, 3) ? test_range(&p->rng, 1, 30)
						 : (test_range(&p->rng, 0, 5) ? 3 : 24) * p->config->trefi;
	m->stream = test_range(&p->rng, 0, 60);
	m->near = test_range(&p->rng, 0, 40);
	m->recent = test_range(&p->rng, 0, 1) * test_range(&p->rng, 0, 30);
	m->stride = test_range(&p->rng, 0, 30);
	m->lazy = !test_range(&p->rng, 0, 19);
	m->feeds = !test_range(&p->rng, 0, 3);
	m->left = test_range(&p->rng, 1, m->feeds ? 20 : 80);
	if (m->lazy) {
		m->recent = 90;
		m->stream = m->near = 0;
		m->most_offers = 60;
	}
	p->stride = (uint64_t)test_range(&p->rng, 1, (int64_t)p->accesses);
	p->base = (uint64_t)test_range(&p->rng, 0, (int64_t)p->accesses - 1);
	for (int i = 0; i < STREAMS; i++)
		p->stream[i] = (uint64_t)test_range(&p->rng, 0, (int64_t)p->accesses - 1);
}

static struct npl_memory_request draw_request(struct pair *p)
{
	const struct mood *m = &p->mood;
	int64_t draw = test_range(&p->rng, 0, 99);
	uint64_t access;
	if ((draw -= m->stream) < 0)
		access = p->stream[test_range(&p->rng, 0, STREAMS - 1)]++;
	else if ((draw -= m->near) < 0)
		access = p->base + (uint64_t)test_range(&p->rng, 0, 31);
	else if ((draw -= m->recent) < 0)
		access = p->recent[test_range(&p->rng, 0, RECENT - 1)];
	else if ((draw -= m->stride) < 0)
		access = p->base += p->stride;
	else
		access = (uint64_t)test_range(&p->rng, 0, (int64_t)p->accesses - 1);
	access %= p->accesses;
	uint64_t offset = (uint64_t)test_range(&p->rng, 0, (int64_t)p->access_bytes - 1);
	return (struct npl_memory_request){
		.address = access * p->access_bytes + offset,
		.bytes = (uint64_t)test_range(&p->rng, 1, (int64_t)(p->access_bytes - offset)),
		.tag = test_rng(&p->rng) << 20 | p->tags++,
		.is_write = test_range(&p->rng, 0, 99) < m->write_percent,
	};
}

/* One that is refused stays with its asker, or is forgotten. */
static bool offer_request(struct pair *p)
{
	for (int64_t k = test_range(&p->rng, 0, p->mood.most_offers); k > 0; k--) {
		struct npl_memory_request r = draw_request(p);
		bool fast = npl_memory_can_accept(p->memory[FAST], &r),
		     stepped = npl_memory_can_accept(p->memory[STEPPED], &r);
		if (fast != stepped)
			return report_difference(p, "accepts", fast, stepped);
		if (!fast)
			continue;
		const struct npl_memory_request next_request = draw_request(p);
		fast = npl_memory_can_accept(p->memory[FAST], &next_request);
		stepped = npl_memory_can_accept(p->memory[STEPPED], &next_request);
		if (fast != stepped)
			return report_difference(p, "accepts another", fast, stepped);
		npl_memory_push(p->memory[FAST], &r);
		npl_memory_push(p->memory[STEPPED], &r);
		if (r.is_write || test_range(&p->rng, 0, 3) == 0)
			p->recent[test_range(&p->rng, 0, RECENT - 1)] = r.address / p->access_bytes;
	}
	return true;
}

/* One at a time by npl_memory_completed, or several. */
static bool take(struct pair *p, bool all)
{
	enum { AT_ONCE = 32 };
	uint64_t maximum = all                         ? UINT64_MAX
			   : p->mood.lazy              ? 0
			   : test_range(&p->rng, 0, 9) ? UINT64_MAX
						       : (uint64_t)test_range(&p->rng, 0, 5);
	const bool single = test_range(&p->rng, 0, 1);
	while (maximum) {
		struct npl_memory_completion fast[AT_ONCE] = {0}, stepped[AT_ONCE] = {0};
		const uint64_t room = maximum < AT_ONCE ? maximum : AT_ONCE;
		uint64_t a = single ? npl_memory_completed(p->memory[FAST], fast)
				    : npl_memory_take(p->memory[FAST], fast, room);
		uint64_t b = single ? npl_memory_completed(p->memory[STEPPED], stepped)
				    : npl_memory_take(p->memory[STEPPED], stepped, room);
		if (a != b)
			return report_difference(p, "has completions", a, b);
		for (uint64_t i = 0; i < a; i++) {
			if (fast[i].cycle != stepped[i].cycle)
				return report_difference(p, "a completion's cycle", fast[i].cycle, stepped[i].cycle);
			if (fast[i].tag != stepped[i].tag)
				return report_difference(p, "a completion's tag", fast[i].tag, stepped[i].tag);
			p->hash = (p->hash ^ fast[i].cycle ^ fast[i].tag << 7) * 0x9e3779b97f4a7c15u;
		}
		if (a < (single ? 1 : room))
			return true;
		maximum -= a;
	}
	return true;
}

/* Many at once; those that are left are fed again after completions. */
static bool feed(struct pair *p)
{
	enum { MAX_REQUESTS = 100 };
	static const uint64_t per_cycle[] = {0, 1, 2, 7};
	struct npl_memory_request requests[MAX_REQUESTS];
	const uint64_t n = (uint64_t)test_range(&p->rng, 0, MAX_REQUESTS);
	struct npl_memory_feed fast = {.requests = requests,
				       .n = n,
				       .per_cycle = per_cycle[test_range(&p->rng, 0, 3)],
				       .tag_per_cycle = (uint64_t)test_range(&p->rng, 0, 2) << 40};
	struct npl_memory_feed stepped = fast;
	for (uint64_t i = 0; i < n; i++)
		requests[i] = draw_request(p);
	for (;;) {
		npl_memory_feed(p->memory[FAST], &fast);
		npl_memory_feed(p->memory[STEPPED], &stepped);
		if (fast.n_pushed != stepped.n_pushed)
			return report_difference(p, "was fed", fast.n_pushed, stepped.n_pushed);
		if (fast.n_pushed_now != stepped.n_pushed_now)
			return report_difference(p, "was fed in the cycle", fast.n_pushed_now, stepped.n_pushed_now);
		if (!same_time(p))
			return false;
		if (fast.n_pushed == n)
			return true;
		const uint64_t pending = npl_memory_pending(p->memory[STEPPED]);
		if (!take(p, true))
			return false;
		if (npl_memory_pending(p->memory[STEPPED]) < pending)
			continue;
		for (int i = 0; i < ENGINES; i++)
			npl_memory_advance(p->memory[i], UINT64_MAX, NPL_MEMORY_ROOM | NPL_MEMORY_COMPLETION);
		fast.n_pushed_now = stepped.n_pushed_now = 0;
	}
}

/* A single cycle by npl_memory_step. More, without a reason to stop: the one that skips in pieces. */
static bool advance(struct pair *p)
{
	const uint64_t now = npl_memory_now(p->memory[FAST]),
		       end_cycle = now + (uint64_t)test_range(&p->rng, 0, p->mood.most_idle);
	const unsigned stop = (unsigned)test_range(&p->rng, 0, 3);
	for (int64_t pieces = stop ? 0 : test_range(&p->rng, 0, 3); pieces > 0 && end_cycle > now + 1; pieces--)
		npl_memory_advance(p->memory[FAST], now + (uint64_t)test_range(&p->rng, 0, (int64_t)(end_cycle - now)),
				   0);
	for (int i = 0; i < ENGINES; i++) {
		if (end_cycle == now + 1 && !stop)
			npl_memory_step(p->memory[i]);
		else
			npl_memory_advance(p->memory[i], end_cycle, stop);
	}
	return same_time(p);
}

static bool same_counters(struct pair *p)
{
	struct npl_memory_counters fast, stepped;
	npl_memory_counters(p->memory[FAST], &fast);
	npl_memory_counters(p->memory[STEPPED], &stepped);
	const struct {
		const char *name;
		uint64_t fast, stepped;
	} count[] = {{"pending", npl_memory_pending(p->memory[FAST]), npl_memory_pending(p->memory[STEPPED])},
#define COUNT(name) {#name, fast.name, stepped.name},
		     NPL_MEMORY_COUNTERS(COUNT)};
	for (size_t i = 0; i < sizeof count / sizeof *count; i++)
		if (count[i].fast != count[i].stepped)
			return report_difference(p, count[i].name, count[i].fast, count[i].stepped);
	return true;
}

/* The same requests again for the same rng. */
static bool run(struct pair *p, uint64_t rng, int64_t rounds)
{
	p->rng = rng;
	p->tags = 0;
	p->hash = 1;
	memset(p->recent, 0, sizeof p->recent);
	p->mood = (struct mood){0};
	while (rounds--) {
		if (!p->mood.left--)
			change_mood(p);
		if (!(p->mood.feeds ? feed(p) : offer_request(p)) || !advance(p) || !take(p, false) ||
		    !same_counters(p))
			return false;
	}
	return true;
}

/* Long enough for every queue. */
static bool drain(struct pair *p)
{
	const uint64_t end_cycle = npl_memory_now(p->memory[FAST]) + 4 * (uint64_t)p->config->trefi + 50000;
	while (npl_memory_pending(p->memory[STEPPED]) && npl_memory_now(p->memory[STEPPED]) < end_cycle) {
		for (int i = 0; i < ENGINES; i++)
			npl_memory_advance(p->memory[i], end_cycle, NPL_MEMORY_COMPLETION);
		if (!take(p, true) || !same_counters(p))
			return false;
	}
	uint64_t fast = npl_memory_pending(p->memory[FAST]), stepped = npl_memory_pending(p->memory[STEPPED]);
	return !fast || report_difference(p, "never completed", fast, stepped);
}

static bool run_and_again(struct pair *p)
{
	const uint64_t rng = test_rng(&p->rng) | 1;
	const int64_t rounds = test_range(&p->rng, 20, 300);
	const bool again = !test_range(&p->rng, 0, 3);
	if (!run(p, rng, rounds))
		return false;
	if (again) {
		const uint64_t hash = p->hash;
		for (int i = 0; i < ENGINES; i++)
			npl_memory_reset(p->memory[i]);
		if (!same_counters(p) || !run(p, rng, rounds))
			return false;
		if (hash != p->hash)
			return report_difference(p, "a hash of all completions after a reset, and before", p->hash,
						 hash);
	}
	return drain(p);
}

bool dram_agrees(uint64_t seed, struct npl_memory_counters *sum, char *reason, size_t reason_bytes)
{
	struct dram_config config;
	char mapping[DRAM_CASE_MAPPING];
	struct npl_err err = {0};
	struct pair p = {.config = &config, .rng = seed * 0x9e3779b97f4a7c15u + 1, .reason = reason, .n = reason_bytes};
	dram_case_random(&config, mapping, &p.rng);
	p.access_bytes = dram_access_bytes(&config);
	p.accesses = dram_capacity_bytes(&config) / p.access_bytes;
	p.memory[FAST] = dram_case_open(&config, false, &err);
	p.memory[STEPPED] = p.memory[FAST] ? dram_case_open(&config, true, &err) : NULL;
	bool ok = p.memory[STEPPED] && run_and_again(&p);
	if (!p.memory[STEPPED])
		snprintf(reason, reason_bytes, "%s", err.msg);
	if (ok && sum) {
		struct npl_memory_counters counted;
		npl_memory_counters(p.memory[FAST], &counted);
#define ADD(name) sum->name += counted.name;
		NPL_MEMORY_COUNTERS(ADD)
	}
	npl_memory_close(p.memory[FAST]);
	npl_memory_close(p.memory[STEPPED]);
	return ok;
}
