/* SPDX-License-Identifier: MIT
 *
 * The rtl engine's times of the matrix unit, the weights and the activation unit. What the program promises: each
 * expected cycle here is worked out by hand from the rules in docs/tpu-isa.md, section Time; the arithmetic stands
 * beside it. An instruction that issues in cycle t can start in t + 1, so the first transfer of a program that begins
 * with read_weights runs from 1. */
#include "tests/kit/sim/tpu_v1/machine.h"

/* 256 x 256, tiles that come in one cycle each. */
static struct test_machine *large(void)
{
	return test_open(test_config(256, 256, 65536, 1), 0);
}

Test(tpu_rtl_time, products_of_one_tile_follow_each_other)
{
	static const int64_t batches[] = {1, 128, 256, 2048};
	for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
		int64_t b = batches[i];
		struct test_machine *m = large();
		test_tiles(m, 1, 0);
		int64_t first = test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, b);
		int64_t again = test_multiply(m, 0, 0, 0, b);
		test_halt(m);
		test_run_ok(m);
		EXPECT_AT(m, TPU_ISSUED, 1, 1);
		EXPECT_AT(m, TPU_TILE_PUSHED, 0, 2);   /* transfer 1..2 */
		EXPECT_AT(m, TPU_TILE_SHIFTED, 0, 2);  /* at once */
		EXPECT_AT(m, TPU_TILE_POPPED, 0, 258); /* 2 + 256 */
		EXPECT_AT(m, TPU_MATRIX_STARTED, first, 258);
		/* The last row enters in cycle 258 + b - 1 and is written in the last column 255 + 255 cycles later. */
		EXPECT_AT(m, TPU_MATRIX_WRITTEN, first, 258 + b + 510);
		/* Weights in place: the second one follows without a gap. */
		EXPECT_AT(m, TPU_MATRIX_STARTED, again, 258 + b);
		EXPECT_AT(m, TPU_MATRIX_WRITTEN, again, 258 + b + b + 510);
		EXPECT_CYCLES(m, 258 + 2 * b + 510 + 1); /* halt issues when all is written, and takes a cycle */
		EXPECT_COUNT(m, array_active, 2 * b);
		/* The instruction is at the head from cycle 2 on, when the shift begins. */
		EXPECT_COUNT(m, weight_stall, 0);
		EXPECT_COUNT(m, weight_shift, 256);
		EXPECT_COUNT(m, tiles, 1);
		EXPECT_COUNT(m, weight_bytes, 65536);
		/* halt is looked at from 3 on and waits for the matrix unit; except the shift and the rows, to the
		 * end. */
		EXPECT_COUNT(m, raw_stall, 510);
		test_close(m);
	}
}

Test(tpu_rtl_time, tiles_back_to_back)
{
	static const int64_t batches[] = {1, 128, 255, 256, 257, 300, 2048};
	for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
		int64_t b = batches[i], apart = b > 256 ? b : 256, pass[4];
		struct test_machine *m = large();
		test_tiles(m, 4, 0);
		for (int k = 0; k < 4; k++)
			pass[k] = test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, b);
		test_halt(m);
		test_run_ok(m);
		for (int k = 0; k < 4; k++) {
			EXPECT_AT(m, TPU_TILE_PUSHED, k, 2 + k);
			/* The first at 258, as above. The shift of the next tile begins with a pass and takes 256
			 * cycles; the next pass begins when that is over and the rows of this one are sent. */
			EXPECT_AT(m, TPU_MATRIX_STARTED, pass[k], 258 + k * apart);
			EXPECT_AT(m, TPU_MATRIX_WRITTEN, pass[k], 258 + k * apart + b + 510);
			EXPECT_AT(m, TPU_TILE_SHIFTED, k, k ? 258 + (k - 1) * apart : 2);
			EXPECT_AT(m, TPU_TILE_POPPED, k, k ? 258 + (k - 1) * apart + 256 : 258);
		}
		EXPECT_COUNT(m, array_active, 4 * b);
		EXPECT_COUNT(m, weight_stall, 0);
		EXPECT_COUNT(m, weight_shift, 256 + 3 * (apart - b));
		EXPECT_COUNT(m, tiles, 4);
		test_close(m);
	}
}

