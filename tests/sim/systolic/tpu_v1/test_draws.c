/* SPDX-License-Identifier: MIT
 *
 * Random programs of the systolic machines draw every parameter that decides values or times, every field of their
 * instructions and every register, and move every counter: what is always the same is never compared between the
 * engines. */
#include "sim/systolic/tpu_v1/isa/isa.h"
#include "sim/systolic/tpu_v1/tpu.h"
#include "tests/kit/sim/draws.h"
#include "tests/kit/sim/tpu_v1/run.h"

enum { SEEDS = 300, MAX_PARAMS = 100, MAX_FIELDS = 20 };

/* The format decides how layers become programs. The engines get the link's rate and latency, which are drawn, and
 * energies come after them. Parameters of times are named one by one, so that a new one is drawn. */
#define EXCEPTIONS                                                                                                     \
	"precision technology.* energy.* host_link.name host_link.kind host_link.generation host_link.lanes "          \
	"host_link.clock_hz host_link.width_bits host_link.transfers_per_clock host_link.payload_bytes "               \
	"host_link.header_bytes host_link.bytes_per_second host_link.limit_bytes_per_second "                          \
	"host_link.latency_seconds host_link.pj_per_byte host_link.energy_origin"

static void make(struct program_case *c, uint64_t seed)
{
	struct npl_err err;
	cr_assert_eq(program_case_make(c, seed, &(struct program_request){0}, &err), 0, "%s", err.msg);
}

Test(tpu_draws, every_parameter_is_drawn)
{
	struct test_draw draw[MAX_PARAMS] = {{0}};
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct program_case c;
		make(&c, seed);
		test_draw_config(draw, tpu_params, &c.config);
		program_case_free(&c);
	}
	test_expect_draws(draw, tpu_params, EXCEPTIONS);
}

Test(tpu_draws, every_field_and_register_is_drawn)
{
	const struct sim_slot *layout = tpu_instruction_set.layout;
	struct test_draw field[MAX_FIELDS] = {{0}}, value_of[TPU_REGISTERS] = {{0}};
	cr_assert_leq(layout->n_fields, MAX_FIELDS);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct program_case c;
		make(&c, seed);
		for (int64_t i = 0; i < c.program.count; i++) {
			const struct tpu_instruction *in = &tpu_code(&c.program)[i];
			for (int f = 0; f < layout->n_fields; f++)
				test_draw_note(&field[f], sim_field_get(in, &layout->field[f]));
			if (in->opcode == TPU_SET_CONFIG)
				test_draw_note(&value_of[in->operand], in->length);
		}
		program_case_free(&c);
	}
	for (int f = 0; f < layout->n_fields; f++)
		cr_expect(field[f].differed, "%s is never drawn", layout->field[f].name);
	for (int r = 0; r < TPU_REGISTERS; r++)
		cr_expect(value_of[r].differed, "the register %s is never drawn", tpu_register_names[r]);
}

Test(tpu_draws, every_counter_moves)
{
	uint64_t sum[TPU_COUNTERS] = {0}, saturations = 0, overflows = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct program_case c;
		struct program_run run;
		make(&c, seed);
		cr_assert(program_run(&run, tpu_run_fast, &c, false) && !run.rc, "%s", run.err.msg);
		test_add_counters(sum, tpu_counter_defs, TPU_COUNTERS, &run.outcome.counters);
		saturations += run.outcome.saturations;
		overflows += run.outcome.overflows;
		program_run_free(&run);
		program_case_free(&c);
	}
	test_expect_moves(sum, tpu_counter_defs, TPU_COUNTERS, "");
	cr_expect(saturations && overflows);
}
