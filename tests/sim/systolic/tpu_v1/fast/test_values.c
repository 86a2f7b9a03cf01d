/* SPDX-License-Identifier: MIT
 *
 * Values of the fast engine. What the program promises: however an instruction's sums are put off, split, put together
 * with others', thrown away or kept, memories and counts are those of the instructions done one after the other, each
 * whole (tests/kit/sim/tpu_v1/interpreter.h). The programs here are those shapes of code that the engine treats in a
 * way of its own; random ones are in tests/sim/systolic/tpu_v1/test_engines.c, runs one after the other in
 * test_cache.c. */
#include <stdio.h>

#include "tests/kit/sim/tpu_v1/fast_support.h"

enum { TABLE = 3000 }; /* weight row */

static struct tpu_config config_of(int64_t rows, int64_t columns)
{
	struct tpu_config config = test_config(rows, columns, 64, 64);
	config.weight_bytes = 4096 * columns;
	return config;
}

static struct test_machine *machine(int64_t rows, int64_t columns, uint64_t seed)
{
	struct test_machine *m = test_open(config_of(rows, columns), 4096);
	fast_fill(m, seed, TABLE, 4, 1000, 0.01f);
	for (size_t i = 0; i < m->memory.host_bytes; i++)
		m->memory.host[i] = (uint8_t)(test_rng(&seed) >> 32);
	return m;
}

static const unsigned all_units = (1u << TPU_UNITS) - 1;

/* A run of tiles into one block of accumulators, then one activate: one product. More rows than are evaluated at
 * once. */
Test(tpu_fast_values, a_run_of_tiles_is_one_product)
{
	static const int64_t sizes[][2] = {{16, 16}, {3, 5}, {20, 70}, {64, 130}, {7, 64}, {130, 9}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (unsigned types = 0; types < 8; types++) {
			struct test_machine *m = machine(sizes[i][0], sizes[i][1], 100 * i + types + 1);
			test_tables(m, 1, TABLE);
			test_set(m, TPU_REG_INPUT_ZERO_POINT, types & 1 ? 0 : types & 4 ? 200 : -100);
			test_set(m, TPU_REG_WEIGHT_ZERO_POINT, types & 1 ? 0 : types & 2 ? 37 : -5);
			for (int k = 0; k < 5; k++) {
				test_tiles(m, 1, k * sizes[i][0]);
				test_multiply(m,
					      TPU_MATRIX_SWITCH | (k ? TPU_MATRIX_ACCUMULATE : 0) |
						      (types & 2 ? TPU_MATRIX_UNSIGNED_WEIGHTS : 0) |
						      (types & 4 ? TPU_MATRIX_UNSIGNED_INPUTS : 0),
					      (uint32_t)(100 * k), 7, 433);
			}
			test_set(m, TPU_REG_RESULT_COLUMNS, sizes[i][1] - (types & 1));
			test_activate(m, TPU_ACTIVATE_SWITCH | TPU_WITH_FUNCTION(TPU_RELU), 1000, 7, 433);
			test_set(m, TPU_REG_RESULT_TYPE, TPU_I32);
			test_set(m, TPU_REG_RESULT_PLANE_ROWS, 500);
			test_activate(m, 0, 1500, 7, 433);
			test_halt(m);
			fast_compare(m, "run of tiles");
			test_close(m);
		}
}

/* The last input row of the buffer, where vectors are read in fours beyond its end. */
Test(tpu_fast_values, the_buffers_last_bytes)
{
	for (int64_t rows = 1; rows < 10; rows++) {
		struct test_machine *m = machine(rows, 3, (uint64_t)rows);
		uint32_t last = (uint32_t)tpu_buffer_size_rows(&m->config) - 8;
		test_tiles(m, 2, 0);
		test_multiply(m, TPU_MATRIX_SWITCH, last, 0, 8);
		test_set(m, TPU_REG_IN_WIDTH, 8);
		test_set(m, TPU_REG_OUT_WIDTH, 8);
		test_add(m, TPU_CONVOLVE, TPU_MATRIX_SWITCH, last, 8, 8);
		test_set(m, TPU_REG_RESULT_TYPE, TPU_I32);
		test_set(m, TPU_REG_RESULT_PLANE_ROWS, 16);
		test_activate(m, 0, 100, 0, 16);
		test_halt(m);
		fast_compare(m, "last rows");
		test_close(m);
	}
}

/* One block is read in pieces, twice, in another order, and added to in between. */
Test(tpu_fast_values, blocks_may_be_read_in_pieces)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct test_machine *m = machine(12, 20, seed);
		uint64_t rng = seed;
		uint32_t out = 600;
		test_tables(m, 1, TABLE);
		test_tiles(m, 3, 0);
		test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 300);
		test_multiply(m, TPU_MATRIX_SWITCH | TPU_MATRIX_ACCUMULATE, 300, 0, 300);
		test_activate(m, TPU_ACTIVATE_SWITCH, 3000, 0, 1);
		bool switched = false;
		for (int i = 0; i < 12; i++) {
			int64_t acc = test_range(&rng, 0, 299), rows = test_range(&rng, 1, 300 - acc);
			unsigned flags = TPU_MATRIX_ACCUMULATE;
			switch (test_range(&rng, 0, 3)) {
			case 0:
				flags = 0;
				/* fall through */
			case 1:
				if (!switched)
					flags |= TPU_MATRIX_SWITCH;
				switched = true;
				test_multiply(m, flags, (uint32_t)test_range(&rng, 0, 200), acc, rows);
				break;
			default:
				test_activate(m, 0, out, acc, rows);
				out += (uint32_t)rows;
			}
			if (out > 2600)
				break;
		}
		test_halt(m);
		fast_compare(m, "pieces");
		test_close(m);
	}
}

