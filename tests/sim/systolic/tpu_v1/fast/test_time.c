/* SPDX-License-Identifier: MIT
 *
 * Times of the fast engine. What the program promises: the rules of docs/tpu-isa.md, section Time, without stepping a
 * cycle, whatever order the program is in; exact fractions of a cycle however long it runs; values change no time.
 * Cases worked out by hand that both engines must pass are in tests/kit/sim/tpu_v1/worked.c, random programs in
 * tests/sim/systolic/tpu_v1/test_engines.c, those that can never end in
 * tests/sim/systolic/tpu_v1/engine/test_stuck.c. */
#include <stdio.h>

#include "sim/systolic/tpu_v1/fast/fast.h"
#include "tests/kit/sim/tpu_v1/fast_support.h"

/* 3 x 3 cells, 3 bytes of weights and 2 of the host's a cycle: a tile takes 3 cycles, a table 8. */
static struct test_machine *small(void)
{
	struct tpu_config config = test_config(3, 3, 3, 2);
	config.fifo_tiles = 2;
	config.parameter_tables = 2;
	config.queue_instructions = 4;
	return test_open(config, 1000);
}

/* The pass is in its queue before the tile is so much as asked for. i1 issues in 1, the transfer is [2, 5), the shift
 * [5, 8), the two vectors enter in [8, 10), and the last write is at 8 + 3 + 3 - 2 + 2 = 14. */
Test(tpu_fast_time, a_tile_that_comes_later_in_the_program)
{
	struct test_machine *m = small();
	test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 2);
	test_tiles(m, 1, 0);
	test_activate(m, TPU_ACTIVATE_SWITCH, 10, 0, 2);
	test_tables(m, 1, 100);
	test_halt(m);
	fast_run(m);
	EXPECT_AT(m, TPU_TILE_PUSHED, 0, 5);
	EXPECT_AT(m, TPU_TILE_POPPED, 0, 8);
	EXPECT_AT(m, TPU_MATRIX_STARTED, 0, 8);
	EXPECT_AT(m, TPU_MATRIX_WRITTEN, 0, 14);
	EXPECT_AT(m, TPU_TABLE_LOADED, 0, 13); /* i3 issues in 3; the port is free at 5 */
	EXPECT_AT(m, TPU_ACTIVATE_STARTED, 2, 14);
	EXPECT_AT(m, TPU_ACTIVATE_ENDED, 2, 16);
	EXPECT_CYCLES(m, 17);
	EXPECT_COUNT(m, weight_stall, 4); /* i0 is at the head from 1 on: [1, 5) */
	EXPECT_COUNT(m, weight_shift, 3);
	EXPECT_COUNT(m, raw_stall, 6); /* halt is looked at in 4 and issues in 16; of that [10, 16) */
	test_close(m);
}

Test(tpu_fast_time, waits_are_counted_where_nothing_else_is)
{
	struct test_machine *m = small();
	test_tiles(m, 1, 0);
	test_add(m, TPU_READ_HOST_MEMORY, 0, 20, 0, 8); /* issues in 1, runs [2, 2 + 12): 24 bytes */
	test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 2);   /* in 2; shifted [4, 7), vectors in [7, 9), written at 13 */
	test_sync(m, 1u << TPU_MATRIX);                 /* looked at in 3, issues in 13 */
	test_sync(m, 1u << TPU_HOST_IN);                /* in 14, at once */
	test_halt(m);
	fast_run(m);
	EXPECT_AT(m, TPU_HOST_ENDED, 1, 14);
	EXPECT_AT(m, TPU_ISSUED, 3, 13);
	EXPECT_AT(m, TPU_ISSUED, 4, 14);
	EXPECT_CYCLES(m, 16);
	EXPECT_COUNT(m, weight_stall, 1); /* [3, 4) */
	EXPECT_COUNT(m, weight_shift, 3);
	EXPECT_COUNT(m, array_active, 2);
	EXPECT_COUNT(m, non_matrix, 10);
	EXPECT_COUNT(m, raw_stall, 4); /* [9, 13): it waits for matrix alone, though the host is busy */
	EXPECT_COUNT(m, input_stall, 0);
	test_close(m);
}

