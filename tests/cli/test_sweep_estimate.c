/* SPDX-License-Identifier: MIT
 *
 * Promises of estimates in `npulab sweep` and `npulab pareto`: what is estimated is never a row of the results; each
 * estimated point that is shown is one of the grid, did not run, meets the constraints, and when it runs its figures
 * are as near as the errors say; narrowing chooses the same points on any number of processes; and what cannot be
 * estimated is refused. */
#include "tests/kit/sweep_store.h"

#define PLAN                                                                                                           \
	"sweep", "digits", "--device", "tpu_v1", "--vary", "array.rows=16..128+16", "--vary",                          \
		"array.columns=16..128+16", "--vary", "clock_hz=400e6..800e6+100e6", "--minimise", "seconds,energy_j"

Test(sweep_estimate, narrowing_is_the_same_on_any_number_of_processes)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, PLAN, "--method", "narrowing", "--points", "60", "--quiet", "--threads", "1", "-o",
		   "@/1.sqlite");
	cli_expect(&here, 0, PLAN, "--method", "narrowing", "--points", "60", "--quiet", "--threads", "3", "-o",
		   "@/3.sqlite");
	store_check_same(cli_path(folder, "1.sqlite"), cli_path(folder, "3.sqlite"), "points", 60);
	/* A part of it is gone: it goes on to the same. */
	store_sql(cli_path(folder, "1.sqlite"), "DELETE FROM points WHERE id >= 21");
	cli_expect(&here, 0, PLAN, "--method", "narrowing", "--points", "60", "--quiet", "-o", "@/1.sqlite");
	store_check_same(cli_path(folder, "1.sqlite"), cli_path(folder, "3.sqlite"), "points", 60);
	cli_remove_folder(folder);
}

/* Ten points of 320 let many be estimated to be better; the whole grid lets none be estimated. */
Test(sweep_estimate, says_what_is_worth_running)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, PLAN, "--method", "random", "--points", "40", "--quiet", "-o", "@/few.sqlite");
	struct cli_result r = cli_run(&here, "pareto", "@/few.sqlite", "--estimate");
	cr_assert(!r.status && cli_says(r.out, "Of 280 points that did not run,") &&
			  cli_says(r.out, "ERROR OF POINTS HALF WITHIN 90 % WITHIN WORST") &&
			  cli_says(r.out, "seconds 40") && cli_says(r.out, "energy_j 40") && strchr(r.out, '~'),
		  "%s%s", r.out, r.err);
	cli_free(&r);
	cr_assert_eq(store_sql(cli_path(folder, "few.sqlite"), "SELECT count(*) FROM points"), 40);
	/* A constraint is met by estimates too: none of them may have a faster clock than 500 MHz. */
	r = cli_run(&here, "pareto", "@/few.sqlite", "--estimate", "--constraint", "clock_hz <= 500e6");
	const char *estimated = strstr(r.out, "Of 280 points");
	cr_assert(estimated && !strstr(estimated, "800000000") && !strstr(estimated, "600000000"), "%s%s", r.out,
		  r.err);
	cli_free(&r);
	r = cli_run(&here, PLAN, "--estimate");
	cr_assert(cli_says(r.out, "Of 0 points that did not run, 0 would be on the front"), "%s%s", r.out, r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* tRC must be at least tRAS + tRP, so that a part of the grid fails: what fails is not named. Each network has errors
 * of its own. */
Test(sweep_estimate, leaves_out_what_fails)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_write_text(folder, "plan.yaml",
		       "model: [digits, lenet5]\ndevice: tpu_v1\nset: {weight_memory.preset: ddr3-2133}\nvary: "
		       "{weight_memory.preset@timing.tRC: 40..70, array.rows: 32..128+32}\nminimise: [seconds, "
		       "energy_j]\nmethod: random\npoints: 120\n");
	struct cli_result r = cli_run(&here, "sweep", "@/plan.yaml", "--estimate", "-o", "@/r.sqlite");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "seconds of digits") && cli_says(r.out, "energy_j of lenet5"), "%s", r.out);
	const int64_t least = store_sql(
		cli_path(folder, "r.sqlite"),
		"SELECT min(json_extract(parameters, '$.\"weight_memory.preset@timing.tRC\"')) FROM "
		"points WHERE status = 'done'");
	cr_assert(least > 45 && store_sql(cli_path(folder, "r.sqlite"), "SELECT count(*) FROM points WHERE status = "
									"'failed'") > 10);
	const char *named = strstr(r.out, "would be on the front");
	for (int clocks = 40; clocks < 45; clocks++) {
		char text[30];
		snprintf(text, sizeof text, "tRC=%d,", clocks);
		cr_expect(!strstr(named, text), "%d clocks fail: %s", clocks, named);
	}
	cli_free(&r);
	/* Narrowing runs fewer points that fail than chance does. */
	cli_expect(&here, 0, "sweep", "@/plan.yaml", "--method", "narrowing", "--quiet", "-o", "@/n.sqlite");
	cr_assert_lt(store_sql(cli_path(folder, "n.sqlite"), "SELECT count(*) FROM points WHERE status = 'failed'"),
		     store_sql(cli_path(folder, "r.sqlite"), "SELECT count(*) FROM points WHERE status = 'failed'"));
	cli_remove_folder(folder);
}

Test(sweep_estimate, refuses_what_it_cannot_estimate)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, PLAN, "--method", "random", "--points", "5", "--quiet", "-o", "@/5.sqlite");
	cli_expect(&here, 0, PLAN, "--method", "random", "--points", "12", "--quiet", "--constraint",
		   "weight_fifo.tiles >= 1", "-o", "@/fifo.sqlite");
	cli_expect(&here, 0, "sweep", "digits", "--device", "tpu_v1", "--vary", "array.rows=16..128", "--vary",
		   "array.columns=16..128", "--vary", "clock_hz=400e6..1400e6+250e3", "--method", "random", "--points",
		   "10", "--quiet", "-o", "@/large.sqlite");
	static const struct cli_refusal cases[] = {
		{2, "5 points, expected at least 8 to estimate others from", {"pareto", "@/5.sqlite", "--estimate"}},
		{2,
		 "names 'weight_fifo.tiles', which is neither a figure nor varied",
		 {"pareto", "@/fifo.sqlite", "--estimate"}},
		{2,
		 "the grid has 5.11e+07 points, expected at most 2e+07",
		 {"pareto", "@/large.sqlite", "--estimate"}}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cli_result r = cli_run_list(&here, cases[i].args);
		cr_expect(r.status == cases[i].status && cli_says(r.err, cases[i].expected), "%s%s", r.out, r.err);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}
