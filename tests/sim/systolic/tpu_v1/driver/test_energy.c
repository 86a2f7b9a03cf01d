/* SPDX-License-Identifier: MIT
 *
 * Energy of the systolic machines. What the program promises: energy is counts times the machine's energy model, by the
 * byte and word of a row; energy, area and static power follow the sizes of the machine; the TPU v1's dynamic power at
 * full rate is near the published 12 W; what a file does not say is absent and never the TPU v1's, nor 0. */
#include <criterion/criterion.h>

#include <math.h>

#include "tests/kit/sim/energy.h"
#include "tests/kit/sim/machine_file.h"
#include "tests/kit/sim/tpu_v1/support.h"

static const struct npl_energy *component(const struct npl_result *r, const char *name)
{
	for (int i = 0; i < r->n_energy; i++)
		if (!strcmp(r->energy[i].component, name))
			return &r->energy[i];
	cr_assert_fail("no component %s", name);
	return NULL;
}

static struct npl_result run_gemm(const struct tpu_config *config, int64_t rows, int64_t k, int64_t n)
{
	struct test_layer t;
	test_gemm(&t, rows, k, n);
	t.layer.timing_only = true;
	struct npl_result r = test_run(config, &t.layer);
	test_layer_free(&t);
	return r;
}

static struct npl_device_info describe(const struct tpu_config *config)
{
	void *state = NULL;
	struct npl_err err = {0};
	struct npl_device_info info = {0};
	cr_assert_eq(npl_driver_systolic.open(config, &state, &err), 0, "%s", err.msg);
	npl_driver_systolic.describe(state, &info);
	npl_driver_systolic.close(state);
	return info;
}

Test(tpu_energy, is_counts_times_table)
{
	struct tpu_config config = test_tpu_defaults();
	const int64_t arrays[][2] = {{256, 256}, {128, 128}, {64, 200}, {300, 16}};
	for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) {
		config.rows = arrays[a][0];
		config.columns = arrays[a][1];
		struct npl_result r = run_gemm(&config, 300, 700, 500);
		uint64_t columns = (uint64_t)config.columns, cells = (uint64_t)config.rows * columns;
		uint64_t width = config.rows > config.columns ? (uint64_t)config.rows : columns;
		const struct {
			const char *component;
			uint64_t events;
			double pj;
		} expected[] = {
			{"matrix unit", test_counter(&r, "array_active") * cells, config.cell.pj},
			{"unified buffer read", test_counter(&r, "ub_rows_read") * width, config.buffer_byte_read.pj},
			{"unified buffer write", test_counter(&r, "ub_rows_written") * width,
			 config.buffer_byte_written.pj},
			{"accumulators", test_counter(&r, "accumulator_writes") * columns, config.accumulator_word.pj},
			{"weight memory", test_counter(&r, "weight_bytes"), config.weight_byte.pj},
			{"static", r.cycles, 28 / 700e6 * 1e12},
		};
		cr_assert_eq(r.n_energy, 6);
		double sum = 0;
		for (int i = 0; i < 6; i++) {
			cr_assert_str_eq(r.energy[i].component, expected[i].component);
			cr_assert_eq(r.energy[i].events, expected[i].events, "%s", expected[i].component);
			cr_assert_float_eq(r.energy[i].joules, (double)expected[i].events * expected[i].pj * 1e-12,
					   1e-15);
			cr_assert_gt(r.energy[i].joules, 0, "%s", expected[i].component);
			sum += r.energy[i].joules;
		}
		cr_assert_float_eq(npl_result_joules(&r), sum, 1e-12);
		cr_assert_eq(test_counter(&r, "useful_macs") + test_counter(&r, "unused_macs"),
			     test_counter(&r, "array_active") * cells);
	}
}

/* Opens a machine; the caller closes it. Its model lives as long. */
static const struct npl_energy_model *open_model(const struct tpu_config *config, void **state)
{
	struct npl_err err = {0};
	cr_assert_eq(npl_driver_systolic.open(config, state, &err), 0, "%s", err.msg);
	return npl_driver_systolic.energy_model(*state);
}

/* A row of the unified buffer is in macros of 256 bits side by side, one of the accumulators in one macro for each
 * column (energies/sram.csv). */
