/* SPDX-License-Identifier: MIT
 *
 * Promises of `npulab pareto`: the front of its document is that of comparing all points with each other in every set
 * of objectives; lists of objectives, and the way each goes; the table; and what it refuses. */
#include "tests/kit/cli_json.h"
#include "tests/kit/sweep_store.h"

/* Results of 54 points: with a constraint that some do not meet, and two that fail. */
static void write_results(const char *folder)
{
	cli_expect(&(struct cli_run_options){.folder = folder}, 0, "sweep", "digits", "--device", "tpu_v1", "--vary",
		   "array.rows=0,16,32,64,128,256", "--vary", "array.columns=16,32,64", "--batch", "1,4,9",
		   "--constraint", "seconds < 4e-5", "--minimise", "seconds,energy_per_sample_j", "-o", "@/r.sqlite",
		   "--quiet");
}

/* Puts row i of a column into an object, unless it is null. */
static void put_cell(json_t *object, json_t *column, size_t i)
{
	json_t *value = json_array_get(cli_at(column, "values"), i);
	if (!json_is_null(value))
		json_object_set(object, cli_text(cli_at(column, "name")), value);
}

/* Makes an object of row i of columns. */
static json_t *row_of(json_t *columns, size_t i)
{
	json_t *row = json_object(), *column;
	size_t c;
	json_array_foreach (columns, c, column)
		put_cell(row, column, i);
	return row;
}

/* Notes in a point whether the document has it on the front. */
static void note_front(json_t *point, json_t *front)
{
	json_t *on_front;
	size_t k;
	json_object_set_new(point, "front", json_false());
	json_object_set_new(point, "knee", json_false());
	json_array_foreach (front, k, on_front)
		if (cli_integer(cli_at(on_front, "id")) == cli_integer(cli_at(point, "id"))) {
			json_object_set_new(point, "front", json_true());
			json_object_set(point, "knee", cli_at(on_front, "knee"));
		}
}

/* Puts an object for each point, which the document has as columns, in their place. */
static void make_points(json_t *root)
{
	static const char *const keys[] = {"id", "status", "feasible", "reason"};
	json_t *columns = cli_at(root, "points"), *points = json_array(), *objective;
	for (size_t i = 0; i < json_array_size(cli_at(columns, "id")); i++) {
		json_t *point = json_object(), *objectives = json_array();
		size_t o;
		for (int key = 0; key < 4; key++)
			json_object_set(point, keys[key], json_array_get(cli_at(columns, keys[key]), i));
		json_object_set_new(point, "parameters", row_of(cli_at(root, "parameters"), i));
		json_object_set_new(point, "metrics", row_of(cli_at(root, "metrics"), i));
		json_array_foreach (cli_at(root, "objectives"), o, objective)
			json_array_append(objectives, json_array_get(cli_at(objective, "values"), i));
		json_object_set_new(point, "objectives", objectives);
		note_front(point, cli_at(root, "front"));
		json_array_append_new(points, point);
	}
	json_object_set_new(root, "points", points);
}

/* A value of an objective as a cost; INFINITY: not known. */
static double cost(json_t *point, json_t *objectives, size_t i)
{
	json_t *value = json_array_get(cli_at(point, "objectives"), i);
	const bool most = !strcmp(cli_text(cli_at(json_array_get(objectives, i), "direction")), "maximise");
	return json_is_null(value) ? INFINITY : most ? -cli_number(value) : cli_number(value);
}

static bool is_considered(json_t *point, json_t *objectives)
{
	bool known = json_is_true(cli_at(point, "feasible"));
	for (size_t i = 0; i < json_array_size(objectives); i++)
		known = known && isfinite(cost(point, objectives, i));
	return known;
}

/* Whether a is as good as b everywhere, and better somewhere or before it. */
static bool beats(json_t *a, json_t *b, json_t *objectives)
{
	bool better = false;
	for (size_t i = 0; i < json_array_size(objectives); i++) {
		if (cost(a, objectives, i) > cost(b, objectives, i))
			return false;
		better = better || cost(a, objectives, i) < cost(b, objectives, i);
	}
	return better || cli_integer(cli_at(a, "id")) < cli_integer(cli_at(b, "id"));
}

/* Looks at the whole document; returns how many points are on the front. */
static int check_front(json_t *root, const char *label)
{
	json_t *objectives = cli_at(root, "objectives"), *points = cli_at(root, "points"), *a, *b;
	size_t i, k;
	int front = 0, knees = 0, considered = 0;
	json_array_foreach (points, i, a) {
		bool beaten = false;
		json_array_foreach (points, k, b)
			beaten = beaten || (i != k && is_considered(b, objectives) && beats(b, a, objectives));
		const bool expected = is_considered(a, objectives) && !beaten;
		cr_assert_eq(json_is_true(cli_at(a, "front")), expected, "%s: point %d", label, (int)i);
		front += expected;
		considered += is_considered(a, objectives);
		knees += json_is_true(cli_at(a, "knee"));
		cr_assert(!json_is_true(cli_at(a, "knee")) || expected);
	}
	cr_assert_eq(cli_integer(cli_at(root, "counts.considered")), considered, "%s", label);
	cr_assert_eq(knees, front > 2, "%s: %d knees", label, knees);
	return front;
}

