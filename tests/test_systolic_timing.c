/* SPDX-License-Identifier: MIT
 *
 * Cycles of the systolic machines against closed forms. What the program promises for the TPU v1: one tile from cold
 * costs fetch + shift + wave + Activate; back-to-back tiles cost max(B, 256) or the fetch of 1344 cycles; counters
 * partition the cycles. The wave's length is checked against an array stepped cell by cell. */
#include "systolic_support.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Cycles of a Gemm, timing only, with 8-bit results. */
static struct npl_result gemm_result(const struct tpu_config *config, int64_t rows, int64_t k, int64_t n)
{
	struct test_layer t;
	test_gemm(&t, rows, k, n);
	test_requantised(&t, NPL_U8, 1.0f, 0);
	t.layer.timing_only = true;
	struct npl_result result = test_run(config, &t.layer);
	test_layer_free(&t);
	return result;
}

Test(systolic_timing, one_tile_from_cold)
{
	struct tpu_config config = test_tpu_defaults();
	const uint64_t rows[] = {1, 128, 256, 2048};
	for (size_t i = 0; i < 4; i++) {
		uint64_t b = rows[i];
		struct npl_result r = gemm_result(&config, (int64_t)b, 256, 256);
		cr_assert_eq(r.cycles, 1344 + 256 + (b + 510) + b, "B = %llu takes %llu", (unsigned long long)b,
			     (unsigned long long)r.cycles);
		cr_assert_eq(test_counter(&r, "array_active"), b);
		cr_assert_eq(test_counter(&r, "weight_stall"), 1344);
		cr_assert_eq(test_counter(&r, "weight_shift"), 256);
		cr_assert_eq(test_counter(&r, "non_matrix"), 510 + b);
		cr_assert_eq(test_counter(&r, "raw_stall"), 510 + b);
		cr_assert_eq(test_counter(&r, "useful_macs"), b * 65536);
		cr_assert_eq(test_counter(&r, "unused_macs"), 0);
		cr_assert_eq(r.bytes[NPL_MEM_DRAM], 65536);
	}
}

Test(systolic_timing, documented_registers_add_up)
{
	struct tpu_config config = test_tpu_defaults();
	config.matrix_registers = 3;
	config.activate_registers = 5;
	config.activate_cycles_per_row = 2;
	cr_assert_eq(gemm_result(&config, 100, 256, 256).cycles, 1344 + 256 + (100 + 510 + 3) + 2 * 100 + 5);
}

Test(systolic_timing, steady_state_is_the_slowest_of_stream_shift_and_fetch)
{
	/* From n tiles along K to n + 8 of them: 8 periods, whatever happens at the ends. */
	struct tpu_config config = test_tpu_defaults();
	const int64_t rows[] = {1, 100, 255, 256, 257, 1000, 1343, 1344, 1345, 2048};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int fast = 0; fast < 2; fast++) {
			config.weight_bytes_per_second = fast ? (int64_t)1000000000000000 : 34133333334;
			uint64_t fetch = fast ? 1 : 1344, period = larger(larger((uint64_t)rows[i], 256), fetch);
			uint64_t few = gemm_result(&config, rows[i], 16 * 256, 256).cycles;
			uint64_t more = gemm_result(&config, rows[i], 24 * 256, 256).cycles;
			cr_assert_eq(more - few, 8 * period, "B = %lld: %llu for 8 tiles", (long long)rows[i],
				     (unsigned long long)(more - few));
		}
}

Test(systolic_timing, weight_bound_layers_divide_the_period_as_the_paper_does)
{
	/* Facts of the steady state for B + 256 < 1344: B active, 256 shift, the rest stall. */
	struct tpu_config config = test_tpu_defaults();
	struct npl_result few = gemm_result(&config, 200, 16 * 256, 256),
			  more = gemm_result(&config, 200, 26 * 256, 256);
	cr_assert_eq(test_counter(&more, "array_active") - test_counter(&few, "array_active"), 10 * 200);
	cr_assert_eq(test_counter(&more, "weight_shift") - test_counter(&few, "weight_shift"), 10 * 256);
	cr_assert_eq(test_counter(&more, "weight_stall") - test_counter(&few, "weight_stall"), 10 * (1344 - 256 - 200));
	cr_assert_eq(test_counter(&more, "non_matrix"), test_counter(&few, "non_matrix"));
}

Test(systolic_timing, a_matrix_of_600_takes_18_microseconds)
{
	/* Jouppi et al., section 7: LSTM1's 600 x 600 takes 9 tiles at about 2 us each on a 256 x 256 array. */
	struct tpu_config config = test_tpu_defaults();
	struct npl_result r = gemm_result(&config, 96, 600, 600);
	cr_assert_eq(test_counter(&r, "tiles"), 9);
	cr_assert_eq(test_counter(&r, "useful_macs"), 96 * 600 * 600);
	cr_assert_eq(test_counter(&r, "unused_macs"), 96 * (9 * 65536 - 600 * 600));
	double seconds = (double)r.cycles / 700e6;
	cr_assert(seconds > 17e-6 && seconds < 20e-6, "%g s", seconds);
}

