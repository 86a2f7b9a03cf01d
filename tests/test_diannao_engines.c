/* SPDX-License-Identifier: MIT
 *
 * The two engines of the diannao machine. What the program promises: on any valid program, machine and memory `rtl` and `fast` give
 * the same values in memory, cycles and counters, the same counters of memory, and the same cycle for every event of every
 * instruction; and units of instructions that `fast` counts instead of going through them cost what they cost. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diannao/check.h"
#include "diannao_programs.h"
#include "support.h"

#define NOT_YET UINT64_MAX

typedef int engine(struct dn_run *run, struct npl_err *err);

/* When each instruction did what. */
struct events {
	uint64_t *cycle; /* (DN_WHATS, count) */
	int64_t count;
	int strange; /* twice, or of no instruction */
};

static void happened(void *context, enum dn_what what, int64_t index, uint64_t cycle)
{
	struct events *e = context;
	if (index < 0 || index >= e->count || e->cycle[what * e->count + index] != NOT_YET)
		e->strange++;
	else
		e->cycle[what * e->count + index] = cycle;
}

struct outcome {
	struct dn_run run;
	struct events events;
	uint8_t *bytes;
};

static void outcome_free(struct outcome *o)
{
	free(o->events.cycle);
	free(o->bytes);
}

static void set_up(struct outcome *o, const struct diannao_case *c, struct npl_memory *memory)
{
	o->run = (struct dn_run){.config = &c->config,
				 .n_functions = c->program.n_functions,
				 .function = c->program.function,
				 .memory = memory,
				 .size = c->size};
}

/* All of a program, with values and events. */
static void run_all(struct outcome *o, const struct diannao_case *c, struct npl_memory *memory, engine *how)
{
	struct diannao_stream stream;
	struct npl_err err;
	const size_t events = (size_t)c->program.count * DN_WHATS * sizeof *o->events.cycle;
	*o = (struct outcome){.events = {malloc(events), c->program.count, 0}, .bytes = malloc(c->size)};
	cr_assert(o->events.cycle && o->bytes);
	memset(o->events.cycle, 0xff, events);
	memcpy(o->bytes, c->bytes, c->size);
	set_up(o, c, memory);
	o->run.source = diannao_source(&stream, c, false);
	o->run.bytes = o->bytes;
	o->run.watcher = &(struct dn_watcher){happened, &o->events};
	cr_assert_eq(how(&o->run, &err), 0, "seed %llu: %s", (unsigned long long)c->seed, err.msg);
	cr_assert_eq(o->events.strange, 0, "seed %llu", (unsigned long long)c->seed);
	cr_assert_eq(npl_memory_now(memory), npl_hz_ceil(o->run.cycles, &(struct npl_hz){c->config.clock_hz, 1},
							 &npl_memory_info(memory)->clock));
}

/* Times only. */
static void run_times(struct outcome *o, const struct diannao_case *c, struct npl_memory *memory, engine *how,
		      bool units, struct diannao_stream *stream)
{
	struct npl_err err;
	*o = (struct outcome){0};
	set_up(o, c, memory);
	o->run.source = diannao_source(stream, c, units);
	cr_assert_eq(how(&o->run, &err), 0, "seed %llu: %s", (unsigned long long)c->seed, err.msg);
}

/* ---- Comparisons: the first difference, in words ---- */

static const struct {
	const char *name;
	size_t at;
} counters[] = {
#define COUNTER(name)                                                                                                  \
	{                                                                                                              \
#name, offsetof(struct dn_counters, name)                                                              \
	}
	COUNTER(nfu_active),     COUNTER(nfu_fill),        COUNTER(wait_sb),
	COUNTER(wait_nbin),      COUNTER(wait_nbout),      COUNTER(useful_macs),
	COUNTER(idle_lanes),     COUNTER(nbin_rows),       COUNTER(sb_rows),
	COUNTER(nbout_rows),     COUNTER(nfu3_operations), COUNTER(product_saturations),
	COUNTER(sum_wraps),      COUNTER(sum_saturations), COUNTER(output_saturations),
	COUNTER(input_bytes),    COUNTER(synapse_bytes),   COUNTER(output_bytes),
	COUNTER(dram_reads),     COUNTER(dram_writes),     COUNTER(dram_row_hits),
	COUNTER(dram_activates), COUNTER(dram_refreshes),
};
_Static_assert(sizeof counters / sizeof *counters * sizeof(uint64_t) == sizeof(struct dn_counters), "all of them");

static uint64_t counter(const struct outcome *o, size_t i)
{
	return *(const uint64_t *)((const char *)&o->run.counters + counters[i].at);
}