/* Tiles one after the other without a pause: tile k has come (k + 1) * bytes * clock / rate cycles after cycle 1. */
Test(tpu_fast_time, fractions_do_not_add_up_to_an_error)
{
	static const int64_t rates[] = {4, 999983, 1000003, 7777777, 34133334, 9999999999};
	for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
		struct tpu_config config = test_config(7, 5, 1, 1);
		config.clock_hz = 999999937;
		config.weight_bytes_per_second = rates[r];
		config.fifo_tiles = 64;
		config.queue_instructions = 1000;
		struct test_machine *m = test_open(config, 0);
		int64_t tiles = rates[r] > 1000000000 ? 60 : 900, bytes = 7 * 5;
		for (int64_t t = 0; t < tiles; t += 20) {
			test_tiles(m, 20, 0);
			for (int k = 0; k < 20; k++)
				test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 1);
		}
		test_halt(m);
		fast_run(m);
		for (int64_t t = 0; t < tiles; t++) {
			long double exact = (long double)(t + 1) * bytes * config.clock_hz / rates[r];
			uint64_t scaled = (uint64_t)(t + 1) * (uint64_t)bytes * (uint64_t)config.clock_hz;
			uint64_t end = scaled / (uint64_t)rates[r] + (scaled % (uint64_t)rates[r] > 0);
			cr_assert(fabsl(exact - (long double)end) <= 1);
			EXPECT_AT(m, TPU_TILE_PUSHED, t, 1 + (int64_t)end);
		}
		test_close(m);
	}
}

Test(tpu_fast_time, ranges_know_their_last_touch)
{
	for (int64_t rows = 1; rows < 40; rows += 3) {
		struct tpu_fast_ranges ranges = {0};
		struct npl_err err;
		int64_t value[40];
		uint64_t rng = (uint64_t)rows;
		cr_assert_eq(tpu_fast_ranges_open(&ranges, rows, &err), 0);
		memset(value, -1, sizeof value);
		for (int64_t i = 0; i < 3000; i++) {
			int64_t first = test_range(&rng, 0, rows - 1), count = test_range(&rng, 1, rows - first),
				maximum = -1;
			for (int64_t r = first; r < first + count; r++)
				maximum = value[r] > maximum ? value[r] : maximum;
			cr_assert_eq(tpu_fast_ranges_most(&ranges, first, count), maximum, "rows %lld, step %lld",
				     (long long)rows, (long long)i);
			if (i % 2)
				continue;
			tpu_fast_ranges_assign(&ranges, first, count, i);
			for (int64_t r = first; r < first + count; r++)
				value[r] = i;
		}
		tpu_fast_ranges_close(&ranges);
	}
}

/* Result k leaves at the later of (its last source + 1) and one after the result before, all times u. */
static int64_t pooled_steps(const int64_t in[2], const int64_t out[2], const int64_t kernel[2], const int64_t stride[2],
			    const int64_t pad[2], int64_t images)
{
	int64_t left = 0;
	for (int64_t k = 0; k < images * out[0] * out[1]; k++) {
		int64_t last[2], at[2] = {k / out[1] % out[0], k % out[1]};
		for (int d = 0; d < 2; d++) {
			last[d] = at[d] * stride[d] + kernel[d] - 1 - pad[d];
			last[d] = last[d] < in[d] ? last[d] : in[d] - 1;
		}
		int64_t source = k / (out[0] * out[1]) * in[0] * in[1] + last[0] * in[1] + last[1];
		left = source + 1 > left + 1 ? source + 1 : left + 1;
	}
	return left > images * in[0] * in[1] ? left : images * in[0] * in[1];
}

Test(tpu_fast_time, pooling_takes_the_time_of_its_windows)
{
	int run = 0, longer = 0;
	for (uint64_t seed = 1; seed <= 1500; seed++) {
		struct test_machine *m = test_open(test_config(8, 8, 8, 8), 0);
		int64_t in[2], out[2], kernel[2], stride[2], pad[2];
		uint64_t rng = seed;
		for (int d = 0; d < 2; d++) {
			in[d] = test_range(&rng, 1, 7);
			out[d] = test_range(&rng, 1, 8);
			kernel[d] = test_range(&rng, 1, 8);
			stride[d] = test_range(&rng, 1, 3);
			pad[d] = test_range(&rng, -2, 7);
			test_set(m, TPU_REG_IN_HEIGHT + d, in[d]);
			test_set(m, TPU_REG_OUT_HEIGHT + d, out[d]);
			test_set(m, TPU_REG_KERNEL_HEIGHT + d, kernel[d]);
			test_set(m, TPU_REG_STRIDE_Y + d, stride[d]);
			test_set(m, TPU_REG_PAD_TOP + d, pad[d]);
		}
		int64_t images = test_range(&rng, 1, 4), length = images * in[0] * in[1];
		m->config.activate_cycles_per_row = test_range(&rng, 1, 3);
		m->config.activate_latency_cycles = test_range(&rng, 0, 5);
		int64_t i = test_activate(m, TPU_ACTIVATE_FROM_BUFFER | TPU_WITH_POOLING(TPU_POOL_AVERAGE), 2000, 0,
					  length);
		test_halt(m);
		if (!tpu_program_check(&m->config, &m->program, &m->memory, "test", &m->err)) {
			int64_t steps = pooled_steps(in, out, kernel, stride, pad, images);
			fast_compare(m, "pooling");
			EXPECT_AT(m, TPU_ACTIVATE_ENDED, i,
				  test_when(m, TPU_ACTIVATE_STARTED, i) + m->config.activate_latency_cycles +
					  steps * m->config.activate_cycles_per_row);
			EXPECT_COUNT(m, activate_cycles, steps * m->config.activate_cycles_per_row);
			EXPECT_COUNT(m, ub_rows_written, images * out[0] * out[1]);
			run++;
			longer += steps > length;
		}
		test_close(m);
	}
	cr_assert(run > 50 && longer > 10, "%d windows, %d that take longer than their sources", run, longer);
}