Test(systolic_timing, a_fraction_of_a_cycle_is_not_lost)
{
	/* 3 x 5 cells at a ratio of clock to bandwidth that is no integer: tile i is complete at ceil((i + 1) * 15 *
	 * clock / bandwidth). */
	struct tpu_config config = test_tpu_defaults();
	config.rows = 3;
	config.columns = 5;
	config.clock_hz = 1000000;
	config.weight_bytes_per_second = 700001;
	config.accumulator_rows = 4;
	for (int64_t tiles = 1; tiles < 200; tiles++) {
		struct npl_result r = gemm_result(&config, 1, 3 * tiles, 5);
		uint64_t ready = ((uint64_t)tiles * 15 * 1000000 + 700000) / 700001;
		cr_assert_eq(r.cycles, ready + 3 + (1 + 3 + 5 - 2) + 1, "%lld tiles: %llu cycles", (long long)tiles,
			     (unsigned long long)r.cycles);
	}
}

Test(systolic_timing, raw_results_cost_four_buffer_rows)
{
	struct tpu_config config = test_tpu_defaults();
	struct test_layer t;
	test_gemm(&t, 256, 256, 256);
	t.layer.timing_only = true;
	struct npl_result raw = test_run(&config, &t.layer), packed = gemm_result(&config, 256, 256, 256);
	test_layer_free(&t);
	cr_assert_eq(test_counter(&raw, "ub_rows_written"), 4 * 256);
	cr_assert_eq(test_counter(&packed, "ub_rows_written"), 256);
	cr_assert_eq(raw.cycles - packed.cycles, 3 * 256);
}

Test(systolic_timing, accumulators_hold_two_blocks)
{
	/* One tile of K, 8 blocks of 2048 rows: a block's first write, 255 cycles after its start, waits until the
	 * block two before is drained, and it takes 2048 + 255 cycles from there to its last: two blocks every 2048 +
	 * 2303 cycles. */
	struct tpu_config config = test_tpu_defaults();
	config.buffer_bytes = 1 << 30;
	struct npl_result r = gemm_result(&config, 8 * 2048, 256, 256);
	cr_assert_eq(test_counter(&r, "weight_shift"), 256, "the weights are shifted in once");
	cr_assert_eq(r.bytes[NPL_MEM_DRAM], 65536, "and fetched once");
	cr_assert_eq(r.cycles, 1344 + 256 + (2048 + 510) + 2 * 2048 + 3 * (2048 + 2303));
	cr_assert_eq(test_counter(&r, "non_matrix") - test_counter(&r, "raw_stall"), 3 * 255);
	/* With Activate twice as slow the Activates are back to back and set the pace. */
	config.activate_cycles_per_row = 2;
	cr_assert_eq(gemm_result(&config, 8 * 2048, 256, 256).cycles, 1344 + 256 + (2048 + 510) + 8 * 4096);
}

Test(systolic_timing, taps_share_a_pass_when_channels_are_few)
{
	/* A 7x7 stem on 3 channels: 85 taps of 3 channels fit in 256 rows, so all 49 go in one pass of 147 rows. */
	struct tpu_config config = test_tpu_defaults();
	struct test_conv c = {1, 3, 56, 56, 64, 1, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}, false};
	struct test_layer t;
	cr_assert(test_convolution(&t, &c));
	t.layer.timing_only = true;
	struct npl_result r = test_run(&config, &t.layer);
	cr_assert_eq(test_counter(&r, "tiles"), 1);
	cr_assert_eq(test_counter(&r, "useful_macs"), 28 * 28 * 147 * 64);
	test_layer_free(&t);
	/* 100 channels: 2 taps per pass, 9 taps in 5 passes. 300 channels: 2 tiles per tap. */
	const int64_t channels[] = {100, 300, 256, 128}, tiles[] = {5, 18, 9, 5};
	for (int i = 0; i < 4; i++) {
		c = (struct test_conv){1, channels[i], 6, 6, 32, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false};
		cr_assert(test_convolution(&t, &c));
		t.layer.timing_only = true;
		r = test_run(&config, &t.layer);
		cr_assert_eq(test_counter(&r, "tiles"), (uint64_t)tiles[i], "%lld channels", (long long)channels[i]);
		test_layer_free(&t);
	}
}

Test(systolic_timing, groups_are_apart)
{
	struct tpu_config config = test_tpu_defaults();
	struct test_conv c = {2, 40, 8, 8, 40, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false};
	struct test_layer t;
	cr_assert(test_convolution(&t, &c));
	t.layer.timing_only = true;
	struct npl_result r = test_run(&config, &t.layer);
	cr_assert_eq(test_counter(&r, "tiles"), 40);
	cr_assert_eq(r.bytes[NPL_MEM_DRAM], 40 * 65536, "whole tiles for nine weights each");
	cr_assert_eq(r.bytes_at_least[NPL_MEM_DRAM], 40 * 9);
	test_layer_free(&t);
}

