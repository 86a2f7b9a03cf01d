/* SPDX-License-Identifier: MIT
 *
 * Promises of `npulab best`, `pivot`, `sensitivity` and `explain`: their figures are those of the database; the command
 * that explain prints gives the figures of its point again, also for machine files, hosts and parameters with one
 * value; and the changes that it lists are those between the sweep's own points. */
#include "tests/kit/cli_json.h"
#include "tests/kit/shell.h"
#include "tests/kit/sweep_store.h"

/* Puts the points of a small grid: 3 values of `rows` and 2 of `preset`, with 2 points in each cell. Seconds are
 * 100 x rows + 10 x preset + the point in the cell, rates the same with 1000 - it. */
static void make_store(const char *path)
{
	static const char *const rows[] = {"16", "32", "64"}, *const presets[] = {"fixed", "hbm2"};
	struct sweep_store *store = store_open(path);
	struct npl_err err = {0};
	for (int i = 0; i < 12; i++) {
		const int r = i / 4, p = i / 2 % 2;
		const struct sweep_parameter parameter[] = {{"array.rows", rows[r]}, {"preset", presets[p]}};
		struct sweep_outcome outcome = store_outcome(100 * (r + 1) + 10 * p + i % 2);
		outcome.metrics.value[SWEEP_METRIC_samples_per_second] = 1000 -
									 outcome.metrics.value[SWEEP_METRIC_seconds];
		outcome.feasible = i != 6;
		cr_assert_eq(sweep_store_put(store, i, parameter, 2, &outcome, &err), 0, "%s", err.msg);
	}
	store_commit(store);
	sweep_store_close(store);
}

/* Checks that lines stand in what a command prints, with any white space in them, in this order. */
static void check_lines(const struct cli_run_options *here, const char *const *args, const char *const *lines)
{
	struct cli_result r = cli_run_list(here, args);
	cr_assert(!r.status && !r.err_bytes, "%s: %s", args[0], r.err);
	char *at = r.out;
	for (; *lines; lines++) {
		char *end = at;
		while (*end && !(cli_says(at, *lines) && !cli_says(end + 1, *lines)))
			end++;
		cr_assert(*end, "%s: no '%s' in: %s", args[0], *lines, at);
		at = end + 1;
	}
	cli_free(&r);
}
#define ARGS(...)  ((const char *const[]){__VA_ARGS__, NULL})
#define LINES(...) ARGS(__VA_ARGS__)

Test(exploring, best_lists_the_best_points_first)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	make_store(cli_path(folder, "r.sqlite"));
	const struct cli_run_options here = {.folder = folder};
	check_lines(&here, ARGS("best", "@/r.sqlite", "--top", "3"),
		    LINES("11 of 12 points meet the constraints", "0 fixed 100 s", "1 fixed 101 s", "2 hbm2 110 s"));
	check_lines(&here, ARGS("best", "@/r.sqlite", "--maximise", "seconds", "--constraint", "preset == 'fixed'"),
		    LINES("6 of 12 points", "9 64 301 s", "8 64 300 s", "5 32 201 s", "1 16 101 s", "0 16 100 s"));
	check_lines(&here,
		    ARGS("best", "@/r.sqlite", "--minimise", "seconds / array.rows", "--constraint", "array.rows > 16",
			 "--constraint", "seconds < 310", "--show", "seconds"),
		    LINES("5 of 12 points", "8 64 fixed 4.6875 300 s", "9 64 fixed", "4 32 fixed 6.25 200 s",
			  "5 32 fixed", "7 32 hbm2"));
	check_lines(&here, ARGS("best", "@/r.sqlite", "--constraint", "seconds < 1"),
		    LINES("0 of 12 points meet the constraints"));
	static const struct cli_refusal cases[] = {
		{2, "best: expected results and one figure", {"best"}},
		{2, "best: expected one figure", {"best", "@/r.sqlite", "--minimise", "seconds,energy_j"}},
		{2, "--minimise: 'secnds'", {"best", "@/r.sqlite", "--minimise", "secnds"}},
		{2, "--constraint: 'array.row", {"best", "@/r.sqlite", "--constraint", "array.row < 5"}},
		{3, "/none.sqlite", {"best", "@/none.sqlite"}}};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* Each cell has the best of its points. */
