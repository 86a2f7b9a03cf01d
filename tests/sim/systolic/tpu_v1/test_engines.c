/* SPDX-License-Identifier: MIT
 *
 * The two engines of the systolic machines. What the program promises: on any valid program `rtl` and `fast` give the
 * same memories, cycles, counters, overflows, saturations and the same cycle for every event, all as docs/tpu-isa.md
 * says, and attribute each cycle, overflow and saturation to the same instruction; a program that can never end is
 * refused by both in the same words; what a program computes does not depend on how long things take. `make
 * mutants` shows that these tests find a fault in one latency, one skew, one counter, one rounding or one address of
 * either engine. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "sim/systolic/tpu_v1/isa/check.h"
#include "tests/kit/sim/tpu_v1/classes.h"
#include "tests/kit/sim/tpu_v1/interpreter.h"
#include "tests/kit/sim/tpu_v1/liveness.h"
#include "tests/kit/sim/tpu_v1/run.h"
#include "tests/kit/sim/tpu_v1/worked.h"
#include "tests/kit/support.h"

static void make(struct program_case *c, uint64_t seed, const struct program_request *wish)
{
	struct npl_err err = {0};
	cr_assert_eq(program_case_make(c, seed, wish, &err), 0, "seed %llu: %s", (unsigned long long)seed, err.msg);
	cr_assert_eq(tpu_config_check(&c->config, &err), 0, "seed %llu: %s", (unsigned long long)seed, err.msg);
}

/* On failure: as small a program as is soon found that fails, with its machine. */
static void expect_agreement(struct program_case *c)
{
	char reason[512] = "";
	if (program_agrees(c, true, reason, sizeof reason))
		return;
	fprintf(stderr, "seed %llu: %s\n", (unsigned long long)c->seed, reason);
	program_shrink(c, true, 2000);
	program_agrees(c, true, reason, sizeof reason);
	fprintf(stderr, "reduced: %s\n", reason);
	program_print(stderr, c);
	cr_assert_fail("seed %llu: %s", (unsigned long long)c->seed, reason);
}

static void expect_agreements(uint64_t first, uint64_t last, const struct program_request *wish)
{
	for (uint64_t seed = first; seed <= last; seed++) {
		struct program_case c;
		make(&c, seed, wish);
		expect_agreement(&c);
		program_case_free(&c);
	}
}

Test(tpu_engines, cycles_worked_out_by_hand)
{
	for (int i = 0; i < WORKED_CASES; i++) {
		const char *name;
		char reason[300] = "";
		bool ok = program_works(i, tpu_run_rtl, &name, reason, sizeof reason);
		cr_assert(ok, "rtl, %s: %s", name, reason);
		ok = program_works(i, tpu_run_fast, &name, reason, sizeof reason);
		cr_assert(ok, "fast, %s: %s", name, reason);
	}
}

Test(tpu_engines, agree_on_small_arrays)
{
	expect_agreements(1, TEST_SANITIZED ? 500 : 2000, &(struct program_request){0});
}

Test(tpu_engines, agree_on_long_programs)
{
	expect_agreements(10001, 10100, &(struct program_request){.actions = 300});
}

Test(tpu_engines, agree_on_256x256)
{
	expect_agreements(20001, TEST_SANITIZED ? 20010 : 20040,
			  &(struct program_request){.rows = 256, .columns = 256, .actions = 40});
}

