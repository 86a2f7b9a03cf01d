/* SPDX-License-Identifier: MIT
 *
 * What harms results of sweeps, and must not: outputs over a database that is read, two processes that answer
 * questions into one file, samples that change, values that a reader of JSON refuses, rows that somebody edited, files
 * that are none; and what an interrupt or a killed worker leaves. */
#include "tests/kit/sweep_store.h"

#define SWEEP "sweep", "digits", "--device", "tpu_v1"

/* The path of the program that is tested. */
static const char *program(char path[4096])
{
	const char *named = getenv("NPULAB_BIN");
	cr_assert(realpath(named && *named ? named : "build/npulab", path));
	return path;
}

static void execute(const char *folder, const char *name, const char *sql)
{
	store_sql(cli_path(folder, name), sql);
}

/* Copies a database. */
static void copy(const char *folder, const char *from, const char *to)
{
	size_t bytes;
	char *data = cli_read(cli_path(folder, from), &bytes);
	FILE *out = fopen(cli_path(folder, to), "wb");
	cr_assert(out);
	cr_expect_eq(fwrite(data, 1, bytes, out), bytes);
	cr_assert_eq(fclose(out), 0);
	free(data);
}

Test(sweep_harm, a_report_does_not_replace_the_results_that_it_reads)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, SWEEP, "--vary", "array.rows=64,128", "--quiet", "-o", "@/r.sqlite");
	cr_assert_eq(symlink("r.sqlite", cli_path(folder, "link.json")), 0);
	static const struct cli_refusal cases[] = {
		{2, "is read by this run and would be overwritten", {"pareto", "@/r.sqlite", "--json", "@/r.sqlite"}},
		{2, "is read by this run and would be overwritten", {"pareto", "@/r.sqlite", "--html", "@/r.sqlite"}},
		{2, "is read by this run and would be overwritten", {"pareto", "@/r.sqlite", "--json", "@/link.json"}},
		{2,
		 "is read by this run and would be overwritten",
		 {"sensitivity", "@/r.sqlite", "--json", "@/r.sqlite"}}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cli_result r = cli_run_list(&here, cases[i].args);
		cr_expect(r.status == cases[i].status && cli_says(r.err, cases[i].expected), "%s%s", r.out, r.err);
		cli_free(&r);
	}
	cr_assert_eq(store_sql(cli_path(folder, "r.sqlite"), "SELECT count(*) FROM points"), 2);
	cli_remove_folder(folder);
}

Test(sweep_harm, results_have_a_file_with_a_name)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cr_assert_eq(mkfifo(cli_path(folder, "fifo"), 0600), 0);
	static const struct cli_refusal cases[] = {
		{5, "this is no name, expected a file", {SWEEP, "--quiet", "-o", ""}},
		{2, "-o -: the results are a database, expected a file", {SWEEP, "--quiet", "-o", "-"}},
		{5, "this is no regular file, expected a file", {SWEEP, "--quiet", "-o", "@/fifo"}},
		{3, "this is no regular file, expected a file", {"pareto", "@/fifo"}},
		{3, "this is no regular file, expected a file", {"sweep", "status", "@/fifo"}}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cli_result r = cli_run_list(&(struct cli_run_options){.folder = folder}, cases[i].args);
		cr_expect(r.status == cases[i].status && cli_says(r.err, cases[i].expected), "case %d: %s%s", (int)i,
			  r.out, r.err);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* Each asks for its own points, and both keep all of them. */
Test(sweep_harm, two_programs_ask_into_one_file)
{
	char folder[CLI_PATH], command[3 * 4096], path_of_program[4096];
	cli_folder(folder);
	for (int p = 0; p < 2; p++) {
		char name[20], text[2000] = "";
		snprintf(name, sizeof name, "%d.jsonl", p);
		for (int i = 0; i < 20; i++)
			snprintf(text + strlen(text), sizeof text - strlen(text),
				 "{\"parameters\":{\"array.rows\":%d}}\n", 16 + 40 * p + i);
		cli_write_text(folder, name, text);
	}
	snprintf(command, sizeof command,
		 "cd %s && for p in 0 1; do %s sweep digits --device tpu_v1 --points - -o r.sqlite < $p.jsonl > $p & "
		 "done; wait",
		 folder, program(path_of_program));
	cr_assert_eq(system(command), 0);
	const char *path = cli_path(folder, "r.sqlite");
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM points"), 40);
	cr_assert_eq(store_sql(path, "SELECT count(DISTINCT parameters) FROM points"), 40);
	cr_assert_eq(store_sql(path, "SELECT max(id) FROM points"), 39);
	/* Their numbers are those of the file alone. */
	struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "sweep", "merge", "-o",
				      "@/all.sqlite", "@/r.sqlite", "@/r.sqlite");
	cr_assert(r.status == 3 && cli_says(r.err, "another program chose its points"), "%s", r.err);
	cli_free(&r);
	cr_assert(access(cli_path(folder, "all.sqlite"), F_OK));
	cli_remove_folder(folder);
}

