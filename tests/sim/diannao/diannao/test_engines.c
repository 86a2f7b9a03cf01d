/* SPDX-License-Identifier: MIT
 *
 * The two engines of the diannao machine. What the program promises: on any valid program, machine and memory `rtl` and
 * `fast` give the same values in memory, cycles and counters, the same counters of memory, and the same cycle for every
 * event of every instruction; and units of instructions that `fast` counts instead of going through them cost what they
 * cost. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "sim/diannao/diannao/engine/stuck.h"
#include "sim/diannao/diannao/fast/run.h"
#include "tests/kit/sim/diannao/agree.h"
#include "tests/kit/sim/diannao/cycles.h"
#include "tests/kit/sim/diannao/units.h"

static void expect_agreements(uint64_t first, uint64_t last, const struct diannao_request *wish)
{
	for (uint64_t seed = first; seed <= last; seed++) {
		char reason[300] = "";
		cr_assert(diannao_agrees(seed, wish, reason, sizeof reason), "seed %llu: %s", (unsigned long long)seed,
			  reason);
	}
}

Test(diannao_engines, agree_on_any_memory)
{
	for (enum diannao_memory memory = 0; memory < DIANNAO_MEMORIES; memory++)
		expect_agreements(1 + 1000 * memory, (TEST_SANITIZED ? 150 : 600) + 1000 * memory,
				  &(struct diannao_request){.memory = memory, .this_memory = true});
}

Test(diannao_engines, agree_on_long_programs)
{
	expect_agreements(20001, 20100, &(struct diannao_request){.instructions = 400});
}

/* A source's units are counted when their state repeats, and all comes to what it does without. */
static void expect_units_to_cost_what_they_cost(uint64_t first, uint64_t last, const struct diannao_request *wish,
						int64_t skips[DIANNAO_LEVELS])
{
	for (uint64_t seed = first; seed <= last; seed++) {
		char reason[300] = "";
		cr_assert(diannao_units_agree(seed, wish, skips, reason, sizeof reason), "seed %llu: %s",
			  (unsigned long long)seed, reason);
	}
}

/* Compares with the rtl engine and, for longer streams, with the fast engine without units. */
Test(diannao_engines, skipped_units_cost_the_same_as_executed_ones)
{
	static const enum diannao_memory memories[] = {DIANNAO_IDEAL, DIANNAO_FIXED, DIANNAO_WHOLE, DIANNAO_LATE};
	for (size_t i = 0; i < sizeof memories / sizeof *memories; i += TEST_SANITIZED ? 3 : 1) {
		struct diannao_request wish = {
			.instructions = 12, .repeats = true, .memory = memories[i], .this_memory = true};
		int64_t skips[DIANNAO_LEVELS] = {0}, long_skips[DIANNAO_LEVELS] = {0};
		expect_units_to_cost_what_they_cost(30001, 30150, &wish, skips);
		cr_expect_gt(skips[1], 150, "%lld of 300 parts", (long long)skips[1]);
		wish.times = 500;
		expect_units_to_cost_what_they_cost(40001, 40040, &wish, long_skips);
		cr_expect_gt(long_skips[1], 60, "%lld of 80 parts", (long long)long_skips[1]);
	}
}

/* Units that hold units: rounds of two parts. */
Test(diannao_engines, skipped_nested_units_cost_the_same_as_executed_ones)
{
	static const enum diannao_memory memories[] = {DIANNAO_IDEAL, DIANNAO_FIXED, DIANNAO_WHOLE, DIANNAO_LATE};
	for (size_t i = 0; i < sizeof memories / sizeof *memories; i += TEST_SANITIZED ? 3 : 1) {
		struct diannao_request wish = {
			.instructions = 6, .repeats = true, .rounds = 10, .memory = memories[i], .this_memory = true};
		int64_t skips[DIANNAO_LEVELS] = {0}, long_skips[DIANNAO_LEVELS] = {0};
		expect_units_to_cost_what_they_cost(70001, 70060, &wish, skips);
		wish.times = 30;
		wish.rounds = 20;
		expect_units_to_cost_what_they_cost(80001, 80030, &wish, long_skips);
		cr_expect(skips[0] > 30 && skips[1] > 120, "%lld of 60 programs, %lld parts", (long long)skips[0],
			  (long long)skips[1]);
		cr_expect(long_skips[0] > 15 && long_skips[1] > 60, "%lld of 30 programs, %lld parts",
			  (long long)long_skips[0], (long long)long_skips[1]);
	}
}

/* Where time depends on addresses, or machine and memory do not keep step, nothing is skipped. */
Test(diannao_engines, units_are_executed_where_addresses_matter)
{
	static const enum diannao_memory memories[] = {DIANNAO_ACCESSES, DIANNAO_OTHER_CLOCK, DIANNAO_DRAM};
	for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
		const struct diannao_request wish = {
			.instructions = 8, .repeats = true, .times = 20, .memory = memories[i], .this_memory = true};
		int64_t skips[DIANNAO_LEVELS] = {0};
		expect_units_to_cost_what_they_cost(50001, 50020, &wish, skips);
		cr_expect(!skips[0] && !skips[1]);
	}
}

