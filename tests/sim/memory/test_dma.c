/* SPDX-License-Identifier: MIT
 *
 * Promise: an engine asks for exactly the accesses that its descriptors touch, no more than allowed at once;
 * descriptors complete in order and as soon as their last access has; engines share the port in turn; skipping
 * gives the completion cycles of stepping, over every kind of memory; and two engines in the same relative state go
 * on alike. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/sim/dma_support.h"
#include "tests/kit/support.h"

/* The accesses of a descriptor, by the definition: of each row those of the memory that it touches, or its bursts;
 * gapless rows joined. */
static uint64_t accesses(const struct npl_dma_descriptor *d, uint64_t unit, uint64_t burst)
{
	uint64_t n = 0, row = 0, plane = 0, rows = d->count[0] ? d->count[0] : 1,
		 planes = d->count[1] ? d->count[1] : 1;
	while (d->row_bytes && plane < planes) {
		uint64_t from = d->address + row * (uint64_t)d->stride[0] + plane * (uint64_t)d->stride[1], to = from;
		while (plane < planes &&
		       d->address + row * (uint64_t)d->stride[0] + plane * (uint64_t)d->stride[1] == to) {
			const bool side_by_side = d->stride[0] == (int64_t)d->row_bytes;
			to += d->row_bytes;
			if (++row == rows) {
				row = 0;
				plane++;
			}
			/* Planes of rows with gaps are not looked at. */
			if (d->separate_rows || (!side_by_side && (row || rows > 1)))
				break;
		}
		n += unit ? (to - 1) / unit - from / unit + 1 : burst ? (to - from + burst - 1) / burst : 1;
	}
	return n;
}

Test(dma, cutting_worked_by_hand)
{
	static const struct {
		struct npl_dma_descriptor d;
		uint64_t accesses; /* of 64 bytes */
	} row[] = {
		{{.address = 0, .row_bytes = 64}, 1},
		{{.address = 60, .row_bytes = 8}, 2},
		{{.address = 1, .row_bytes = 128}, 3},
		{{.address = 0, .row_bytes = 0}, 0},
		{{.address = 0, .row_bytes = 32, .count = {8, 0}, .stride = {32, 0}}, 4},  /* one row of 256 bytes */
		{{.address = 0, .row_bytes = 32, .count = {2, 4}, .stride = {32, 64}}, 4}, /* the same, in planes */
		{{.address = 0, .row_bytes = 32, .count = {1, 8}, .stride = {7, 32}}, 4}, /* and in planes of one row */
		{{.address = 0, .row_bytes = 24, .count = {8, 0}, .stride = {32, 0}}, 8}, /* gaps: each for itself */
		{{.address = 0, .row_bytes = 48, .count = {4, 0}, .stride = {100, 0}},
		 6}, /* 0-48, 100-148, 200-248, 300-348 */
		{{.address = 0, .row_bytes = 64, .count = {2, 3}, .stride = {1024, 65536}}, 6},
		{{.address = 4096, .row_bytes = 64, .count = {3, 0}, .stride = {-1024, 0}}, 3},
		{{.address = 64, .row_bytes = 64, .count = {5, 0}, .stride = {0, 0}}, 5}, /* the same bytes again */
	};
	struct npl_memory *memory = memory_of("ddr3-2133", false);
	const struct npl_dma_config config = {.engines = 1, .queue = 1};
	struct npl_dma *dma = NULL;
	cr_assert_eq(npl_memory_info(memory)->access_bytes, 64);
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		dma = dma_anew(dma, memory, config);
		npl_dma_push(dma, 0, &row[i].d);
		cr_expect_not(npl_dma_can_push(dma, 0), "a queue of one");
		finish(dma, 0, 0);
		const uint64_t reads = asked(memory).reads;
		cr_expect_eq(reads, row[i].accesses, "row %zu: %llu", i, (unsigned long long)reads);
		cr_expect_eq(reads, accesses(&row[i].d, 64, 0), "row %zu", i);
		cr_expect_eq(npl_dma_pending(dma), 0);
	}
	npl_dma_close(dma);
	npl_memory_close(memory);
}

