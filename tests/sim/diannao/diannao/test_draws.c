/* SPDX-License-Identifier: MIT
 *
 * Random cases of the diannao machine draw every parameter that decides values or times, and every field of its
 * instructions, and move every counter: what is always the same is never compared between the engines. */
#include "sim/diannao/diannao/dn.h"
#include "sim/diannao/diannao/fast/run.h"
#include "tests/kit/sim/diannao/agree.h"
#include "tests/kit/sim/diannao/units.h"
#include "tests/kit/sim/draws.h"

enum { SEEDS = 200, MAX_PARAMS = 100, MAX_FIELDS = DN_SLOTS * SIM_MAX_FIELDS };

/* The engines get a memory that is open, and energies come after them; LRN is its test's (test_lrn.c). Parameters of
 * times are named one by one, so that a new one is drawn. */
#define EXCEPTIONS "memory.preset memory.channels memory.host_latency_seconds lrn technology.* energy.*"

Test(diannao_draws, every_parameter_is_drawn)
{
	struct test_draw draw[MAX_PARAMS] = {{0}}, of_layers[MAX_PARAMS] = {{0}};
	struct npl_arena arena = {0};
	struct dn_config paper;
	struct npl_err err;
	cr_assert_eq(dn_read_machine(&arena, &paper, &err), 0, "%s", err.msg);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct diannao_case c;
		struct diannao_unit_case unit;
		cr_assert(diannao_case_make(&c, seed, &(struct diannao_request){0}));
		test_draw_config(draw, dn_params, &c.config);
		diannao_case_free(&c);
		if (diannao_unit_case_make(&unit, seed, &paper))
			test_draw_config(of_layers, dn_params, &unit.config);
	}
	npl_arena_free(&arena);
	for (int i = 0; i < MAX_PARAMS; i++)
		draw[i].differed |= of_layers[i].differed;
	test_expect_draws(draw, dn_params, EXCEPTIONS);
}

Test(diannao_draws, every_field_is_drawn)
{
	struct test_draw draw[MAX_FIELDS] = {{0}};
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct diannao_case c;
		cr_assert(diannao_case_make(&c, seed, &(struct diannao_request){0}));
		for (int64_t i = 0; i < c.program.count; i++)
			for (int s = 0; s < DN_SLOTS; s++)
				for (int f = 0; f < dn_slots[s].n_fields; f++)
					test_draw_note(&draw[s * SIM_MAX_FIELDS + f],
						       sim_field_get(&dn_code(&c.program)[i], &dn_slots[s].field[f]));
		diannao_case_free(&c);
	}
	for (int s = 0; s < DN_SLOTS; s++)
		for (int f = 0; f < dn_slots[s].n_fields; f++)
			cr_expect(draw[s * SIM_MAX_FIELDS + f].differed, "%s: %s is never drawn", dn_slots[s].name,
				  dn_slots[s].field[f].name);
}

/* Adds what programs of the agreement count, which write into their own memory. */
static void count(uint64_t first, uint64_t last, const struct diannao_request *wish, uint64_t sum[DN_COUNTERS],
		  uint64_t *output_saturations)
{
	for (uint64_t seed = first; seed <= last; seed++) {
		struct diannao_case c;
		struct diannao_stream stream;
		struct npl_memory *memory;
		struct dn_outcome outcome;
		struct npl_err err;
		char reason[300] = "";
		cr_assert(diannao_checked(&c, seed, wish, &memory, reason, sizeof reason), "%s", reason);
		struct dn_engine_input input = diannao_engine_input(&c, memory);
		input.stream = diannao_source(&stream, &c, false);
		input.memory = (struct dn_memory){c.bytes, c.size};
		cr_assert_eq(dn_run_fast(&input, &outcome, &err), 0, "%s", err.msg);
		test_add_counters(sum, dn_counter_defs, DN_COUNTERS, &outcome.counters);
		*output_saturations += outcome.counters.output_saturations;
		npl_memory_close(memory);
		diannao_case_free(&c);
	}
}

/* Only long programs last until a DRAM refreshes. */
Test(diannao_draws, every_counter_moves)
{
	uint64_t sum[DN_COUNTERS] = {0}, output_saturations = 0;
	count(1, SEEDS, &(struct diannao_request){0}, sum, &output_saturations);
	count(20001, 20100, &(struct diannao_request){.instructions = 400}, sum, &output_saturations);
	test_expect_moves(sum, dn_counter_defs, DN_COUNTERS, "");
	cr_expect(output_saturations);
}