/* Runs the program without values, and without any memory; the cycles are the same. */
Test(tpu_fast_time, values_change_no_time)
{
	struct test_machine *m = small();
	for (int i = 0; i < 4; i++) {
		test_tables(m, 1, 100);
		test_tiles(m, 1, 3 * i);
		test_multiply(m, TPU_MATRIX_SWITCH, 3 * (uint32_t)i, 0, 3);
		test_activate(m, TPU_ACTIVATE_SWITCH, 100 + 3 * (uint32_t)i, 0, 3);
		test_add(m, TPU_READ_HOST_MEMORY, 0, 200, 0, 2);
		test_sync(m, (1u << TPU_UNITS) - 1);
		test_add(m, TPU_WRITE_HOST_MEMORY, 0, 200, 0, 2);
		test_sync(m, (1u << TPU_UNITS) - 1);
	}
	test_halt(m);
	fast_run(m);
	struct tpu_outcome with = m->outcome, without;
	static struct test_machine seen;
	const struct sim_observer observer = {.on_event = test_see, .on_retired = test_retire, .context = &seen};
	const struct tpu_memory none = {.timing_only = true};
	cr_assert_eq(tpu_run_fast(&(struct tpu_engine_input){.config = &m->config,
							     .program = &m->program,
							     .memory = none,
							     .observer = &observer},
				  &without, &m->err),
		     0, "%s", m->err.msg);
	cr_assert_eq(with.cycles, without.cycles);
	cr_assert_eq(memcmp(&with.counters, &without.counters, sizeof with.counters), 0);
	cr_assert_eq(without.overflows + without.saturations, 0);
	cr_assert_eq(seen.events, m->events);
	for (int i = 0; i < m->events; i++)
		cr_assert(seen.event[i].kind == m->event[i].kind && seen.event[i].cycle == m->event[i].cycle &&
			  seen.event[i].index == m->event[i].index);
	cr_assert_eq(seen.n_retired, m->n_retired);
	cr_assert_eq(seen.n_retired, 4 * 6);
	test_close(m);
}

/* 200,000 instructions on a million accumulator rows, which is not done in a test's time where each looks at all before
 * it, or at all rows. Vectors follow each other without a gap: the first enters in 5 (a tile of 1 x 1 is there at 2 and
 * shifted in one cycle; as the instructions issue one a cycle, none waits for the array). */
Test(tpu_fast_time, long_programs_are_timed_quickly)
{
	enum { PAIRS = 100000 };
	struct tpu_config config = test_config(1, 1, 1, 1);
	config.accumulator_rows = 1000000;
	config.weight_bytes = 4096;
	config.queue_instructions = 1000000;
	struct test_machine *m = test_open(config, 0);
	struct tpu_outcome outcome;
	const struct tpu_memory none = {.timing_only = true};
	test_tiles(m, 1, 0);
	test_set(m, TPU_REG_RESULT_TYPE, TPU_I32);
	for (int i = 0; i < PAIRS; i++) {
		test_multiply(m, i ? TPU_MATRIX_ACCUMULATE : TPU_MATRIX_SWITCH, 0, 0, 60000);
		test_activate(m, 0, 100, i % 1000, 1);
	}
	test_halt(m);
	cr_assert_eq(
		tpu_run_fast(&(struct tpu_engine_input){.config = &m->config, .program = &m->program, .memory = none},
			     &outcome, &m->err),
		0, "%s", m->err.msg);
	/* Each activate waits for the pass before it, each pass for the activate before it, which reads for 4 cycles:
	 * the pass may begin when these are over (its first write comes at once), or when the pass before has
	 * entered. */
	uint64_t first = 3, pass = 60000, read = 4;
	cr_assert_eq(outcome.cycles, first + PAIRS * (pass + read) + 1);
	test_close(m);
}
