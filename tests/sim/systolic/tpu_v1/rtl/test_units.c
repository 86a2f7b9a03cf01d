/* SPDX-License-Identifier: MIT
 *
 * The rtl engine's times of the activation unit, the host link and issue, and what the counters make of waiting. What
 * the program promises: each expected cycle here is worked out by hand from the rules in docs/tpu-isa.md, section Time;
 * the arithmetic stands beside it. All on 3 x 5 cells with 15 bytes of weights per cycle: a tile is transferred in one
 * cycle and shifted in 3, a table of 40 bytes takes 2 2/3, the last write comes 6 cycles after the rows. */
#include "tests/kit/sim/tpu_v1/machine.h"

static struct test_machine *small(void)
{
	return test_open(test_config(3, 5, 15, 2), 4096);
}

/* A table and a tile; a switching pass that issues by cycle 7 starts at 8. */
static void load(struct test_machine *m)
{
	test_tables(m, 1, 300); /* 1 .. 3 2/3 */
	test_tiles(m, 1, 0);    /* .. 4 2/3: pushed at 5, popped at 8 */
}

/* Cycles per vector: activate.cycles_per_row times the rows that the buffer gives for it, or takes, whichever are
 * more. */
Test(tpu_rtl_units, activate_takes_the_rows_it_reads_or_writes)
{
	static const struct {
		enum tpu_type source, operand, result;
		unsigned flags;
		int limit, read, written; /* rows per vector */
	} cases[] = {
		{TPU_I8, TPU_I8, TPU_I8, 0, 1, 0, 1},
		{TPU_I16, TPU_I8, TPU_I16, 0, 2, 0, 2},
		{TPU_I8, TPU_I8, TPU_I32, 0, 4, 0, 4},
		{TPU_I16, TPU_I8, TPU_I8, TPU_WITH_OPERAND(TPU_SCALE), 1, 0, 1}, /* accumulators are no buffer rows */
		{TPU_I8, TPU_I16, TPU_I8, TPU_WITH_OPERAND(TPU_ADD), 2, 2, 1},
		{TPU_I8, TPU_U8, TPU_I8, TPU_WITH_OPERAND(TPU_MULTIPLY), 1, 1, 1},
		{TPU_U8, TPU_I8, TPU_U8, TPU_ACTIVATE_FROM_BUFFER, 1, 1, 1},
		{TPU_I16, TPU_I8, TPU_I8, TPU_ACTIVATE_FROM_BUFFER | TPU_WITH_OPERAND(TPU_SCALE), 2, 2, 1},
		{TPU_I8, TPU_U8, TPU_I8, TPU_ACTIVATE_FROM_BUFFER | TPU_WITH_OPERAND(TPU_ADD), 2, 2, 1},
		{TPU_I16, TPU_I16, TPU_I16, TPU_ACTIVATE_FROM_BUFFER | TPU_WITH_OPERAND(TPU_ADD), 4, 4, 2},
		{TPU_I16, TPU_I8, TPU_U8, TPU_ACTIVATE_FROM_BUFFER | TPU_WITH_FUNCTION(TPU_SIGMOID), 2, 2, 1},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int slow = 0; slow < 2; slow++) {
			bool from_buffer = cases[i].flags & TPU_ACTIVATE_FROM_BUFFER;
			int64_t reading = 6 * (slow ? 3 : 1) * cases[i].limit, drain = slow ? 4 : 0;
			struct test_machine *m = small();
			m->config.activate_cycles_per_row = slow ? 3 : 1;
			m->config.activate_latency_cycles = drain;
			load(m);
			int64_t pass = test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 6);
			test_set(m, TPU_REG_SOURCE_TYPE, cases[i].source);
			test_set(m, TPU_REG_OPERAND_TYPE, cases[i].operand);
			test_set(m, TPU_REG_RESULT_TYPE, cases[i].result);
			test_set(m, TPU_REG_SOURCE, 1000);
			test_set(m, TPU_REG_SOURCE_PLANE_ROWS, 100);
			test_set(m, TPU_REG_OPERAND, 2000);
			test_set(m, TPU_REG_OPERAND_PLANE_ROWS, 100);
			test_set(m, TPU_REG_RESULT_PLANE_ROWS, 100);
			int64_t first = test_activate(m, cases[i].flags | TPU_ACTIVATE_SWITCH, 3000, 0, 6);
			int64_t second = test_activate(m, cases[i].flags, 3000, 0, 6);
			test_halt(m);
			test_run_ok(m);
			EXPECT_AT(m, TPU_TABLE_LOADED, 0, 4);
			EXPECT_AT(m, TPU_MATRIX_STARTED, pass, 8);
			EXPECT_AT(m, TPU_MATRIX_WRITTEN, pass, 20); /* 8 + 6 + 6 */
			/* Issued in cycle 11, the table there: from the buffer at once, else when all is written. */
			int64_t start = from_buffer ? 12 : 20;
			EXPECT_AT(m, TPU_ISSUED, first, 11);
			EXPECT_AT(m, TPU_ACTIVATE_STARTED, first, start);
			EXPECT_AT(m, TPU_ACTIVATE_ENDED, first, start + reading + drain);
			EXPECT_AT(m, TPU_ACTIVATE_STARTED, second, start + reading + drain);
			EXPECT_AT(m, TPU_ACTIVATE_ENDED, second, start + 2 * (reading + drain));
			EXPECT_COUNT(m, activate_cycles, 2 * reading);
			EXPECT_COUNT(m, ub_rows_read, 6 + 2 * 6 * cases[i].read);
			EXPECT_COUNT(m, ub_rows_written, 2 * 6 * cases[i].written);
			int64_t end = start + 2 * (reading + drain);
			EXPECT_CYCLES(m, (end > 20 ? end : 20) + 1);
			test_close(m);
		}
}

