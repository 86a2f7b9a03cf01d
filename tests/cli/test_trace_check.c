/* SPDX-License-Identifier: MIT
 *
 * `npulab trace check` in CI: traces side by side. What the program promises: what it prints and writes does not depend
 * on how many are checked at a time; a run that is ended is an error of its own trace; a signal leaves no file and no
 * process; the reports are what other programs read; heads that no `trace record` writes are refused with a line. */
#include <sys/prctl.h>

#include "tests/kit/cli_json.h"
#include "tests/kit/shell.h"

/* Writes a copy of a trace in which each line that begins with `line` is another one. */
static void change(const char *folder, const char *from, const char *to, const char *line, const char *other)
{
	char *text = cli_read(cli_path(folder, from), NULL), *tail = text;
	FILE *out = fopen(cli_path(folder, to), "w");
	bool found = false;
	cr_assert(out);
	for (char *at; (at = strsep(&tail, "\n")) && tail;) {
		const bool is_it = !strncmp(at, line, strlen(line));
		found = found || is_it;
		fprintf(out, "%s\n", is_it ? other : at);
	}
	cr_assert(!fclose(out) && found, "%s has no line '%s'", from, line);
	free(text);
}

/* Fills a folder with traces: a and c are the same as now, b has moved, and the model of d is not there. */
static void make_traces(const struct cli_run_options *options, const char *folder)
{
	cli_record(options, "digits", "--device", "tpu_v1", "--batch", "60", "-o", "a.trace");
	cli_record(options, "layer", "pool", "--input", "1x4x6x6", "--kernel", "2x2", "--device", "diannao", "-o",
		   "c.trace");
	change(folder, "a.trace", "b.trace", "parameter activate.latency_cycles ",
	       "parameter activate.latency_cycles 551");
	change(folder, "a.trace", "d.trace", "run run digits", "run run nodigits");
}

/* Removes what differs from run to run: times. */
static void drop_times(char *text, const char *begin)
{
	for (char *at = text; (at = strstr(at, begin));) {
		at += strlen(begin);
		memset(at, '0', strspn(at, "0123456789.e-"));
	}
}

Test(trace_check, jobs_change_nothing)
{
	static const char *const jobs[] = {"1", "2", "4"};
	static const char *const files[] = {"j.xml", "m.md", "r.json"};
	char folder[CLI_PATH], *first[5] = {NULL};
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	make_traces(&options, folder);
	for (int j = 0; j < 3; j++) {
		struct cli_result r = cli_run(&options, "trace", "check", "d.trace", "b.trace", "a.trace", "c.trace",
					      "--jobs", jobs[j], "--junit", files[0], "--markdown", files[1], "--json",
					      files[2]);
		cr_assert_eq(r.status, 3, "%s%s", r.out, r.err);
		cr_assert(!strncmp(r.out, "b.trace and the run now differ in times and energy\n", 40), "%s", r.out);
		cr_assert(cli_says(r.out, "a.trace: the same") && cli_says(r.out, "c.trace: the same"), "%s", r.out);
		cr_assert(strstr(r.err, "npulab: warning: b.trace: tpu_v1: activate.latency_cycles is 550 now"), "%s",
			  r.err);
		cr_assert(strstr(r.err, "npulab: 1 of 4 traces could not be checked, and 1 differs\n"), "%s", r.err);
		char *now[5] = {r.out, r.err};
		for (int f = 0; f < 3; f++) {
			now[2 + f] = cli_read(cli_path(folder, files[f]), NULL);
			drop_times(now[2 + f], f ? "\"wall_s\":" : " time=\"");
		}
		for (int k = 0; k < 5; k++) {
			/* Digits of a time are as many as it has. */
			char *copy = cli_expand(now[k], NULL);
			for (char *c = copy, *to = copy; (*to = *c); c++)
				to += *c != '0';
			cr_assert(!first[k] || !strcmp(first[k], copy), "--jobs %s:\n%s\n%s", jobs[j], first[k], copy);
			free(first[k]);
			first[k] = copy;
		}
		for (int k = 2; k < 5; k++)
			free(now[k]);
		cli_free(&r);
	}
	for (int k = 0; k < 5; k++)
		free(first[k]);
	cli_remove_folder(folder);
}

