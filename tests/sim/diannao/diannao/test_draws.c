/* SPDX-License-Identifier: MIT
 *
 * Random cases of the diannao machine draw every parameter that decides values or times, and every field of its
 * instructions: what is always the same is never compared between the engines. */
#include "sim/diannao/diannao/dn.h"
#include "tests/kit/sim/diannao/programs.h"
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