/* Two halves of the accumulators, with an activation unit that is slower than the array. */
Test(tpu_rtl_units, matrix_waits_for_activate)
{
	for (int registers = 0; registers <= 4; registers += 4) {
		struct test_machine *m = small();
		int64_t pass[4], read[4], p = registers;
		m->config.activate_cycles_per_row = 5;
		m->config.matrix_registers = registers;
		load(m);
		for (int i = 0; i < 4; i++) {
			pass[i] = test_multiply(m, i ? 0 : TPU_MATRIX_SWITCH, 0, i % 2 * 6, 6);
			read[i] = test_activate(m, i ? 0 : TPU_ACTIVATE_SWITCH, 100, i % 2 * 6, 6);
		}
		test_halt(m);
		test_run_ok(m);
		EXPECT_AT(m, TPU_MATRIX_STARTED, pass[0], 8);
		EXPECT_AT(m, TPU_MATRIX_STARTED, pass[1], 14);
		EXPECT_AT(m, TPU_ACTIVATE_STARTED, read[0], 20 + p); /* 8 + 6 + 6 + p */
		EXPECT_AT(m, TPU_ACTIVATE_STARTED, read[1], 50 + p); /* 30 cycles each */
		/* The first write is 2 + p cycles after the start, the rows have been read at 50 + p: start at 48. */
		EXPECT_AT(m, TPU_MATRIX_STARTED, pass[2], 48);
		EXPECT_AT(m, TPU_ACTIVATE_STARTED, read[2], 80 + p);
		EXPECT_AT(m, TPU_MATRIX_STARTED, pass[3], 78);
		EXPECT_AT(m, TPU_ACTIVATE_STARTED, read[3], 110 + p);
		EXPECT_CYCLES(m, 140 + p + 1);
		test_close(m);
	}
}

/* Rows apart by one do not wait, rows that meet in one do. */
Test(tpu_rtl_units, scoreboard_knows_rows)
{
	struct test_machine *m = small();
	m->config.activate_cycles_per_row = 10;
	load(m);
	test_multiply(m, TPU_MATRIX_SWITCH, 0, 10, 6); /* rows 10 to 15, from 8, written at 20 */
	int64_t read = test_activate(m, TPU_ACTIVATE_SWITCH, 100, 10, 6);
	int64_t below = test_multiply(m, 0, 0, 4, 6), above = test_multiply(m, 0, 0, 16, 2);
	int64_t meets = test_multiply(m, 0, 0, 5, 6);
	test_halt(m);
	test_run_ok(m);
	EXPECT_AT(m, TPU_ACTIVATE_STARTED, read, 20);
	EXPECT_AT(m, TPU_MATRIX_STARTED, below, 14);
	EXPECT_AT(m, TPU_MATRIX_STARTED, above, 20);
	EXPECT_AT(m, TPU_MATRIX_STARTED, meets, 78); /* read at 20 + 60, two cycles before the first write */
	EXPECT_COUNT(m, weight_stall, 2);            /* the pass is at the head from 3 on, and shifted from 5 to 8 */
	EXPECT_COUNT(m, weight_shift, 3);
	test_close(m);
}