/* A value that no reader of JSON takes as a number is a text. Its point fails, and the others can be read. */
Test(sweep_harm, one_value_does_not_hide_the_others)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_write_text(folder, "ask.jsonl",
		       "{\"parameters\":{\"clock_hz\":5e8}}\n{\"parameters\":{\"clock_hz\":\"7e400\"}}\n"
		       "{\"parameters\":{\"clock_hz\":\"18446744073709551616\"}}\n{\"parameters\":{\"bad\":1}}\n");
	char command[3 * 4096], path_of_program[4096];
	snprintf(command, sizeof command,
		 "cd %s && %s sweep digits --device tpu_v1 --points - -o r.sqlite < ask.jsonl "
		 "> out.jsonl",
		 folder, program(path_of_program));
	cr_assert_eq(system(command), 0);
	struct cli_result r = cli_run(&here, "best", "@/r.sqlite");
	cr_assert(!r.status && cli_says(r.out, "of 4 points meet the constraints"), "%s%s", r.out, r.err);
	cr_assert_not(cli_says(r.out, "bad"), "%s", r.out);
	cli_free(&r);
	cli_remove_folder(folder);
}

static void write_floats(const char *folder, const char *name, float value)
{
	FILE *out = fopen(cli_path(folder, name), "wb");
	char header[119];
	snprintf(header, sizeof header, "%-117s\n",
		 "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 1, 8, 8), }");
	cr_assert(out);
	fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, out);
	fwrite(header, 1, 118, out);
	for (int i = 0; i < 4 * 64; i++) {
		const float one = value * (float)(i % 7);
		fwrite(&one, sizeof one, 1, out);
	}
	cr_assert_eq(fclose(out), 0);
}

/* The contents of samples decide figures, so that a sweep with others is another sweep. */
Test(sweep_harm, samples_that_change_are_another_sweep)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	write_floats(folder, "in.npy", 0.5f);
	cli_expect(&here, 0, SWEEP, "--vary", "array.rows=64,128", "--values", "--input", "@/in.npy", "--quiet", "-o",
		   "@/r.sqlite");
	execute(folder, "r.sqlite", "DELETE FROM points WHERE id = 1");
	write_floats(folder, "in.npy", 0.25f);
	struct cli_result r = cli_run(&here, SWEEP, "--vary", "array.rows=64,128", "--values", "--input", "@/in.npy",
				      "--quiet", "-o", "@/r.sqlite");
	cr_assert(r.status == 3 && cli_says(r.err, "with other samples"), "%s%s", r.out, r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* What somebody did to a row, and what is said of it. */
static const struct {
	const char *sql;
	const char *args[8];
	const char *message;
} edits[] = {
	{"UPDATE points SET seconds = 'abc' WHERE id = 3", {"best", "@/e.sqlite"}, "point 3: seconds is no number"},
	{"UPDATE points SET parameters = 'xx' WHERE id = 3",
	 {"pareto", "@/e.sqlite"},
	 "e.sqlite: point 3: column 2: this is no JSON"},
	{"UPDATE points SET status = 'weird' WHERE id = 3",
	 {"pareto", "@/e.sqlite"},
	 "point 3 has no status or parameters that npulab knows"},
	{"UPDATE points SET status = 'weird' WHERE id = 3",
	 {"sweep", "merge", "-o", "@/m.sqlite", "@/r.sqlite", "@/e.sqlite"},
	 "e.sqlite: point 3 is damaged"},
	{"UPDATE points SET parameters = '{\"array.rows\":77}' WHERE id = 3",
	 {"sweep", "merge", "-o", "@/m.sqlite", "@/r.sqlite", "@/e.sqlite"},
	 "e.sqlite: point 3 is damaged, or another one than in the files before"},
	{"ALTER TABLE points RENAME COLUMN seconds TO secs",
	 {"sweep", "merge", "-o", "@/m.sqlite", "@/r.sqlite", "@/e.sqlite"},
	 "e.sqlite"},
	{"DROP TABLE layers", {"sweep", "merge", "-o", "@/m.sqlite", "@/r.sqlite", "@/e.sqlite"}, "e.sqlite"},
	{"UPDATE sweep SET value = '[{}]' WHERE key = 'settings'",
	 {"pareto", "@/e.sqlite", "--json", "@/p.json"},
	 "the settings in its database are damaged"},
	{"UPDATE sweep SET value = '[{\"keys\":[],\"values\":[]}]' WHERE key = 'axes'",
	 {"pareto", "@/e.sqlite", "--json", "@/p.json"},
	 "the axes in its database are damaged"}};

Test(sweep_harm, edited_rows_are_refused_where_they_are)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, SWEEP, "--vary", "array.rows=16..128*2", "--layers", "--quiet", "-o", "@/r.sqlite");
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
		copy(folder, "r.sqlite", "e.sqlite");
		execute(folder, "e.sqlite", edits[i].sql);
		struct cli_result r = cli_run_list(&here, edits[i].args);
		cr_expect(r.status == 3 && cli_says(r.err, edits[i].message), "%s: %d: %s", edits[i].sql, r.status,
			  r.err);
		cr_expect(access(cli_path(folder, "m.sqlite"), F_OK), "%s: a part of a merge stays", edits[i].sql);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* A row of a point that the plan does not have does not stand for one that is missing. */
