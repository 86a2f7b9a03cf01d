/* SPDX-License-Identifier: MIT
 *
 * Programs that pass every check but can never end. What the program promises: both engines stop with NPL_EINPUT and
 * name, in the same words, each instruction that waits, in the order of the program, with what it waits for; and
 * programs just short of that do end. */
#include "sim/systolic/tpu_v1/engine/stuck.h"
#include "tests/kit/sim/tpu_v1/code.h"
#include "tests/kit/sim/tpu_v1/fast_support.h"

static struct test_machine *machine(void)
{
	return test_open(test_config(3, 5, 15, 2), 4096);
}

static void refused(struct test_machine *m, const char *message)
{
	cr_assert_eq(fast_run_with(m, NULL), NPL_EINPUT, "fast: the program ended, expected: %s", message);
	cr_assert_str_eq(m->err.msg, message);
	cr_assert_eq(test_run(m), NPL_EINPUT, "rtl: the program ended, expected: %s", message);
	cr_assert_str_eq(m->err.msg, message);
}

static void expect_stuck(struct test_machine *m, const char *message)
{
	test_halt(m);
	refused(m, message);
	test_close(m);
}

static void expect_end(struct test_machine *m)
{
	test_halt(m);
	fast_run(m);
	test_run_ok(m);
	test_close(m);
}

Test(tpu_stuck, tile_that_comes_too_late)
{
	struct test_machine *m = machine();
	test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 1);
	test_sync(m, 1u << TPU_MATRIX | 1u << TPU_ACTIVATION);
	test_tiles(m, 1, 0);
	expect_stuck(m, "the program can never end: instruction 0: matrix_multiply waits for a tile of weights; "
			"instruction 1: sync waits for matrix");
}

/* Four tiles in the FIFO and one in the shadow plane. */
Test(tpu_stuck, more_tiles_than_the_fifo_takes)
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

Test(tpu_stuck, more_tables_than_wait)
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

Test(tpu_stuck, table_that_comes_too_late)
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

Test(tpu_stuck, accumulators_that_are_never_written)
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

Test(tpu_stuck, queue_that_stays_full)
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

/* Each waits for another: the table is after tiles for which there is room only after the pass that waits for the
 * activate that waits for the table. Nothing is said while anything is under way: not before the host link is done. */
Test(tpu_stuck, units_that_wait_in_a_circle_are_named)
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
	refused(m, "the program can never end: instruction 1: read_weights waits for room in the weight FIFO; "
		   "instruction 4: activate waits for a parameter table; instruction 5: matrix_multiply waits for "
		   "its accumulators to be read (instruction 4: activate); instruction 6: halt waits for weights "
		   "and matrix and activate");
	EXPECT_AT(m, TPU_HOST_ENDED, 0, 101); /* 1 + 200 bytes at 2 per cycle */
	test_close(m);
}

/* What the head of a queue waits for waits in turn, after others on the same accumulators: the first of them is
 * named. */
Test(tpu_stuck, the_message_names_the_first_instruction_that_could_help)
{
	struct test_machine *m = machine();
	test_tiles(m, 1, 0);
	test_multiply(m, TPU_MATRIX_SWITCH, 0, 50, 1);
	test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 4); /* no tile */
	test_multiply(m, 0, 0, 3, 1);
	test_multiply(m, 0, 0, 20, 1);
	test_set(m, TPU_REG_RESULT_TYPE, TPU_I32);
	test_set(m, TPU_REG_RESULT_PLANE_ROWS, 10);
	test_activate(m, 0, 100, 50, 1); /* ends */
	test_activate(m, 0, 200, 3, 3);
	test_activate(m, 0, 300, 20, 1);
	test_sync(m, 1u << TPU_ACTIVATION | 1u << TPU_WEIGHTS);
	test_tiles(m, 1, 0);
	expect_stuck(m, "the program can never end: instruction 2: matrix_multiply waits for a tile of weights; "
			"instruction 8: activate waits for its accumulators to be written (instruction 2: "
			"matrix_multiply); instruction 10: sync waits for activate");

	m = machine(); /* the other way round */
	test_tiles(m, 1, 0);
	test_activate(m, TPU_ACTIVATE_FROM_BUFFER, 1000, 0, 1); /* touches no accumulators */
	test_activate(m, TPU_ACTIVATE_SWITCH, 0, 60, 1);
	test_activate(m, TPU_ACTIVATE_FROM_BUFFER, 1100, 0, 9);
	test_activate(m, 0, 100, 5, 3);
	test_activate(m, 0, 200, 0, 9);
	test_multiply(m, TPU_MATRIX_SWITCH, 500, 7, 1);
	test_sync(m, 1u << TPU_MATRIX);
	test_tables(m, 1, 0);
	expect_stuck(m,
		     "the program can never end: instruction 2: activate waits for a parameter table; "
		     "instruction 6: matrix_multiply waits for its accumulators to be read (instruction 4: activate); "
		     "instruction 7: sync waits for matrix");
}