/* The reports as other programs read them. */
Test(trace_check, reports_say_what_moved)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	make_traces(&options, folder);
	struct cli_result r = cli_run(&options, "trace", "check", "a.trace", "b.trace", "d.trace", "--github",
				      "--junit", "j.xml", "--markdown", "m.md");
	const char *notes = strstr(r.out, "\n::error ");
	cr_assert(notes && !strncmp(r.out, "::stop-commands::", 17), "%s", r.out);
	cr_expect(cli_says(notes, "::error file=b.trace,line="), "%s", notes);
	cr_expect(strstr(notes, ",title=npulab trace%3A moved::b.trace: times and energy moved; first in line "), "%s",
		  notes);
	cr_expect(strstr(notes, "::error file=d.trace,title=npulab trace%3A not compared::d.trace: nodigits: "), "%s",
		  notes);
	cr_expect(!strstr(notes, "a.trace"), "%s", notes);
	cli_free(&r);
	free(shell(
		"cd '%s' && /usr/bin/python3 -c '\n"
		"import xml.etree.ElementTree as tree\n"
		"suite, = tree.parse(\"j.xml\").getroot()\n"
		"a, b, d = suite\n"
		"assert suite.get(\"tests\") == \"3\" and suite.get(\"failures\") == suite.get(\"errors\") == \"1\"\n"
		"assert [c.get(\"name\") for c in suite] == [\"a.trace\", \"b.trace\", \"d.trace\"] and not len(a)\n"
		"assert b[0].tag == \"failure\" and b[0].get(\"message\").startswith(\"times and energy moved\")\n"
		"assert \"FIRST DIFFERENCE\\n\" in b[0].text and \"\\n- i activate \" in b[0].text\n"
		"assert d[0].tag == \"error\" and \"no such model\" in d[0].text\n"
		"' 2>&1",
		folder));
	char *page = cli_read(cli_path(folder, "m.md"), NULL);
	cr_expect(strstr(page, "### Run traces: 1 of 3 moved\n\n1 could not be compared.\n"), "%s", page);
	cr_expect(strstr(page, "| <code>conv1</code> | <code>tpu_v1</code> | times and energy | "), "%s", page);
	cr_expect(strstr(page, "<pre>\ntimes and energy moved; first in line "), "%s", page);
	free(page);
	/* Within a tolerance nothing fails, and the reports say so. */
	r = cli_run(&options, "trace", "check", "b.trace", "--github", "--tolerance", "cycles=5%,energy=5%", "--quiet");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_expect(!strncmp(r.out, "::notice file=b.trace,line=", 27), "%s", r.out);
	cli_free(&r);
	r = cli_run(&options, "trace", "check", "a.trace", "--markdown", "-");
	cr_expect_str_eq(r.out, "### Run traces: 0 of 1 moved\n\nNothing moved.\n");
	cli_free(&r);
	r = cli_run(&options, "trace", "diff", "a.trace", "b.trace", "--json", "-");
	cr_expect_eq(r.status, 0, "the change of a head is no event: %s", r.err);
	json_t *root = cli_parse_json(r.out);
	cr_expect_str_eq(json_string_value(cli_at(root, "traces.0.verdict")), "same");
	cr_expect_eq(cli_number(cli_at(root, "traces.0.difference.cycles")),
		     cli_number(cli_at(root, "traces.0.difference.other_cycles")));
	json_decref(root);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Heads that no `trace record` has written, or whose run cannot be made any more. */