Test(sweep_harm, points_that_the_plan_has_not_are_refused)
{
	static const char *const sql[] = {"UPDATE points SET id = 1000 WHERE id = 3",
					  "UPDATE points SET id = -1 WHERE id = 3"};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, SWEEP, "--vary", "array.rows=16..128*2", "--quiet", "-o", "@/r.sqlite");
	for (int i = 0; i < 2; i++) {
		copy(folder, "r.sqlite", "e.sqlite");
		execute(folder, "e.sqlite", sql[i]);
		struct cli_result r = cli_run(&here, SWEEP, "--vary", "array.rows=16..128*2", "--quiet", "-o",
					      "@/e.sqlite");
		cr_expect(r.status == 3 && cli_says(r.err, "the plan has no such point"), "%s%s", r.out, r.err);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* A claim of which no owner is known is free. */
Test(sweep_harm, claims_of_nobody_do_not_wait)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, SWEEP, "--vary", "array.rows=64..80", "--quiet", "-o", "@/r.sqlite");
	execute(folder, "r.sqlite", "DELETE FROM points WHERE id < 8");
	execute(folder, "r.sqlite", "INSERT INTO claims VALUES(0, 'x')");
	cli_expect(&here, 0, SWEEP, "--vary", "array.rows=64..80", "--quiet", "-o", "@/r.sqlite");
	cr_assert_eq(store_sql(cli_path(folder, "r.sqlite"), "SELECT count(*) FROM points"), 17);
	cli_remove_folder(folder);
}

