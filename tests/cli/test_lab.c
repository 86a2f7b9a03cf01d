/* SPDX-License-Identifier: MIT
 *
 * Promises of the course labs: of each lab the starter fails, with a word for each task, and the lecturer's solution
 * passes, for any student; a wrong answer differs and its hint does not give the right one away; numbers follow from
 * the student and the course's salt alone; and half-done work, wrong files and names are told, never a stack of
 * internals. */
#include <string.h>

#include "tests/kit/cli_json.h"
#include "tests/kit/cli_run.h"

static const struct {
	int number, tasks;
} course_labs[] = {{1, 9}, {2, 7}, {3, 5}, {4, 7}, {6, 9}};
#define LABS ((int)(sizeof course_labs / sizeof *course_labs))
static const char *const students[] = {"ada", "grace"};

/* Runs labs/lecturer.py, which writes a solution. */
static void solve(int lab, const char *folder)
{
	char program[4096], command[3 * 4096];
	const char *named = getenv("NPULAB_BIN");
	cr_assert(realpath(named && *named ? named : "build/npulab", program));
	snprintf(command, sizeof command, "NPULAB_PROGRAM='%s' python3 labs/lecturer.py solve %d '%s'", program, lab,
		 folder);
	cr_assert_eq(system(command), 0, "%s", command);
}

static struct cli_result check(int lab, const char *folder)
{
	char number[8];
	snprintf(number, sizeof number, "%d", lab);
	return cli_run(&(struct cli_run_options){0}, "lab", "check", number, folder);
}

static void start(int lab, const char *folder, const char *student, const char *salt)
{
	char number[8];
	snprintf(number, sizeof number, "%d", lab);
	cli_expect(&(struct cli_run_options){0}, 0, "lab", "start", number, folder, "--student", student, "--salt",
		   salt);
}

Test(cli_lab, starters_fail_and_solutions_pass)
{
	for (int l = 0; l < LABS; l++)
		for (int s = 0; s < 2; s++) {
			const int lab = course_labs[l].number, tasks = course_labs[l].tasks;
			char folder[CLI_PATH], passed[60];
			cli_folder(folder);
			const char *path = cli_path(folder, "lab");
			start(lab, path, students[s], "");
			struct cli_result r = check(lab, path);
			snprintf(passed, sizeof passed, "0 of %d tasks passed", tasks);
			cr_expect(r.status == 1 && !r.err_bytes && cli_says(r.out, passed) && strstr(r.out, "open"),
				  "lab %d: %d: %s%s", lab, r.status, r.out, r.err);
			cli_free(&r);
			solve(lab, path);
			r = check(lab, path);
			snprintf(passed, sizeof passed, "%d of %d tasks passed", tasks, tasks);
			cr_expect(!r.status && !r.err_bytes && cli_says(r.out, passed) && cli_says(r.out, students[s]),
				  "lab %d: %d: %s%s", lab, r.status, r.out, r.err);
			cli_free(&r);
			cli_remove_folder(folder);
		}
}

/* Replaces a text in a file, which must have it. */
static void edit(const char *path, const char *old, const char *with)
{
	size_t bytes;
	char *text = cli_read(path, &bytes), *at = strstr(text, old);
	cr_assert(at, "%s has no '%s'", path, old);
	FILE *out = fopen(path, "w");
	cr_assert(out);
	fprintf(out, "%.*s%s%s", (int)(at - text), text, with, at + strlen(old));
	cr_assert_eq(fclose(out), 0);
	free(text);
}

/* A change to a solution, the task that must differ then, and a word of what is said. */
static const struct {
	int lab;
	const char *file, *old, *with, *task, *said;
} faults[] = {
	{1, "answers.txt", "batch_us: ", "batch_us: 1", "1. the time of a batch", "is not it"},
	{1, "answers.txt", "less_exact: tpu_v1", "less_exact: diannao", "3. which is less exact", "more decibels"},
	{1, "answers.txt", "measured: cpu_time", "measured: yes", "9. what is measured", "expected one of"},
	{2, "answers.txt", "meeting_cycle: ", "meeting_cycle: 1", "2. when an operand meets a weight", "one column"},
	{2, "answers.txt", "sums: ", "sums: 7 ", "1. one row of the product", "5 numbers, expected 4"},
	{2, "answers.txt", "use_percent: ", "use_percent: many ", "6. the use of the array", "is no answer"},
	{2, "answers.txt", "use_percent: ", "use_percent: nan #", "6. the use of the array", "is no answer"},
	{2, "answers.txt", "product_cycles: 1", "product_cycles: 1,", "4. the cycles of the product",
	 "with a point, not a comma"},
	{2, "answers.txt", "rows_needed:", "row_needed:", "7. how many rows", "is `row_needed` it?"},
	{3, "two.s", ".accumulate", "", "1. two tiles", "needs two flags"},
	{3, "two.s", "halt", "", "1. two tiles", "halt"},
	{3, "strips.s", "acc=0 rows=8\nactivate ub=40", "acc=8 rows=8\nactivate ub=40", "2. more rows", "accumulator"},
	{3, "strips.s", "matrix_multiply ub=8", "matrix_multiply ub=0", "2. more rows", "are not those of the product"},
	{3, "broken.s", "sync activate", "", "4. the program, mended", "sync"},
	{3, "hidden.s", "count=2", "count=1", "5. a weight load that hides", ""},
	{3, "hidden.s", "matrix_multiply.switch ub=0 acc=0 rows=8\nactivate ub=24",
	 "sync activate\nnop\nnop\nnop\nnop\nnop\nnop\nnop\nmatrix_multiply.switch ub=0 acc=0 rows=8\nactivate ub=24",
	 "5. a weight load that hides", "waiting longer hides nothing"},
	{4, "answers.txt", "ridge: ", "ridge: 2", "1. the ridge point", "Where the two roofs meet"},
	{4, "answers.txt", "best_batch: ", "best_batch: 1", "5. the greatest batch", "Two limits"},
	{4, "answers.txt", "no_help: cnn0", "no_help: lstm0", "7. whom it does not help", "right of the ridge"},
	{6, "answers.txt", "step: ", "step: 1", "1. a step", "in 255 equal steps"},
	{6, "answers.txt", "worst_layer: pool2", "worst_layer: pool3", "8. where accuracy is lost", "expected one of"},
	{3, "answers.txt", "missing_sync: ", "missing_sync: x", "3. which sync is missing", "expected one of"},
};

