/* SPDX-License-Identifier: MIT
 *
 * Promise: the energy table of machines/diannao.yaml is the paper's (Chen et al., ASPLOS 2014, Table 6), so that a
 * layer which keeps every block busy draws 485 mW on chip; memory costs what its preset says; the file's other
 * values are the defaults; another machine's energies are absent until its file gives them. */
#include "tests/kit/sim/diannao/fixture.h"
#include "tests/kit/sim/machine_file.h"

static double joules_of(const struct npl_result *result, const char *component)
{
	for (int i = 0; i < result->n_energy; i++)
		if (!strcmp(result->energy[i].component, component))
			return result->energy[i].joules;
	cr_assert_fail("no component %s", component);
	return NAN;
}

/* Table 6, mW; the control processor is `control`, AXIMUX is `interface`. */
static const struct {
	const char *component;
	double milliwatts;
} table6[] = {{"SB", 105}, {"NBin", 91}, {"NBout", 92}, {"NFU", 132}, {"control", 31}, {"interface", 8}, {"other", 26}};

#define LEAKAGE 0.0173 /* section 7.2: of the power */

Test(diannao_energy, full_rate_draws_485_mw)
{
	struct dn_config config = dn_ideal();
	struct npl_result result;
	struct dn_case c;
	double chip = 0, active_seconds;
	dn_case_window(&c, NPL_OP_CONV, 1, 64, 40, 40, 64, 1, dn_window(3, 1));
	dn_case_run(&config, &c, &result);
	cr_assert_eq(dn_counter(&result, "idle_lanes"), 0);
	active_seconds = (double)dn_counter(&result, "nfu_active") / 980e6;
	for (size_t i = 0; i < sizeof table6 / sizeof *table6; i++) {
		double joules = joules_of(&result, table6[i].component);
		bool per_cycle = i > 3;
		cr_expect_float_eq(joules / (per_cycle ? result.seconds : active_seconds),
				   table6[i].milliwatts * 1e-3 * (1 - LEAKAGE), 1e-9, "%s", table6[i].component);
		chip += joules;
	}
	cr_expect_float_eq(joules_of(&result, "static") / result.seconds, 0.485 * LEAKAGE, 1e-9);
	chip += joules_of(&result, "static");
	cr_assert_float_eq(chip / result.seconds, 0.485, 0.02 * 0.485);
	cr_assert_float_eq(chip / result.seconds, 0.485, 1e-4, "only the 8 cycles of filling draw less");
	cr_assert(isnan(joules_of(&result, "memory")), "of ideal memory nothing is known");
	config.memory_preset = "diannao-250gbps";
	dn_case_run(&config, &c, &result);
	/* Waiting costs what the control, the interface and the rest draw. */
	cr_assert_gt(result.cycles, dn_counter(&result, "nfu_active") + dn_counter(&result, "nfu_fill"));
	for (size_t i = 4; i < sizeof table6 / sizeof *table6; i++)
		cr_expect_float_eq(joules_of(&result, table6[i].component) / result.seconds,
				   table6[i].milliwatts * 1e-3 * (1 - LEAKAGE), 1e-9, "%s", table6[i].component);
	double memory = joules_of(&result, "memory read") + joules_of(&result, "memory write");
	chip = joules_of(&result, "static");
	for (size_t i = 0; i < sizeof table6 / sizeof *table6; i++)
		chip += joules_of(&result, table6[i].component);
	cr_assert_float_eq(npl_result_joules(&result), chip + memory, 1e-15);
}

