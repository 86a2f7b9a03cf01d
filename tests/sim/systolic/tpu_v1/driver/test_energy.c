/* SPDX-License-Identifier: MIT
 *
 * Energy of the systolic machines. What the program promises: energy is counts times the machine file's table, by the
 * byte and word of a row, so that a narrower array's rows cost less; the TPU v1's dynamic power at full rate is near
 * the published 12 W; what a file does not say is absent and never the TPU v1's, nor 0. */
#include <criterion/criterion.h>

#include <math.h>

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

Test(tpu_energy, a_row_of_the_machine_files_costs_what_its_macros_do)
{
	/* CACTI 7: reads and writes of the unified buffer's macros and how many make a row; 16 KiB accumulator
	 * macros. */
	const struct {
		const char *path;
		double macros, read, write;
	} files[] = {{"machines/tpu_v1.yaml", 8, 146.787, 136.932},
		     {"machines/systolic_128x128.yaml", 4, 146.787, 136.932},
		     {"machines/systolic_16x16.yaml", 1, 15.5862, 13.0553}};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct npl_arena arena = {0};
		struct tpu_config c = test_tpu_load(files[i].path, &arena);
		double width = (double)tpu_row_bytes(&c);
		cr_expect_float_eq(c.buffer_byte_read.pj * width, files[i].macros * files[i].read, 1e-9, "%s",
				   files[i].path);
		cr_expect_float_eq(c.buffer_byte_written.pj * width, files[i].macros * files[i].write, 1e-9, "%s",
				   files[i].path);
		cr_expect_float_eq(c.accumulator_word.pj, 4.86587 + 2.76261, 1e-12, "%s", files[i].path);
		npl_arena_free(&arena);
	}
}

/* Leakage of the memories' macros, by CACTI 7 at 350 K, and the other 21.3 W of the TPU v1's 28 at idle by the area of
 * what is not memory: 24 % of its die are cells, 6 % are by column, 14 % stay. Of the TPU v1 itself that gives the 28 W
 * again. */
Test(tpu_energy, idle_power_of_the_machine_files_follows_area_and_memories)
{
	const struct {
		const char *path;
		double macros, leakage;
	} files[] = {{"machines/tpu_v1.yaml", 8, 0.6749},
		     {"machines/systolic_128x128.yaml", 4, 0.6749},
		     {"machines/systolic_16x16.yaml", 32, 0.02231}};
	struct npl_arena arena = {0};
	const struct tpu_config tpu = test_tpu_load(files[0].path, &arena);
	const double rest = tpu.static_watts - 8 * 0.6749 - (double)tpu.columns * 0.005077;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		const struct tpu_config c = test_tpu_load(files[i].path, &arena);
		const double cells = (double)(c.rows * c.columns) / (double)(tpu.rows * tpu.columns);
		const double columns = (double)c.columns / (double)tpu.columns;
		const double memories = files[i].macros * files[i].leakage + (double)c.columns * 0.005077;
		cr_expect_float_eq(c.static_watts, rest * (24 * cells + 6 * columns + 14) / 44 + memories, 5e-4, "%s",
				   files[i].path);
		cr_expect(strcmp(c.link.energy_origin, "absent") && c.link.pj_per_byte == 0 &&
				  c.weight_standby == TPU_STANDBY_STATIC,
			  "%s: link and standby are inside the static power", files[i].path);
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
	for (int i = 0; i < 3; i++)
		cr_assert_float_eq(component(&n, parts[i])->joules / (double)test_counter(&n, rows[i]),
				   component(&w, parts[i])->joules / (double)test_counter(&w, rows[i]) / 2, 1e-18,
				   "half the width, half the energy of a row: %s", parts[i]);
	/* The layer fills a quarter of the wide array and all of the narrow one: the same rows at half the width. */
	cr_assert_eq(test_counter(&w, "accumulator_writes"), test_counter(&n, "accumulator_writes"));
	cr_assert_lt(component(&n, "accumulators")->joules, 0.51 * component(&w, "accumulators")->joules);
	cr_assert_float_eq(component(&n, "static")->pj_per_event, component(&w, "static")->pj_per_event, 1e-9,
			   "static power does not follow the array");
	npl_arena_free(&arena);
}

/* Jouppi et al., Table 2: busy 40 W, idle 28 W. */
Test(tpu_energy, dynamic_power_at_full_rate_is_near_the_published_12_watts)
{
	struct npl_arena arena = {0};
	struct tpu_config config = test_tpu_load("machines/tpu_v1.yaml", &arena);
	const struct {
		int64_t rows;
		double watts; /* as the machine file says */
	} cases[] = {{2048, 11.3}, {1344, 12.2}};
	for (int i = 0; i < 2; i++) {
		struct test_layer t;
		test_gemm(&t, cases[i].rows, 4096, 4096);
		test_requantised(&t, NPL_U8, 1.0f, 0);
		t.layer.timing_only = true;
		struct npl_result r = test_run(&config, &t.layer);
		double watts = npl_result_joules(&r) * (double)config.clock_hz / (double)r.cycles - config.static_watts;
		cr_assert_gt((double)test_counter(&r, "array_active") / (double)r.cycles, 0.98);
		cr_assert_float_eq(watts, cases[i].watts, 0.05, "the machine file says %g W, the model %g W",
				   cases[i].watts, watts);
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