/* Inputs of sums that nobody has read yet are overwritten: by the host, by an activate, by the very activate that reads
 * the sums. */
Test(tpu_fast_values, inputs_overwritten_before_sums_are_read)
{
	for (int who = 0; who < 3; who++) {
		struct test_machine *m = machine(12, 12, 5);
		test_tables(m, 1, TABLE);
		test_tiles(m, 1, 0);
		test_multiply(m, TPU_MATRIX_SWITCH, 50, 0, 200);
		test_sync(m, all_units);
		if (who == 0)
			test_add(m, TPU_READ_HOST_MEMORY, 0, 60, 0, 100);
		if (who == 1)
			test_activate(m, TPU_ACTIVATE_FROM_BUFFER, 249, 0, 1);
		test_activate(m, TPU_ACTIVATE_SWITCH, who == 2 ? 80 : 1000, 0, 200);
		test_halt(m);
		fast_compare(m, "overwritten inputs");
		test_close(m);
	}
}

/* More blocks than wait at once, read in the order in which they came and backwards. */
Test(tpu_fast_values, many_small_blocks)
{
	for (int backwards = 0; backwards < 2; backwards++) {
		struct test_machine *m = machine(8, 8, 9);
		test_tables(m, 1, TABLE);
		test_tiles(m, 1, 0);
		for (int i = 0; i < 150; i++)
			test_multiply(m, i ? 0 : TPU_MATRIX_SWITCH, (uint32_t)(3 * i), 4 * i, 3);
		for (int i = 0; i < 150; i++)
			test_activate(m, i ? 0 : TPU_ACTIVATE_SWITCH, 1000 + 3 * (uint32_t)i,
				      backwards ? 4 * (149 - i) : 4 * i, 3);
		test_halt(m);
		fast_compare(m, "small blocks");
		test_close(m);
	}
}

/* Sums that grow beyond 32 bits, where the order of additions decides how often that happens, in all widths of
 * operands, read and not read, in pieces, and on top of each other. */