Test(exploring, pivot_shows_a_figure_over_two_parameters)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	make_store(cli_path(folder, "r.sqlite"));
	const struct cli_run_options here = {.folder = folder};
	check_lines(&here, ARGS("pivot", "@/r.sqlite", "--rows", "array.rows", "--columns", "preset"),
		    LINES("seconds, columns: preset", "array.rows fixed hbm2", "16 100 s 110 s", "32 200 s 211 s",
			  "64 300 s 310 s"));
	check_lines(&here,
		    ARGS("pivot", "@/r.sqlite", "--rows", "preset", "--columns", "array.rows", "--show",
			 "samples_per_second"),
		    LINES("preset 16 32 64", "fixed 900 /s 800 /s 700 /s", "hbm2 890 /s 789 /s 690 /s"));
	check_lines(&here,
		    ARGS("pivot", "@/r.sqlite", "--rows", "array.rows", "--columns", "preset", "--relative-to", "32"),
		    LINES("how many times better than the row that is 1.00", "16 2.00 1.92", "32 1.00 1.00",
			  "64 0.67 0.68"));
	check_lines(&here,
		    ARGS("pivot", "@/r.sqlite", "--rows", "array.rows", "--constraint", "preset == 'hbm2'",
			 "--constraint", "seconds > 110"),
		    LINES("array.rows seconds", "16 111 s", "32 211 s", "64 310 s"));
	static const struct cli_refusal cases[] = {
		{2, "pivot: expected results and --rows", {"pivot", "@/r.sqlite"}},
		{2, "no point has the parameter 'array.row'", {"pivot", "@/r.sqlite", "--rows", "array.row"}},
		{2,
		 "--relative-to 5: no point has this value of array.rows",
		 {"pivot", "@/r.sqlite", "--rows", "array.rows", "--relative-to", "5"}},
		{2,
		 "--show seconds,energy_j: expected one figure",
		 {"pivot", "@/r.sqlite", "--rows", "preset", "--show", "seconds,energy_j"}}};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* A row that is better is above 1 where more is better too. */
Test(exploring, pivot_relates_rates_the_other_way)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	make_store(cli_path(folder, "r.sqlite"));
	check_lines(&(struct cli_run_options){.folder = folder},
		    ARGS("pivot", "@/r.sqlite", "--rows", "array.rows", "--columns", "preset", "--show",
			 "samples_per_second", "--relative-to", "64"),
		    LINES("16 1.29 1.29", "32 1.14 1.14", "64 1.00 1.00"));
	cli_remove_folder(folder);
}

Test(exploring, sensitivity_prints_shares)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	make_store(cli_path(folder, "r.sqlite"));
	const struct cli_run_options here = {.folder = folder};
	json_t *root = cli_json(&here, "sensitivity", "@/r.sqlite", "--show", "seconds,samples_per_second", "--json",
				"-");
	cr_assert_eq(json_array_size(cli_at(root, "results")), 2);
	cr_assert_str_eq(cli_text(cli_at(root, "results.1.expression")), "samples_per_second");
	json_t *first = cli_at(root, "results.0.parameters.0"), *second = cli_at(root, "results.0.parameters.1");
	cr_assert_str_eq(cli_text(cli_at(first, "key")), "array.rows");
	cr_assert_eq(cli_integer(cli_at(first, "values")), 3);
	cr_assert(cli_number(cli_at(first, "share")) > 0.95 && cli_number(cli_at(second, "share")) < 0.05);
	/* The geometric mean of 100, 101, 110 and 111. */
	cr_assert(cli_near(cli_number(cli_at(first, "least")), pow(100.0 * 101 * 110 * 111, 0.25), 1e-12));
	cr_assert_str_eq(cli_text(cli_at(first, "least_at")), "16");
	cr_assert_str_eq(cli_text(cli_at(first, "most_at")), "64");
	json_decref(root);
	check_lines(&here, ARGS("sensitivity", "@/r.sqlite", "--show", "seconds", "--constraint", "array.rows == 16"),
		    LINES("seconds", "PARAMETER SHARE LEAST AT MEAN MOST AT MEAN",
			  "preset 99.0 % fixed 100 s hbm2 110 s", "estimates"));
	static const struct cli_refusal cases[] = {
		{2, "sensitivity: which results?", {"sensitivity"}},
		{2, "--show: 'secnds'", {"sensitivity", "@/r.sqlite", "--show", "secnds"}}};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* ---- explain. */

