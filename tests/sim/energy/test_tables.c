/* SPDX-License-Identifier: MIT  Energy, leakage and area by the tables that ship. Each row of a table is found again
 * at its own node and size, figures between rows lie between them, and what the tables do not cover is refused
 * with what they do. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/energy/tables.h"
#include "tests/kit/cli_run.h"

static struct sim_energy_tables load(struct npl_arena *arena)
{
	struct sim_energy_tables tables;
	struct npl_err err;
	cr_assert_eq(sim_energy_tables_load(arena, NULL, &tables, &err), 0, "%s", err.msg);
	return tables;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-7 * fabs(b);
}

static struct npl_estimates pj_of(const struct sim_energy_tables *tables, const char *component, const char *action,
				  double node_nm, double volts)
{
	struct npl_estimates pj;
	struct npl_err err;
	cr_assert_eq(sim_operation_pj(tables, component, action, &(struct sim_process){node_nm, volts}, &pj, &err), 0,
		     "%s", err.msg);
	return pj;
}

Test(energy_tables, an_action_costs_at_its_own_node_what_its_sources_say)
{
	struct npl_arena arena = {0};
	const struct sim_energy_tables tables = load(&arena);
	for (int i = 0; i < tables.n_operations; i++) {
		const struct sim_operation *o = &tables.operation[i];
		const struct npl_estimates pj = pj_of(&tables, o->component, o->action, o->process.node_nm,
						      o->process.volts);
		cr_expect(o->pj >= pj.low * (1 - 1e-8) && o->pj <= pj.high * (1 + 1e-8),
			  "%s:%d: %g, outside of %g to %g", o->path, o->line, o->pj, pj.low, pj.high);
		cr_expect(near(pj.middle * pj.middle, pj.low * pj.high));
	}
	const struct npl_estimates multiply = pj_of(&tables, "int8_multiplier", "multiply", 45, 0.9);
	cr_expect(near(multiply.low, 0.2) && near(multiply.high, 0.2), "Horowitz, ISSCC 2014");
	npl_arena_free(&arena);
}

/* Of jouppi2021 both nodes are known, so that its estimate lies on the line between them; of horowitz2014 only 45 nm
 * is, which the equations of Stillmaker and Baas make smaller than that at 28 nm. */
Test(energy_tables, between_two_nodes_of_a_source_its_energies_follow_in_log_log)
{
	struct npl_arena arena = {0};
	const struct sim_energy_tables tables = load(&arena);
	const double share = log(45.0 / 28) / log(45.0 / 7);
	const struct npl_estimates pj = pj_of(&tables, "int8_multiplier", "multiply", 28, 0.9);
	cr_expect(near(pj.high, 0.2 * pow(0.07 / 0.2, share)), "%g", pj.high);
	cr_expect(pj.low > 0.08 && pj.low < 0.11, "%g", pj.low);
	npl_arena_free(&arena);
}

Test(energy_tables, scaling_is_that_of_the_paper)
{
	struct npl_arena arena = {0};
	const struct sim_energy_tables tables = load(&arena);
	const struct sim_process base = {45, 0.9};
	struct npl_estimates factor;
	struct npl_err err;
	double area;
	for (int i = 0; i < tables.n_scalings; i++) {
		const struct sim_scaling *s = &tables.scaling[i];
		double last = 0;
		for (double v = s->least_volts; v <= s->most_volts + 1e-9; v += 0.05) {
			const double volts = fmin(v, s->most_volts), e = s->a2 * volts * volts + s->a1 * volts + s->a0;
			cr_expect(e > last, "%g nm %s: no more at %g V than below", s->node_nm, s->transistors, volts);
			last = e;
		}
		cr_assert_eq(sim_scale_area(&tables, 45, s->node_nm, &area, &err), 0, "%s", err.msg);
		cr_expect(near(area, s->area), "%g nm", s->node_nm);
	}
	cr_assert_eq(sim_scale_energy(&tables, &base, &base, &factor, &err), 0);
	cr_expect(near(factor.low, 1) && near(factor.high, 1));
	/* By the polynomials of high performance 65 nm takes 1.906 times 45 nm's energy, both at their voltages. */
	cr_assert_eq(sim_scale_energy(&tables, &base, &(struct sim_process){65, 1.0}, &factor, &err), 0);
	cr_expect(fabs(factor.high - 1.906) < 0.02, "%g", factor.high);
	npl_arena_free(&arena);
}

static struct sim_sram_figures sram_of(const struct sim_energy_tables *tables, const struct sim_sram *sram,
				       double node_nm)
{
	struct sim_sram_figures figures;
	struct npl_err err;
	cr_assert_eq(sim_sram_figures_of(tables, sram, node_nm, &figures, &err), 0, "%s", err.msg);
	return figures;
}

static bool holds(const struct npl_estimates *range, double value)
{
	return value >= range->low * (1 - 1e-8) && value <= range->high * (1 + 1e-8);
}

Test(energy_tables, a_macro_of_the_table_costs_what_its_row_says)
{
	struct npl_arena arena = {0};
	const struct sim_energy_tables tables = load(&arena);
	for (int i = 0; i < tables.n_srams; i++) {
		const struct sim_sram_macro *run = &tables.sram[i];
		const struct sim_sram sram = {run->bytes, run->width_bits, run->width_bits, run->ports};
		const struct sim_sram_figures f = sram_of(&tables, &sram, run->node_nm);
		cr_expect(f.columns == 1 && f.banks == 1);
		cr_expect(holds(&f.read_pj, run->read_pj) && holds(&f.write_pj, run->write_pj) &&
				  holds(&f.leakage_w, run->leakage_mw * 1e-3) && holds(&f.area_mm2, run->area_mm2),
			  "row %d: %lld bytes of %lld bits at %g nm", i, (long long)run->bytes,
			  (long long)run->width_bits, run->node_nm);
	}
	npl_arena_free(&arena);
}