/* Rows of 8 bytes that are one request, over accesses of 64: those side by side share accesses, except one that is
 * pushed too late and one that is elsewhere. */
Test(dma, rows_of_a_request_share_accesses)
{
	static const uint64_t address[] = {40, 48, 56, 64, 72, 80, 88, 200, 208, 216, 320};
	enum { ROWS = sizeof address / sizeof *address, LATE = 5 };
	for (int one_by_one = 0; one_by_one < 2; one_by_one++) {
		struct npl_memory *memory = memory_of("ddr3-2133", false);
		struct npl_dma *dma = dma_of(memory,
					     (struct npl_dma_config){.engines = 1, .queue = 1, .whole_requests = true});
		struct npl_memory_completion c;
		cr_assert_eq(npl_dma_lengthen(dma, ROWS, &(struct npl_err){0}), 0);
		uint64_t cycle[ROWS];
		for (int i = 0; i < ROWS; i++) {
			cr_assert(npl_dma_can_push(dma, 0));
			npl_dma_push(dma, 0,
				     &(struct npl_dma_descriptor){.address = address[i],
								  .row_bytes = 8,
								  .tag = (uint64_t)i,
								  .continues = !one_by_one && i + 1 < ROWS});
			if (i == LATE - 1)
				dma_step(dma, memory);
		}
		for (int i = 0; i < ROWS; i++)
			cycle[i] = finish(dma, 0, (uint64_t)i);
		cr_expect_not(npl_dma_completed(dma, 0, &c));
		/* 40..63, 64..79, 80..95, 200..223, 320 */
		cr_expect_eq(asked(memory).reads, one_by_one ? ROWS : 5);
		cr_expect_eq(asked(memory).read_bytes, 8 * ROWS);
		cr_expect(one_by_one || (cycle[0] == cycle[2] && cycle[3] == cycle[4] && cycle[7] == cycle[9]));
		npl_dma_close(dma);
		npl_memory_close(memory);
	}
}

/* 250 GB/s at 980 MHz: 255.102 bytes a cycle. */
Test(dma, times_worked_by_hand)
{
	struct npl_memory *memory = fixed_memory("250e9");
	const struct npl_dma_config bursts = {.engines = 3, .queue = 4, .burst_bytes = 512};
	struct npl_dma *dma = dma_of(memory, bursts);
	npl_dma_push(dma, 0, &(struct npl_dma_descriptor){.row_bytes = 32768, .tag = 7});
	cr_expect_eq(finish(dma, 0, 7), 129, "128.45 cycles");
	cr_expect_eq(asked(memory).reads, 64);
	/* Two at once take turns: both are half as fast, the one that is asked first ends one burst (2.007 cycles)
	 * before. */
	dma = dma_anew(dma, memory, bursts);
	npl_dma_push(dma, 2,
		     &(struct npl_dma_descriptor){.address = 65536, .row_bytes = 16384, .tag = 1, .is_write = true});
	npl_dma_push(dma, 0, &(struct npl_dma_descriptor){.row_bytes = 16384, .tag = 2});
	cr_expect_eq(finish(dma, 0, 2), 127, "63 bursts: 126.44 cycles");
	cr_expect_eq(finish(dma, 2, 1), 129);
	cr_expect_eq(asked(memory).written_bytes, 16384);
	cr_expect_eq(asked(memory).writes, 32);
	/* A short one beside a long one waits for a burst at most. */
	dma = dma_anew(dma, memory, bursts);
	npl_dma_push(dma, 0, &(struct npl_dma_descriptor){.row_bytes = 16384, .tag = 1});
	npl_dma_push(dma, 1, &(struct npl_dma_descriptor){.address = 65536, .row_bytes = 32, .tag = 2});
	cr_expect_eq(finish(dma, 1, 2), 3, "512 + 32 bytes: 2.13 cycles");
	npl_dma_close(dma);
	/* Ideal memory: at the boundary at which it is asked, however many. */
	npl_memory_close(memory);
	memory = memory_of("ideal", false);
	dma = dma_of(memory, (struct npl_dma_config){.engines = 1, .queue = 2, .outstanding = 1, .burst_bytes = 1});
	npl_dma_push(dma, 0, &(struct npl_dma_descriptor){.row_bytes = 100000, .tag = 3});
	cr_expect_eq(finish(dma, 0, 3), 0);
	cr_expect_eq(asked(memory).reads, 100000);
	/* Empty descriptors complete in their turn, after what is before them. */
	npl_dma_push(dma, 0, &(struct npl_dma_descriptor){.row_bytes = 8, .tag = 4});
	npl_dma_push(dma, 0, &(struct npl_dma_descriptor){.tag = 5});
	struct npl_memory_completion c;
	cr_expect_not(npl_dma_completed(dma, 0, &c));
	finish(dma, 0, 4);
	cr_expect(npl_dma_completed(dma, 0, &c) && c.tag == 5);
	npl_dma_push(dma, 0, &(struct npl_dma_descriptor){.tag = 6});
	cr_expect(npl_dma_completed(dma, 0, &c) && c.tag == 6, "at once when nothing is before it");
	npl_dma_close(dma);
	/* Three accesses a cycle. */
	dma = dma_of(memory,
		     (struct npl_dma_config){.engines = 2, .queue = 2, .accesses_per_cycle = 3, .burst_bytes = 8});
	npl_dma_push(dma, 0, &(struct npl_dma_descriptor){.row_bytes = 80, .tag = 1});
	npl_dma_push(dma, 1, &(struct npl_dma_descriptor){.row_bytes = 16, .tag = 2});
	uint64_t begin = npl_memory_now(memory);
	cr_expect_eq(finish(dma, 1, 2), begin + 1, "0 1 0 | 1 0 0 | 0 0 0 | 0 0 0");
	cr_expect_eq(finish(dma, 0, 1), begin + 3);
	npl_dma_close(dma);
	npl_memory_close(memory);
}