/* Issue stops at a queue of each unit that can be held up. */
Test(tpu_stuck, a_full_queue_is_named)
{
	struct test_machine *m = machine();
	m->config.queue_instructions = 1;
	m->config.parameter_tables = 1;
	for (int i = 0; i < 4; i++) /* one waits in the table FIFO, one cannot begin, one is in the queue */
		test_tables(m, 1, 0);
	for (int i = 0; i < 4; i++)
		test_activate(m, TPU_ACTIVATE_SWITCH, 100, 0, 1);
	expect_stuck(m, "the program can never end: instruction 1: read_weights waits for room for a parameter table; "
			"instruction 2: read_weights waits for room in the queue of weights");
	m = machine();
	m->config.queue_instructions = 2;
	m->config.fifo_tiles = 1;
	test_activate(m, TPU_ACTIVATE_SWITCH, 0, 0, 1);
	test_tiles(m, 3, 0);
	test_activate(m, TPU_ACTIVATE_FROM_BUFFER, 100, 0, 1);
	test_activate(m, TPU_ACTIVATE_FROM_BUFFER, 101, 0, 1);
	test_tables(m, 1, 0);
	expect_stuck(m, "the program can never end: instruction 0: activate waits for a parameter table; "
			"instruction 1: read_weights waits for room in the weight FIFO; "
			"instruction 3: activate waits for room in the queue of activate");
}

/* Instructions of a text are named by their lines. */
Test(tpu_stuck, lines_of_a_text)
{
	static const char text[] = "# of a program\n"
				   "matrix_multiply.switch ub=0 acc=0 rows=1\n\n"
				   "sync host_in host_out weights matrix activate\n"
				   "read_weights first=0 count=1\n"
				   "halt\n";
	struct test_machine *m = machine();
	cr_assert_eq(tpu_assemble("text", text, strlen(text), &m->program, &m->err), 0, "%s", m->err.msg);
	refused(m, "the program can never end: line 2: matrix_multiply waits for a tile of weights; "
		   "line 4: sync waits for matrix");
	test_close(m);
}

/* Whoever cannot be helped must not go without words, and a text that is too long is cut. */
Test(tpu_stuck, a_deadlock_always_has_an_explanation)
{
	struct test_machine *m = machine();
	struct tpu_waiting all[20];
	for (int i = 0; i < 20; i++) {
		test_add(m, TPU_WRITE_HOST_MEMORY, 0, 0, 0, 1);
		all[i] = (struct tpu_waiting){.index = 19 - i, .reason = TPU_FOR_UNITS, .units = (1u << TPU_UNITS) - 1};
	}
	cr_assert_eq(tpu_fail_deadlock(&m->program, all + 18, 2, &m->err), NPL_EINPUT);
	cr_assert_str_eq(m->err.msg,
			 "the program can never end: instruction 0: write_host_memory waits for host_in and "
			 "host_out and weights and matrix and activate; instruction 1: write_host_memory "
			 "waits for host_in and host_out and weights and matrix and activate");
	cr_assert_eq(tpu_fail_deadlock(&m->program, all, 20, &m->err), NPL_EINPUT);
	cr_assert_eq(strlen(m->err.msg), sizeof m->err.msg - 1);
	all[18].index = -1;
	cr_assert_eq(tpu_fail_deadlock(&m->program, all + 18, 2, &m->err), NPL_EINPUT);
	cr_assert(!strstr(m->err.msg, "instruction 1"));
	all[19].units = 0;
	cr_assert_eq(tpu_fail_deadlock(&m->program, all + 18, 2, &m->err), NPL_EINTERNAL);
	all[19] = (struct tpu_waiting){.index = 3, .reason = TPU_FOR_READS, .blocker = -1};
	cr_assert_eq(tpu_fail_deadlock(&m->program, all + 18, 2, &m->err), NPL_EINTERNAL);
	test_close(m);
}