/* Units of layers: every loop of every nest has been left out somewhere, except those whose turns are those of another
 * loop. */
Test(diannao_engines, skipped_units_of_layers_cost_the_same_as_executed_ones)
{
	static const struct {
		enum dn_nest nest;
		enum dn_loop loop;
	} expected[] = {{DN_DOWN, DN_CONV_GROUPS},
			{DN_DOWN, DN_GROUP_TILES},
			{DN_DOWN, DN_IMAGES},
			{DN_DOWN, DN_BLOCKS},
			{DN_DOWN, DN_OUT_LINES},
			{DN_ACROSS, DN_CONV_GROUPS},
			{DN_ACROSS, DN_GROUP_TILES},
			{DN_ACROSS, DN_IMAGES},
			{DN_ACROSS, DN_OUT_LINES},
			{DN_ACROSS, DN_POSITIONS},
			{DN_STREAMED, DN_CONV_GROUPS},
			{DN_STREAMED, DN_OUT_LINES},
			{DN_STREAMED, DN_BLOCKS},
			{DN_STREAMED, DN_STORES},
			{DN_STREAMED, DN_GROUP_TILES},
			{DN_STREAMED, DN_KERNEL_LINES},
			{DN_STREAMED, DN_KERNEL_TAPS},
			{DN_STREAMED, DN_KERNEL_ROWS},
			{DN_STREAMED, DN_GROUPS},
			{DN_STREAMED, DN_POSITIONS},
			{DN_POOLED, DN_IMAGES},
			{DN_POOLED, DN_OUT_LINES},
			{DN_POOLED, DN_POSITIONS},
			{DN_POOLED, DN_GROUP_TILES},
			{DN_POOLED, DN_WINDOW_PARTS},
			{DN_POOLED_ACROSS, DN_IMAGES},
			{DN_POOLED_ACROSS, DN_OUT_LINES},
			{DN_POOLED_ACROSS, DN_GROUP_TILES},
			{DN_POOLED_ACROSS, DN_POSITIONS}};
	struct npl_arena arena = {0};
	struct dn_config paper;
	struct npl_err err;
	static struct diannao_unit_skips skips;
	cr_assert_eq(dn_read_machine(&arena, &paper, &err), 0, "%s", err.msg);
	const uint64_t seeds = TEST_SANITIZED ? 1000 : 2000;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		char reason[300] = "";
		cr_assert(diannao_units_of_layer_agree(seed, &paper, &skips, reason, sizeof reason), "seed %llu: %s",
			  (unsigned long long)seed, reason);
	}
	npl_arena_free(&arena);
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
		cr_expect_gt(skips.iterations[expected[i].nest][expected[i].loop], 0, "nest %d, loop %d",
			     expected[i].nest, expected[i].loop);
	cr_expect(skips.runs > (TEST_SANITIZED ? 750 : 1500) && skips.n_skipped > skips.instructions / 2,
		  "%lld runs, %lld of %lld instructions", (long long)skips.runs, (long long)skips.n_skipped,
		  (long long)skips.instructions);
}

/* Programs of 10^15 units end at once, or are refused where the clock cannot count their cycles. */
Test(diannao_engines, huge_counts_of_units_end_in_time)
{
	const struct diannao_request wish = {.instructions = 12,
					     .repeats = true,
					     .synchronised = true,
					     .memory = DIANNAO_WHOLE,
					     .this_memory = true};
	int long_ones = 0, too_long = 0;
	for (uint64_t seed = 60001; seed <= 60060; seed++) {
		struct diannao_case c;
		struct npl_memory *memory;
		struct diannao_stream stream;
		char reason[300] = "";
		struct npl_err err;
		cr_assert(diannao_checked(&c, seed, &wish, &memory, reason, sizeof reason), "seed %llu: %s",
			  (unsigned long long)seed, reason);
		for (int i = 0; i < c.parts; i++)
			c.part[i].times = c.part[i].times > 1 ? 1000000000000000 : 1;
		struct dn_engine_input engine_input = diannao_engine_input(&c, memory);
		struct dn_outcome outcome;
		engine_input.stream = diannao_source(&stream, &c, true);
		if (dn_run_fast(&engine_input, &outcome, &err)) {
			cr_assert_eq(err.code, NPL_EINPUT, "%s", err.msg);
			cr_assert(strstr(err.msg, "longer than 400000000 s"), "%s", err.msg);
			too_long++;
		} else {
			const struct dn_counters *n = &outcome.counters;
			cr_assert_leq(outcome.cycles, 400000000 * (uint64_t)c.config.clock_hz);
			cr_assert_eq(outcome.cycles, diannao_cycles_of(*n));
			cr_assert_eq(outcome.memory.read_bytes, n->input_bytes + n->synapse_bytes);
			cr_assert_eq(outcome.memory.written_bytes, n->output_bytes);
			long_ones++;
		}
		npl_memory_close(memory);
		diannao_case_free(&c);
	}
	cr_expect_gt(long_ones, 5);
	cr_expect_gt(too_long, 5);
}