Test(tpu_fast_values, sums_that_wrap_are_counted_as_by_rtl)
{
	uint64_t seen = 0;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct test_machine *m = machine(16, 10, seed);
		uint64_t rng = seed;
		for (size_t i = 0; i < m->memory.weight_bytes && seed % 3 == 0; i++) /* nothing but extremes */
			m->weights[i] = m->weights[i] & 1 ? 0x80 : 0x7f;
		fast_fill(m, seed, TABLE, 4, INT32_MAX, 1e-7f);
		test_tables(m, 1, TABLE);
		test_set(m, TPU_REG_INPUT_PLANE_ROWS, 500);
		for (int i = 0; i < 120; i++) {
			int64_t acc = test_range(&rng, 0, 1) * 100 + (test_range(&rng, 0, 9) == 0);
			unsigned flags = (unsigned)test_range(&rng, 0, 15) << 2 | TPU_MATRIX_HIGH_WEIGHTS;
			flags |= test_range(&rng, 0, 30) ? TPU_MATRIX_ACCUMULATE : 0;
			if (i % 4 == 0) {
				test_tiles(m, 1, test_range(&rng, 0, 100));
				flags |= TPU_MATRIX_SWITCH;
			}
			test_multiply(m, flags, (uint32_t)test_range(&rng, 0, 300), acc, 100);
			if (i % 40 == 20)
				test_activate(m, i == 20 ? TPU_ACTIVATE_SWITCH : 0, 1000 + 100 * (uint32_t)i / 20, acc,
					      test_range(&rng, 1, 90));
		}
		test_halt(m);
		fast_compare(m, "wrapping sums");
		seen += m->outcome.overflows;
		test_close(m);
	}
	cr_assert(seen > 10000, "%llu wrapped", (unsigned long long)seen);
}

/* Bytes and 16 bits at the limit: as large as sums can be without wrapping, and one more. */
Test(tpu_fast_values, the_greatest_sum_that_fits)
{
	for (int more = 0; more < 2; more++) {
		struct tpu_config config = config_of(256, 16);
		struct test_machine *m = test_open(config, 0);
		memset(m->memory.buffer, 0xff, 2 * 256); /* 255 * 255 * 256 * 129 < 2^31 <= ... * 130 */
		memset(m->weights, 0xff, 256 * 16);
		test_tiles(m, 1, 0);
		for (int i = 0; i < 129 + more; i++)
			test_multiply(m,
				      TPU_MATRIX_UNSIGNED_INPUTS | TPU_MATRIX_UNSIGNED_WEIGHTS |
					      (i ? TPU_MATRIX_ACCUMULATE : TPU_MATRIX_SWITCH),
				      0, 0, 2);
		test_set(m, TPU_REG_RESULT_TYPE, TPU_I32);
		test_set(m, TPU_REG_RESULT_PLANE_ROWS, 2);
		test_activate(m, 0, 10, 0, 2);
		test_halt(m);
		fast_compare(m, "the greatest sum");
		cr_assert_eq(m->outcome.overflows, more ? 2u * 16 : 0u);
		test_close(m);
	}
}

/* A window register of each kind at a time, taps side by side, strips, several images, packed vectors. */
static void set_window(struct test_machine *m, uint64_t *rng, int64_t *outputs)
{
	int64_t kernel[2], stride[2], dilation[2], pad[2], in[2], out[2];
	for (int d = 0; d < 2; d++) {
		kernel[d] = test_range(rng, 1, 4);
		stride[d] = test_range(rng, 1, 3);
		dilation[d] = test_range(rng, 1, 2);
		pad[d] = test_range(rng, -2, 3);
		in[d] = test_range(rng, 3, 12);
		out[d] = test_range(rng, 1, 9);
		test_set(m, TPU_REG_IN_HEIGHT + d, in[d]);
		test_set(m, TPU_REG_OUT_HEIGHT + d, out[d]);
		test_set(m, TPU_REG_KERNEL_HEIGHT + d, kernel[d]);
		test_set(m, TPU_REG_STRIDE_Y + d, stride[d]);
		test_set(m, TPU_REG_DILATION_Y + d, dilation[d]);
		test_set(m, TPU_REG_PAD_TOP + d, pad[d]);
	}
	int64_t width = tpu_row_bytes(&m->config), taps = kernel[0] * kernel[1];
	int64_t lanes = test_range(rng, 1, m->config.rows), first = test_range(rng, 0, 2) ? 0 : test_range(rng, 0, 3);
	int64_t maximum = m->config.rows / lanes;
	int64_t side = test_range(rng, 1, maximum < taps ? maximum : taps);
	int64_t pixel = lanes + first > width ? width : test_range(rng, 0, 1) ? lanes + first : width;
	first = first + lanes > pixel ? 0 : first;
	test_set(m, TPU_REG_TAP_LANES, lanes);
	test_set(m, TPU_REG_FIRST_LANE, first);
	test_set(m, TPU_REG_PIXEL_LANES, pixel);
	test_set(m, TPU_REG_ROW_PIXELS, test_range(rng, 1, width / pixel));
	test_set(m, TPU_REG_TAPS, side);
	test_set(m, TPU_REG_FIRST_TAP, test_range(rng, 0, taps - side));
	test_set(m, TPU_REG_FIRST_OUTPUT, test_range(rng, 0, out[0] * out[1]));
	*outputs = out[0] * out[1];
}