Test(tpu_energy, a_row_of_the_machine_files_costs_what_its_macros_do)
{
	struct npl_arena arena = {0};
	int n;
	const char **files = test_machine_paths(&npl_driver_systolic, &arena, &n);
	for (int i = 0; i < n; i++) {
		struct npl_err err = {0};
		const struct tpu_config c = test_tpu_load(files[i], &arena);
		void *state;
		const struct npl_energy_model *model = open_model(&c, &state);
		const int64_t width = tpu_row_bytes(&c);
		const struct sim_sram buffer = {c.buffer_bytes, 8 * width, 256, 1},
				      column = {4 * c.accumulator_rows, 32, 32, 2};
		struct sim_sram_figures row, word;
		const struct sim_energy_tables *tables = sim_shipped_tables(&err);
		cr_assert_eq(sim_sram_figures_of(tables, &buffer, 28, &row, &err), 0, "%s", err.msg);
		cr_assert_eq(sim_sram_figures_of(tables, &column, 28, &word, &err), 0, "%s", err.msg);
		const struct npl_action *read = test_action(model, "unified buffer read"),
					*sums = test_action(model, "accumulators");
		cr_expect_float_eq(read->bottom_up_pj.middle * (double)width / row.read_pj.middle, 1, 1e-9, "%s",
				   files[i]);
		cr_expect_float_eq(sums->bottom_up_pj.middle / (word.read_pj.middle + word.write_pj.middle), 1, 1e-8,
				   "%s", files[i]);
		cr_expect_float_eq(read->pj / read->bottom_up_pj.middle, sums->pj / sums->bottom_up_pj.middle, 1e-9,
				   "%s: one factor for the whole chip", files[i]);
		npl_driver_systolic.close(state);
	}
	npl_arena_free(&arena);
}

/* Jouppi et al., Table 2: 28 W at idle, of a die of at most 331 mm2. */
Test(tpu_energy, idle_power_of_the_machine_files_follows_area)
{
	static const struct area {
		const char *path;
		double least_mm2, most_mm2;
	} areas[] = {{"machines/tpu_v1.yaml", 330.999999, 331.000001},
		     {"machines/systolic_128x128.yaml", 200, 230},
		     {"machines/systolic_16x16.yaml", 120, 140}};
	struct npl_arena arena = {0};
	int n;
	const char **files = test_machine_paths(&npl_driver_systolic, &arena, &n);
	for (int i = 0; i < n; i++) {
		const struct tpu_config c = test_tpu_load(files[i], &arena);
		void *state;
		const struct npl_energy_model *model = open_model(&c, &state);
		const struct area *area = NULL;
		for (size_t a = 0; a < sizeof areas / sizeof *areas; a++)
			if (!strcmp(files[i], areas[a].path))
				area = &areas[a];
		cr_assert(area, "%s: the test knows no area of it", files[i]);
		cr_expect(model->area_mm2 > area->least_mm2 && model->area_mm2 < area->most_mm2, "%s: %g mm2", files[i],
			  model->area_mm2);
		cr_expect_float_eq(model->static_watts, model->area_mm2 * 28 / 331, 1e-8, "%s", files[i]);
		cr_expect(strcmp(c.link.energy_origin, "absent") && c.link.pj_per_byte == 0 &&
				  c.weight_standby == TPU_STANDBY_STATIC,
			  "%s: link and standby are inside the static power", files[i]);
		npl_driver_systolic.close(state);
	}
	npl_arena_free(&arena);
}

