/* SPDX-License-Identifier: MIT
 *
 * The page of a sweep. What the program promises: the page has the front of its document and all points, the same as
 * `report` makes it; each format follows its rules, whatever the names are; the CSV has a line for each point; the
 * command of a point gives the point's figures again; a sweep without a front has a page too. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/kit/saved_pages.h"

static void run_sweep(const char *folder, const char *const *more)
{
	const char *args[CLI_ARGUMENTS] = {"sweep",    "digits",
					   "--device", "tpu_v1,diannao",
					   "--vary",   "tpu_v1.array.rows=tpu_v1.array.columns=32,64,128",
					   "--vary",   "clock_hz=400e6,800e6",
					   "-o",       "s.sqlite",
					   "--quiet"};
	int n = 0;
	while (args[n])
		n++;
	for (int i = 0; more[i]; i++)
		args[n++] = more[i];
	cli_expect_list(&(struct cli_run_options){.enter = folder}, 0, args);
}

static json_t *front_of(const char *folder, const char *objectives)
{
	saved_document(folder, (const char *const[]){"pareto", "s.sqlite", "--objectives", objectives, "--quiet", NULL},
		       "a.json");
	char *text = cli_read(cli_path(folder, "a.json"), NULL);
	json_t *root = cli_parse_json(text);
	free(text);
	return root;
}

Test(pareto_page, has_the_front_of_its_document)
{
	char folder[CLI_PATH], text[200];
	cli_folder(folder);
	run_sweep(folder, (const char *const[]){"--constraint", "power_w < 30", NULL});
	json_t *root = front_of(folder, "seconds,area_mm2"), *point;
	size_t k;
	saved_pages(folder, "a.json", NULL);
	cli_expect(&(struct cli_run_options){.enter = folder}, 0, "pareto", "s.sqlite", "--objectives",
		   "seconds,area_mm2", "--html", "direct.html", "--quiet");
	free(shell("cmp '%s/page.html' '%s/direct.html'", folder, folder));
	char *page = cli_read(cli_path(folder, "page.html"), NULL);
	cr_expect_gt(json_array_size(cli_at(root, "front")), 2);
	json_array_foreach (cli_at(root, "front"), k, point) {
		expect_value_on_page(page, cli_at(point, "id"), "point");
		expect_value_on_page(page, cli_at(point, "metrics.seconds"), "seconds");
		expect_value_on_page(page, cli_at(point, "metrics.area_mm2"), "area");
		snprintf(text, sizeof text, "<title>point %lld", cli_integer(cli_at(point, "id")));
		cr_expect(strstr(page, text), "%s", text);
		cr_expect(strstr(page, cli_text(cli_at(point, "command"))), "%s", cli_text(cli_at(point, "command")));
	}
	cr_expect(strstr(page, "class=\"data-points\"") && strstr(page, "npulabSweep"));
	free(page);
	json_decref(root);
	cli_remove_folder(folder);
}

/* A page without points carries neither the scripts nor the styles of these. */
Test(pareto_page, other_pages_are_as_small_as_they_were)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	saved_document(folder, (const char *const[]){"dram", "--pattern", "copy", "-n", "1000", NULL}, "a.json");
	saved_pages(folder, "a.json", NULL);
	char *page = cli_read(cli_path(folder, "page.html"), NULL);
	cr_expect(!strstr(page, "npulabSweep") && !strstr(page, ".explorer"));
	free(page);
	cli_remove_folder(folder);
}

static void check_formats(const char *folder, const char *first, const char *second)
{
	saved_pages(folder, first, second);
	saved_pages_checked(folder, "page.html page.md page.tex");
	cli_expect(&(struct cli_run_options){.enter = folder}, 0, "report", first, second ? second : first, "--svg",
		   "drawings");
	saved_pages_checked(folder, "drawings/*.svg");
	free(shell("rm -r '%s/drawings'", folder));
}