Test(diannao_energy, energy_counts_accesses_of_32_bytes)
{
	struct npl_arena arena = {0};
	struct dn_config config = dn_load(&arena);
	struct npl_result result;
	struct dn_case c;
	dn_case_gemm(&c, 1, 5, 7); /* 14 bytes of inputs, an SB row of 512, 10 of results; 17.6 nJ per 32 bytes */
	dn_case_run(&config, &c, &result);
	cr_assert_eq(result.bytes[NPL_MEM_DRAM], 536);
	cr_assert_float_eq(joules_of(&result, "memory read"), 526 * 17.6e-9 / 32, 1e-18);
	cr_assert_float_eq(joules_of(&result, "memory write"), 10 * 17.6e-9 / 32, 1e-18);
	for (int i = 0; i < result.n_energy; i++)
		cr_assert_str_eq(result.energy[i].origin, strncmp(result.energy[i].component, "memory", 6)
								  ? "calibrated:chen2014"
								  : "modelled:mcpat-chen2014");
	npl_arena_free(&arena);
}

/* The paper says that memory takes more than 95 % of the energy of its layers. */
Test(diannao_energy, memory_dominates_classifiers)
{
	struct dn_config config = dn_default();
	struct npl_result result;
	struct dn_case c;
	dn_case_gemm(&c, 1, 20, 960);
	dn_case_run(&config, &c, &result);
	double memory = joules_of(&result, "memory read") + joules_of(&result, "memory write");
	cr_assert_gt(memory / npl_result_joules(&result), 0.95);
}

Test(diannao_energy, pooling_does_not_touch_sb)
{
	struct dn_config config = dn_default();
	struct npl_result result;
	struct dn_case c;
	dn_case_window(&c, NPL_OP_MAXPOOL, 1, 32, 8, 8, 0, 1, dn_window(2, 2));
	dn_case_run(&config, &c, &result);
	cr_assert_eq(joules_of(&result, "SB"), 0);
	cr_assert_gt(joules_of(&result, "NBin"), 0);
}

Test(diannao_energy, the_machine_file_is_the_default_but_for_energy_and_what_was_fitted)
{
	test_machine_file(&npl_driver_diannao, "machines/diannao.yaml", "energy.* technology.* activity");
}

Test(diannao_energy, what_a_file_does_not_say_is_absent)
{
	struct npl_arena arena = {0};
	struct npl_description tiny = {.name = "tiny", .driver_or_model_key = "driver", .driver_or_model = "diannao"};
	struct npl_err err;
	struct dn_config config;
	struct npl_result result;
	struct dn_case c;
	cr_assert_eq(npl_description_set(&tiny, &arena, "nfu.tn", "4", &err), 0, "%s", err.msg);
	cr_assert_eq(npl_description_set(&tiny, &arena, "memory.preset", "diannao-250gbps", &err), 0, "%s", err.msg);
	cr_assert_eq(npl_params_read(dn_params, &tiny, &arena, &config, &err), 0, "%s", err.msg);
	dn_case_gemm(&c, 3, 20, 30);
	dn_case_run(&config, &c, &result);
	cr_assert_eq(result.n_energy, DN_CHIP_ENERGIES + 2);
	for (int i = 0; i < DN_CHIP_ENERGIES; i++) {
		cr_assert_gt(result.energy[i].events, 0, "%s", result.energy[i].component);
		cr_assert(isnan(result.energy[i].joules), "%s: %g J", result.energy[i].component,
			  result.energy[i].joules);
		cr_assert_str_eq(result.energy[i].origin, "absent");
	}
	cr_assert(isnan(npl_result_joules(&result)));
	/* Nor is that of a memory without currents known; ideal's is not either. */
	static const char *const silent[] = {"gddr6", "ideal"};
	for (size_t i = 0; i < 2; i++) {
		struct npl_device_info info = {0};
		config.memory_preset = silent[i];
		void *state = dn_opened(&config);
		npl_driver_diannao.describe(state, &info);
		cr_assert_str_eq(info.link.energy_origin, "absent", "%s", silent[i]);
		cr_assert_null(info.link.energy_within, "%s: energy that is not known is nowhere", silent[i]);
		npl_driver_diannao.close(state);
		dn_case_run(&config, &c, &result);
		cr_assert(isnan(result.energy[7].joules), "%s: %s", silent[i], result.energy[7].component);
	}
	npl_arena_free(&arena);
}