/* A short activate has read before the first write could come: the pass starts with it, but not earlier. */
Test(tpu_rtl_units, matrix_starts_with_activate)
{
	struct test_machine *m = small();
	load(m);
	int64_t write = test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 1);
	int64_t read = test_activate(m, TPU_ACTIVATE_SWITCH, 100, 0, 1);
	int64_t again = test_multiply(m, 0, 0, 0, 1);
	test_halt(m);
	test_run_ok(m);
	EXPECT_AT(m, TPU_MATRIX_WRITTEN, write, 15);  /* 8 + 1 + 6 */
	EXPECT_AT(m, TPU_ACTIVATE_STARTED, read, 15); /* and has read at 16 */
	EXPECT_AT(m, TPU_MATRIX_STARTED, again, 15);  /* its first write is in cycle 17 */
	test_close(m);
}

Test(tpu_rtl_units, tables_wait_for_room)
{
	struct test_machine *m = small();
	int64_t read[3];
	m->config.parameter_tables = 1;
	test_tables(m, 3, 300);
	test_set(m, TPU_REG_RESULT_TYPE, TPU_I32);
	test_set(m, TPU_REG_RESULT_PLANE_ROWS, 100);
	for (int i = 0; i < 3; i++)
		read[i] = test_activate(m, TPU_ACTIVATE_SWITCH, 100, 0, 1); /* 4 cycles */
	test_halt(m);
	test_run_ok(m);
	EXPECT_AT(m, TPU_TABLE_LOADED, 0, 4); /* 3 2/3 */
	EXPECT_AT(m, TPU_ACTIVATE_STARTED, read[0], 4);
	EXPECT_AT(m, TPU_TABLE_LOADED, 1, 8); /* room at 5: 5 + 2 2/3 */
	EXPECT_AT(m, TPU_ACTIVATE_STARTED, read[1], 8);
	EXPECT_AT(m, TPU_TABLE_LOADED, 2, 12);
	EXPECT_AT(m, TPU_ACTIVATE_STARTED, read[2], 12);
	EXPECT_CYCLES(m, 17);
	test_close(m);
}

static void set_window(struct test_machine *m, int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t pad)
{
	const int64_t value[][2] = {{TPU_REG_IN_HEIGHT, in},
				    {TPU_REG_OUT_HEIGHT, out},
				    {TPU_REG_KERNEL_HEIGHT, kernel},
				    {TPU_REG_STRIDE_Y, stride},
				    {TPU_REG_PAD_TOP, pad}};
	for (size_t i = 0; i < sizeof value / sizeof *value; i++)
		for (int d = 0; d < 2; d++)
			test_set(m, (enum tpu_register)(value[i][0] + d), value[i][1]);
}

/* When the last result leaves. */
Test(tpu_rtl_units, a_window_leaves_when_it_is_complete)
{
	static const struct {
		int64_t in, out, kernel, stride, pad, images, beats;
	} cases[] = {
		/* 4x4 to 2x2: the last window ends with the last pixel. */
		{4, 2, 2, 2, 0, 1, 16},
		{4, 2, 2, 2, 0, 3, 48},
		/* 2x2 to 3x3, a pixel of padding: windows are complete after vectors 0, 1, 1, 2, 3, 3, 3, 3, 3, so they
		 * leave at 1, 2, 3, then 4 (complete at 3), 5, 6, 7, 8, 9. */
		{2, 3, 2, 1, 1, 1, 9},
		/* The next image is complete after 4, 5, 5, 6, 7...; its first result leaves at 10. */
		{2, 3, 2, 1, 1, 2, 18},
		/* 3x3 with padding 1 at the start only, 3x3 out: complete after 4, 5, 5, 7, 8, 8, 7, 8, 8; leave at 5,
		 * 6, 7, 8, 9, 10, 11, 12, 13. */
		{3, 3, 3, 1, 1, 1, 13},
		/* The whole image. */
		{3, 1, 3, 1, 0, 2, 18},
		/* Pixels that no window covers are read all the same. */
		{4, 1, 1, 1, 0, 1, 16},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int wide = 0; wide < 2; wide++) {
			struct test_machine *m = small();
			int64_t vectors = cases[i].in * cases[i].in * cases[i].images;
			int64_t results = cases[i].out * cases[i].out * cases[i].images, planes = wide ? 2 : 1;
			m->config.activate_latency_cycles = 7;
			set_window(m, cases[i].in, cases[i].out, cases[i].kernel, cases[i].stride, cases[i].pad);
			test_set(m, TPU_REG_SOURCE_TYPE, wide ? TPU_I16 : TPU_I8);
			test_set(m, TPU_REG_RESULT_TYPE, wide ? TPU_I16 : TPU_I8);
			test_set(m, TPU_REG_SOURCE_PLANE_ROWS, 100);
			test_set(m, TPU_REG_RESULT_PLANE_ROWS, 100);
			int64_t pool = test_activate(m, TPU_ACTIVATE_FROM_BUFFER | TPU_WITH_POOLING(TPU_POOL_MAX), 1000,
						     0, vectors);
			test_halt(m);
			test_run_ok(m);
			EXPECT_AT(m, TPU_ACTIVATE_STARTED, pool, pool + 1);
			EXPECT_AT(m, TPU_ACTIVATE_ENDED, pool, pool + 1 + cases[i].beats * planes + 7);
			EXPECT_COUNT(m, activate_cycles, cases[i].beats * planes);
			EXPECT_COUNT(m, ub_rows_read, vectors * planes);
			EXPECT_COUNT(m, ub_rows_written, results * planes);
			test_close(m);
		}
}