static bool same_event(const struct outcome *a, const struct outcome *b, char *why, size_t n)
{
	static const char *const names[DN_WHATS] = {"is decoded", "has its inputs", "has its synapses",
						    "starts",     "ends",           "has its store done"};
	const int64_t count = a->events.count;
	for (int64_t i = 0; i < count; i++)
		for (int what = 0; what < DN_WHATS; what++) {
			const uint64_t x = a->events.cycle[what * count + i], y = b->events.cycle[what * count + i];
			if (x == y)
				continue;
			snprintf(why, n, "instruction %lld %s at %lld and %lld", (long long)i, names[what],
				 (long long)x, (long long)y);
			return false;
		}
	return true;
}

static bool same_counts(const struct outcome *a, const struct outcome *b, char *why, size_t n)
{
	const uint64_t *x = (const uint64_t *)&a->run.moved, *y = (const uint64_t *)&b->run.moved;
	if (a->run.cycles != b->run.cycles) {
		snprintf(why, n, "%llu and %llu cycles", (unsigned long long)a->run.cycles,
			 (unsigned long long)b->run.cycles);
		return false;
	}
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		if (counter(a, i) != counter(b, i)) {
			snprintf(why, n, "%s is %llu and %llu", counters[i].name, (unsigned long long)counter(a, i),
				 (unsigned long long)counter(b, i));
			return false;
		}
	for (size_t i = 0; i < sizeof a->run.moved / sizeof *x; i++)
		if (x[i] != y[i]) {
			snprintf(why, n, "memory's counter %zu is %llu and %llu", i, (unsigned long long)x[i],
				 (unsigned long long)y[i]);
			return false;
		}
	return true;
}

static bool same_values(const struct diannao_case *c, const struct outcome *a, const struct outcome *b, char *why,
			size_t n)
{
	for (uint64_t i = 0; i < c->size; i++)
		if (a->bytes[i] != b->bytes[i]) {
			snprintf(why, n, "byte %llu is %d and %d, before %d", (unsigned long long)i, a->bytes[i],
				 b->bytes[i], c->bytes[i]);
			return false;
		}
	return true;
}

static bool agree(const struct diannao_case *c, struct npl_memory *memory, char *why, size_t n)
{
	struct outcome rtl, fast;
	run_all(&rtl, c, memory, dn_run_rtl);
	run_all(&fast, c, memory, dn_run_fast);
	bool same = same_event(&rtl, &fast, why, n) && same_counts(&rtl, &fast, why, n) &&
		    same_values(c, &rtl, &fast, why, n);
	outcome_free(&rtl);
	outcome_free(&fast);
	return same;
}

/* ---- Cases ---- */

static void make(struct diannao_case *c, uint64_t seed, const struct diannao_wish *wish, struct npl_memory **memory)
{
	struct npl_err err = {0};
	struct dn_checker checker = {.config = &c->config, .memory_bytes = UINT64_MAX, .source = "stream"};
	struct diannao_stream stream;
	struct dn_instruction at = {0};
	cr_assert(diannao_case_make(c, seed, wish));
	checker.n_functions = c->program.n_functions;
	struct dn_source source = diannao_source(&stream, c, false);
	if (!wish->repeats)
		cr_assert_eq(dn_program_check(&c->config, c->size, &c->program, "program", &err), 0, "seed %llu: %s",
			     (unsigned long long)seed, err.msg);
	cr_assert_eq(dn_check_begin(&checker, &err), 0);
	while (at.cp != DN_CP_END) {
		source.next(source.state, &at);
		cr_assert_eq(dn_check_one(&checker, &at, 0, &err), 0, "seed %llu: %s", (unsigned long long)seed,
			     err.msg);
	}
	cr_assert_eq(dn_check_end(&checker, &err), 0, "seed %llu: %s", (unsigned long long)seed, err.msg);
	dn_check_close(&checker);
	*memory = diannao_case_memory(c, &err);
	cr_assert(*memory, "seed %llu: %s", (unsigned long long)seed, err.msg);
}

static void expect_agreements(uint64_t first, uint64_t last, const struct diannao_wish *wish)
{
	for (uint64_t seed = first; seed <= last; seed++) {
		struct diannao_case c;
		struct npl_memory *memory;
		struct diannao_stream stream;
		struct outcome timed, all;
		char why[200] = "";
		make(&c, seed, wish, &memory);
		cr_assert(agree(&c, memory, why, sizeof why), "seed %llu: rtl and fast: %s", (unsigned long long)seed,
			  why);
		/* The same times without values. */
		run_all(&all, &c, memory, dn_run_fast);
		run_times(&timed, &c, memory, dn_run_fast, false, &stream);
		struct dn_counters *n = &all.run.counters;
		n->product_saturations = n->sum_wraps = n->sum_saturations = n->output_saturations = 0;
		cr_assert(same_counts(&all, &timed, why, sizeof why), "seed %llu: with and without values: %s",
			  (unsigned long long)seed, why);
		outcome_free(&all);
		npl_memory_close(memory);
		diannao_case_free(&c);
	}
}