struct event {
	int engine;
	uint64_t seen, cycle, tag;
};

enum { DESCRIPTORS = 30 };

/* Random descriptors of three engines: what each moves, and from which cycle it may be pushed. */
struct traffic {
	struct npl_dma_config config;
	struct npl_dma_descriptor descriptor[3][DESCRIPTORS];
	uint64_t from[3][DESCRIPTORS];
	uint64_t bytes[2]; /* read, written */
	uint64_t accesses;
};

static struct npl_dma_descriptor draw_descriptor(uint64_t *rng, int engine, int i, bool whole_requests)
{
	struct npl_dma_descriptor d = {.address = (uint64_t)test_range(rng, 100000, 1 << 20),
				       .row_bytes = (uint64_t)test_range(rng, 0, 1 << test_range(rng, 0, 11)),
				       .count = {(uint64_t)test_range(rng, 0, 4), (uint64_t)test_range(rng, 0, 3)},
				       .stride = {test_range(rng, -3000, 5000), test_range(rng, -10000, 70000)},
				       .tag = (uint64_t)i,
				       .is_write = engine == 2 ? true : engine == 1 && test_range(rng, 0, 1),
				       .separate_rows = test_range(rng, 0, 1),
				       .continues = i + 1 < DESCRIPTORS && test_range(rng, 0, 1)};
	d.separate_rows = d.separate_rows && whole_requests;
	if (test_range(rng, 0, 3) == 0)
		d.stride[0] = (int64_t)d.row_bytes;
	return d;
}

static void draw_traffic(uint64_t seed, uint64_t access_bytes, struct traffic *t)
{
	uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
	*t = (struct traffic){.config = {.engines = 3,
					 .queue = test_range(&rng, 1, 4),
					 .outstanding = test_range(&rng, 0, 2) * test_range(&rng, 1, 40),
					 .accesses_per_cycle = test_range(&rng, 0, 2),
					 .burst_bytes = test_range(&rng, 0, 2) * test_range(&rng, 16, 600),
					 .whole_requests = test_range(&rng, 0, 1),
					 .request_cycles = test_range(&rng, 0, 1) * test_range(&rng, 1, 30)}};
	for (int e = 0; e < 3; e++)
		for (int i = 0; i < DESCRIPTORS; i++) {
			struct npl_dma_descriptor d = draw_descriptor(&rng, e, i, t->config.whole_requests);
			t->descriptor[e][i] = d;
			t->from[e][i] = (i ? t->from[e][i - 1] : 0) +
					(uint64_t)(test_range(&rng, 0, 3) ? 0 : test_range(&rng, 0, 3000));
			t->bytes[d.is_write] += d.row_bytes * (d.count[0] ? d.count[0] : 1) *
						(d.count[1] ? d.count[1] : 1);
			t->accesses += accesses(&d, access_bytes, (uint64_t)t->config.burst_bytes);
		}
}