/* Returns the part of a report that is about a task. */
static char *part_of(struct cli_result *r, const char *task)
{
	char *at = strstr(r->out, task);
	cr_assert(at, "%s", r->out);
	at[-2] = '\0'; /* what is before */
	for (char *end = at; (end = strchr(end, '\n')); end++)
		if (end[1] && end[1] != ' ') {
			*end = '\0';
			break;
		}
	return at;
}

Test(cli_lab, wrong_work_differs_with_a_hint)
{
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		char folder[CLI_PATH], path[2 * CLI_PATH];
		cli_folder(folder);
		const char *lab = cli_path(folder, "lab");
		start(faults[i].lab, lab, "ada", "");
		solve(faults[i].lab, lab);
		snprintf(path, sizeof path, "%s/%s", lab, faults[i].file);
		edit(path, faults[i].old, faults[i].with);
		struct cli_result r = check(faults[i].lab, lab);
		cr_expect_eq(r.status, 1, "%s: %s", faults[i].with, r.out);
		cr_expect(!strstr(r.out, "Traceback") && !r.err_bytes, "%s%s", r.out, r.err);
		char *part = part_of(&r, faults[i].task);
		cr_expect(cli_says(part, faults[i].said), "%s %s: %s", faults[i].file, faults[i].with, part);
		cli_free(&r);
		cli_remove_folder(folder);
	}
}

/* Students and courses have numbers of their own, the same ones each time. */
Test(cli_lab, numbers_follow_from_the_student_and_the_salt)
{
	static const struct {
		const char *student, *salt;
	} who[] = {{"ada", ""}, {"ada", ""}, {"grace", ""}, {"ada", "spring"}};
	char folder[CLI_PATH], name[20], *text[4];
	size_t bytes;
	cli_folder(folder);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "%d", i);
		start(2, cli_path(folder, name), who[i].student, who[i].salt);
		snprintf(name, sizeof name, "%d/inputs.txt", i);
		text[i] = cli_read(cli_path(folder, name), &bytes);
	}
	cr_expect(!strcmp(text[0], text[1]) && strcmp(text[0], text[2]) != 0 && strcmp(text[0], text[3]) != 0);
	/* Another's folder is not checked with one's own numbers. */
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "lab", "check", "2", cli_path(folder, "2"),
				      "--student", "ada");
	cr_expect(r.status == 3 && cli_says(r.err, "it was begun by the student 'grace', not by 'ada'"), "%s", r.err);
	cli_free(&r);
	/* A folder knows that it has a salt, and of which lab it is. */
	r = check(2, cli_path(folder, "3"));
	cr_expect(r.status == 3 && cli_says(r.err, "it was begun with another salt, or none"), "%s%s", r.out, r.err);
	cli_free(&r);
	r = check(3, cli_path(folder, "0"));
	cr_expect(r.status == 3 && cli_says(r.err, "it is of lab 2, not of lab 3"), "%s%s", r.out, r.err);
	cli_free(&r);
	for (int i = 0; i < 4; i++)
		free(text[i]);
	cli_remove_folder(folder);
}

Test(cli_lab, wrong_files_are_told)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const char *lab = cli_path(folder, "lab"), *other = cli_path(folder, "lab/Answers.txt");
	start(2, lab, "ada", "");
	cr_assert_eq(rename(cli_path(folder, "lab/answers.txt"), other), 0);
	struct cli_result r = check(2, lab);
	cr_expect(r.status == 1 && cli_says(r.out, "the folder has Answers.txt: is that the file?"), "%s%s", r.out,
		  r.err);
	cli_free(&r);
	cli_write_text(folder, "lab/answers.txt", "sums 1 2 3\n\xff\xfe\n");
	r = check(2, lab);
	cr_expect(r.status == 1 && cli_says(r.out, "answers.txt:1: expected `name: value`"), "%s%s", r.out, r.err);
	cli_free(&r);
	static const struct cli_refusal cases[] = {
		{2, "it is there already, expected a new or empty folder", {"lab", "start", "2", "@/lab"}},
		{2, "there is no lab 99, expected one of 1, 2", {"lab", "start", "99", "@/new"}},
		{3, "expected a folder that `npulab lab start 2` has made", {"lab", "check", "2", "@/none"}},
		{2, "lab: 'begin', expected list, start or check", {"lab", "begin"}},
		{2, "expected the number of a lab and a folder", {"lab", "check", "2"}},
		{2, "expected the number of a lab and a folder", {"lab", "list", "2"}}};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}
