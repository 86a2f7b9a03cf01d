/* SPDX-License-Identifier: MIT
 *
 * Energy models of machines. What the program promises: energy, area and static power follow what the machine
 * describes; a table of calibrated figures comes before what follows bottom-up, and a figure of the machine file before
 * both; what no table covers is not known, and never 0; a table with a mistake is refused with its line. */
#include <criterion/criterion.h>
#include <math.h>

#include "sim/energy/model.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/sim/energy.h"

enum { LOGIC, BUFFER, CONTROL, COMPONENTS };

/* A machine of 100 multipliers, a buffer, and what no table has. */
static struct npl_energy_model model_of(double node_nm, int64_t buffer_bytes, const char *table, double given_pj,
					struct npl_arena *arena, int code, struct npl_err *err)
{
	const struct sim_component components[COMPONENTS] = {
		{.name = "logic",
		 .action[0] = {.energy = "logic", .event = "product", .step = {{"int8_multiplier", "multiply", 2}}},
		 .circuits = 100},
		{.name = "buffer",
		 .action = {{.energy = "buffer read", .event = "byte", .reads = 1.0 / 64},
			    {.energy = "buffer write",
			     .event = "byte",
			     .writes = 1.0 / 64,
			     .given_pj = given_pj,
			     .given_origin = given_pj > 0 ? "modelled:own" : "absent"}},
		 .memory = {buffer_bytes, 512, 256, 1}},
		{.name = "control", .action[0] = {.energy = "control", .event = "cycle"}, .instances = 4}};
	const struct sim_technology technology = {node_nm, 0.9, table, SIM_NOT_COUNTED};
	struct npl_energy_model model;
	*err = (struct npl_err){0};
	cr_assert_eq(
		sim_energy_model(&technology, components, COMPONENTS, &(struct sim_given_power){0}, arena, &model, err),
		code, "%s", err->msg);
	return model;
}

Test(sim_energy_model, follows_from_operations_and_macros)
{
	struct npl_arena arena = {0};
	struct npl_err err;
	struct npl_estimates pj, um2;
	struct sim_sram_figures figures;
	const struct sim_process process = {45, 0.9};
	const struct sim_sram sram = {1 << 16, 512, 256, 1};
	const struct npl_energy_model m = model_of(45, 1 << 16, "none", 0, &arena, 0, &err);
	const struct sim_energy_tables *tables = sim_shipped_tables(&err);
	cr_assert_eq(sim_operation_pj(tables, "int8_multiplier", "multiply", &process, &pj, &err), 0);
	cr_assert_eq(sim_operation_area(tables, "int8_multiplier", "multiply", 45, &um2, &err), 0);
	cr_assert_eq(sim_sram_figures_of(tables, &sram, 45, &figures, &err), 0);
	cr_assert_float_eq(um2.middle, 282, 1e-6, "the area of the source at its own node");
	const struct npl_component *logic = &m.component[LOGIC], *buffer = &m.component[BUFFER];
	cr_expect_float_eq(logic->action[0].pj, 2 * pj.middle, 1e-12);
	cr_expect_float_eq(logic->area_mm2, 100 * 2 * 282e-6, 1e-9);
	cr_expect_float_eq(buffer->action[0].bottom_up_pj.low, figures.read_pj.low / 64, 1e-9);
	cr_expect_float_eq(buffer->action[1].bottom_up_pj.high, figures.write_pj.high / 64, 1e-9);
	cr_expect_float_eq(buffer->area_mm2, figures.area_mm2.middle, 1e-9);
	cr_expect_float_eq(m.static_watts, figures.leakage_w.middle, 1e-12, "only the memory leaks by the tables");
	cr_expect_str_eq(m.static_origin, "modelled:bottom-up");
	cr_expect(isnan(m.component[CONTROL].action[0].pj) && isnan(m.component[CONTROL].area_mm2));
	cr_expect_float_eq(m.area_mm2, logic->area_mm2 + buffer->area_mm2, 1e-9);
	struct npl_result result = {0};
	cr_expect_eq(sim_charge(&m, "control", 5, NAN, &result, &err), 0);
	cr_expect_eq(result.n_energy, 0, "no table has it");
	cr_expect_eq(sim_charge(&m, "logic", 5, NAN, &result, &err), 0);
	cr_expect(result.n_energy == 1 && result.energy[0].events == 5 && result.energy[0].has_range);
	cr_expect(!result.energy[0].has_activity && isnan(npl_energy_by_activity(result.energy, 1)), "not counted");
	cr_expect_eq(sim_charge(&m, "bufer", 5, NAN, &result, &err), NPL_EINTERNAL);
	npl_arena_free(&arena);
}

/* The energy by activity is what is charged where operands are random, and less by what the operands decide where they
 * are still: all of a multiplication, none of an addition, and of a memory's access what its wires take. */