Test(pareto_page, formats_follow_their_rules_with_any_name)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	run_sweep(folder, (const char *const[]){"--constraint", "power_w < 30", NULL});
	json_decref(front_of(folder, "seconds,area_mm2*seconds"));
	free(shell("/usr/bin/python3 tests/pages/check_pages.py --hostile '%s/a.json' '%s/b.json'", folder, folder));
	check_formats(folder, "a.json", NULL);
	check_formats(folder, "a.json", "b.json");
	check_formats(folder, "b.json", NULL);
	char *page = cli_read(cli_path(folder, "page.html"), NULL);
	cr_expect(strstr(page, "&lt;script&gt;alert") && !strstr(page, "<script>alert"));
	free(page);
	cli_remove_folder(folder);
}

Test(pareto_page, csv_has_a_line_for_each_point)
{
	char folder[CLI_PATH], line[400];
	cli_folder(folder);
	run_sweep(folder, (const char *const[]){"--constraint", "area_mm2 < 200", NULL});
	json_t *root = front_of(folder, "seconds,area_mm2*seconds"), *ids = cli_at(root, "points.id"), *id;
	size_t i;
	saved_pages(folder, "a.json", NULL);
	char *csv = cli_read(cli_path(folder, "page.csv"), NULL);
	cr_expect_eq(count_on_page(csv, "\r\n"), 1 + (int)json_array_size(ids));
	cr_expect(!strncmp(csv,
			   "id,status,feasible,reason,front,device,array.rows,array.columns,clock_hz,seconds,"
			   "area_mm2*seconds,",
			   80));
	json_array_foreach (ids, i, id) {
		const char *status = cli_text(json_array_get(cli_at(root, "points.status"), i));
		const bool feasible = json_is_true(json_array_get(cli_at(root, "points.feasible"), i));
		snprintf(line, sizeof line, "\n%lld,%s,%s,", cli_integer(id), status, feasible ? "true" : "false");
		cr_expect(strstr(csv, line), "%s", line);
	}
	cr_expect_eq(count_on_page(csv, ",true,tpu_v1") + count_on_page(csv, ",true,diannao"),
		     (int)json_array_size(cli_at(root, "front")));
	free(csv);
	json_decref(root);
	cli_remove_folder(folder);
}

/* The time of a batch is that of the point, and the energy of all batches that of one times their number. */
static void expect_same_figures(const char *folder, json_t *point)
{
	char command[4096];
	snprintf(command, sizeof command, "cd '%s' && \"$NPULAB_PROGRAM\"%s --quiet --json again.json", folder,
		 cli_text(cli_at(point, "command")) + strlen("npulab"));
	free(shell("%s", command));
	char *text = cli_read(cli_path(folder, "again.json"), NULL);
	json_t *root = cli_parse_json(text), *totals = cli_at(root, "devices.0.totals");
	cr_expect(
		cli_near(cli_number(cli_at(totals, "latency_s")), cli_number(cli_at(point, "metrics.seconds")), 1e-12),
		"%s", command);
	cr_expect(cli_near(cli_number(cli_at(totals, "power_w")), cli_number(cli_at(point, "metrics.power_w")), 1e-12),
		  "%s", command);
	cr_expect(
		cli_near(cli_number(cli_at(totals, "area_mm2")), cli_number(cli_at(point, "metrics.area_mm2")), 1e-12),
		"%s", command);
	json_decref(root);
	free(text);
}

static void note_program(void)
{
	char program[4096], line[5000];
	const char *path = getenv("NPULAB_BIN"), *runner = cli_runner();
	cr_assert(realpath(path && *path ? path : "build/npulab", program));
	snprintf(line, sizeof line, "%s", program);
	cr_assert_eq(setenv("NPULAB_PROGRAM", line, 1), 0);
	if (runner && *runner)
		cr_skip_test("the program needs a runner before its name");
}