/* The accumulators are held until the last result has left. */
Test(tpu_rtl_units, matrix_waits_for_pooling)
{
	struct test_machine *m = small();
	load(m);
	set_window(m, 2, 3, 2, 1, 1); /* 9 beats, as above */
	int64_t write = test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 4);
	int64_t pool = test_activate(m, TPU_ACTIVATE_SWITCH | TPU_WITH_POOLING(TPU_POOL_AVERAGE), 100, 0, 4);
	int64_t again = test_multiply(m, 0, 0, 3, 1);
	test_halt(m);
	test_run_ok(m);
	EXPECT_AT(m, TPU_ISSUED, write, 12);
	EXPECT_AT(m, TPU_MATRIX_STARTED, write, 13);
	EXPECT_AT(m, TPU_MATRIX_WRITTEN, write, 23); /* 13 + 4 + 6 */
	EXPECT_AT(m, TPU_ACTIVATE_ENDED, pool, 32);
	EXPECT_AT(m, TPU_MATRIX_STARTED, again, 30);
	test_close(m);
}

/* ---- Host link and issue ---- */

Test(tpu_rtl_units, both_directions_of_the_link_run_at_once)
{
	struct test_machine *m = small(); /* 2 bytes per cycle */
	m->config.link_latency_seconds = 4.2e-6;
	int64_t in = test_add(m, TPU_READ_HOST_MEMORY, 0, 0, 0, 3),
		next = test_add(m, TPU_READ_HOST_MEMORY, 0, 3, 0, 1);
	test_set(m, TPU_REG_HOST_ADDRESS, 1000);
	int64_t out = test_add(m, TPU_WRITE_HOST_MEMORY, 0, 100, 0, 2);
	int64_t sync = test_sync(m, 1u << TPU_HOST_OUT), nop = test_add(m, TPU_NOP, 0, 0, 0, 0);
	test_halt(m);
	test_run_ok(m);
	/* 4.2 cycles of latency are 5, 15 bytes are 8 cycles. */
	EXPECT_AT(m, TPU_HOST_STARTED, in, 1);
	EXPECT_AT(m, TPU_HOST_ENDED, in, 14);
	/* The other direction is free. */
	EXPECT_AT(m, TPU_HOST_STARTED, out, 4);
	EXPECT_AT(m, TPU_HOST_ENDED, out, 14); /* 4 + 5 + 5 */
	EXPECT_AT(m, TPU_HOST_STARTED, next, 14);
	EXPECT_AT(m, TPU_HOST_ENDED, next, 22); /* 14 + 5 + 3 */
	EXPECT_AT(m, TPU_ISSUED, sync, 14);
	EXPECT_AT(m, TPU_ISSUED, nop, 15);
	EXPECT_CYCLES(m, 23);
	EXPECT_COUNT(m, host_bytes_in, 20);
	EXPECT_COUNT(m, host_bytes_out, 10);
	EXPECT_COUNT(m, ub_rows_written, 4);
	EXPECT_COUNT(m, ub_rows_read, 2);
	/* The sync waits from 4 to 13 for host_out, halt from 16 to 21 for host_in. */
	EXPECT_COUNT(m, output_stall, 10);
	EXPECT_COUNT(m, input_stall, 6);
	EXPECT_COUNT(m, raw_stall, 0);
	EXPECT_COUNT(m, non_matrix, 23);
	test_close(m);
}

