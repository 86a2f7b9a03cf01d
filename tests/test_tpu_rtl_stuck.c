/* SPDX-License-Identifier: MIT
 *
 * Programs that pass every check but can never end. What the program promises: the rtl engine stops with NPL_EINPUT and
 * names each instruction that waits, in the order of the program, with what it waits for; and programs just short of
 * that do end. */
#include "tpu_machine.h"

static struct test_machine *machine(void)
{
	return test_open(test_config(3, 5, 15, 2), 4096);
}

static void expect_stuck(struct test_machine *m, const char *message)
{
	test_halt(m);
	cr_assert_eq(test_run(m), NPL_EINPUT, "the program ended, expected: %s", message);
	cr_assert_str_eq(m->err.msg, message);
	test_close(m);
}

static void expect_end(struct test_machine *m)
{
	test_halt(m);
	test_run_ok(m);
	test_close(m);
}

Test(tpu_rtl_stuck, tile_that_comes_too_late)
{
	struct test_machine *m = machine();
	test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 1);
	test_sync(m, 1u << TPU_MATRIX | 1u << TPU_ACTIVATION);
	test_tiles(m, 1, 0);
	expect_stuck(m, "the program can never end: instruction 0: matrix_multiply waits for a tile of weights; "
			"instruction 1: sync waits for matrix");
}

/* Four tiles in the FIFO and one in the shadow plane. */
Test(tpu_rtl_stuck, more_tiles_than_the_fifo_takes)
{
	struct test_machine *m = machine();
	test_tiles(m, 6, 0);
	test_sync(m, 1u << TPU_WEIGHTS);
	test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 1);
	expect_stuck(m, "the program can never end: instruction 0: read_weights waits for room in the weight FIFO; "
			"instruction 1: sync waits for weights");
	m = machine();
	test_tiles(m, 5, 0);
	test_sync(m, 1u << TPU_WEIGHTS);
	test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 1);
	expect_end(m);
	m = machine();
	test_tiles(m, 5, 0);
	test_tiles(m, 1, 0);
	expect_stuck(m, "the program can never end: instruction 1: read_weights waits for room in the weight FIFO; "
			"instruction 2: halt waits for weights");
}

Test(tpu_rtl_stuck, more_tables_than_wait)
{
	struct test_machine *m = machine();
	m->config.parameter_tables = 2;
	test_tables(m, 3, 0);
	test_sync(m, 1u << TPU_WEIGHTS);
	expect_stuck(m, "the program can never end: instruction 0: read_weights waits for room for a parameter table; "
			"instruction 1: sync waits for weights");
	m = machine();
	m->config.parameter_tables = 2;
	test_tables(m, 3, 0);
	test_activate(m, TPU_ACTIVATE_SWITCH, 0, 0, 1);
	expect_end(m);
}

Test(tpu_rtl_stuck, table_that_comes_too_late)
{
	struct test_machine *m = machine();
	test_tiles(m, 1, 0);
	test_activate(m, TPU_ACTIVATE_SWITCH, 0, 0, 1);
	test_multiply(m, TPU_MATRIX_SWITCH, 100, 0, 1);
	test_sync(m, 1u << TPU_MATRIX);
	test_tables(m, 1, 0);
	expect_stuck(m,
		     "the program can never end: instruction 1: activate waits for a parameter table; "
		     "instruction 2: matrix_multiply waits for its accumulators to be read (instruction 1: activate); "
		     "instruction 3: sync waits for matrix");
}

Test(tpu_rtl_stuck, accumulators_that_are_never_written)
{
	struct test_machine *m = machine();
	test_tables(m, 1, 0);
	test_multiply(m, TPU_MATRIX_SWITCH, 0, 7, 1);
	test_activate(m, TPU_ACTIVATE_SWITCH, 100, 5, 4);
	test_sync(m, 1u << TPU_ACTIVATION);
	test_tiles(m, 1, 0);
	expect_stuck(m, "the program can never end: instruction 1: matrix_multiply waits for a tile of weights; "
			"instruction 2: activate waits for its accumulators to be written (instruction 1: "
			"matrix_multiply); instruction 3: sync waits for activate");
}

Test(tpu_rtl_stuck, queue_that_stays_full)
{
	struct test_machine *m = machine();
	m->config.queue_instructions = 2;
	for (int i = 0; i < 3; i++)
		test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 1);
	test_tiles(m, 3, 0);
	expect_stuck(m, "the program can never end: instruction 0: matrix_multiply waits for a tile of weights; "
			"instruction 2: matrix_multiply waits for room in the queue of matrix");
	m = machine();
	m->config.queue_instructions = 2;
	for (int i = 0; i < 2; i++)
		test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 1);
	test_tiles(m, 2, 0);
	expect_end(m);
}

/* Each waits for another: the table is behind tiles for which there is room only after the pass that waits for the
 * activate that waits for the table. Nothing is said while anything is under way: not before the host link is done. */
Test(tpu_rtl_stuck, circle)
{
	struct test_machine *m = machine();
	m->config.fifo_tiles = 1;
	test_add(m, TPU_READ_HOST_MEMORY, 0, 1000, 0, 40);
	test_tiles(m, 4, 0);
	test_tables(m, 1, 0);
	test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 1);
	test_activate(m, TPU_ACTIVATE_SWITCH, 100, 0, 1);
	test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 1);
	test_halt(m);
	cr_assert_eq(test_run(m), NPL_EINPUT);
	EXPECT_AT(m, TPU_HOST_ENDED, 0, 101); /* 1 + 200 bytes at 2 per cycle */
	cr_assert_str_eq(
		m->err.msg,
		"the program can never end: instruction 1: read_weights waits for room in the weight FIFO; "
		"instruction 4: activate waits for a parameter table; instruction 5: matrix_multiply waits for "
		"its accumulators to be read (instruction 4: activate); instruction 6: halt waits for weights "
		"and matrix and activate");
	test_close(m);
}