Test(tpu_fast_values, convolutions_equal_the_definition)
{
	int run = 0;
	static const int64_t sizes[][2] = {{16, 16}, {9, 5}, {32, 8}, {100, 40}, {256, 12}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (uint64_t seed = 1; seed <= 40; seed++) {
			struct test_machine *m = machine(sizes[i][0], sizes[i][1], seed);
			uint64_t rng = seed + 1000 * i + 1;
			int64_t outputs = 0;
			test_set(m, TPU_REG_INPUT_ZERO_POINT, test_range(&rng, 0, 100));
			test_set(m, TPU_REG_WEIGHT_ZERO_POINT, test_range(&rng, 0, 1) * 90);
			test_set(m, TPU_REG_INPUT_PLANE_ROWS, 1500);
			for (int k = 0; k < 3; k++) {
				set_window(m, &rng, &outputs);
				unsigned flags = (unsigned)test_range(&rng, 0, 3) << 2 | TPU_MATRIX_SWITCH;
				test_tiles(m, 1, test_range(&rng, 0, 500));
				test_add(m, TPU_CONVOLVE, flags | (k ? TPU_MATRIX_ACCUMULATE : 0), (uint32_t)k, 0, 250);
			}
			test_set(m, TPU_REG_RESULT_TYPE, TPU_I32);
			test_set(m, TPU_REG_RESULT_PLANE_ROWS, 250);
			test_sync(m, all_units);
			test_activate(m, 0, 3000, 0, 250);
			test_halt(m);
			char subject[64];
			snprintf(subject, sizeof subject, "convolution %zu, seed %llu", i, (unsigned long long)seed);
			/* images that the buffer has no room for are refused */
			if (!tpu_program_check(&m->config, &m->program, &m->memory, "test", &m->err)) {
				fast_compare(m, subject);
				run++;
			}
			test_close(m);
		}
	cr_assert(run > 100, "%d were run", run);
}

/* Weights that are no more than a corner of their tile, and a tile that nothing is in. */
Test(tpu_fast_values, tiles_that_are_mostly_empty)
{
	for (int zero = 0; zero < 2; zero++)
		for (int64_t used = 0; used <= 16; used++) {
			struct test_machine *m = machine(16, 70, (uint64_t)used + 1);
			memset(m->weights + used * 70, zero ? 11 : 0, (size_t)(16 - used) * 70);
			test_set(m, TPU_REG_WEIGHT_ZERO_POINT, zero ? 11 : 0);
			test_set(m, TPU_REG_INPUT_ZERO_POINT, -7);
			test_tiles(m, 1, 0);
			test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 20);
			test_set(m, TPU_REG_TAP_LANES, 5);
			test_set(m, TPU_REG_IN_WIDTH, 20);
			test_set(m, TPU_REG_OUT_WIDTH, 20);
			test_add(m, TPU_CONVOLVE, 0, 100, 20, 20);
			test_set(m, TPU_REG_RESULT_TYPE, TPU_I32);
			test_set(m, TPU_REG_RESULT_PLANE_ROWS, 40);
			test_activate(m, 0, 1000, 0, 40);
			test_halt(m);
			fast_compare(m, "empty tile");
			test_close(m);
		}
}

/* Weight memory that was given only in part; what lies beyond is 0. */
Test(tpu_fast_values, weights_that_are_not_all_given)
{
	struct test_machine *m = machine(16, 12, 3);
	m->memory.weight_bytes = 20 * 12 + 5;
	test_tiles(m, 3, 0);
	for (int k = 0; k < 3; k++)
		test_multiply(m, TPU_MATRIX_SWITCH, 0, 10 * k, 10);
	test_tables(m, 1, 17);
	test_set(m, TPU_REG_RESULT_TYPE, TPU_I32);
	test_set(m, TPU_REG_RESULT_PLANE_ROWS, 40);
	test_activate(m, TPU_ACTIVATE_SWITCH, 1000, 0, 30);
	test_halt(m);
	fast_compare(m, "weights in part");
	test_close(m);
}