/* 333,333 bytes per second at 1 MHz are a little less than a byte in three cycles: the fourth is needed. */
Test(tpu_rtl_units, link_to_fractions_of_a_cycle)
{
	static const int64_t cycles[] = {0, 4, 7, 10, 13, 16};
	for (int64_t bytes = 1; bytes <= 5; bytes++) {
		struct test_machine *m = small();
		m->config.link_bytes_per_second = 333333;
		test_set(m, TPU_REG_HOST_ROW_BYTES, bytes);
		int64_t in = test_add(m, TPU_READ_HOST_MEMORY, 0, 0, 0, 1);
		test_halt(m);
		test_run_ok(m);
		EXPECT_AT(m, TPU_HOST_ENDED, in, 2 + cycles[bytes]);
		test_close(m);
	}
	/* Row after row: 15 bytes are one transfer, 46 cycles, not three. */
	struct test_machine *m = small();
	m->config.link_bytes_per_second = 333333;
	int64_t out = test_add(m, TPU_WRITE_HOST_MEMORY, 0, 0, 0, 3);
	test_halt(m);
	test_run_ok(m);
	EXPECT_AT(m, TPU_HOST_ENDED, out, 1 + 46);
	test_close(m);
}

/* Both directions overtake each other; who observes sees them in the order of the program. */
Test(tpu_rtl_units, host_events_in_order)
{
	struct test_machine *m = small();
	test_add(m, TPU_READ_HOST_MEMORY, 0, 0, 0, 100); /* 250 cycles */
	test_add(m, TPU_READ_HOST_MEMORY, 0, 100, 0, 1);
	test_set(m, TPU_REG_HOST_ADDRESS, 2000);
	for (int i = 0; i < 10; i++)
		test_add(m, TPU_WRITE_HOST_MEMORY, 0, 200, 0, 1);
	test_halt(m);
	test_run_ok(m);
	for (enum tpu_event what = TPU_HOST_STARTED; what <= TPU_HOST_ENDED; what++) {
		int64_t last = -1;
		int n = 0;
		for (int i = 0; i < m->events; i++)
			if (m->event[i].kind == what) {
				cr_assert_gt(m->event[i].index, last);
				last = m->event[i].index;
				n++;
			}
		cr_assert_eq(n, 12);
	}
	EXPECT_AT(m, TPU_HOST_STARTED, 1, 251);
	EXPECT_AT(m, TPU_HOST_STARTED, 3, 4);
	EXPECT_AT(m, TPU_HOST_ENDED, 12, 34); /* ten of 3 cycles */
	test_close(m);
}

Test(tpu_rtl_units, issue_waits_for_room_in_queues)
{
	struct test_machine *m = small();
	static const int64_t issued[] = {0, 3, 12, 22}, started[] = {1, 11, 21, 31};
	m->config.queue_instructions = 1;
	m->config.issue_cycles = 3;
	m->config.sync_cycles = 7;
	/* 20 bytes in 10 cycles each. Looked at 3 cycles after the one before; a start in cycle 11 makes room in 12. */
	for (int i = 0; i < 4; i++)
		test_add(m, TPU_READ_HOST_MEMORY, 0, 0, 0, 4);
	int64_t sync = test_sync(m, 1u << TPU_HOST_IN | 1u << TPU_WEIGHTS);
	int64_t after = test_add(m, TPU_NOP, 0, 0, 0, 0), last = test_add(m, TPU_NOP, 0, 0, 0, 0);
	int64_t halt = test_halt(m);
	test_run_ok(m);
	for (int i = 0; i < 4; i++) {
		EXPECT_AT(m, TPU_ISSUED, i, issued[i]);
		EXPECT_AT(m, TPU_HOST_STARTED, i, started[i]);
	}
	EXPECT_AT(m, TPU_ISSUED, sync, 41);
	EXPECT_AT(m, TPU_ISSUED, after, 51); /* 3 + 7 */
	EXPECT_AT(m, TPU_ISSUED, last, 54);
	EXPECT_AT(m, TPU_ISSUED, halt, 57);
	EXPECT_CYCLES(m, 58);
	EXPECT_COUNT(m, input_stall, 16); /* looked at from 25 to 40 in vain */
	EXPECT_COUNT(m, sync_pause, 7);
	test_close(m);
}