/* A figure of a point. */
static double figure_of(const char *path, int64_t point, const char *column)
{
	char sql[200];
	double value;
	sqlite3 *db;
	sqlite3_stmt *statement;
	snprintf(sql, sizeof sql, "SELECT %s FROM points WHERE id = %d", column, (int)point);
	cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
	cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
	cr_assert_eq(sqlite3_step(statement), SQLITE_ROW, "%s", sql);
	value = sqlite3_column_double(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return value;
}

/* Runs the command that explain prints for a point, and holds its figures against the database. */
static void check_command(const struct cli_run_options *here, const char *path, int64_t point)
{
	char id[20], program[4096];
	const char *named = getenv("NPULAB_BIN");
	snprintf(id, sizeof id, "%d", (int)point);
	cr_assert(realpath(named && *named ? named : "build/npulab", program));
	struct cli_result r = cli_run(here, "explain", path, id);
	cr_assert_eq(r.status, 0, "point %s: %s", id, r.err);
	char *command = strstr(r.out, ": npulab compare "), *end = command ? strchr(command, '\n') : NULL;
	cr_assert(end && !strncmp(r.out, "point ", 6), "%s", r.out);
	if (end)
		*end = '\0';
	char *json = shell("cd '%s' && %s %s %s --quiet --json -", here->enter ? here->enter : ".", cli_runner(),
			   program, command + strlen(": npulab "));
	json_t *root = cli_parse_json(json);
	const double batches = cli_number(cli_at(root, "model.batches"));
	cr_assert(cli_near(cli_number(cli_at(root, "devices.0.totals.latency_s")), figure_of(path, point, "seconds"),
			   1e-12),
		  "%s", command);
	cr_assert(cli_near(cli_number(cli_at(root, "devices.0.totals.energy_j")) / batches,
			   figure_of(path, point, "energy_j"), 1e-12),
		  "%s", command);
	json_decref(root);
	free(json);
	cli_free(&r);
}

static void check_commands(const char *folder, const char *plan, int points)
{
	const struct cli_run_options here = {.folder = folder, .enter = folder};
	const char *path = cli_path(folder, "r.sqlite");
	cli_write_text(folder, "plan.yaml", plan);
	cli_expect(&here, 0, "sweep", "plan.yaml", "-o", "r.sqlite", "--quiet");
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM points WHERE status = 'done'"), points);
	for (int i = 0; i < points; i++)
		check_command(&here, path, i);
	cr_assert_eq(unlink(path), 0);
}

/* Parameters with one value, derived and set ones, those of the host, batches and dimensions, and two engines. */
Test(exploring, explain_prints_a_command_that_gives_the_point_again)
{
	char folder[CLI_PATH], data[4096];
	cr_assert(realpath(".", data));
	setenv("NPULAB_DATA", data, 1);
	cli_folder(folder);
	check_commands(folder,
		       "model: [digits, lenet5]\ndevice: tpu_v1\nbatch: [40, 90]\n"
		       "vary: {array.rows: 64, host.cores: 2, weight_memory.preset: [fixed, hbm2]}\n"
		       "set: {clock_hz: 500 MHz}\nderive: {accumulators.rows: 16 * array.rows}\n",
		       8);
	check_commands(folder,
		       "model: lenet5\ndevice: [diannao, tpu_v1]\nbatch: 1\nengine: rtl\n"
		       "vary: {diannao.nfu.tn: [8, 16], tpu_v1.array.columns: 32, host.clock_hz: 1e9..2e9+1e9}\n"
		       "set: {tpu_v1.array.rows: 32, diannao.nbin.rows: 128}\n",
		       6);
	cli_remove_folder(folder);
}

/* Files whose names a shell would cut; the machine has another name than its file. */
Test(exploring, explain_prints_commands_for_machine_files)
{
	char folder[CLI_PATH], data[4096];
	cr_assert(realpath(".", data));
	setenv("NPULAB_DATA", data, 1);
	cli_folder(folder);
	const char *named = getenv("NPULAB_BIN"), *program = named && *named ? named : "build/npulab";
	free(shell("mkdir '%s/a b' && %s %s devices tpu_v1 --yaml | sed 's/^name: .*/name: mine/' "
		   "> \"%s/a b/m'1.yaml\"",
		   folder, cli_runner(), program, folder));
	free(shell("%s %s devices host --yaml | sed 's/^name: .*/name: other/; s/cores: [0-9]*/cores: 3/' "
		   "> '%s/a b/h.yaml' && cp models/digits.onnx '%s/a b/net work.onnx'",
		   cli_runner(), program, folder, folder));
	check_commands(
		folder,
		"model: ./a b/net work.onnx\ndevice: [\"./a b/m'1.yaml\", tpu_v1]\nhost: ./a b/h.yaml\nbatch: 60\n"
		"vary: {array.columns: [64, 128]}\nset: {array.rows: 96}\n",
		4);
	cli_remove_folder(folder);
}

/* The points of a grid of 3 x 2 by their levels. */
#define POINT(rows, memory) (2 * (rows) + (memory))

/* Checks the line of a change against the rows of both points. */
static void check_change(const char *printed, const char *path, const char *what, int from, int to)
{
	static const char *const columns[] = {"seconds", "energy_j", "area_mm2"};
	char expected[300];
	int n = snprintf(expected, sizeof expected, "%s", what);
	for (int i = 0; i < 3; i++) {
		const double ratio = figure_of(path, to, columns[i]) / figure_of(path, from, columns[i]);
		n += ratio < 10 ? snprintf(expected + n, sizeof expected - (size_t)n, " %+.1f %%", 100 * (ratio - 1))
				: snprintf(expected + n, sizeof expected - (size_t)n, " x %.3g", ratio);
	}
	cr_assert(cli_says(printed, expected), "no '%s' in: %s", expected, printed);
}

Test(exploring, explain_lists_the_changes_to_other_points)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, "sweep", "digits", "--device", "tpu_v1", "--vary", "array.rows=32,64,128", "--vary",
		   "weight_memory.preset=fixed,hbm2", "--constraint", "area_mm2 < 290", "--minimise",
		   "seconds,energy_j,area_mm2", "-o", "@/r.sqlite", "--quiet");
	const char *path = cli_path(folder, "r.sqlite");
	struct cli_result r = cli_run(&here, "explain", "@/r.sqlite", "3");
	cr_assert_eq(r.status, 0, "%s", r.err);
	char *changes = strstr(r.out, "CHANGE OF");
	cr_assert(changes && cli_says(r.out, "idle cells"), "%s", r.out);
	check_change(changes, path, "array.rows 64 to 32", POINT(1, 1), POINT(0, 1));
	check_change(changes, path, "weight_memory.preset hbm2 to fixed", POINT(1, 1), POINT(1, 0));
	cr_assert(cli_says(changes, "array.rows 64 to 128 - - ") && cli_says(changes, "- not area_mm2 < 290"), "%s",
		  changes);
	cr_assert(strstr(changes, "hbm2 to fixed") < strstr(changes, "64 to 32") &&
			  strstr(changes, "64 to 32") < strstr(changes, "64 to 128"),
		  "the best first, what is excluded last: %s", changes);
	cli_free(&r);
	/* from an end there is one neighbour on the axis */
	r = cli_run(&here, "explain", "@/r.sqlite", "0", "--objective", "area_mm2");
	changes = strstr(r.out, "CHANGE OF");
	cr_assert(changes && strstr(changes, "32 to 64") && !strstr(changes, "32 to 128"), "%s%s", r.out, r.err);
	cli_free(&r);
	static const struct cli_refusal cases[] = {
		{2, "explain: expected results and the number of a point", {"explain", "@/r.sqlite"}},
		{2, "explain: the results have no point 6", {"explain", "@/r.sqlite", "6"}},
		{2, "expected results and the number", {"explain", "@/r.sqlite", "first"}},
		{3, "/none.sqlite", {"explain", "@/none.sqlite", "0"}},
		{2, "--objective: 'secnds'", {"explain", "@/r.sqlite", "0", "--objective", "secnds"}}};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* A host that `npulab compare` refuses is refused by a sweep too: its points could not be run again. */
Test(exploring, sweeps_have_the_hosts_of_comparisons)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	static const struct cli_refusal cases[] = {
		{2,
		 "the host has no link to itself",
		 {"compare", "digits", "--devices", "tpu_v1", "--host", "gpu_k80"}},
		{2, "the host has no link to itself", {"sweep", "digits", "--device", "tpu_v1", "--host", "gpu_k80"}},
		{2, "cannot be the host", {"sweep", "digits", "--device", "tpu_v1", "--host", "diannao"}},
		{2,
		 "--vary: 'host.host_link.lanes': the host has no link to itself",
		 {"sweep", "digits", "--device", "tpu_v1", "--vary", "host.host_link.lanes=4,8"}}};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}
