/* SPDX-License-Identifier: MIT
 *
 * Promises of `npulab sweep`: options and a plan file say the same; the rows do not depend on how many processes run;
 * the database says what it is of; what it prints; and what it refuses, with which exit status. */
#include "tests/kit/cli_json.h"
#include "tests/kit/sweep_store.h"

#define PLAN                                                                                                           \
	"model: digits\ndevice: [tpu_v1, diannao]\nbatch: 1..4*2\nvary:\n"                                             \
	"  tpu_v1.array.rows = tpu_v1.array.columns: [[64, 32], 128]\n  host.cores: [4, 18]\n"                         \
	"set: {clock_hz: 600e6}\nconstraint: [area_mm2 < 240, seconds < 5e-5]\nminimise: [time, energy]\n"

Test(sweep, options_say_the_same_as_a_file)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "plan.yaml", PLAN);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, "sweep", "@/plan.yaml", "-o", "@/file.sqlite", "--threads", "1");
	cli_expect(&here, 0, "sweep", "digits", "--device", "tpu_v1,diannao", "--batch", "1,2,4", "--vary",
		   "tpu_v1.array.rows=tpu_v1.array.columns=64:32,128:128", "--vary", "host.cores=4,18", "--set",
		   "clock_hz=600e6", "--constraint", "area_mm2 < 240", "--constraint", "seconds < 5e-5", "--minimise",
		   "seconds, energy_j", "-o", "@/options.sqlite", "--threads", "5");
	store_check_same(cli_path(folder, "file.sqlite"), cli_path(folder, "options.sqlite"), "points", 18);
	store_check_same(cli_path(folder, "file.sqlite"), cli_path(folder, "options.sqlite"), "sweep",
			 store_sql(cli_path(folder, "file.sqlite"), "SELECT count(*) FROM sweep"));
	/* and each goes on with the other's database */
	cli_expect(&here, 0, "sweep", "@/plan.yaml", "-o", "@/options.sqlite");
	cr_assert_eq(cli_count_files(folder), 3);
	cli_remove_folder(folder);
}

/* Options stand over the file's entries. */
Test(sweep, options_stand_over_the_file)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "plan.yaml", PLAN);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, "sweep", "@/plan.yaml", "--device", "tpu_v1", "--batch", "7", "--vary", "host.cores=2",
		   "--set", "clock_hz=700e6", "-o", "@/r.sqlite", "--quiet");
	const char *path = cli_path(folder, "r.sqlite");
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM points"), 2);
	cr_assert_eq(store_sql(path, "SELECT value LIKE '%\"value\":\"700e6\"%' FROM sweep WHERE key = 'settings'"), 1);
	cli_remove_folder(folder);
}

/* The tables that the head of explore/store/store.h promises to readers in other languages. */
Test(sweep, the_database_says_what_it_is_of)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "plan.yaml", PLAN);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, "sweep", "@/plan.yaml", "-o", "@/r.sqlite", "--layers", "--quiet");
	const char *path = cli_path(folder, "r.sqlite");
	json_t *devices = cli_json(&here, "compare", "digits", "--devices", "tpu_v1", "--timing-only", "--json", "-");
	char sql[300];
	snprintf(sql, sizeof sql, "SELECT json_extract(value, '$.digits') = '%s' FROM sweep WHERE key = 'models'",
		 cli_text(cli_at(devices, "model.file_sha256")));
	cr_assert_eq(store_sql(path, sql), 1);
	snprintf(sql, sizeof sql,
		 "SELECT json_extract(value, '$.tpu_v1.sha256') = '%s' FROM sweep WHERE key = 'machines'",
		 cli_text(cli_at(devices, "devices.0.machine_sha256")));
	cr_assert_eq(store_sql(path, sql), 1);
	cr_assert_eq(store_sql(path, "SELECT json_extract(value, '$.points') FROM sweep WHERE key = 'method'"), 18);
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM points WHERE status = 'done'"), 12);
	cr_assert_eq(store_sql(path,
			       "SELECT count(*) FROM points WHERE status = 'excluded' AND reason = 'area_mm2 < 240' "
			       "AND seconds IS NULL AND area_mm2 > 240 AND NOT feasible"),
		     6);
	cr_assert_eq(store_sql(path,
			       "SELECT count(*) FROM points WHERE json_extract(parameters, '$.device') = 'diannao' AND "
			       "json_extract(parameters, '$.\"array.rows\"') IS NULL"),
		     6, "a parameter that another machine has is none of this one");
	cr_assert_eq(
		store_sql(path,
			  "SELECT count(*) FROM points WHERE json_extract(parameters, '$.\"array.rows\"') = 64 AND "
			  "json_extract(parameters, '$.\"array.columns\"') = 32"),
		6);
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM layers"), 12 * 12);
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM metrics JOIN pragma_table_info('points') USING(name)"),
		     SWEEP_METRICS);
	json_decref(devices);
	cli_remove_folder(folder);
}

