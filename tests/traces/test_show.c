/* SPDX-License-Identifier: MIT
 *
 * `npulab trace show`. What the program promises: starts are those of the batch and not of the row before; energies are
 * printed with their sum; each event has its line of the file, and lines are short; a choice that nothing fits is
 * refused with the nearest name, and prints nothing. `trace export` chooses in the same way. */
#include <math.h>

#include "tests/kit/shell.h"
#include "tests/kit/written_trace.h"

static void record(const char *folder, const char *const *run)
{
	const char *args[CLI_ARGUMENTS] = {"trace", "record", "-o", "@/a.trace"};
	for (int i = 0; run[i]; i++)
		args[4 + i] = run[i];
	struct cli_result r = cli_run_list(&(struct cli_run_options){.folder = folder}, args);
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
}
#define RECORD(folder, ...) record((folder), (const char *const[]){__VA_ARGS__, NULL})

/* Returns the number of a key in a line of a trace; 0: the line lacks it. */
static double number_of(const char *line, const char *key)
{
	char text[40];
	snprintf(text, sizeof text, " %s=", key);
	const char *at = strstr(line, text);
	return at ? strtod(at + strlen(text), NULL) : 0;
}

/* Reads a figure with its unit, such as "21.6443 us". Returns the text after it. */
static const char *read_figure(const char *text, double *value)
{
	static const char prefix[] = "munpf";
	char *end;
	*value = strtod(text, &end);
	cr_assert(end > text && *end == ' ', "no figure: %s", text);
	const char *unit = strchr(prefix, *++end);
	*value *= unit ? pow(1000, -1 - (double)(unit - prefix)) : 1;
	return end + (unit ? 2 : 1);
}

/* Rows of layers and tasks have the starts that the distances of the file sum to, and the file's line. */
Test(show, starts_are_those_of_the_batch)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	RECORD(folder, "digits", "--device", "tpu_v1", "--timing-only");
	char *text = cli_read(cli_path(folder, "a.trace"), NULL), *tail = text;
	struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "trace", "show", "@/a.trace");
	double row = 0, task = 0;
	int number = 0, rows = 0;
	for (char *line; (line = strsep(&tail, "\n")) && tail;) {
		char columns[40];
		double from, seconds;
		const bool is_task = !strncmp(line, "task ", 5);
		number++;
		if (!strncmp(line, "batch ", 6))
			row = task = 0;
		if (!is_task && strncmp(line, "layer ", 6) != 0)
			continue;
		double *start = is_task ? &task : &row;
		*start += number_of(line, "start");
		snprintf(columns, sizeof columns, "\n%9d  ", number);
		const char *shown = strstr(r.out, columns);
		cr_assert(shown, "line %d is not shown", number);
		const char *role = shown + 1 + 9 + 2 + 20 + 1 + 14 + 1 + 14 + 1 + 6;
		if (number_of(line, "seconds") == 0)
			continue;
		read_figure(read_figure(role, &from), &seconds);
		cr_assert(fabs(from - *start) <= 1e-5 * *start + 1e-15, "line %d: %g, not %g", number, from, *start);
		cr_assert(fabs(seconds - number_of(line, "seconds")) <= 1e-5 * seconds, "line %d: %g", number, seconds);
		rows++;
	}
	cr_assert_gt(rows, 20);
	free(text);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Of each layer the energies are printed, and they are those of the sum before them. */
Test(show, energies_sum_up_and_lines_are_short)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	RECORD(folder, "digits", "--device", "tpu_v1", "--timing-only");
	struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "trace", "show", "@/a.trace");
	int energies = 0, long_lines = 0, headings = 0;
	for (const char *at = r.out; (at = strstr(at, " energy=")); energies++) {
		double all, sum = 0, part;
		const char *end = at;
		do /* over the lines that go on, which are indented further than a line number */
			end = strchr(end + 1, '\n');
		while (!strncmp(end, "\n             ", 14));
		at = read_figure(at + 8, &all);
		while ((at = strchr(at, '=')) && at < end) {
			at = read_figure(at + 1, &part);
			sum += part;
		}
		cr_assert(fabs(sum - all) <= 2e-5 * all, "%g J, and its parts %g J", all, sum);
		at = end;
	}
	cr_assert_gt(energies, 10);
	for (const char *at = r.out; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		long_lines += strcspn(at, "\n") > 100;
		headings += !strncmp(at, "     LINE ", 10);
	}
	cr_expect_eq(long_lines, 0, "%d lines have more than 100 columns", long_lines);
	cr_expect_eq(headings, 2, "%d headings, not one of instructions and one of rows", headings);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Files and environments of the head, in short lines. */