Test(sim_energy_model, activity_of_operands_lowers_what_follows_them)
{
	struct npl_arena arena = {0};
	struct npl_err err;
	struct npl_energy_model model;
	const struct sim_component components[] = {
		{.name = "logic",
		 .action[0] = {.energy = "logic",
			       .event = "product",
			       .step = {{"int8_multiplier", "multiply", 1}, {"int32_adder", "add", 1}},
			       .operands = SIM_FACTORS},
		 .circuits = 1},
		{.name = "buffer",
		 .action = {{.energy = "buffer read", .event = "byte", .reads = 1.0 / 64, .operands = SIM_WIRES},
			    {.energy = "buffer write", .event = "byte", .writes = 1.0 / 64}},
		 .memory = {1 << 20, 512, 256, 1}}};
	const struct sim_technology technology = {45, 0.9, "none", SIM_COUNTED};
	cr_assert_eq(sim_energy_model(&technology, components, 2, &(struct sim_given_power){0}, &arena, &model, &err),
		     0);
	const double share = model.component[0].action[0].operand_share,
		     wires = model.component[1].action[0].operand_share;
	const struct sim_energy_tables *tables = sim_shipped_tables(&err);
	const struct sim_process process = {45, 0.9};
	struct npl_estimates multiply, add;
	cr_assert_eq(sim_operation_pj(tables, "int8_multiplier", "multiply", &process, &multiply, &err), 0);
	cr_assert_eq(sim_operation_pj(tables, "int32_adder", "add", &process, &add, &err), 0);
	cr_expect_float_eq(share, multiply.middle / (multiply.middle + add.middle), 1e-12);
	cr_expect(wires > 0.05 && wires < 0.95, "%g", wires);
	cr_expect_float_eq(model.component[1].action[1].operand_share, 0, 0);
	struct npl_result random = {0}, still = {0};
	for (int i = 0; i < 2; i++) {
		struct npl_result *r = i ? &random : &still;
		cr_assert_eq(sim_charge(&model, "logic", 1000, i, r, &err), 0);
		cr_assert_eq(sim_charge(&model, "buffer read", 1000, i, r, &err), 0);
		cr_assert_eq(sim_charge(&model, "buffer write", 1000, i, r, &err), 0);
	}
	const double all = npl_result_joules(&random);
	cr_expect_float_eq(npl_energy_by_activity(random.energy, random.n_energy), all, 1e-18);
	cr_expect_float_eq(npl_energy_by_activity(still.energy, still.n_energy),
			   all - share * random.energy[0].joules - wires * random.energy[1].joules, 1e-18);
	npl_arena_free(&arena);
}

/* Without a node nothing is known, except what the file gives. */
Test(sim_energy_model, without_a_process_only_given_figures_are_known)
{
	struct npl_arena arena = {0};
	struct npl_err err;
	const struct npl_energy_model m = model_of(0, 1 << 16, "none", 7, &arena, 0, &err);
	cr_expect_float_eq(test_action(&m, "buffer write")->pj, 7, 0);
	cr_expect_str_eq(test_action(&m, "buffer write")->origin, "modelled:own");
	cr_expect(isnan(test_action(&m, "buffer read")->pj) && isnan(test_action(&m, "logic")->pj));
	cr_expect_str_eq(test_action(&m, "logic")->origin, "absent");
	cr_expect(isnan(m.static_watts) && isnan(m.bottom_up_static_watts.high));
	npl_arena_free(&arena);
}

#define HEAD "component,quantity,value,unit,node_nm,volts,origin\n"

Test(sim_energy_model, calibrated_figures_come_before_bottom_up_and_given_ones_before_both)
{
	char folder[CLI_PATH];
	struct npl_arena arena = {0};
	struct npl_err err;
	cli_folder(folder);
	cli_write_text(folder, "own.csv",
		       HEAD "static,power,0.5,W/mm2,45,0.9,calibrated:x\n"
			    "logic,energy,3,factor,45,0.9,calibrated:x\n"
			    "buffer write,energy,9,pJ,45,0.9,calibrated:x\n"
			    "logic,area,2,mm2,45,0.9,calibrated:x\n"
			    "buffer,area,2,factor,45,0.9,calibrated:x\n"
			    "control,energy,11,pJ,45,0.9,calibrated:x\n"
			    "control,area,0.25,mm2 each,45,0.9,calibrated:x\n");
	const struct npl_energy_model plain = model_of(45, 1 << 16, "none", 0, &arena, 0, &err),
				      own = model_of(45, 1 << 16, cli_path(folder, "own.csv"), 7, &arena, 0, &err),
				      small = model_of(28, 1 << 16, cli_path(folder, "own.csv"), 7, &arena, 0, &err);
	cr_expect_float_eq(test_action(&own, "logic")->pj, 3 * test_action(&plain, "logic")->pj, 1e-12);
	cr_expect_float_eq(test_action(&own, "buffer write")->pj, 7, 0);
	cr_expect_float_eq(test_action(&own, "control")->pj, 11, 1e-9);
	cr_expect_str_eq(test_action(&own, "control")->origin, "calibrated:x");
	cr_expect_float_eq(own.component[CONTROL].area_mm2, 1, 1e-12, "four of a quarter");
	cr_expect_float_eq(own.component[BUFFER].area_mm2, 2 * plain.component[BUFFER].area_mm2, 1e-12);
	cr_expect_float_eq(own.area_mm2, 3 + own.component[BUFFER].area_mm2, 1e-9);
	cr_expect_float_eq(own.static_watts, own.area_mm2 / 2, 1e-12, "areas come first, whatever the rows' order");
	cr_expect_float_eq(own.component[LOGIC].action[0].bottom_up_pj.low,
			   plain.component[LOGIC].action[0].bottom_up_pj.low, 0, "the range stays");
	/* Absolute figures are of the row's process. */
	cr_expect(test_action(&small, "control")->pj < 11 && test_action(&small, "control")->pj > 3);
	cr_expect(small.component[LOGIC].area_mm2 < 1 && small.component[LOGIC].area_mm2 > 0.5);
	npl_arena_free(&arena);
	cli_remove_folder(folder);
}