Test(sweep, prints_counts_and_the_front)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "plan.yaml", PLAN);
	const struct cli_run_options here = {.folder = folder};
	struct cli_result r = cli_run(&here, "sweep", "@/plan.yaml");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(strstr(r.out, "18 of 18 points: 12 done (10 meet the constraints), 6 excluded, 0 failed\n"), "%s",
		  r.out);
	cr_assert(strstr(r.out, "\n18 run now in "), "%s", r.out);
	cr_assert(cli_says(r.out, "Pareto front: 1 of 10 points") && cli_says(r.out, "least seconds"), "%s", r.out);
	cli_free(&r);
	r = cli_run(&here, "sweep", "digits", "--device", "tpu_v1", "--vary", "array.rows=0,64");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(strstr(r.out, "2 of 2 points: 1 done (1 meet the constraints), 0 excluded, 1 failed\n"), "%s", r.out);
	cr_assert(strstr(r.out, "\nthe first that failed: array.rows"), "%s", r.out);
	cli_free(&r);
	r = cli_run(&here, "sweep", "@/plan.yaml", "--quiet");
	cr_assert(r.status == 0 && !r.out_bytes && !r.err_bytes, "%s%s", r.out, r.err);
	cli_free(&r);
	cr_assert_eq(cli_count_files(folder), 1);
	cli_remove_folder(folder);
}

Test(sweep, counts_points_without_running_them_all)
{
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "sweep", "digits", "--device", "tpu_v1", "--vary",
				      "array.rows=1..256", "--vary", "array.columns=1..256", "--vary",
				      "accumulators.rows=256..4096*2", "--dry-run");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "array.rows 256 values: 1 ... 256"), "%s", r.out);
	cr_assert(cli_says(r.out, "accumulators.rows 5 values: 256 ... 4096"), "%s", r.out);
	cr_assert(strstr(r.out, "327680 points of method grid\n"), "%s", r.out);
	cr_assert(cli_says(r.out, " in all on "), "%s", r.out);
	cli_free(&r);
	r = cli_run(&(struct cli_run_options){0}, "sweep", "digits", "--device", "tpu_v1", "--vary",
		    "array.rows=1..256", "--method", "sobol", "--points", "9", "--dry-run");
	cr_assert(strstr(r.out, "9 points of method sobol, of 256 on the grid\n"), "%s", r.out);
	cli_free(&r);
}

/* With values the accuracy is known, and can be an objective. */
Test(sweep, knows_the_accuracy_with_values)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, "sweep", "digits", "--device", "tpu_v1", "--values", "--batch", "120,180", "--maximise",
		   "accuracy", "-o", "@/r.sqlite");
	const char *path = cli_path(folder, "r.sqlite");
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM points WHERE top1_accuracy > 0.99 AND sqnr_db > 30 AND "
				     "saturations > 0"),
		     2);
	cli_remove_folder(folder);
}