/* The real memory: 65,536 * 700e6 / 34,133,333,334 = 1343.99999997 cycles per tile. */
Test(tpu_rtl_time, tiles_come_at_the_rate_of_memory)
{
	enum { TILES = 6, B = 100 };
	struct test_machine *m = large();
	int64_t pass[TILES];
	m->config.clock_hz = 700000000;
	m->config.weight_bytes_per_second = 34133333334;
	test_tiles(m, TILES, 0);
	for (int k = 0; k < TILES; k++)
		pass[k] = test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, B);
	test_halt(m);
	test_run_ok(m);
	for (int k = 0; k < TILES; k++) {
		EXPECT_AT(m, TPU_TILE_PUSHED, k, 1 + 1344 * (k + 1));
		EXPECT_AT(m, TPU_TILE_SHIFTED, k, 1 + 1344 * (k + 1));
		EXPECT_AT(m, TPU_MATRIX_STARTED, pass[k], 1 + 1344 * (k + 1) + 256);
	}
	EXPECT_COUNT(m, weight_shift, TILES * 256);
	/* The first is at the head from cycle 2 and its tile there from 1345; then 1344 less rows and shift. */
	EXPECT_COUNT(m, weight_stall, 1343 + (TILES - 1) * (1344 - 256 - B));
	EXPECT_COUNT(m, weight_bytes, TILES * 65536);
	test_close(m);
}

/* ---- From here on 3 x 5 cells: a tile is 15 bytes and shifted in 3 cycles, the last write is 6 + rows after the start
 * ---- */

Test(tpu_rtl_time, transfers_to_fractions_of_a_cycle)
{
	/* 15 bytes at 7 per cycle: after n tiles it is 1 + 15 n / 7, rounded up. The seventh ends on a boundary. */
	static const int64_t pushed[] = {4, 6, 8, 10, 12, 14, 16, 19};
	struct test_machine *m = test_open(test_config(3, 5, 7, 1), 0);
	m->config.fifo_tiles = 8;
	test_tiles(m, 8, 0);
	test_halt(m);
	test_run_ok(m);
	for (int k = 0; k < 8; k++)
		EXPECT_AT(m, TPU_TILE_PUSHED, k, pushed[k]);
	EXPECT_CYCLES(m, 20); /* weights have nothing left to do at 19 */
	EXPECT_AT(m, TPU_TILE_POPPED, 0, 7);
	cr_assert_eq(test_how_many(m, TPU_TILE_POPPED), 1); /* nobody switches */
	test_close(m);
}

Test(tpu_rtl_time, fifo_of_one_tile)
{
	struct test_machine *m = test_open(test_config(3, 5, 7, 1), 0);
	int64_t pass[3];
	m->config.fifo_tiles = 1;
	test_tiles(m, 3, 0);
	for (int k = 0; k < 3; k++)
		pass[k] = test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 10);
	test_halt(m);
	test_run_ok(m);
	EXPECT_AT(m, TPU_TILE_PUSHED, 0, 4); /* 1 + 15/7 */
	EXPECT_AT(m, TPU_TILE_POPPED, 0, 7); /* 4 + 3 */
	EXPECT_AT(m, TPU_MATRIX_STARTED, pass[0], 7);
	/* Room in the FIFO from 7 on: the next transfer begins there, not at 3 1/7, and ends at 9 1/7. */
	EXPECT_AT(m, TPU_TILE_PUSHED, 1, 10);
	EXPECT_AT(m, TPU_TILE_SHIFTED, 1, 10);
	EXPECT_AT(m, TPU_TILE_POPPED, 1, 13);
	EXPECT_AT(m, TPU_MATRIX_STARTED, pass[1], 17); /* 7 + 10 rows */
	EXPECT_AT(m, TPU_TILE_PUSHED, 2, 16);          /* 13 + 2 1/7 */
	EXPECT_AT(m, TPU_TILE_SHIFTED, 2, 17);         /* with the second pass */
	EXPECT_AT(m, TPU_MATRIX_STARTED, pass[2], 27);
	EXPECT_AT(m, TPU_MATRIX_WRITTEN, pass[2], 43); /* 27 + 10 + 6 */
	EXPECT_CYCLES(m, 44);
	test_close(m);
}