/* Also 16-byte lanes' worth more and less, and a side that is much longer than the other. */
Test(tpu_engines, agree_on_odd_arrays)
{
	static const int64_t sizes[][2] = {{1, 1},  {1, 32}, {32, 1},  {15, 17}, {16, 16},   {17, 15},
					   {64, 3}, {3, 64}, {33, 48}, {128, 5}, {100, 128}, {200, 9}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		expect_agreements(30001 + 100 * i, 30020 + 100 * i,
				  &(struct program_request){.rows = sizes[i][0], .columns = sizes[i][1]});
}

/* sync_pause is at most what all syncs take together, 0 where they take nothing; all parts of non_matrix are at most
 * that. */
Test(tpu_engines, syncs_take_their_time_and_no_more)
{
	static const uint64_t takes[] = {0, 1, 29};
	uint64_t paused = 0;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct program_case c;
		struct program_run run;
		uint64_t syncs = 0;
		make(&c, seed, &(struct program_request){0});
		c.config.sync_cycles = (int64_t)takes[seed % 3];
		for (int64_t i = 0; i < c.program.count; i++)
			syncs += tpu_code(&c.program)[i].opcode == TPU_SYNC;
		expect_agreement(&c);
		cr_assert(program_run(&run, tpu_run_fast, &c, true));
		const struct tpu_counters *k = &run.outcome.counters;
		cr_assert_leq(k->sync_pause, syncs * takes[seed % 3]);
		cr_assert_leq(test_parts_of_non_matrix(k), k->non_matrix);
		paused += k->sync_pause;
		program_run_free(&run);
		program_case_free(&c);
	}
	cr_assert_geq(paused, 100);
}

/* Who waits for what in the words of both, which are the same. */
enum { REASONS = 9 };
static const char *const reasons[REASONS] = {
	"a tile of weights",    "a parameter table",         "room in the weight FIFO",
	"room for a param",     "accumulators to be read (", "to be written (",
	"room in the queue of", ": sync waits for",          ": halt waits for"};

static void count_reasons(const struct program_case *c, int count[REASONS])
{
	struct program_run run;
	cr_assert(program_run(&run, tpu_run_fast, c, true));
	for (int i = 0; i < REASONS; i++)
		count[i] += run.rc && strstr(run.err.msg, reasons[i]);
	program_run_free(&run);
}

Test(tpu_engines, agree_about_programs_that_never_end)
{
	struct program_request wish = {.stuck_percent = 100};
	int stuck = 0, count[REASONS] = {0};
	for (uint64_t seed = 40001; seed <= 41500; seed++) {
		struct program_case c;
		make(&c, seed, &wish);
		expect_agreement(&c);
		if (c.stuck_at >= 0) {
			stuck++;
			count_reasons(&c, count);
		}
		program_case_free(&c);
	}
	cr_assert_geq(stuck, 450);
	for (int i = 0; i < REASONS; i++)
		cr_assert_geq(count[i], 15, "%d programs wait for '%s'", count[i], reasons[i]);
}

/* Memories and counts of values; that is what program_same compares except events and counters. */
static void expect_same_values(const struct program_run *a, const struct program_run *b, uint64_t seed,
			       const char *subject)
{
	const struct program_case *c = a->c;
	cr_assert(a->rc == 0 && b->rc == 0, "seed %llu, %s: %s%s", (unsigned long long)seed, subject, a->err.msg,
		  b->err.msg);
	cr_assert(!memcmp(a->buffer, b->buffer, c->buffer_bytes) && !memcmp(a->host, b->host, c->host_bytes),
		  "seed %llu, %s: memories differ", (unsigned long long)seed, subject);
	cr_assert(a->outcome.overflows == b->outcome.overflows && a->outcome.saturations == b->outcome.saturations,
		  "seed %llu, %s: counts differ", (unsigned long long)seed, subject);
}

Test(tpu_engines, values_do_not_depend_on_time)
{
	for (uint64_t seed = 50001; seed <= 50200; seed++) {
		struct program_case c, other;
		struct program_run a = {0}, b = {0};
		make(&c, seed, &(struct program_request){0});
		other = c;
		other.config = program_other_times(&c.config, seed * 77);
		cr_assert(program_run(&a, tpu_run_fast, &c, false) && program_run(&b, tpu_run_rtl, &other, false));
		expect_same_values(&a, &b, seed, "other times");
		program_run_free(&a);
		program_run_free(&b);
		program_case_free(&c);
	}
}