#define SWEEP "sweep", "digits", "--device", "tpu_v1"

Test(sweep, refuses_with_the_status_of_whose_fault_it_is)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "plan.yaml", PLAN);
	cli_write_text(folder, "bad.yaml", "model: digits\ndevice: tpu_v1\nvary: {array.row: 1..4}\n");
	cli_write_text(folder, "half.yaml", "model: digits\n");
	cli_write_text(folder, "text.txt", "not a database\n");
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, SWEEP, "-o", "@/r.sqlite", "--quiet");
	static const struct cli_refusal cases[] = {
		{2, "sweep: expected a plan or a model", {"sweep"}},
		{2, "a model needs --device too", {"sweep", "digits"}},
		{3, "dgits", {"sweep", "dgits", "--device", "tpu_v1"}},
		{2, "--device: there is no device 'tpu_v2'", {"sweep", "digits", "--device", "tpu_v2"}},
		{3, "/none.yaml", {"sweep", "@/none.yaml"}},
		{3,
		 "bad.yaml:3: tpu_v1 has no parameter 'array.row'; the nearest is 'array.rows'",
		 {"sweep", "@/bad.yaml"}},
		{3, "half.yaml: the plan names no device", {"sweep", "@/half.yaml"}},
		{2, "--vary array.rows: expected KEY=VALUES", {SWEEP, "--vary", "array.rows"}},
		{2, "--vary =5: expected KEY=VALUES", {SWEEP, "--vary", "=5"}},
		{2, "--vary: '4..1': a range goes upwards", {SWEEP, "--vary", "array.rows=4..1"}},
		{2, "--vary: tpu_v1 has no parameter 'array.row'", {SWEEP, "--vary", "array.row=4"}},
		{2,
		 "--vary: 'array.rows' is varied twice",
		 {SWEEP, "--vary", "array.rows=4", "--vary", "tpu_v1.array.rows=5"}},
		{2, "--set: tpu_v1 has no parameter 'array.row'", {SWEEP, "--set", "array.row=4"}},
		{2, "--constraint: 'a <': expected a number", {SWEEP, "--constraint", "a <"}},
		{2, "--minimise: 'secnds': there is no result or varied parameter", {SWEEP, "--minimise", "secnds"}},
		{2, "--method: there is no method 'sobl'; the nearest is 'sobol'", {SWEEP, "--method", "sobl"}},
		{2, "points: the method grid runs every point", {SWEEP, "--points", "5"}},
		{2, "sobol: expected points", {SWEEP, "--method", "sobol"}},
		{2, "--batch: batch '0'", {SWEEP, "--batch", "0"}},
		{2, "the value 'digits' stands twice", {"sweep", "digits,digits", "--device", "tpu_v1"}},
		{2,
		 "the grid has 1.6e+09 points",
		 {SWEEP, "--vary", "array.rows=1..40000", "--vary", "clock_hz=1..40000"}},
		{3,
		 "/r.sqlite: it has the results of a sweep with other axes",
		 {SWEEP, "--batch", "4", "-o", "@/r.sqlite"}},
		{3,
		 "/r.sqlite: it has the results of a sweep with other constraints",
		 {SWEEP, "--constraint", "seconds < 1", "-o", "@/r.sqlite"}},
		{3,
		 "/r.sqlite: it has the results of a sweep with other settings",
		 {SWEEP, "--set", "array.rows=64", "-o", "@/r.sqlite"}},
		{3, "/text.txt: expected the results of a sweep", {SWEEP, "-o", "@/text.txt"}},
		{5, "/none/r.sqlite", {SWEEP, "-o", "@/none/r.sqlite"}},
		{5, ": this is a folder, expected a file", {SWEEP, "-o", "@"}}};
	CLI_CHECK(folder, cases);
	cr_assert_eq(store_sql(cli_path(folder, "r.sqlite"), "SELECT count(*) FROM points"), 1);
	cli_remove_folder(folder);
}