/* With room for two the second follows the first within a cycle, the third waits. */
Test(tpu_rtl_time, fifo_of_two_tiles)
{
	struct test_machine *m = test_open(test_config(3, 5, 7, 1), 0);
	m->config.fifo_tiles = 2;
	test_tiles(m, 3, 0);
	test_halt(m);
	test_run_ok(m);
	EXPECT_AT(m, TPU_TILE_PUSHED, 0, 4); /* 3 1/7 */
	EXPECT_AT(m, TPU_TILE_PUSHED, 1, 6); /* 5 2/7 */
	EXPECT_AT(m, TPU_TILE_POPPED, 0, 7);
	EXPECT_AT(m, TPU_TILE_PUSHED, 2, 10); /* from 7: 9 1/7 */
	test_close(m);
}

Test(tpu_rtl_time, transfer_begins_where_one_ends_or_with_its_instruction)
{
	for (int nops = 0; nops < 5; nops++) {
		/* The first ends at 3 1/7, in cycle 3. The second issues in cycle 1 + nops and can start one later: up
		 * to cycle 3 it follows at 3 1/7, to 5 2/7; else it begins with its cycle, 4 or 5, and takes 2 1/7. */
		static const int64_t pushed[] = {6, 6, 7, 8, 9};
		struct test_machine *m = test_open(test_config(3, 5, 7, 1), 0);
		test_tiles(m, 1, 0);
		for (int i = 0; i < nops; i++)
			test_add(m, TPU_NOP, 0, 0, 0, 0);
		int64_t second = test_tiles(m, 1, 3);
		test_halt(m);
		test_run_ok(m);
		EXPECT_AT(m, TPU_ISSUED, second, 1 + nops);
		EXPECT_AT(m, TPU_TILE_PUSHED, 1, pushed[nops]);
		test_close(m);
	}
}

Test(tpu_rtl_time, several_transfers_in_a_cycle)
{
	/* 40 bytes per cycle: tiles end at 1 + 15/40, 30/40, 45/40, so the first two are pushed at 2, the third at 3,
	 * and the table of 40 bytes, an instruction more, ends at 1 + 85/40 = 3.125. */
	struct test_machine *m = test_open(test_config(3, 5, 40, 1), 0);
	test_tiles(m, 3, 0);
	test_tables(m, 1, 9);
	test_halt(m);
	test_run_ok(m);
	EXPECT_AT(m, TPU_TILE_PUSHED, 0, 2);
	EXPECT_AT(m, TPU_TILE_PUSHED, 1, 2);
	EXPECT_AT(m, TPU_TILE_PUSHED, 2, 3);
	EXPECT_AT(m, TPU_TABLE_LOADED, 0, 4);
	EXPECT_COUNT(m, weight_bytes, 85);
	EXPECT_CYCLES(m, 5);
	test_close(m);
}

Test(tpu_rtl_time, sixteen_bit_inputs_take_two_cycles)
{
	struct test_machine *m = test_open(test_config(3, 5, 15, 1), 0);
	m->config.matrix_registers = 4;
	test_tiles(m, 1, 0);
	test_set(m, TPU_REG_INPUT_PLANE_ROWS, 100);
	test_set(m, TPU_REG_USEFUL_CELLS, 11);
	int64_t wide = test_multiply(m, TPU_MATRIX_SWITCH | TPU_MATRIX_INPUTS16, 0, 0, 4);
	int64_t next = test_multiply(m, 0, 0, 0, 1);
	test_halt(m);
	test_run_ok(m);
	EXPECT_AT(m, TPU_TILE_POPPED, 0, 5); /* 1 + 1, + 3 */
	EXPECT_AT(m, TPU_MATRIX_STARTED, wide, 5);
	EXPECT_AT(m, TPU_MATRIX_WRITTEN, wide, 5 + 8 + 6 + 4); /* 8 rows, 3 + 5 - 2, 4 registers */
	EXPECT_AT(m, TPU_MATRIX_STARTED, next, 13);
	EXPECT_AT(m, TPU_MATRIX_WRITTEN, next, 24);
	EXPECT_COUNT(m, array_active, 9);
	EXPECT_COUNT(m, useful_macs, 99);
	EXPECT_COUNT(m, unused_macs, 9 * 15 - 99);
	EXPECT_COUNT(m, ub_rows_read, 9);
	EXPECT_COUNT(m, accumulator_writes, 9);
	EXPECT_CYCLES(m, 25);
	test_close(m);
}