/* What the document says without time, read once more (tests/kit/sim/tpu_v1/interpreter.h). */
Test(tpu_engines, values_are_those_of_the_instructions_one_by_one)
{
	for (uint64_t seed = 55001; seed <= 55300; seed++) {
		struct program_case c;
		struct program_run run = {0};
		struct interpreter p;
		char subject[40];
		make(&c, seed, &(struct program_request){0});
		snprintf(subject, sizeof subject, "seed %llu", (unsigned long long)seed);
		cr_assert(program_run(&run, tpu_run_fast, &c, false) && !run.rc, "%s: %s", subject, run.err.msg);
		const struct tpu_memory memory = program_memory(&c);
		interpreter_open(&p, &c.config, &c.program, &memory); /* changes the case's memories */
		interpreter_run(&p);
		cr_assert_arr_eq(run.buffer, c.buffer, c.buffer_bytes, "%s: unified buffer", subject);
		cr_assert_arr_eq(run.host, c.host, c.host_bytes, "%s: host memory", subject);
		cr_assert(!memcmp(run.value_counts, p.value_counts, (size_t)c.program.count * sizeof *p.value_counts),
			  "%s: faults", subject);
		interpreter_expect_counters(&p, &run.outcome.counters, subject);
		interpreter_close(&p);
		program_run_free(&run);
		program_case_free(&c);
	}
}

/* Without one of its syncs a program is refused, or computes what it did. */
Test(tpu_engines, a_sync_that_the_check_can_do_without_changes_nothing)
{
	int refused = 0, n_taken = 0;
	for (uint64_t seed = 60001; seed <= 60300; seed++) {
		struct program_case c;
		struct program_run a = {0}, b = {0};
		struct npl_err err;
		make(&c, seed, &(struct program_request){0});
		uint64_t rng = seed;
		int64_t at = test_range(&rng, 0, c.program.count - 1), tries = c.program.count;
		while (tpu_code(&c.program)[at].opcode != TPU_SYNC && --tries > 0)
			at = (at + 1) % c.program.count;
		cr_assert(program_run(&a, tpu_run_fast, &c, false));
		if (tpu_code(&c.program)[at].opcode == TPU_SYNC)
			tpu_code(&c.program)[at] = (struct tpu_instruction){.opcode = TPU_NOP};
		struct tpu_memory memory = program_memory(&c);
		bool valid = !tpu_program_check(&c.config, &c.program, &memory, "program", &err);
		refused += !valid;
		if (valid && liveness_stuck_at(&c.config, &c.program) < 0) {
			n_taken++;
			cr_assert(program_run(&b, tpu_run_rtl, &c, false));
			expect_same_values(&a, &b, seed, "without a sync");
		}
		program_run_free(&a);
		program_run_free(&b);
		program_case_free(&c);
	}
	cr_assert(refused > 60 && n_taken > 20, "%d refused, %d taken", refused, n_taken);
}

struct stop {
	int64_t at;
	int64_t called;
};

static int stop_at(void *context, int64_t instruction, struct npl_err *err)
{
	struct stop *stop = context;
	stop->called++;
	return instruction == stop->at ? npl_fail(err, NPL_EOUTPUT, "stopped") : 0;
}

Test(tpu_engines, an_observer_ends_the_run)
{
	for (uint64_t seed = 70001; seed <= 70020; seed++) {
		struct program_case c;
		make(&c, seed, &(struct program_request){0});
		struct tpu_memory memory = program_memory(&c);
		struct stop stop = {0};
		while (tpu_unit_of(tpu_code(&c.program)[stop.at].opcode) == TPU_UNITS && stop.at + 1 < c.program.count)
			stop.at++;
		struct sim_observer observer = {.on_retired = stop_at, .context = &stop};
		bool any = tpu_unit_of(tpu_code(&c.program)[stop.at].opcode) < TPU_UNITS;
		for (int engine = 0; engine < 2 && any; engine++) {
			struct tpu_outcome outcome = {0};
			struct npl_err err = {0};
			stop.called = 0;
			int rc = (engine ? tpu_run_fast
					 : tpu_run_rtl)(&(struct tpu_engine_input){.config = &c.config,
										   .program = &c.program,
										   .memory = memory,
										   .observer = &observer},
							&outcome, &err);
			cr_assert(rc == NPL_EOUTPUT && !strcmp(err.msg, "stopped"), "seed %llu: %d, %s",
				  (unsigned long long)seed, rc, err.msg);
			cr_assert_geq(stop.called, 1);
			rc = (engine ? tpu_run_fast : tpu_run_rtl)(&(struct tpu_engine_input){.config = &c.config,
											      .program = &c.program,
											      .memory = memory},
								   &outcome, &err);
			cr_assert_eq(rc, 0, "seed %llu, nobody observes: %s", (unsigned long long)seed, err.msg);
		}
		program_case_free(&c);
	}
}