/* Pushes random descriptors when there is room and at random boundaries, until all have completed. Fills what completed
 * and when that was seen, and returns how many. */
static size_t run(struct npl_memory *memory, uint64_t seed, bool stepping, struct event *event)
{
	struct traffic t;
	draw_traffic(seed, npl_memory_info(memory)->access_bytes, &t);
	const bool no_feedback = seed % 2; /* what is pushed, and when, does not depend on what has completed */
	struct npl_dma *dma = dma_of(memory, t.config);
	if (no_feedback)
		cr_assert_eq(npl_dma_lengthen(dma, DESCRIPTORS, &(struct npl_err){0}), 0);
	int pushed[3] = {0, 0, 0}, completed[3] = {0, 0, 0};
	size_t n = 0;
	while (n < 3 * DESCRIPTORS) {
		uint64_t now = npl_memory_now(memory), until = now + 20000;
		struct npl_memory_completion c;
		for (int e = 0; e < 3; e++) {
			while (npl_dma_completed(dma, e, &c)) {
				cr_assert_eq(c.tag, (uint64_t)completed[e]++, "in order");
				cr_assert_leq(c.cycle, now);
				event[n++] = (struct event){e, now, c.cycle, c.tag};
			}
			while (pushed[e] < DESCRIPTORS && t.from[e][pushed[e]] <= now && npl_dma_can_push(dma, e))
				npl_dma_push(dma, e, &t.descriptor[e][pushed[e]++]);
			if (pushed[e] < DESCRIPTORS && t.from[e][pushed[e]] > now && t.from[e][pushed[e]] < until)
				until = t.from[e][pushed[e]];
		}
		if (!stepping)
			npl_dma_advance(dma, until, true);
		else if (no_feedback)
			dma_step(dma, memory);
		else /* a whole step would let what completes in it be taken, and make room, only at its end */
			npl_dma_advance(dma, now + 1, true);
		cr_assert_lt(now, 1000000, "seed %llu stands still", (unsigned long long)seed);
	}
	const struct npl_memory_counters counters = asked(memory);
	cr_assert_eq(counters.read_bytes, t.bytes[0]);
	cr_assert_eq(counters.written_bytes, t.bytes[1]);
	cr_assert_eq(counters.reads + counters.writes, t.accesses, "seed %llu", (unsigned long long)seed);
	npl_dma_close(dma);
	return n;
}

static int by_engine(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	if (x->engine != y->engine)
		return x->engine - y->engine;
	return x->tag < y->tag ? -1 : x->tag > y->tag;
}

Test(dma, skipping_completes_in_the_cycles_of_stepping)
{
	static const char *const names[] = {"ideal", "diannao-250gbps", "ddr3-2133", "ddr4-3200", "hbm"};
	for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
		struct npl_memory *memory = memory_of(names[m], false), *slow = memory_of(names[m], true);
		for (uint64_t seed = 1; seed <= 25; seed++) {
			struct event skipped[90], stepped[90];
			npl_memory_reset(memory);
			npl_memory_reset(slow);
			size_t n = run(memory, seed, false, skipped);
			cr_assert_eq(n, run(slow, seed, true, stepped));
			qsort(skipped, n, sizeof *skipped, by_engine);
			qsort(stepped, n, sizeof *stepped, by_engine);
			for (size_t i = 0; i < n; i++)
				cr_assert(skipped[i].cycle == stepped[i].cycle && skipped[i].tag == stepped[i].tag,
					  "%s, seed %llu: engine %d's descriptor %llu at %llu, stepping at %llu",
					  names[m], (unsigned long long)seed, skipped[i].engine,
					  (unsigned long long)skipped[i].tag, (unsigned long long)skipped[i].cycle,
					  (unsigned long long)stepped[i].cycle);
		}
		npl_memory_close(memory);
		npl_memory_close(slow);
	}
}

