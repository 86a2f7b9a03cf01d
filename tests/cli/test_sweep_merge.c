/* SPDX-License-Identifier: MIT
 *
 * Promises of `npulab sweep merge` and `status`: the shards of a sweep, put together in any order, are the whole, with
 * the rows of layers; those that are missing may come later; a file of another sweep is refused before anything is
 * written; and status says how far a sweep, a shard or a merged file is. */
#include "tests/kit/sweep_store.h"

#define POINTS 53 /* a last chunk that is not full, and shards of different sizes */

/* The same points by three methods: 6 of 7 chunks whole. */
static const char *const methods[] = {"method: grid\n", "method: random\npoints: 53\n", "method: sobol\npoints: 53\n"};

static void write_plan(const char *folder, const char *name, const char *method, const char *batches)
{
	char text[500];
	snprintf(text, sizeof text,
		 "model: digits\ndevice: tpu_v1\nbatch: %s\nlayers: true\nconstraint: seconds < 1e-4\n%s", batches,
		 method);
	cli_write_text(folder, name, text);
}

/* Runs shard `index` of a plan into INDEX.sqlite. */
static void run_shard(const struct cli_run_options *here, int index, int of)
{
	char shard[20], name[40];
	snprintf(shard, sizeof shard, "%d/%d", index, of);
	snprintf(name, sizeof name, "@/%d.sqlite", index);
	cli_expect(here, 0, "sweep", "@/plan.yaml", "--shard", shard, "-o", name, "--quiet");
}

static void check_merged(const char *folder, const char *name)
{
	const char *path = cli_path(folder, name), *whole = cli_path(folder, "whole.sqlite");
	store_check_same(path, whole, "points", POINTS);
	store_check_same(path, whole, "layers", 12 * POINTS);
	store_check_same(path, whole, "sweep", store_sql(whole, "SELECT count(*) FROM sweep"));
}

Test(sweep_merge, of_all_shards_is_the_whole)
{
	for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
		char folder[CLI_PATH];
		cli_folder(folder);
		write_plan(folder, "plan.yaml", methods[m], m ? "1..90" : "1..53");
		const struct cli_run_options here = {.folder = folder};
		cli_expect(&here, 0, "sweep", "@/plan.yaml", "-o", "@/whole.sqlite", "--quiet");
		for (int i = 1; i <= 4; i++)
			run_shard(&here, i, 4);
		cli_expect(&here, 0, "sweep", "merge", "-o", "@/all.sqlite", "@/3.sqlite", "@/1.sqlite", "@/4.sqlite",
			   "@/2.sqlite");
		check_merged(folder, "all.sqlite");
		/* the merged file is the sweep's own: there is nothing left to run */
		struct cli_result r = cli_run(&here, "sweep", "@/plan.yaml", "-o", "@/all.sqlite");
		cr_assert(!r.status && cli_says(r.out, "53 of 53 points") && !cli_says(r.out, "run now"), "%s%s", r.out,
			  r.err);
		cli_free(&r);
		cli_remove_folder(folder);
	}
}

/* What status prints of a file of the folder. */
static void check_status(const struct cli_run_options *here, const char *name, const char *expected)
{
	struct cli_result r = cli_run(here, "sweep", "status", name);
	cr_assert(!r.status && !strncmp(r.out, expected, strlen(expected)), "%s%s, expected %s", r.out, r.err,
		  expected);
	cr_assert(strstr(r.out, "\n0 processes work on it, at most 0 points are claimed\n"), "%s", r.out);
	cli_free(&r);
}