Test(trace_check, heads_that_name_no_run_are_refused)
{
	static const struct {
		int status;
		const char *line, *other, *expected;
	} cases[] = {
		{3, "run layer", "run layer gem", "bad.trace: layer: 'gem' is none of gemm, conv, pool"},
		{3, "run layer", "run swim gemm", "bad.trace: the run 'swim' of 'gemm' is none that `npulab trace"},
		{3, "run layer", "run run no.onnx", "bad.trace: "},
		{3, "option m", "option mm 4", "bad.trace: trace record: unknown option '--mm=4'"},
		{3, "option m", "option m x", "bad.trace: trace record: -m must be a whole number"},
		{3, "option m", "option help \"\"", "bad.trace: its option 'help' is none of a run"},
		{3, "option m", "option h \"\"", "bad.trace: its option 'h' is none of a run"},
		{3, "option m", "option n 4", "bad.trace: "},
		{3, "option dev", "option device nosuch", "bad.trace: there is no device 'nosuch'"},
		{4, "option dev", "option device cuda", "bad.trace: cuda"},
		{3, "machine", "machine none systolic int8 0", "bad.trace: the trace has no machine 'systolic_16x16'"},
		{3, "parameter weight_fifo.tiles", "parameter weight_fifo.tiles x", "must be a whole number"},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_record(&options, "layer", "gemm", "-m", "4", "-n", "20", "-k", "30", "--device", "systolic_16x16", "-o",
		   "a.trace");
	cr_assert_eq(setenv("LD_LIBRARY_PATH", "", 1), 0); /* where no test library stands in for a GPU's */
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		change(folder, "a.trace", "bad.trace", cases[i].line, cases[i].other);
		struct cli_result r = cli_run(&options, "trace", "check", "bad.trace");
		const char *last = strstr(r.err, "npulab: bad.trace: ");
		cr_expect(r.status == cases[i].status || (cases[i].status == 4 && !access("/dev/nvidia0", F_OK)),
			  "%s: status %d: %s", cases[i].other, r.status, r.err);
		cr_expect(r.status == 1 || (last && strstr(last, cases[i].expected)), "%s: %s", cases[i].other, r.err);
		cr_expect_eq(r.out_bytes, 0, "%s: %s", cases[i].other, r.out);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* Reports on a full disk: none is left in part, and the others are whole. */
Test(trace_check, a_full_disk_leaves_no_part)
{
	char folder[CLI_PATH];
	struct stat status;
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	make_traces(&options, folder);
	const int files = cli_count_files(folder);
	struct cli_result r = cli_run(&options, "trace", "check", "b.trace", "--junit", "/dev/full", "--markdown",
				      "m.md", "--json", "/dev/full");
	cr_assert_eq(r.status, 5, "%s", r.err);
	cr_expect(strstr(r.err, "/dev/full: cannot be written: No space left on device; /dev/full: ") &&
			  strstr(r.err, "; 1 of 1 traces differs from what happens now\n"),
		  "%s", r.err);
	cr_expect(!stat(cli_path(folder, "m.md"), &status) && status.st_size > 1000);
	cli_free(&r);
	cli_write_text(folder, "j.xml", "before");
	change(folder, "c.trace", "e.trace", "parameter dma.request_cycles ", "parameter dma.request_cycles 14");
	struct cli_run_options full = options;
	full.largest_file = 12000; /* more than the run's own trace, and less than the reports of so many */
	const char *args[CLI_ARGUMENTS] = {"trace", "check", "--junit", "j.xml", "--json", "new.json", "--quiet"};
	for (int i = 7; i < 30; i++)
		args[i] = "e.trace";
	r = cli_run_list(&full, args);
	cr_expect_eq(r.status, 5, "status %d", r.status);
	cr_expect(strstr(r.err, "npulab: new.json: cannot be written: File too large; j.xml: "));
	cr_expect_eq(cli_count_files(folder), files + 3, "a part is left");
	char *before = cli_read(cli_path(folder, "j.xml"), NULL);
	cr_expect_str_eq(before, "before");
	free(before);
	cli_free(&r);
	static const struct cli_refusal cases[] = {
		{2, "only one of --json -", {"trace", "check", "@/a.trace", "--json", "-", "--github"}},
		{2, "only one of --json -", {"trace", "check", "@/a.trace", "--junit", "-", "--markdown", "-"}},
		{2, "expected one or more traces", {"trace", "check", "--jobs", "2"}},
		{2, "--jobs must be a whole number", {"trace", "check", "@/a.trace", "--jobs", "0"}},
		{2, "a.trace", {"trace", "check", "@/a.trace", "--junit", "@/a.trace"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* Starts a check of a run that takes minutes, with its temporary files in the folder. */
static pid_t start_long(const char *folder, int said)
{
	char program[4096], word[3][20] = {"trace", "check", "long.trace"};
	const char *path = getenv("NPULAB_BIN");
	cr_assert(realpath(path && *path ? path : "build/npulab", program));
	char *argv[] = {program, word[0], word[1], word[2], NULL};
	fflush(NULL);
	const pid_t child = fork();
	cr_assert(child >= 0);
	if (!child) {
		setenv("TMPDIR", folder, 1);
		cli_start(program, argv, &(struct cli_run_options){.enter = folder}, said, said);
	}
	return child;
}

/* Waits for the process that makes the run; 0: there is none in time. */
static pid_t wait_for_run(pid_t check)
{
	char path[80];
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)check, (int)check);
	for (int waited = 0; waited < 60000; waited++) {
		char *children = access(path, R_OK) ? NULL : cli_read(path, NULL);
		const pid_t found = children ? atoi(children) : 0;
		free(children);
		if (found)
			return found;
		usleep(1000);
	}
	return 0;
}

/* Of a check that is ended, no process is left; of a run that is ended, the check says so. */
Test(trace_check, what_is_ended_leaves_nothing)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_record(&options, "layer", "gemm", "-m", "4", "-n", "20", "-k", "30", "--device", "systolic_16x16", "-o",
		   "a.trace");
	change(folder, "a.trace", "half.trace", "option m ", "option m 16000000");
	change(folder, "half.trace", "long.trace", "option n ", "option n 40");
	unlink(cli_path(folder, "half.trace"));
	/* A process whose parent has ended becomes this one's child. */
	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	for (int of_run = 0; of_run < 2; of_run++) {
		FILE *said = tmpfile();
		int ended;
		const pid_t check = start_long(folder, fileno(said)), run = wait_for_run(check);
		cr_assert(run, "no run was started");
		usleep(50000);
		cr_assert_eq(kill(of_run ? run : check, of_run ? SIGKILL : SIGTERM), 0);
		cr_assert_eq(waitpid(check, &ended, 0), check);
		char *text = cli_take(said, NULL);
		if (of_run) {
			cr_expect(WIFEXITED(ended) && WEXITSTATUS(ended) == 5, "%x: %s", (unsigned)ended, text);
			cr_expect(strstr(text, "npulab: long.trace: its run was killed"), "%s", text);
		} else {
			cr_expect(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGTERM, "%x: %s", (unsigned)ended, text);
			cr_expect(waitpid(run, &ended, 0) == run && WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL,
				  "the run went on");
		}
		cr_expect_eq(cli_count_files(folder), 2, "a temporary file is left");
		free(text);
	}
	cli_remove_folder(folder);
}