static void keep(void *context, const struct sim_cycles *interval)
{
	cr_assert(program_intervals_add(context, interval));
}

/* Whoever wants to see only one thing sees of it what one who sees all does. */
Test(tpu_engines, an_observer_of_one_thing)
{
	uint64_t overflows = 0;
	for (uint64_t seed = 80001; seed <= 80100; seed++) {
		struct program_case c;
		make(&c, seed, &(struct program_request){0});
		for (int engine = 0; engine < 2; engine++) {
			tpu_engine *run = engine ? tpu_run_fast : tpu_run_rtl;
			struct program_run all = {0}, one = {.c = &c};
			struct tpu_outcome outcome;
			struct npl_err err = {0};
			char reason[300] = "";
			const struct sim_observer intervals = {.on_cycles = keep, .context = one.intervals};
			one.value_counts = calloc((size_t)c.program.count, sizeof *one.value_counts);
			const struct sim_observer faults = {.value_counts = one.value_counts};
			cr_assert(one.value_counts && program_run(&all, run, &c, false));
			const struct tpu_memory none = {.host_bytes = c.host_bytes, .timing_only = true};
			const struct tpu_memory memory = program_memory(&c);
			cr_assert_eq(run(&(struct tpu_engine_input){.config = &c.config,
								    .program = &c.program,
								    .memory = none,
								    .observer = &intervals},
					 &outcome, &err),
				     0, "%s", err.msg);
			cr_assert_eq(run(&(struct tpu_engine_input){.config = &c.config,
								    .program = &c.program,
								    .memory = memory,
								    .observer = &faults},
					 &outcome, &err),
				     0, "%s", err.msg);
			cr_assert(program_intervals_same(all.intervals, one.intervals, reason, sizeof reason),
				  "seed %llu: %s", (unsigned long long)seed, reason);
			cr_assert(!memcmp(all.value_counts, one.value_counts,
					  (size_t)c.program.count * sizeof *one.value_counts),
				  "seed %llu: other faults", (unsigned long long)seed);
			overflows += outcome.overflows;
			program_run_free(&all);
			program_run_free(&one);
		}
		program_case_free(&c);
	}
	cr_assert_gt(overflows, 100);
}

/* What the random programs of agree_on_small_arrays are made of: nothing that the machine can do is missing. */

struct mix {
	int opcode[256], operand[4], function[TPU_FUNCTIONS], pooling[4], source_type[3], result_type[TPU_TYPES];
	int matrix_flag[6], from_buffer, packed_input, packed_result, taps, strided, dilated, padded, strip,
		several_images;
	int first_output, many_tiles, zero_points;
	uint64_t stall, shift, raw, input, output, pause, overflows, saturations;
};

static void count_matrix(struct mix *mix, const struct tpu_instruction *in, const struct tpu_registers *g)
{
	for (int f = 0; f < 6; f++)
		mix->matrix_flag[f] += in->flags >> f & 1;
	mix->zero_points += g->value[TPU_REG_INPUT_ZERO_POINT] || g->value[TPU_REG_WEIGHT_ZERO_POINT];
	if (in->opcode != TPU_CONVOLVE)
		return;
	mix->packed_input += g->value[TPU_REG_ROW_PIXELS] > 1;
	mix->taps += g->value[TPU_REG_TAPS] > 1;
	mix->strided += g->value[TPU_REG_STRIDE_Y] > 1;
	mix->dilated += g->value[TPU_REG_DILATION_X] > 1;
	mix->padded += tpu_signed(g, TPU_REG_PAD_LEFT) > 0;
	mix->strip += tpu_signed(g, TPU_REG_PAD_TOP) < 0;
	mix->first_output += g->value[TPU_REG_FIRST_OUTPUT] > 0;
	mix->several_images += in->length > g->value[TPU_REG_OUT_HEIGHT] * g->value[TPU_REG_OUT_WIDTH];
}