Test(show, the_head_has_files_and_environments)
{
	static const char text[] =
		"npulab-trace 2\nnpulab 0.1.0\nreason 0.1.0 recorded\nrun run net\n"
		"file model 32b9c5c5a3489bc42e5919fc7d71fbf48b0f082346129a7d0db364e8fd540608\n"
		"file \"memory of \\x1bm\" 86f6a6bb544715fe65cf60a507fb9d14307662c32681c72861c75501c7838ef2\n"
		"detail layers\nvalues yes\ntimes yes\n"
		"environment cpu \"a library 1.2.3, kernels for a processor, 2 threads, wide words; convolution, "
		"pooling: another library 2.6.3; others: kernels\"\n"
		"machine m m int8 0\nevents follow\nbatch 0 cycles=1\n";
	static const char head[] =
		"0.1.0: recorded\n"
		"file model: 32b9c5c5a3489bc42e5919fc7d71fbf48b0f082346129a7d0db364e8fd540608\n"
		"file memory of ?m:\n  86f6a6bb544715fe65cf60a507fb9d14307662c32681c72861c75501c7838ef2\n"
		"environment cpu: a library 1.2.3, kernels for a processor, 2 threads, wide\n"
		"  words; convolution, pooling: another library 2.6.3; others: kernels\n"
		"m: driver m, int8, 0 parameters\n";
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	trace_write(folder, "a.trace", text);
	struct cli_result r = cli_run(&options, "trace", "show", "a.trace");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_expect(strstr(r.out, head), "%s", r.out);
	cli_free(&r);
	cli_remove_folder(folder);
}

Test(show, a_line_has_the_events_around_it)
{
	char folder[CLI_PATH], text[80];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	RECORD(folder, "digits", "--device", "tpu_v1", "--timing-only");
	struct cli_result r = cli_run(&options, "trace", "show", "@/a.trace", "--line", "150");
	cr_assert_eq(r.status, 0, "%s", r.err);
	for (int line = 140; line < 160; line++) {
		snprintf(text, sizeof text, "\n%9d ", line);
		cr_expect_eq(strstr(r.out, text) != NULL, line >= 145 && line <= 155, "line %d: %s", line, r.out);
	}
	cli_free(&r);
	r = cli_run(&options, "trace", "show", "@/a.trace", "--parameters", "--unit", "activate");
	cr_expect(strstr(r.out, "\n  weight_fifo.tiles 4\n"), "%s", r.out);
	cli_free(&r);
	/* Standard input is a trace like any. */
	free(shell("p=$(realpath \"${NPULAB_BIN:-build/npulab}\") && cd '%s' && $p trace show a.trace > a && "
		   "cat a.trace | $p trace show - | cmp - a && $p trace diff - a.trace < a.trace 2>&1 && "
		   "! $p trace diff - - < a.trace 2> no && grep -q 'only one of two' no",
		   folder));
	cli_remove_folder(folder);
}

Test(show, what_nothing_fits_is_refused)
{
	static const struct cli_refusal cases[] = {
		{2,
		 "has no unit 'matrixx'; the nearest is 'matrix'",
		 {"trace", "show", "@/a.trace", "--unit", "matrixx"}},
		{2,
		 "no layer has 'fc3' in its name; the nearest is 'fc",
		 {"trace", "show", "@/a.trace", "--layer", "fc3"}},
		{2,
		 "no cycle is between --from 100 and --until 50",
		 {"trace", "show", "@/a.trace", "--from", "100", "--until", "50"}},
		{2, "cycle 99999999 is beyond the end", {"trace", "show", "@/a.trace", "--from", "99999999"}},
		{2,
		 "fits the chosen layer, unit and cycles together",
		 {"trace", "show", "@/a.trace", "--layer", "fc1", "--until", "2"}},
		{2, "line 5 is no event", {"trace", "show", "@/a.trace", "--line", "5"}},
		{2, "line 999999 is no event", {"trace", "show", "@/a.trace", "--line", "999999"}},
		{2, "has no instructions to choose from", {"trace", "show", "@/b.trace", "--unit", "matrix"}},
		{2,
		 "no layer has 'nosuch' in its name",
		 {"trace", "export", "@/a.trace", "--perfetto", "@/a.json", "--layer", "nosuch"}},
		{2,
		 "the layers with 'flatten' in their names take no time",
		 {"trace", "export", "@/a.trace", "--perfetto", "@/a.json", "--layer", "flatten"}},
		{2,
		 "has no unit 'matrixx'; the nearest is 'matrix'",
		 {"trace", "export", "@/a.trace", "--perfetto", "@/a.json", "--unit", "matrixx"}},
		{2,
		 "no cycle is between --from 5 and --until 5",
		 {"trace", "export", "@/a.trace", "--vcd", "@/a.vcd", "--from", "5", "--until", "5"}},
		{2,
		 "no layer has 'nosuch' in its name",
		 {"trace", "export", "@/a.trace", "--vcd", "@/a.vcd", "--layer", "nosuch"}},
		{2,
		 "cycle 99999999 is beyond the end",
		 {"trace", "export", "@/c.trace", "--vcd", "@/a.vcd", "--from", "99999999"}},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	RECORD(folder, "layer", "gemm", "-m", "4", "-n", "16", "-k", "16", "--device", "systolic_16x16");
	cr_assert_eq(rename(cli_path(folder, "a.trace"), cli_path(folder, "c.trace")), 0);
	RECORD(folder, "digits", "--device", "tpu_v1", "--timing-only", "--detail", "layers");
	cr_assert_eq(rename(cli_path(folder, "a.trace"), cli_path(folder, "b.trace")), 0);
	RECORD(folder, "digits", "--device", "tpu_v1", "--timing-only");
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}