/* A short random past and what comes of it when the same things follow. */
enum { WORDS = 200, EVENTS = 40, PASTS = 4000 };
struct past {
	uint64_t words, word[WORDS];
	size_t events;
	struct event event[EVENTS]; /* times from its end */
};

static void push_some(struct npl_dma *dma, uint64_t *rng)
{
	for (int e = 0; e < 3; e++) {
		struct npl_dma_descriptor d = {
			.address = (uint64_t)test_range(rng, 0, 100000),
			.row_bytes = 50 * (uint64_t)test_range(rng, 0, 3),
			.count = {(uint64_t)test_range(rng, 1, 2), (uint64_t)test_range(rng, 1, 2)},
			.stride = {1000, 5000},
			.continues = test_range(rng, 0, 3) == 0,
			.is_write = e == 2,
			.tag = (uint64_t)test_range(rng, 0, 1)};
		if (test_range(rng, 0, 2) == 0 && npl_dma_can_push(dma, e))
			npl_dma_push(dma, e, &d);
	}
}

static void live(struct npl_memory *memory, const struct npl_dma_config *config, uint64_t *rng, struct past *past)
{
	struct npl_memory_words to = {past->word, 0, WORDS};
	struct npl_memory_completion c;
	uint64_t same = 1;
	struct npl_dma *dma = dma_anew(NULL, memory, *config);
	npl_dma_advance(dma, (uint64_t)test_range(rng, 0, 9), false);
	for (int64_t cycles = test_range(rng, 0, 8); cycles; cycles--, dma_step(dma, memory)) {
		push_some(dma, rng);
		for (int e = 0; e < 3; e++)
			if (test_range(rng, 0, 1))
				npl_dma_completed(dma, e, &c);
	}
	if (test_range(rng, 0, 1)) /* before the boundary is left */
		push_some(dma, rng);
	cr_assert(npl_dma_relative_state(dma, &to));
	cr_assert_leq(to.n, to.capacity);
	past->words = to.n;
	past->events = 0;
	const uint64_t end = npl_memory_now(memory);
	for (int cycle = 0; cycle < 60; cycle++, dma_step(dma, memory)) {
		if (cycle < 20)
			push_some(dma, &same);
		for (int e = 0; e < 3; e++)
			while (npl_dma_completed(dma, e, &c))
				past->event[past->events++ % EVENTS] = (struct event){e, (uint64_t)cycle, c.cycle - end,
										      4 * npl_dma_pending(dma) + c.tag};
	}
	cr_assert_lt(past->events, EVENTS);
	npl_dma_close(dma);
}

static int by_state(const void *a, const void *b)
{
	const struct past *x = a, *y = b;
	if (x->words != y->words)
		return x->words < y->words ? -1 : 1;
	return memcmp(x->word, y->word, x->words * sizeof *x->word);
}

static bool same_future(const struct past *a, const struct past *b)
{
	bool same = a->events == b->events;
	for (size_t i = 0; i < a->events && same; i++)
		same = a->event[i].engine == b->event[i].engine && a->event[i].seen == b->event[i].seen &&
		       a->event[i].cycle == b->event[i].cycle && a->event[i].tag == b->event[i].tag;
	return same;
}

