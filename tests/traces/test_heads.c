/* SPDX-License-Identifier: MIT
 *
 * Heads of traces. What the program promises: what comes once comes once, a head from elsewhere costs no time, and the
 * order in which options were typed is no difference. */

#include "tests/kit/cli_run.h"

#define BEGIN         "npulab-trace 2\nnpulab 0.1.0\nrun layer gemm\n"
#define FLAGS         "detail layers\nvalues no\ntimes yes\n"
#define MACHINE(name) "machine " name " systolic int8 0\n"
#define END           "events follow\nlayer l Gemm m ran cycles=1\nbatch 0 cycles=1\ncomplete 2\n"

/* Both commands that read heads refuse a file with the line that is wrong. */
static void expect_refused(const char *folder, const char *says)
{
	const struct cli_run_options options = {.enter = folder};
	struct cli_result show = cli_run(&options, "trace", "show", "bad.trace"),
			  diff = cli_run(&options, "trace", "diff", "bad.trace", "bad.trace");
	cli_check_refusal(&show, 3, says, says);
	cli_check_refusal(&diff, 3, says, says);
	cli_free(&show);
	cli_free(&diff);
}

Test(trace_heads, what_comes_once_is_refused_again)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{BEGIN FLAGS MACHINE("m") "parameter a 1\nparameter b 2\nparameter a 1\n" END,
		 "bad.trace:10: parameter a comes again, expected it once"},
		{BEGIN FLAGS MACHINE("m") MACHINE("n") MACHINE("m") END,
		 "bad.trace:9: machine m comes again, expected it once"},
		{BEGIN FLAGS "environment cpu one\nenvironment cpu two\n" MACHINE("m") END,
		 "bad.trace:8: environment cpu comes again, expected it once"},
		{BEGIN "detail layers\n" FLAGS MACHINE("m") END, "bad.trace:5: detail comes too late, or again"},
		{"npulab-trace 02\nnpulab 0.1.0\n", "bad.trace:1: expected the number of the format"},
		{"npulab-trace +2\nnpulab 0.1.0\n", "bad.trace:1: expected the number of the format"},
		{"npulab-trace 2 \nnpulab 0.1.0\n", "bad.trace:1: expected the number of the format"},
		{"npulab-trace 10\nnpulab 0.1.0\n", "bad.trace: is of format 10, and this npulab reads format 2"},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cli_write_text(folder, "bad.trace", cases[i].text);
		expect_refused(folder, cases[i].says);
	}
	/* Machines have the same parameters, and a command the same option. */
	cli_write_text(folder, "a.trace",
		       BEGIN "option input a\noption input a\n" FLAGS MACHINE("m") "parameter a 1\n" MACHINE("n") //
		       "parameter a 1\n" END);
	const struct cli_run_options options = {.enter = folder};
	cli_expect(&options, 0, "trace", "show", "a.trace");
	cli_expect(&options, 0, "trace", "diff", "a.trace", "a.trace");
	cli_remove_folder(folder);
}

/* Writes a head with n lines that begin with `line` and end with different names. */
static void write_lines(const char *folder, const char *name, const char *before, const char *line, const char *end,
			int n)
{
	FILE *file = fopen(cli_path(folder, name), "w");
	cr_assert(file);
	fputs(before, file);
	for (int i = 0; i < n; i++)
		fprintf(file, line, i);
	fputs(end, file);
	cr_assert_eq(fclose(file), 0);
}