/* DianNao's SB, 64 rows of 4096 bits: 16 macros of 2 KiB and 256 bits, with a read and a write port. */
Test(energy_tables, wide_memories_are_macros_side_by_side)
{
	struct npl_arena arena = {0};
	const struct sim_energy_tables tables = load(&arena);
	const struct sim_sram_figures sb = sram_of(&tables, &(struct sim_sram){32768, 4096, 256, 2}, 65),
				      macro = sram_of(&tables, &(struct sim_sram){2048, 256, 256, 2}, 65);
	cr_expect_eq(sb.columns, 16);
	cr_expect(near(sb.read_pj.low, 16 * macro.read_pj.low) && near(sb.area_mm2.high, 16 * macro.area_mm2.high));
	npl_arena_free(&arena);
}

Test(energy_tables, larger_memories_and_older_nodes_cost_more)
{
	struct npl_arena arena = {0};
	const struct sim_energy_tables tables = load(&arena);
	struct sim_sram_figures last = {0};
	for (int64_t bytes = 1 << 14; bytes <= (int64_t)1 << 28; bytes += bytes / 3) {
		const struct sim_sram_figures f = sram_of(&tables, &(struct sim_sram){bytes, 2048, 256, 1}, 28);
		/* One bank more makes each of them smaller, and its access cheaper. */
		cr_expect(f.banks > last.banks ||
				  (f.read_pj.low > last.read_pj.low && f.read_pj.high > last.read_pj.high),
			  "%lld bytes", (long long)bytes);
		cr_expect(f.area_mm2.middle > last.area_mm2.middle && f.leakage_w.middle > last.leakage_w.middle,
			  "%lld bytes", (long long)bytes);
		last = f;
	}
	double read = 0, area = 0;
	for (double node = 7; node <= 180; node *= 1.15) {
		const struct sim_sram_figures f = sram_of(&tables, &(struct sim_sram){32768, 256, 256, 1}, node);
		cr_expect(f.read_pj.middle > read && f.area_mm2.middle > area, "%g nm", node);
		read = f.read_pj.middle;
		area = f.area_mm2.middle;
	}
	npl_arena_free(&arena);
}

Test(energy_tables, what_no_table_covers_is_refused)
{
	struct npl_arena arena = {0};
	const struct sim_energy_tables tables = load(&arena);
	struct npl_estimates pj;
	struct sim_sram_figures figures;
	struct npl_err err;
	static const struct {
		const char *component, *action;
		struct sim_process process;
		const char *message;
	} cases[] = {
		{"int8_multiplyer",
		 "multiply",
		 {45, 0.9},
		 "no energy of the component 'int8_multiplyer'; the nearest is"},
		{"int8_multiplier", "add", {45, 0.9}, "no energy of the action 'add' of int8_multiplier"},
		{"int8_multiplier", "multiply", {5, 0.9}, "5 nm, expected 7 to 180"},
		{"int8_multiplier", "multiply", {65, 0.5}, "0.5 V at 65 nm, expected 0.7 to 1.3 V"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cr_expect_eq(
			sim_operation_pj(&tables, cases[i].component, cases[i].action, &cases[i].process, &pj, &err),
			NPL_EUSAGE);
		cr_expect(strstr(err.msg, cases[i].message), "%s", err.msg);
	}
	cr_expect_eq(sim_sram_figures_of(&tables, &(struct sim_sram){100, 32, 32, 1}, 28, &figures, &err), NPL_EUSAGE);
	cr_expect(strstr(err.msg, "a macro of 100 bytes and 32 bits, expected 512 bytes at least"), "%s", err.msg);
	npl_arena_free(&arena);
}

Test(energy_tables, a_wrong_table_is_refused_by_file_and_line)
{
#define HEADER "component,action,pj,node_nm,volts,area_um2,source\n"
	static const struct {
		const char *text, *message;
	} cases[] = {
		{HEADER "a,add,-1,45,0.9,,s\n", "own.csv:2: pj is '-1', expected more than 0"},
		{HEADER "a,add,0,45,0.9,,s\n", "own.csv:2: pj is '0', expected more than 0"},
		{HEADER "a,add,1,45,0.9,,s\na,add,,45,0.9,,s\n", "own.csv:3: pj is '', expected a number"},
		{HEADER "a,,1,45,0.9,,s\n", "own.csv:2: action is '', expected a word"},
		{HEADER "a,add,1,,0.9,,s\n", "own.csv:2: node_nm is '', expected a number"},
		{HEADER "a,add,1,45,0.9,-3,s\n", "own.csv:2: area_um2 is '-3', expected 0 or more"},
		{"component,action,pj,node_nm,volts,source\na,add,1,45,0.9,s\n", "area_um2"},
		{HEADER, "own.csv: no rows"},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_arena arena = {0};
		struct sim_energy_tables tables;
		struct npl_err err;
		cli_write_text(folder, "own.csv", cases[i].text);
		cr_expect_eq(sim_energy_tables_load(&arena, cli_path(folder, "own.csv"), &tables, &err), NPL_EINPUT,
			     "case %zu", i);
		cr_expect(strstr(err.msg, cases[i].message), "case %zu: %s", i, err.msg);
		npl_arena_free(&arena);
	}
	cli_remove_folder(folder);
}