/* A memory that no table covers leaves its component unknown, and says why. */
Test(sim_energy_model, memories_beyond_the_tables_are_not_known)
{
	struct npl_arena arena = {0};
	struct npl_err err;
	const struct npl_energy_model m = model_of(45, 128, "none", 0, &arena, 0, &err);
	cr_assert_not_null(m.component[BUFFER].unknown);
	cr_expect(strstr(m.component[BUFFER].unknown, "a macro of 64 bytes"), "%s", m.component[BUFFER].unknown);
	cr_expect(isnan(test_action(&m, "buffer read")->pj) && isnan(m.component[BUFFER].area_mm2));
	cr_expect(!isnan(test_action(&m, "logic")->pj));
	model_of(5, 1 << 16, "none", 0, &arena, NPL_EUSAGE, &err);
	cr_expect(strstr(err.msg, "technology.node_nm, technology.volts: 5 nm, expected 7 to 180"), "%s", err.msg);
	npl_arena_free(&arena);
}

Test(sim_energy_model, a_table_with_a_mistake_is_refused)
{
	static const struct {
		const char *row, *message;
	} cases[] = {
		{"logic,energy,3,factors,45,0.9,calibrated:x", "own.csv:2: unit is 'factors', expected factor or pJ"},
		{"logic,energy,3,,45,0.9,calibrated:x", "own.csv:2: unit is '', expected a word"},
		{"logic,energy,-3,pJ,45,0.9,calibrated:x", "own.csv:2: value is '-3', expected 0 or more"},
		{"logic,energy,3,pJ,,0.9,calibrated:x", "own.csv:2: node_nm is '', expected a number"},
		{"logc,energy,3,pJ,45,0.9,calibrated:x", "component is 'logc', of which the machine has no energy; the "
							 "nearest is 'logic'"},
		{"buffer read,area,3,mm2,45,0.9,calibrated:x",
		 "of which the machine has no area; the nearest is 'buffer'"},
		{"logic,power,3,W,45,0.9,calibrated:x", "of which the machine has no power; expected static"},
		{"logic,energie,3,pJ,45,0.9,calibrated:x", "quantity is 'energie'; the nearest is 'energy'"},
		{"logic,energy,3,pJ,45,0.9,guess", "origin is 'guess', expected calibrated:... or modelled:..."},
		{"logic,energy,3,pJ,45,3,calibrated:x", "own.csv:2: 3 V at 45 nm, expected 0.7 to 1.1 V"},
		{"control,energy,3,factor,45,0.9,calibrated:x", "no table has the energy of control"},
		{"buffer,area,1e308,mm2,45,0.9,calibrated:x\nstatic,power,1e308,W/mm2,45,0.9,calibrated:x",
		 "is too large"},
		{"logic,energy,3,factor,45,0.9,calibrated:x\nlogic,energy,3,pJ,45,0.9,calibrated:x",
		 "own.csv:3: the energy of logic is in line 2, too"},
		{"logic,area,3,mm2 each,45,0.9,calibrated:x", "unit is 'mm2 each', expected factor or mm2"},
		{"static,power,3,W/m2,45,0.9,calibrated:x", "unit is 'W/m2', expected factor or W or W/mm2"},
	};
	char folder[CLI_PATH], text[400];
	struct npl_arena arena = {0};
	struct npl_err err;
	cli_folder(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const int code = strstr(cases[i].message, " V at ") ? NPL_EUSAGE : NPL_EINPUT;
		snprintf(text, sizeof text, HEAD "%s\n", cases[i].row);
		cli_write_text(folder, "own.csv", text);
		model_of(45, 1 << 16, cli_path(folder, "own.csv"), 0, &arena, code, &err);
		cr_expect(strstr(err.msg, cases[i].message), "%s: %s", cases[i].row, err.msg);
	}
	npl_arena_free(&arena);
	cli_remove_folder(folder);
}