/* What a wait of issue counts as, and that cycles of the array come first. */
Test(tpu_rtl_units, cycles_of_the_array_come_before_stalls)
{
	struct test_machine *m = small();
	load(m);
	test_add(m, TPU_READ_HOST_MEMORY, 0, 1000, 0, 4); /* 10 cycles from 3 */
	int64_t pass = test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 6);
	int64_t sync = test_sync(m, 1u << TPU_MATRIX);
	test_activate(m, TPU_ACTIVATE_SWITCH, 100, 0, 6);
	int64_t end = test_sync(m, 1u << TPU_ACTIVATION | 1u << TPU_HOST_IN);
	test_halt(m);
	test_run_ok(m);
	EXPECT_AT(m, TPU_HOST_ENDED, 2, 13);
	EXPECT_AT(m, TPU_MATRIX_STARTED, pass, 8);
	/* Sync from cycle 4 on: at the head of the queue is a pass whose tile is stalled (4), shifted (5 to 7), active
	 * (8 to 13), and then 6 cycles of waiting for its last write at 20. */
	EXPECT_AT(m, TPU_ISSUED, sync, 20);
	EXPECT_COUNT(m, weight_stall, 1);
	EXPECT_COUNT(m, weight_shift, 3);
	EXPECT_COUNT(m, array_active, 6);
	/* activate: issued 21, 22 to 28; the sync waits for it from 22 to 27; then the sync and halt. */
	EXPECT_AT(m, TPU_ISSUED, end, 28);
	EXPECT_COUNT(m, raw_stall, 12);
	EXPECT_COUNT(m, input_stall, 0);
	EXPECT_COUNT(m, non_matrix, 30 - 10);
	EXPECT_CYCLES(m, 30);
	test_close(m);
}

/* A pass whose tile is in place waits for activate: no matter of weights. The sync waits for it and for host_in. */
Test(tpu_rtl_units, stall_of_a_pass_with_its_tile)
{
	struct test_machine *m = small();
	load(m);
	test_tiles(m, 1, 3);
	test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 6);     /* from 8, written at 20 */
	test_activate(m, TPU_ACTIVATE_SWITCH, 100, 0, 6); /* 20 to 26 */
	int64_t waits = test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 1);
	test_add(m, TPU_READ_HOST_MEMORY, 0, 1000, 0, 6); /* 15 cycles from 7 */
	test_sync(m, 1u << TPU_HOST_IN | 1u << TPU_MATRIX);
	test_halt(m);
	test_run_ok(m);
	EXPECT_AT(m, TPU_HOST_ENDED, 6, 22);
	EXPECT_AT(m, TPU_TILE_POPPED, 1, 11); /* with the first pass, and 3 */
	EXPECT_AT(m, TPU_MATRIX_STARTED, waits, 24);
	EXPECT_AT(m, TPU_MATRIX_WRITTEN, waits, 31);
	/* The first pass is at the head from 4 on: its tile is stalled in 4 and shifted from 5 to 7. */
	EXPECT_COUNT(m, weight_stall, 1);
	EXPECT_COUNT(m, weight_shift, 3);
	EXPECT_COUNT(m, array_active, 7);
	/* In vain from 7 to 30: of these 14 to 21 for host_in, 22, 23 and 25 to 30 for matrix alone. */
	EXPECT_COUNT(m, input_stall, 8);
	EXPECT_COUNT(m, raw_stall, 8);
	EXPECT_CYCLES(m, 33);
	test_close(m);
}

static int stop_at(void *context, int64_t instruction, struct npl_err *err)
{
	int64_t *at = context;
	return instruction == *at ? npl_fail(err, NPL_EOUTPUT, "enough") : 0;
}

/* What retires is in the memory; what the observer says ends the run. */
Test(tpu_rtl_units, what_retires_is_in_the_memory)
{
	struct test_machine *m = small();
	load(m);
	int64_t in = test_add(m, TPU_READ_HOST_MEMORY, 0, 1000, 0, 4);
	int64_t pass = test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 6);
	int64_t read = test_activate(m, TPU_ACTIVATE_SWITCH, 100, 0, 6);
	test_halt(m);
	test_run_ok(m);
	const int64_t order[] = {0, 1, in, pass, read};
	cr_assert_eq(m->n_retired, 5);
	cr_assert_arr_eq(m->retired, order, sizeof order);
	struct sim_observer observer = {.on_retired = stop_at, .context = &pass};
	cr_assert_eq(tpu_run_rtl(&(struct tpu_engine_input){.config = &m->config,
							    .program = &m->program,
							    .memory = m->memory,
							    .observer = &observer},
				 &m->outcome, &m->err),
		     NPL_EOUTPUT);
	cr_assert_str_eq(m->err.msg, "enough");
	test_close(m);
}