Test(tpu_energy, a_narrower_array_has_cheaper_rows)
{
	/* --set tpu_v1.array.rows=128 --set tpu_v1.array.columns=128 */
	struct npl_arena arena = {0};
	struct npl_description machine;
	struct npl_err err = {0};
	struct tpu_config wide, narrow;
	cr_assert_eq(npl_description_load("machines/tpu_v1.yaml", "driver", &arena, &machine, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_params_read(tpu_params, &machine, &arena, &wide, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_description_set(&machine, &arena, "array.rows", "128", &err), 0, "%s", err.msg);
	cr_assert_eq(npl_description_set(&machine, &arena, "array.columns", "128", &err), 0, "%s", err.msg);
	cr_assert_eq(npl_params_read(tpu_params, &machine, &arena, &narrow, &err), 0, "%s", err.msg);
	struct npl_result w = run_gemm(&wide, 500, 128, 128), n = run_gemm(&narrow, 500, 128, 128);
	static const char *const parts[] = {"unified buffer read", "unified buffer write", "accumulators"};
	static const char *const rows[] = {"ub_rows_read", "ub_rows_written", "accumulator_writes"};
	for (int i = 0; i < 3; i++) {
		const double ratio = component(&n, parts[i])->joules / (double)test_counter(&n, rows[i]) /
				     (component(&w, parts[i])->joules / (double)test_counter(&w, rows[i]));
		/* As many bytes in half as many macros: each is as large or larger. */
		cr_assert(ratio > 0.499999 && ratio < 0.8, "a row at half the width: %s costs %g times", parts[i],
			  ratio);
	}
	/* The layer fills a quarter of the wide array and all of the narrow one: the same rows at half the width. */
	cr_assert_eq(test_counter(&w, "accumulator_writes"), test_counter(&n, "accumulator_writes"));
	cr_assert_lt(component(&n, "accumulators")->joules, 0.51 * component(&w, "accumulators")->joules);
	cr_assert_lt(component(&n, "static")->pj_per_event, 0.85 * component(&w, "static")->pj_per_event,
		     "a smaller die");
	npl_arena_free(&arena);
}

/* Jouppi et al., Table 2: busy 40 W, idle 28 W. The energies are fitted to these with CNN0, whose array works for 77 %
 * of the time (validate/tpu_v1.c). */
Test(tpu_energy, power_at_full_rate_is_near_the_published_40_watts)
{
	struct npl_arena arena = {0};
	struct tpu_config config = test_tpu_load("machines/tpu_v1.yaml", &arena);
	const struct {
		int64_t rows;
		double watts;
	} cases[] = {{2048, 13.5}, {1344, 14.4}};
	for (int i = 0; i < 2; i++) {
		struct test_layer t;
		test_gemm(&t, cases[i].rows, 4096, 4096);
		test_requantised(&t, NPL_U8, 1.0f, 0);
		t.layer.timing_only = true;
		struct npl_result r = test_run(&config, &t.layer);
		double watts = npl_result_joules(&r) * (double)config.clock_hz / (double)r.cycles - 28;
		cr_assert_gt((double)test_counter(&r, "array_active") / (double)r.cycles, 0.98);
		cr_assert_float_eq(watts, cases[i].watts, 0.1, "%g W, expected %g", watts, cases[i].watts);
		test_layer_free(&t);
	}
	npl_arena_free(&arena);
}

Test(tpu_energy, what_a_file_does_not_say_is_absent)
{
	/* array: {rows: 16, columns: 16} and nothing else; then with one figure of its own. */
	struct npl_arena arena = {0};
	struct npl_description tiny = {.name = "tiny", .driver_or_model_key = "driver", .driver_or_model = "systolic"};
	struct npl_err err = {0};
	struct tpu_config config;
	static const char *const own[][2] = {
		{"array.rows", "16"},
		{"array.columns", "16"},
		{"energy.accumulators.pj_per_word", "3"},
		{"energy.accumulators.origin", "modelled:own"},
	};
	for (int n_given = 2; n_given <= 4; n_given += 2) {
		for (int i = n_given - 2; i < n_given; i++)
			cr_assert_eq(npl_description_set(&tiny, &arena, own[i][0], own[i][1], &err), 0, "%s", err.msg);
		cr_assert_eq(npl_params_read(tpu_params, &tiny, &arena, &config, &err), 0, "%s", err.msg);
		struct npl_result r = run_gemm(&config, 30, 40, 50);
		cr_assert_eq(r.n_energy, 6);
		for (int i = 0; i < r.n_energy; i++) {
			bool known = n_given == 4 && !strcmp(r.energy[i].component, "accumulators");
			cr_assert_gt(r.energy[i].events, 0, "%s", r.energy[i].component);
			cr_assert_eq(isnan(r.energy[i].joules) != 0, !known, "%s: %g J", r.energy[i].component,
				     r.energy[i].joules);
			cr_assert_str_eq(r.energy[i].origin, known ? "modelled:own" : "absent");
		}
		cr_assert(isnan(npl_result_joules(&r)));
		struct npl_device_info info = describe(&config);
		cr_assert_eq(info.static_watts, 0);
		cr_assert_null(info.static_origin, "not known is not a static power of 0 W");
		cr_assert_str_eq(info.link.energy_origin, "absent");
	}
	npl_arena_free(&arena);
}