Test(trace_heads, their_length_is_bounded)
{
	static const struct {
		const char *before, *line, *after, *says;
		int most;
	} cases[] = {
		{BEGIN FLAGS, "machine m%d systolic int8 0\n", END, "bad.trace:263: more than 256 machines", 256},
		{BEGIN, "option set \"m.k=%d\"\n", FLAGS MACHINE("m") END,
		 "bad.trace:1004: more than 1000 lines option", 1000},
		{BEGIN FLAGS MACHINE("m"), "parameter p%d 1\n", END, "bad.trace:1008: more than 1000 lines parameter",
		 1000},
		{"npulab-trace 2\nnpulab 0.1.0\n", "reason 0.1.0 %d\n", "run layer gemm\n" FLAGS MACHINE("m") END,
		 "bad.trace:50001: the head is too long", 49990},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		write_lines(folder, "a.trace", cases[i].before, cases[i].line, cases[i].after, cases[i].most);
		cli_expect(&options, 0, "trace", "diff", "a.trace", "a.trace");
		write_lines(folder, "bad.trace", cases[i].before, cases[i].line, cases[i].after, cases[i].most + 20);
		expect_refused(folder, cases[i].says);
	}
	cli_remove_folder(folder);
}

/* The largest heads that are read, and that have nothing in common. */
Test(trace_heads, they_cost_no_time)
{
	enum { MACHINES = 49, PARAMETERS = 1000 };
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (int t = 0; t < 2; t++) {
		FILE *file = fopen(cli_path(folder, t ? "b.trace" : "a.trace"), "w");
		cr_assert(file);
		fputs(BEGIN FLAGS, file);
		for (int m = 0; m < MACHINES; m++) {
			fprintf(file, "machine m%d systolic int8 0\n", m);
			for (int p = 0; p < PARAMETERS; p++)
				fprintf(file, "parameter a.parameter.with.a.long.name.%d.%d 1\n", t, p);
		}
		fputs(END, file);
		cr_assert_eq(fclose(file), 0);
	}
	struct cli_result r = cli_run(&options, "trace", "diff", "a.trace", "b.trace", "--quiet");
	cr_expect(r.status == 0, "status %d: %s", r.status, r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Writes a trace with these options; returns what comparing it with a.trace says. */
static struct cli_result compare_options(const struct cli_run_options *options, const char *name, const char *lines)
{
	char text[1000];
	snprintf(text, sizeof text, BEGIN "%s" FLAGS MACHINE("m") END, lines);
	cli_write_text(options->enter, name, text);
	return cli_run(options, "trace", "diff", "a.trace", name);
}

Test(trace_heads, the_order_of_different_options_is_no_difference)
{
	static const char before[] =
		"option m 4\noption n 16\noption set \"m.x=1\"\noption set \"m.y=2\"\noption batch 3\n"
		"option input a\noption input b\n";
	static const struct {
		const char *lines, *says; /* NULL: the same */
	} cases[] = {
		{"option input a\noption batch 3\noption set \"m.y=2\"\noption n 16\noption m 4\noption set \"m.x=1\"\n"
		 "option input b\n",
		 NULL},
		{"option n 16\noption m 4\noption set \"m.x=1\"\noption set \"m.y=2\"\noption batch 3\noption input b\n"
		 "option input a\n",
		 "HEADS\noption: input a -> b\noption: input b -> a\n"},
		{"option n 16\noption m 4\noption set \"m.y=2\"\noption set \"m.x=1\"\n"
		 "option set \"m.x=3\"\noption batch 3\n"
		 "option input a\noption input b\n",
		 "HEADS\noption: set none -> m.x=3\n"},
		{"option n 16\noption m 5\noption set \"m.y=7\"\noption set \"m.x=1\"\noption set \"m.xy=1\"\n"
		 "option input a\noption input b\noption seed 2\n",
		 "HEADS\noption: m 4 -> 5\noption: set m.y=2 -> m.y=7\noption: batch 3 -> none\n"
		 "option: set none -> m.xy=1\noption: seed none -> 2\n"},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	struct cli_result r = compare_options(&options, "a.trace", before);
	cr_expect(r.status == 0 && !strstr(r.out, "HEADS"), "%s%s", r.out, r.err);
	cli_free(&r);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		r = compare_options(&options, "b.trace", cases[i].lines);
		cr_expect(r.status == 0 && (cases[i].says ? strstr(r.out, cases[i].says) != NULL
							  : strstr(r.out, "HEADS") == NULL),
			  "case %zu: %s%s", i, r.out, r.err);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}