Test(diannao_engines, agree_on_any_memory)
{
	for (enum diannao_memory memory = 0; memory < DIANNAO_MEMORIES; memory++)
		expect_agreements(1 + 1000 * memory, 600 + 1000 * memory,
				  &(struct diannao_wish){.memory = memory, .this_memory = true});
}

Test(diannao_engines, agree_on_long_programs)
{
	expect_agreements(20001, 20100, &(struct diannao_wish){.instructions = 400});
}

/* A source's units are counted when their state repeats, and all comes to what it does without. */
static void expect_units_to_cost_what_they_cost(uint64_t first, uint64_t last, const struct diannao_wish *wish,
						int64_t *skipped)
{
	for (uint64_t seed = first; seed <= last; seed++) {
		struct diannao_case c;
		struct npl_memory *memory;
		struct diannao_stream stream;
		struct outcome through, counted;
		char why[200] = "";
		make(&c, seed, wish, &memory);
		run_times(&through, &c, memory, wish->times ? dn_run_fast : dn_run_rtl, false, &stream);
		run_times(&counted, &c, memory, dn_run_fast, true, &stream);
		cr_assert(same_counts(&through, &counted, why, sizeof why), "seed %llu: %s, %lld units skipped",
			  (unsigned long long)seed, why, (long long)stream.skipped);
		*skipped += stream.skips;
		npl_memory_close(memory);
		diannao_case_free(&c);
	}
}

/* Against rtl, and for longer streams against fast without units. */
Test(diannao_engines, units_cost_what_they_cost)
{
	static const enum diannao_memory memories[] = {DIANNAO_IDEAL, DIANNAO_FIXED, DIANNAO_WHOLE, DIANNAO_LATE};
	for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
		struct diannao_wish wish = {
			.instructions = 12, .repeats = true, .memory = memories[i], .this_memory = true};
		int64_t skips = 0, long_skips = 0;
		expect_units_to_cost_what_they_cost(30001, 30150, &wish, &skips);
		cr_expect_gt(skips, 150, "%lld of 300 parts", (long long)skips);
		wish.times = 500;
		expect_units_to_cost_what_they_cost(40001, 40040, &wish, &long_skips);
		cr_expect_gt(long_skips, 60, "%lld of 80 parts", (long long)long_skips);
	}
}

/* Where time depends on addresses, or machine and memory do not keep step, nothing is skipped. */
Test(diannao_engines, units_are_gone_through_where_addresses_matter)
{
	static const enum diannao_memory memories[] = {DIANNAO_ACCESSES, DIANNAO_OTHER_CLOCK, DIANNAO_DRAM};
	for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
		const struct diannao_wish wish = {
			.instructions = 8, .repeats = true, .times = 20, .memory = memories[i], .this_memory = true};
		int64_t skips = 0;
		expect_units_to_cost_what_they_cost(50001, 50020, &wish, &skips);
		cr_expect_eq(skips, 0);
	}
}

/* 10^15 units: some are more than anybody waits for, and too many for the clock. */
Test(diannao_engines, units_without_end)
{
	const struct diannao_wish wish = {.instructions = 12,
					  .repeats = true,
					  .synchronised = true,
					  .memory = DIANNAO_WHOLE,
					  .this_memory = true};
	int long_ones = 0, too_long = 0;
	for (uint64_t seed = 60001; seed <= 60060; seed++) {
		struct diannao_case c;
		struct npl_memory *memory;
		struct diannao_stream stream;
		struct outcome o = {0};
		struct npl_err err;
		make(&c, seed, &wish, &memory);
		for (int i = 0; i < c.parts; i++)
			c.part[i].times = c.part[i].times > 1 ? 1000000000000000 : 1;
		set_up(&o, &c, memory);
		o.run.source = diannao_source(&stream, &c, true);
		if (dn_run_fast(&o.run, &err)) {
			cr_assert_eq(err.code, NPL_EINPUT, "%s", err.msg);
			cr_assert(strstr(err.msg, "longer than 400000000 s"), "%s", err.msg);
			too_long++;
		} else {
			const struct dn_counters *n = &o.run.counters;
			cr_assert_leq(o.run.cycles, 400000000 * (uint64_t)c.config.clock_hz);
			cr_assert_eq(o.run.cycles,
				     n->nfu_active + n->nfu_fill + n->wait_sb + n->wait_nbin + n->wait_nbout);
			cr_assert_eq(o.run.moved.read_bytes, n->input_bytes + n->synapse_bytes);
			cr_assert_eq(o.run.moved.written_bytes, n->output_bytes);
			long_ones++;
		}
		npl_memory_close(memory);
		diannao_case_free(&c);
	}
	cr_expect_gt(long_ones, 5);
	cr_expect_gt(too_long, 5);
}