/* Pasts differ in addresses, in time and in the rings' places at least; so small that many end in the same state. */
Test(dma, equal_relative_states_go_on_alike)
{
	static struct past past[PASTS];
	static const char *const memories[] = {NULL, "98e9", "98e9\nlatency_seconds: 3e-9",
					       "30e9\nlatency_seconds: 2e-9"};
	int equal = 0, different = 0;
	for (uint64_t seed = 1; seed <= 64; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
		const char *text = memories[seed % 4];
		struct npl_memory *memory = text ? fixed_memory(text) : memory_of("ideal", false);
		const struct npl_dma_config config = {.engines = 3,
						      .queue = test_range(&rng, 1, 3),
						      .accesses_per_cycle = test_range(&rng, 0, 1),
						      .outstanding = test_range(&rng, 0, 1),
						      .burst_bytes = test_range(&rng, 0, 1) * 50,
						      .whole_requests = test_range(&rng, 0, 2) > 0,
						      .request_cycles = test_range(&rng, 0, 3)};
		for (int i = 0; i < PASTS; i++)
			live(memory, &config, &rng, &past[i]);
		qsort(past, PASTS, sizeof *past, by_state);
		for (int i = 1; i < PASTS; i++) {
			const bool same = !by_state(&past[i - 1], &past[i]);
			equal += same;
			different += !same_future(&past[i - 1], &past[i]);
			cr_assert(!same || same_future(&past[i - 1], &past[i]), "seed %llu", (unsigned long long)seed);
		}
		npl_memory_close(memory);
	}
	cr_expect_gt(equal, 10000, "%d", equal);
	cr_expect_gt(different, 10000, "%d", different);
}

/* Where time depends on addresses there is no such state. */
Test(dma, no_relative_state_where_addresses_matter)
{
	static uint64_t word[WORDS];
	struct npl_memory *memory = memory_of("ddr3-2133", false);
	struct npl_dma *dma = dma_of(memory, (struct npl_dma_config){.engines = 1, .queue = 1});
	cr_expect_not(npl_dma_relative_state(dma, &(struct npl_memory_words){word, 0, WORDS}));
	npl_dma_close(dma);
	npl_memory_close(memory);
}

/* No more under way than allowed: a memory with a latency then gives so many accesses per latency. */
Test(dma, outstanding_limit_sets_the_pace)
{
	char path[] = "/tmp/npulab-dma-XXXXXX.yaml";
	int fd = mkstemps(path, 5);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	cr_assert(file);
	fputs("name: slow\nmodel: fixed\nbytes_per_second: 64000000000000\nlatency_seconds: 100e-9\naccess_bytes: 64\n",
	      file);
	fclose(file);
	struct npl_memory_options options = {.clock = {1000000000, 1}};
	struct npl_memory *memory;
	struct npl_err err;
	cr_assert_eq(npl_memory_open(path, &options, &memory, &err), 0, "%s", err.msg);
	for (int64_t limit = 1; limit <= 8; limit *= 2) {
		npl_memory_reset(memory);
		struct npl_dma *dma = dma_of(memory,
					     (struct npl_dma_config){.engines = 1, .queue = 1, .outstanding = limit});
		npl_dma_push(dma, 0, &(struct npl_dma_descriptor){.row_bytes = 64 * 64});
		uint64_t end = finish(dma, 0, 0), expected = 64 / (uint64_t)limit * 101;
		cr_expect_eq(end, expected, "%lld under way: %llu, not %llu", (long long)limit, (unsigned long long)end,
			     (unsigned long long)expected);
		npl_dma_close(dma);
	}
	npl_memory_close(memory);
	remove(path);
}

static void refused(struct npl_dma_config config, const char *reason)
{
	struct npl_memory *memory = memory_of("ideal", false);
	struct npl_dma *dma;
	struct npl_err err;
	cr_expect_eq(npl_dma_open(memory, &config, &dma, &err), NPL_EINPUT, "should be refused: %s", reason);
	cr_expect(strstr(err.msg, reason), "'%s' does not say '%s'", err.msg, reason);
	npl_memory_close(memory);
}

Test(dma, wrong_configurations_are_refused)
{
	refused((struct npl_dma_config){.engines = 0, .queue = 1}, "1 to 64 engines");
	refused((struct npl_dma_config){.engines = 65, .queue = 1}, "1 to 64 engines");
	refused((struct npl_dma_config){.engines = 1, .queue = 0}, "descriptors");
	refused((struct npl_dma_config){.engines = 1, .queue = 1, .outstanding = -1}, "negative");
	refused((struct npl_dma_config){.engines = 1, .queue = 1, .request_cycles = -1}, "negative");
}