static const struct {
	const char *options[6];
	const char *directions; /* of the objectives: '-' less, '+' more */
} fronts[] = {
	{{NULL}, "--"}, /* those of the plan */
	{{"--objectives", "seconds"}, "-"},
	{{"--objectives", "seconds, samples_per_second"}, "-+"},
	{{"--objectives", "time,energy,area"}, "---"},
	{{"--minimise", " energy_j , array.rows", "--maximise", "utilization"}, "--+"},
	{{"--minimise", "max(seconds, 3e-5), array.rows * array.columns"}, "--"},
	{{"--maximise", "seconds,accuracy"}, "++"}, /* one is not known */
	{{"--minimise", "1"}, "-"},
	{{"--minimise", "seconds,energy_j,power_w,area_mm2,dram_bytes,cycles,link_bytes,edp"}, "--------"},
};

Test(pareto, finds_the_front_of_any_objectives)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_results(folder);
	for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++) {
		const char *args[CLI_ARGUMENTS] = {"pareto", "@/r.sqlite", "--json", "-"};
		for (int k = 0; k < 6 && fronts[i].options[k]; k++)
			args[4 + k] = fronts[i].options[k];
		json_t *root = cli_run_json(&(struct cli_run_options){.folder = folder}, args), *objective;
		const char *label = fronts[i].options[0] ? fronts[i].options[1] : "the plan's";
		size_t k;
		make_points(root);
		cr_assert_eq(json_array_size(cli_at(root, "points")), 54);
		cr_assert_eq(json_array_size(cli_at(root, "objectives")), strlen(fronts[i].directions), "%s", label);
		json_array_foreach (cli_at(root, "objectives"), k, objective) {
			cr_assert_str_eq(cli_text(cli_at(objective, "direction")),
					 fronts[i].directions[k] == '+' ? "maximise" : "minimise", "%s", label);
			cr_assert_not(strchr(" \t", *cli_text(cli_at(objective, "expression"))), "%s", label);
		}
		check_front(root, label);
		json_decref(root);
	}
	cr_assert_eq(cli_count_files(folder), 1, "reading leaves nothing");
	cli_remove_folder(folder);
}

/* Says whether one of the lines begins so, and has a second text behind that. */
static __attribute__((noinline)) bool has_row(const char *rows, const char *begin, const char *behind)
{
	const char *row = strstr(rows, begin);
	const char *found = row ? strstr(row, behind) : NULL;
	return found && found < row + strcspn(row, "\n");
}

/* The figures of the document are those of the database. */
Test(pareto, has_the_figures_of_the_database)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_results(folder);
	json_t *root = cli_json(&(struct cli_run_options){.folder = folder}, "pareto", "@/r.sqlite", "--json", "-");
	int64_t n;
	char *rows = store_rows(cli_path(folder, "r.sqlite"), "points", &n), expected[2000];
	json_t *point;
	size_t i;
	cr_assert_str_eq(cli_text(cli_at(root, "schema")), "npulab.pareto/1");
	make_points(root);
	json_array_foreach (cli_at(root, "points"), i, point) {
		json_t *seconds = json_object_get(cli_at(point, "metrics"), "seconds");
		char figure[60] = "-";
		if (seconds)
			snprintf(figure, sizeof figure, "%a", cli_number(seconds));
		const char *reason = json_string_value(cli_at(point, "reason"));
		json_t *parameters = cli_at(point, "parameters");
		char begin[1000];
		snprintf(begin, sizeof begin, "|%d|%s|%s|%d|", (int)i, cli_text(cli_at(point, "status")),
			 reason ? reason : "-", json_is_true(cli_at(point, "feasible")));
		snprintf(expected, sizeof expected, "|{\"batch\":%lld,\"array.rows\":%lld,\"array.columns\":%lld}|%s|",
			 (long long)json_number_value(json_object_get(parameters, "batch")),
			 (long long)json_number_value(json_object_get(parameters, "array.rows")),
			 (long long)json_number_value(json_object_get(parameters, "array.columns")), figure);
		cr_assert(has_row(rows, begin, expected), "%s...%s", begin, expected);
	}
	free(rows);
	json_decref(root);
	cli_remove_folder(folder);
}

