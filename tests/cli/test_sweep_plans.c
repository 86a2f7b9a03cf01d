/* SPDX-License-Identifier: MIT
 *
 * Promises of plans on the command line: shipped plans are found by their names, each has the points that it says, and
 * options stand over it; --dry-run tries points that are spread over the sweep, and refuses what a sweep refuses, which
 * leaves no file behind. */
#include <glob.h>

#include "tests/kit/cli_run.h"
#include "tests/kit/sweep_plan.h"

#include "explore/sweep.h"

/* The shipped plans, and how many points they have. Another plan is another row. */
static const struct {
	const char *name, *method;
	int64_t points;
} plans[] = {{"diannao_tn_buffers", "grid", 4 * 4},
	     {"small_machine", "evolution", 128},
	     {"tpu_batch", "grid", 4 * 10},
	     {"tpu_sensitivity", "grid", 6 * 21}};
#define PLANS (sizeof plans / sizeof *plans)

Test(sweep_plans, have_the_points_that_they_say)
{
	glob_t found;
	cr_assert_eq(glob("plans/*.yaml", 0, NULL, &found), 0);
	cr_assert_eq(found.gl_pathc, PLANS, "%d plans are there", (int)found.gl_pathc);
	globfree(&found);
	for (size_t i = 0; i < PLANS; i++) {
		struct sweep_plan *plan = calloc(1, sizeof *plan);
		struct sweep_entry *entry;
		struct npl_err err = {0};
		char path[100];
		int64_t points;
		int n;
		snprintf(path, sizeof path, "plans/%s.yaml", plans[i].name);
		cr_assert_eq(sweep_plan_entries(path, plan, &entry, &n, &err) ||
				     sweep_plan_read(entry, n, plan, &err) || sweep_plan_check(plan, &err) ||
				     sweep_count_points(plan, (struct sweep_shard){1, 1}, &points, &err),
			     0, "%s", err.msg);
		cr_assert_eq(points, plans[i].points, "%s: %d points", path, (int)points);
		cr_assert_str_eq(sweep_method_name[plan->method], plans[i].method);
		cr_assert(plan->name && *plan->name && plan->objectives.n, "%s", path);
		plan_free(plan);
	}
}

/* A dry run tries points of each, which must not fail. */
Test(sweep_plans, can_be_run_by_their_names)
{
	const struct cli_run_options elsewhere = {.enter = "/"};
	char data[4096];
	cr_assert(realpath(".", data));
	setenv("NPULAB_DATA", data, 1);
	for (size_t i = 0; i < PLANS; i++) {
		char expected[100];
		struct cli_result r = cli_run(&elsewhere, "sweep", plans[i].name, "--dry-run");
		cr_assert_eq(r.status, 0, "%s: %s", plans[i].name, r.err);
		snprintf(expected, sizeof expected, "\n%d points of method %s", (int)plans[i].points, plans[i].method);
		cr_assert(strstr(r.out, expected), "%s: %s", plans[i].name, r.out);
		cr_assert_not(strstr(r.out, "fails"), "%s: %s", plans[i].name, r.out);
		cli_free(&r);
	}
	struct cli_result r = cli_run(&elsewhere, "sweep", "tpu_batch", "--batch", "1,2", "--seed", "3", "--dry-run");
	cr_assert(strstr(r.out, "\n8 points of method grid\n"), "%s%s", r.out, r.err);
	cli_free(&r);
	r = cli_run(&elsewhere, "sweep", "tpu_sensitivity", "--method", "random", "--points", "5", "--dry-run");
	cr_assert(strstr(r.out, "\n5 points of method random, of 126 on the grid\n"), "%s%s", r.out, r.err);
	cr_assert(cli_says(r.out, " a point (5 tried)"), "%s", r.out);
	cli_free(&r);
}

#define SWEEP "sweep", "digits", "--device", "tpu_v1"

/* Points that are tried are different ones: the one that fails is met, whichever it is. */
Test(sweep_plans, dry_runs_try_different_points)
{
	static const char *const values[] = {"array.rows=0,16,32", "array.rows=16,0,32", "array.rows=16,32,0",
					     "array.rows=16,0"};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		struct cli_result r = cli_run(&(struct cli_run_options){0}, SWEEP, "--vary", values[i], "--dry-run");
		cr_assert_eq(r.status, 0, "%s", r.err);
		cr_assert(strstr(r.out, "\na point that was tried fails: array.rows=0: "), "%s: %s", values[i], r.out);
		cr_assert(strstr(r.out, i < 3 ? " a point (3 tried)" : " a point (2 tried)"), "%s", r.out);
		cli_free(&r);
	}
	struct cli_result r = cli_run(&(struct cli_run_options){0}, SWEEP, "--batch", "1..40", "--shard", "3/3",
				      "--dry-run");
	cr_assert(strstr(r.out, "\n8 points of method grid\n"), "chunks 2 and 5 of 5: %s%s", r.out, r.err);
	cli_free(&r);
}

#define EVOLUTION "--method", "evolution", "--points", "16", "--vary", "array.rows=1..40"

Test(sweep_plans, refuse_before_they_make_a_file)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	static const struct cli_refusal cases[] = {
		{2, "method evolution: expected objectives", {SWEEP, EVOLUTION, "-o", "@/r.sqlite"}},
		{2, "method evolution: expected objectives", {SWEEP, EVOLUTION, "--dry-run"}},
		{2,
		 "--shard: method evolution chooses points by the results of all",
		 {SWEEP, EVOLUTION, "--minimise", "time", "--shard", "1/2", "-o", "@/r.sqlite"}},
		{2,
		 "--shard: method evolution chooses points by the results of all",
		 {SWEEP, EVOLUTION, "--minimise", "time", "--shard", "1/2", "--dry-run"}},
		{2, "--dry-run: another program chooses the points", {SWEEP, "--points", "-", "--dry-run"}},
		{2, "there is no plan 'tpu_sensitivty'; the nearest is 'tpu_sensitivity'", {"sweep", "tpu_sensitivty"}},
		{2, "sweep: expected a plan or a model", {"sweep", "tpu_batch", "tpu_sensitivity"}},
		{3, "tpu_batch.yaml: cannot be opened", {"sweep", "tpu_batch.yaml"}}};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}