Test(systolic_timing, more_of_anything_never_hurts)
{
	const uint64_t seed = 0x5eed0101;
	uint64_t rng = seed;
	struct tpu_config base = test_tpu_defaults();
	for (int round = 0; round < 150; round++) {
		base.rows = test_range(&rng, 1, 40);
		base.columns = test_range(&rng, 1, 40);
		base.fifo_tiles = test_range(&rng, 1, 5);
		base.accumulator_rows = test_range(&rng, 2, 80);
		base.weight_bytes_per_second = base.clock_hz * test_range(&rng, 1, 60) / test_range(&rng, 1, 9);
		int64_t rows = test_range(&rng, 1, 120), k = test_range(&rng, 1, 300), n = test_range(&rng, 1, 200);
		uint64_t cycles = gemm_result(&base, rows, k, n).cycles;
		struct tpu_config better = base;
		better.weight_bytes_per_second += base.clock_hz / test_range(&rng, 1, 5);
		cr_assert_leq(gemm_result(&better, rows, k, n).cycles, cycles, "seed %llx round %d: bandwidth",
			      (unsigned long long)seed, round);
		better = base;
		better.fifo_tiles++;
		cr_assert_leq(gemm_result(&better, rows, k, n).cycles, cycles, "seed %llx round %d: FIFO",
			      (unsigned long long)seed, round);
		cr_assert_geq(gemm_result(&base, rows, k + 37, n).cycles, cycles, "seed %llx round %d: K",
			      (unsigned long long)seed, round);
		cr_assert_geq(gemm_result(&base, rows, k, n + 37).cycles, cycles, "seed %llx round %d: N",
			      (unsigned long long)seed, round);
	}
}

enum { MOST = 12 };

/* One tile on R x C cells, every register every cycle: input row b enters row r of the array in cycle b + r, moves one
 * cell right per cycle; partial sums move one cell down per cycle. Returns the cycles until the last result is out. */
static uint64_t step_cells(int rows, int columns, int b, uint64_t *rng)
{
	int32_t weight[MOST][MOST], input[MOST][MOST], expected[MOST][MOST] = {{0}};
	int32_t x[MOST][MOST] = {{0}}, sum[MOST][MOST] = {{0}};
	bool live[MOST][MOST] = {{false}};
	for (int r = 0; r < rows; r++)
		for (int c = 0; c < columns; c++)
			weight[r][c] = (int32_t)test_range(rng, -128, 127);
	for (int i = 0; i < b; i++)
		for (int r = 0; r < rows; r++)
			input[i][r] = (int32_t)test_range(rng, 0, 255);
	for (int i = 0; i < b; i++)
		for (int c = 0; c < columns; c++)
			for (int r = 0; r < rows; r++)
				expected[i][c] += input[i][r] * weight[r][c];
	int out[MOST] = {0}, left = b * columns;
	for (uint64_t cycle = 0;; cycle++) {
		/* From the far corner, so that every cell reads its neighbours' values of the cycle before. */
		for (int r = rows - 1; r >= 0; r--)
			for (int c = columns - 1; c >= 0; c--) {
				int entering = (int)cycle - r;
				bool on = c ? live[r][c - 1] : entering >= 0 && entering < b;
				int32_t value = c ? x[r][c - 1] : on ? input[entering][r] : 0;
				live[r][c] = on;
				x[r][c] = value;
				sum[r][c] = (r ? sum[r - 1][c] : 0) + value * weight[r][c];
			}
		for (int c = 0; c < columns; c++)
			if (live[rows - 1][c]) {
				cr_assert_eq(sum[rows - 1][c], expected[out[c]][c], "%dx%d, row %d column %d", rows,
					     columns, out[c], c);
				out[c]++;
				if (--left == 0)
					return cycle + 1;
			}
	}
}

static void see_write(void *context, const struct tpu_event *event)
{
	uint64_t *at = context;
	at[event->kind] = event->cycle;
}

Test(systolic_timing, the_wave_is_that_of_an_array_stepped_cell_by_cell)
{
	uint64_t rng = 0x5eed0102;
	struct tpu_config config = test_tpu_defaults();
	config.accumulator_rows = 2 * MOST;
	for (int rows = 1; rows <= MOST; rows += 2)
		for (int columns = 1; columns <= MOST; columns += 3)
			for (int b = 1; b <= MOST; b += 4) {
				struct test_layer t;
				struct tpu_plan plan;
				struct tpu_stats stats = {0};
				char why[200];
				uint64_t at[TPU_ACTIVATE_END + 1] = {0};
				config.rows = rows;
				config.columns = columns;
				test_gemm(&t, b, rows, columns);
				cr_assert(tpu_plan_layer(&config, &t.layer, &plan, why, sizeof why), "%s", why);
				tpu_schedule(&config, &plan, b, &(struct tpu_observer){see_write, at}, &stats);
				cr_assert_eq(at[TPU_LAST_WRITE] - at[TPU_TILE_START],
					     step_cells(rows, columns, b, &rng), "%dx%d, B = %d", rows, columns, b);
				test_layer_free(&t);
			}
}