Test(sweep_merge, takes_shards_as_they_come)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_plan(folder, "plan.yaml", "", "1..53");
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, "sweep", "@/plan.yaml", "-o", "@/whole.sqlite", "--quiet");
	for (int i = 1; i <= 3; i++)
		run_shard(&here, i, 3);
	check_status(&here, "@/1.sqlite", "21 of 21 points (100.0 %): 21 done (");
	check_status(&here, "@/2.sqlite", "16 of 16 points (100.0 %): 16 done (");
	struct cli_result r = cli_run(&here, "sweep", "status", "@/3.sqlite");
	cr_assert(cli_says(r.out, "16 of 16 points") && cli_says(r.out, "\nthis is shard 3/3\n"), "%s", r.out);
	cli_free(&r);
	r = cli_run(&here, "sweep", "merge", "-o", "@/all.sqlite", "@/2.sqlite");
	cr_assert(cli_says(r.out, "16 of 53 points (30.2 %): 16 done ("), "%s%s", r.out, r.err);
	cli_free(&r);
	check_status(&here, "@/all.sqlite", "16 of 53 points (30.2 %)");
	cli_expect(&here, 0, "sweep", "merge", "-o", "@/all.sqlite", "@/2.sqlite", "@/1.sqlite", "@/2.sqlite");
	check_status(&here, "@/all.sqlite", "37 of 53 points (69.8 %)");
	cli_expect(&here, 0, "sweep", "merge", "-o", "@/all.sqlite", "@/1.sqlite", "@/3.sqlite");
	check_merged(folder, "all.sqlite");
	/* a merged file of some shards goes on as a sweep: it runs what is missing */
	cli_expect(&here, 0, "sweep", "merge", "-o", "@/some.sqlite", "@/1.sqlite", "@/3.sqlite");
	r = cli_run(&here, "sweep", "@/plan.yaml", "-o", "@/some.sqlite");
	cr_assert(strstr(r.out, "\n16 run now in "), "%s%s", r.out, r.err);
	cli_free(&r);
	check_merged(folder, "some.sqlite");
	cli_remove_folder(folder);
}

Test(sweep_merge, refuses_with_the_status_of_whose_fault_it_is)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_plan(folder, "plan.yaml", "", "1..30");
	write_plan(folder, "other.yaml", "", "1..31");
	cli_write_text(folder, "text.txt", "not a database\n");
	const struct cli_run_options here = {.folder = folder};
	run_shard(&here, 1, 2);
	run_shard(&here, 2, 2);
	cli_expect(&here, 0, "sweep", "@/other.yaml", "-o", "@/other.sqlite", "--quiet", "--shard", "2/2");
	cli_expect(&here, 0, "sweep", "merge", "-o", "@/all.sqlite", "@/1.sqlite");
	static const struct cli_refusal cases[] = {
		{2, "sweep merge: expected -o FILE.sqlite", {"sweep", "merge", "@/1.sqlite"}},
		{2, "sweep merge: expected the databases of shards", {"sweep", "merge", "-o", "@/new.sqlite"}},
		{3,
		 "other.sqlite: it has the results of a sweep with other axes than those before it",
		 {"sweep", "merge", "-o", "@/new.sqlite", "@/1.sqlite", "@/other.sqlite"}},
		{3,
		 "all.sqlite: it has the results of a sweep with other axes than ",
		 {"sweep", "merge", "-o", "@/all.sqlite", "@/other.sqlite"}},
		{3,
		 "/text.txt: expected the results of a sweep",
		 {"sweep", "merge", "-o", "@/new.sqlite", "@/1.sqlite", "@/text.txt"}},
		{3,
		 "/none.sqlite: No such file",
		 {"sweep", "merge", "-o", "@/new.sqlite", "@/1.sqlite", "@/none.sqlite"}},
		{2,
		 "/1.sqlite is also what comes out",
		 {"sweep", "merge", "-o", "@/1.sqlite", "@/2.sqlite", "@/1.sqlite"}},
		{2,
		 "/1.sqlite is also what comes out",
		 {"sweep", "merge", "-o", "@/1.sqlite", "@/2.sqlite", "@/./1.sqlite"}},
		{3,
		 "2.sqlite: it has the results of a sweep with other shard than",
		 {"sweep", "merge", "-o", "@/2.sqlite", "@/1.sqlite"}},
		{5, "/none/new.sqlite", {"sweep", "merge", "-o", "@/none/new.sqlite", "@/1.sqlite"}},
		{3, "/none.sqlite: No such file", {"sweep", "status", "@/none.sqlite"}},
		{3, "/text.txt: expected the results of a sweep", {"sweep", "status", "@/text.txt"}},
		{2, "sweep status: expected the results of one sweep", {"sweep", "status"}}};
	CLI_CHECK(folder, cases);
	cr_assert_eq(store_sql(cli_path(folder, "all.sqlite"), "SELECT count(*) FROM points"), 16,
		     "nothing came to it");
	cr_assert_eq(store_sql(cli_path(folder, "1.sqlite"), "SELECT count(*) FROM points"), 16);
	cli_remove_folder(folder);
}