Test(pareto_page, commands_run_the_points_again)
{
	static const char plan[] = "model: digits\n"
				   "device: [mine.yaml, diannao]\n"
				   "batch: [1, 8]\n"
				   "vary:\n"
				   "  mine.array.rows: [32, 64]\n"
				   "  clock_hz: [400 MHz, 0.8 GHz]\n"
				   "  host.cores: [1, 18]\n"
				   "set:\n"
				   "  mine.issue.sync_cycles: 1000\n"
				   "derive:\n"
				   "  mine.accumulators.rows: 16 * array.rows\n";
	char folder[CLI_PATH];
	cli_folder(folder);
	note_program();
	free(shell("\"$NPULAB_PROGRAM\" devices tpu_v1 --yaml | sed 's/^name: .*/name: mine/' > '%s/mine.yaml'",
		   folder));
	cli_write_text(folder, "plan.yaml", plan);
	cli_expect(&(struct cli_run_options){.enter = folder}, 0, "sweep", "plan.yaml", "-o", "s.sqlite", "--quiet");
	/* of each batch, clock and host there is a point that no other beats in these */
	json_t *root = front_of(folder, "seconds,power_w,host_seconds,area_mm2,utilization,peak_ops_per_second"),
	       *point, *one;
	size_t k, derived = 0, of_own = 0;
	json_array_foreach (cli_at(root, "front"), k, point) {
		expect_same_figures(folder, point);
		of_own += !strcmp(cli_text(cli_at(point, "parameters.device")), "mine.yaml");
	}
	cr_expect(of_own > 1 && of_own < json_array_size(cli_at(root, "front")));
	json_array_foreach (cli_at(root, "parameters"), k, one)
		derived += json_is_true(cli_at(one, "derived"));
	cr_expect_eq(derived, 1);
	json_decref(root);
	cli_remove_folder(folder);
}

Test(pareto_page, sweeps_without_a_front_have_a_page)
{
	static const char *const constraints[] = {"area_mm2 < 1", "seconds < 1e-9"};
	char folder[CLI_PATH];
	for (int i = 0; i < 2; i++) {
		cli_folder(folder);
		run_sweep(folder, (const char *const[]){"--constraint", constraints[i], NULL});
		json_t *root = front_of(folder, "seconds");
		cr_expect_eq(json_array_size(cli_at(root, "front")), 0);
		saved_pages(folder, "a.json", NULL);
		saved_pages_checked(folder, "page.html page.md page.tex");
		char *page = cli_read(cli_path(folder, "page.html"), NULL);
		cr_expect(strstr(page, i ? "seconds &lt; 1e-9" : "area_mm2 &lt; 1"));
		free(page);
		json_decref(root);
		cli_remove_folder(folder);
	}
}

/* Writes b.json: a.json in which a list has lost its last value. */
static void shorten(const char *folder, const char *path)
{
	char *text = cli_read(cli_path(folder, "a.json"), NULL);
	json_t *root = cli_parse_json(text), *list = cli_at(root, path);
	cr_assert_eq(json_array_remove(list, json_array_size(list) - 1), 0, "%s", path);
	cr_assert_eq(json_dump_file(root, cli_path(folder, "b.json"), JSON_COMPACT), 0);
	json_decref(root);
	free(text);
}

Test(pareto_page, lists_of_other_lengths_are_refused)
{
	static const char *const paths[][2] = {{"points.status", "status"},
					       {"points.id", "status has 24 values for 23 points"},
					       {"points.feasible", "feasible has 23 values for 24 points"},
					       {"metrics.2.values", "cycles has 23 values for 24 points"},
					       {"objectives.0.values", "seconds has 23"},
					       {"parameters.1.values", "batch has 23"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	run_sweep(folder, (const char *const[]){"--batch", "1,2,4", NULL});
	json_decref(front_of(folder, "seconds"));
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		static const char *const options[] = {"--html", "--csv", "--markdown"};
		shorten(folder, paths[i][0]);
		for (int k = 0; k < 3; k++) {
			const char *const args[] = {"report", "b.json", options[k], "-", NULL};
			struct cli_result r = cli_run_list(&(struct cli_run_options){.enter = folder}, args);
			cr_expect_eq(r.status, 3, "%s", paths[i][0]);
			cr_expect(strstr(r.err, "b.json: ") && strstr(r.err, paths[i][1]), "%s: %s", paths[i][0],
				  r.err);
			cli_free(&r);
		}
	}
	cli_remove_folder(folder);
}

Test(pareto_page, one_output_at_most_is_standard_output)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	run_sweep(folder, (const char *const[]){NULL});
	cli_expect(&(struct cli_run_options){.enter = folder}, 2, "pareto", "s.sqlite", "--html", "-", "--json", "-");
	cli_remove_folder(folder);
}