/* A long front is thinned out, but for points that are special, and --all shows it. */
Test(pareto, prints_a_table)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, "sweep", "digits", "--device", "tpu_v1", "--vary", "clock_hz=300e6..599e6+1e6", "-o",
		   "@/r.sqlite", "--quiet");
	/* a clock of its own makes each point the best in something */
	struct cli_result r = cli_run(&here, "pareto", "@/r.sqlite", "--minimise", "seconds,clock_hz"), all;
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(strstr(r.out, "Pareto front: 300 of 300 points that meet the constraints\n"), "%s", r.out);
	cr_assert(strstr(r.out, "\n259 of the front are not shown (--all)\n"), "%s", r.out);
	cr_assert(cli_says(r.out, " knee ") && cli_says(r.out, "least seconds") && cli_says(r.out, "least clock_hz"),
		  "%s", r.out);
	all = cli_run(&here, "pareto", "@/r.sqlite", "--minimise", "seconds,clock_hz", "--all");
	cr_assert(!strstr(all.out, "not shown") && all.out_bytes > 5 * r.out_bytes);
	cli_free(&r);
	cli_free(&all);
	r = cli_run(&here, "pareto", "@/r.sqlite", "--maximise", "accuracy");
	cr_assert(r.status == 0 && cli_says(r.out, "Pareto front: 0 of 300 points") &&
			  cli_says(r.out, "300 are left out, since an objective of theirs is not known"),
		  "%s%s", r.out, r.err);
	cli_free(&r);
	r = cli_run(&here, "pareto", "@/r.sqlite", "--quiet", "--json", "@/p.json");
	cr_assert(r.status == 0 && !r.out_bytes && !r.err_bytes);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Constraints of the command leave out points, which then have the constraint as their reason. */
Test(pareto, takes_constraints)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, "sweep", "digits", "--device", "tpu_v1", "--vary", "array.rows=16,32,64", "-o",
		   "@/r.sqlite", "--quiet");
	struct cli_result r = cli_run(&here, "pareto", "@/r.sqlite", "--minimise", "seconds", "--constraint",
				      "array.rows < 64", "--constraint", "seconds > 0", "--json", "-");
	json_t *root = cli_parse_json(r.out), *points = cli_at(root, "points"), *front = cli_at(root, "front");
	cr_assert(json_array_size(front) == 1 && cli_integer(cli_at(json_array_get(front, 0), "id")) == 1);
	cr_assert(json_is_true(json_array_get(cli_at(points, "feasible"), 1)) &&
		  json_is_null(json_array_get(cli_at(points, "reason"), 1)));
	cr_assert(json_is_false(json_array_get(cli_at(points, "feasible"), 2)));
	cr_assert_str_eq(cli_text(json_array_get(cli_at(points, "reason"), 2)), "array.rows < 64");
	json_decref(root);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* More parameters than points of other sweeps have: the axes move eight each. */
Test(pareto, reads_as_many_parameters_as_a_sweep_has)
{
	static const char *const keys[] = {
		"array.rows=array.columns=accumulators.rows=activate.latency_cycles=issue.sync_cycles="
		"weight_fifo.tiles=activate.cycles_per_row=activate.parameter_tables",
		"host.cores=host.clock_hz=host.overhead_seconds=host.fork_join_seconds=host.efficiency="
		"host.overlap=host.memory.bytes_per_second=host.scattered_per_cycle"};
	char folder[CLI_PATH], vary[2][600];
	cli_folder(folder);
	snprintf(vary[0], sizeof vary[0], "%s=128:64:2048:100:50:2:1:4,64:64:2048:100:50:2:1:4", keys[0]);
	snprintf(vary[1], sizeof vary[1], "%s=4:1e9:1e-6:1e-7:0.5:0:5e10:1,8:2e9:1e-6:1e-7:0.5:0:5e10:1", keys[1]);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, "sweep", "digits", "--device", "tpu_v1", "--vary", vary[0], "--vary", vary[1], "-o",
		   "@/r.sqlite", "--quiet");
	json_t *root = cli_json(&here, "pareto", "@/r.sqlite", "--json", "-");
	make_points(root);
	cr_assert_eq(json_object_size(cli_at(root, "points.3.parameters")), 16);
	cr_assert_str_eq(cli_text(cli_at(root, "points.3.status")), "done");
	json_decref(root);
	cli_remove_folder(folder);
}

Test(pareto, refuses_with_the_status_of_whose_fault_it_is)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_results(folder);
	cli_write_text(folder, "text.txt", "not a database\n");
	static const struct cli_refusal cases[] = {
		{2, "pareto: which results?", {"pareto"}},
		{3, "/none.sqlite: No such file", {"pareto", "@/none.sqlite"}},
		{3, "/text.txt: expected the results of a sweep", {"pareto", "@/text.txt"}},
		{3, ": this is a folder", {"pareto", "@"}},
		{2,
		 "pareto: 'secnds' is neither a figure nor a parameter that was varied; the nearest is 'seconds'",
		 {"pareto", "@/r.sqlite", "--minimise", "secnds"}},
		{2, "the nearest is 'array.rows'", {"pareto", "@/r.sqlite", "--minimise", "array.row"}},
		{2, "pareto: 'seconds +': expected a number", {"pareto", "@/r.sqlite", "--minimise", "seconds +"}},
		{2,
		 "expected a number, a name or '(', found the end",
		 {"pareto", "@/r.sqlite", "--minimise", "seconds,"}},
		{2,
		 "pareto: expected at most 8 objectives",
		 {"pareto", "@/r.sqlite", "--minimise", "1,2,3,4,5", "--maximise", "6,7,8,9"}},
		{5, "/none/p.json", {"pareto", "@/r.sqlite", "--quiet", "--json", "@/none/p.json"}}};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}