Test(sweep_harm, a_sweep_of_which_no_point_can_run_fails)
{
	static const struct cli_refusal cases[] = {
		{3, "none of the points could run", {SWEEP, "--vary", "array.rows=5000,6000", "--quiet"}},
		{2, "there is no engine 'fst'", {SWEEP, "--engine", "fst", "--vary", "array.rows=1..3", "--quiet"}},
		{2, "expected a run with values", {"sweep", "digits", "--device", "cpu", "--batch", "1,2"}},
		{2, "array.rows '64x2': expected a number", {SWEEP, "--vary", "array.rows=64..512x2"}},
		{2, "clock_hz: two of the values are 700000000", {SWEEP, "--vary", "clock_hz=7e8,700 MHz"}},
		{2, "'seconds / batch'", {SWEEP, "--batch", "8", "--minimise", "seconds / batch"}}};
	char folder[CLI_PATH];
	cli_folder(folder);
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* Values with units are numbers in constraints, objectives and results. */
Test(sweep_harm, units_are_numbers_everywhere)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_write_text(
		folder, "plan.yaml",
		"model: digits\ndevice: tpu_v1\nvary: {unified_buffer.bytes: 4..16*2 MiB, clock_hz: [500 MHz, 0.7 "
		"GHz]}\nderive: {accumulators.rows: unified_buffer.bytes / 8192}\nminimise: [time, "
		"unified_buffer.bytes]\nconstraint: unified_buffer.bytes >= 8Mi\n");
	struct cli_result r = cli_run(&here, "sweep", "@/plan.yaml", "-o", "@/r.sqlite");
	cr_assert(!r.status && cli_says(r.out, "6 of 6 points: 4 done (4 meet the constraints), 2 excluded, 0 failed"),
		  "%s%s", r.out, r.err);
	cr_assert(cli_says(r.out, "Pareto front: 2 of 4 points"), "%s", r.out);
	cli_free(&r);
	r = cli_run(&here, "best", "@/r.sqlite", "--constraint", "clock_hz > 600e6", "--constraint",
		    "unified_buffer.bytes > 8388608");
	cr_assert(cli_says(r.out, "1 of 6 points meet the constraints") &&
			  cli_says(r.out, "it has unified_buffer.bytes=16777216 (its greatest)"),
		  "%s%s", r.out, r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* A constraint may name the label of values that move together. */
Test(sweep_harm, labels_meet_constraints)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(
		folder, "plan.yaml",
		"model: digits\ndevice: tpu_v1\nvary:\n  label=array.rows: small:64, big:128\nconstraint: label == "
		"\"big\"\n");
	struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "sweep", "@/plan.yaml");
	cr_assert(cli_says(r.out, "1 done (1 meet the constraints), 1 excluded"), "%s%s", r.out, r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* A parameter of a memory is an axis as others: its points are those of memory files with this value. */
Test(sweep_harm, memories_have_axes)
{
	static const char *const latency[] = {"14", "40"};
	char folder[CLI_PATH], plan[4 * CLI_PATH], name[80];
	int64_t cycles[2];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "ddr3-2133@timing.CL=%s", latency[i]);
		struct cli_result r = cli_run(&(struct cli_run_options){0}, "dram", "--preset", name, "--yaml");
		cr_assert_eq(r.status, 0, "%s", r.err);
		snprintf(name, sizeof name, "%s.yaml", latency[i]);
		cli_write_text(folder, name, r.out);
		cli_free(&r);
	}
	cli_write_text(folder, "axis.yaml",
		       "model: digits\ndevice: tpu_v1\nset: {weight_memory.preset: ddr3-2133}\nvary: "
		       "{weight_memory.preset@timing.CL: [14, 40]}\n");
	cli_expect(&here, 0, "sweep", "@/axis.yaml", "--quiet", "-o", "@/axis.sqlite");
	snprintf(plan, sizeof plan,
		 "model: digits\ndevice: tpu_v1\nvary: {weight_memory.preset: ['%s/14.yaml', '%s/40.yaml']}\n", folder,
		 folder);
	cli_write_text(folder, "files-plan.yaml", plan);
	cli_expect(&here, 0, "sweep", "@/files-plan.yaml", "--quiet", "-o", "@/files.sqlite");
	for (int i = 0; i < 2; i++) {
		snprintf(plan, sizeof plan, "SELECT cycles FROM points WHERE id = %d", i);
		cycles[i] = store_sql(cli_path(folder, "axis.sqlite"), plan);
		cr_assert_eq(cycles[i], store_sql(cli_path(folder, "files.sqlite"), plan));
	}
	cr_assert_lt(cycles[0], cycles[1]);
	struct cli_result r = cli_run(&(struct cli_run_options){0}, SWEEP, "--vary", "array.rows@timing.CL=14,40");
	cr_assert(r.status == 2 && cli_says(r.err, "array.rows is no memory"), "%s", r.err);
	cli_free(&r);
	r = cli_run(&(struct cli_run_options){0}, SWEEP, "--vary", "weight_memory.preset@timing.CL=14,40");
	cr_assert(r.status == 3 && cli_says(r.out, "which memory?"), "%s%s", r.out, r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* A file that a setting names decides figures as well. */
Test(sweep_harm, memories_that_change_are_another_sweep)
{
	char folder[CLI_PATH], set[2 * CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	struct cli_result r = cli_run(&here, "dram", "--preset", "hbm2", "--yaml");
	cli_write_text(folder, "mine.yaml", r.out);
	cli_free(&r);
	snprintf(set, sizeof set, "weight_memory.preset=%s/mine.yaml", folder);
	cli_expect(&here, 0, SWEEP, "--set", set, "--vary", "array.rows=64,128", "--quiet", "-o", "@/r.sqlite");
	cli_expect(&here, 0, SWEEP, "--set", set, "--vary", "array.rows=64,128", "--quiet", "-o", "@/r.sqlite");
	r = cli_run(&here, "dram", "--preset", "hbm2", "--channels", "1", "--yaml");
	cli_write_text(folder, "mine.yaml", r.out);
	cli_free(&r);
	r = cli_run(&here, SWEEP, "--set", set, "--vary", "array.rows=64,128", "--quiet", "-o", "@/r.sqlite");
	cr_assert(r.status == 3 && cli_says(r.err, "with other files"), "%s%s", r.out, r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}