static void count_activate(struct mix *mix, const struct tpu_instruction *in, const struct tpu_registers *g)
{
	uint32_t result = g->value[TPU_REG_RESULT_TYPE];
	mix->operand[tpu_operand_of(in->flags)]++;
	mix->function[tpu_function_of(in->flags)]++;
	mix->pooling[tpu_pooling_of(in->flags)]++;
	mix->result_type[result]++;
	if (result != TPU_I32)
		mix->source_type[g->value[TPU_REG_SOURCE_TYPE]]++;
	mix->from_buffer += in->flags & TPU_ACTIVATE_FROM_BUFFER;
	mix->packed_result += g->value[TPU_REG_RESULT_ROW_PIXELS] > 1;
}

static void count_program(struct mix *mix, const struct program_case *c)
{
	struct tpu_registers g = tpu_reset_registers(c->config.rows, c->config.columns);
	for (int64_t i = 0; i < c->program.count; i++) {
		const struct tpu_instruction *in = tpu_code(&c->program) + i;
		mix->opcode[in->opcode]++;
		if (in->opcode == TPU_SET_CONFIG)
			g.value[in->operand] = in->length;
		if (tpu_unit_of(in->opcode) == TPU_MATRIX)
			count_matrix(mix, in, &g);
		if (in->opcode == TPU_ACTIVATE)
			count_activate(mix, in, &g);
		mix->many_tiles += in->opcode == TPU_READ_WEIGHTS && in->operand > 1;
	}
	struct program_run run;
	cr_assert(program_run(&run, tpu_run_fast, c, false));
	mix->stall += run.outcome.counters.weight_stall;
	mix->shift += run.outcome.counters.weight_shift;
	mix->raw += run.outcome.counters.raw_stall;
	mix->input += run.outcome.counters.input_stall;
	mix->output += run.outcome.counters.output_stall;
	mix->pause += run.outcome.counters.sync_pause;
	mix->overflows += run.outcome.overflows;
	mix->saturations += run.outcome.saturations;
	program_run_free(&run);
}

static void expect_all(const int *counts, int n, int minimum, const char *subject)
{
	for (int i = 0; i < n; i++)
		cr_assert_geq(counts[i], minimum, "%s %d", subject, i);
}

Test(tpu_engines, random_programs_cover_every_event)
{
	struct mix mix = {0};
	for (uint64_t seed = 1; seed <= 500; seed++) {
		struct program_case c;
		make(&c, seed, &(struct program_request){0});
		count_program(&mix, &c);
		program_case_free(&c);
	}
	for (int i = 0; i < tpu_instruction_set.n_slots; i++) {
		const struct sim_slot *slot = &tpu_instruction_set.slot[i];
		cr_assert_geq(mix.opcode[slot->opcode], 100, "%s", slot->name);
	}
	expect_all(mix.operand, 4, 50, "operand");
	expect_all(mix.function, TPU_FUNCTIONS, 50, "function");
	expect_all(mix.pooling, 4, 20, "pooling");
	expect_all(mix.source_type, 3, 50, "source type");
	expect_all(mix.result_type, TPU_TYPES, 50, "result type");
	expect_all(mix.matrix_flag, 6, 50, "matrix flag");
	const int others[] = {mix.from_buffer,    mix.packed_input, mix.packed_result, mix.taps,
			      mix.strided,        mix.dilated,      mix.padded,        mix.strip,
			      mix.several_images, mix.first_output, mix.many_tiles,    mix.zero_points};
	expect_all(others, (int)(sizeof others / sizeof *others), 20, "kind");
	cr_assert(mix.stall && mix.shift && mix.raw && mix.input && mix.output && mix.pause && mix.overflows > 100 &&
		  mix.saturations > 1000);
}
