/* SPDX-License-Identifier: MIT
 *
 * Traces with signals (`--detail cycles`). What the program promises: the same run gives the same bytes; a check runs
 * the engine rtl and finds them the same; a difference names the cycle and the signal; lines that are damaged are
 * refused with their number; what has no signals is refused with what has. */
#include "tests/kit/digits_input.h"

#define GEMM "layer", "gemm", "-m", "4", "-n", "16", "-k", "40", "--device", "systolic_16x16"

/* Traces of small runs, which have many kinds of lines. */
Test(trace_cycles, the_same_run_gives_the_same_bytes)
{
	static const char *const runs[][16] = {
		{"digits", "--device", "tpu_v1", "--batch", "1", "--input", "@/in.npy"},
		{"digits", "--place", "Conv*=tpu_v1,*=diannao", "--batch", "1", "--input", "@/in.npy"},
		{GEMM, "--signals", "default,cell[?][*,array.*"},
		{"layer", "conv", "--input", "1x20x5x5", "--kernel", "3x3", "--filters", "40", "--device", "diannao"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	digits_input(folder, 2);
	const struct cli_run_options options = {.folder = folder};
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		size_t n, m;
		for (int again = 0; again < 2; again++) {
			const char *args[CLI_ARGUMENTS] = {
				"trace",    "record", "-o",        again ? "@/b.trace" : "@/a.trace",
				"--detail", "cycles", "--threads", again ? "2" : "1"};
			memcpy(args + 8, runs[i], sizeof runs[i]);
			cli_expect_list(&options, 0, args);
		}
		char *a = cli_read(cli_path(folder, "a.trace"), &n), *b = cli_read(cli_path(folder, "b.trace"), &m);
		cr_assert(n == m && !memcmp(a, b, n), "run %zu", i);
		cr_assert(strstr(a, "\ndetail cycles\n") && strstr(a, "\nc +0 ") && strstr(a, "\nc +1 "), "run %zu", i);
		free(a);
		free(b);
		cli_expect(&options, 0, "trace", "check", "@/a.trace");
	}
	cli_remove_folder(folder);
}

Test(trace_cycles, a_difference_names_the_cycle_and_the_signal)
{
	static const struct {
		const char *from, *to, *says;
	} changes[] = {
		{"weights.queue=1 weights.busy=1", "weights.queue=7 weights.busy=1", "cycle 1, weights.queue 1 -> 7"},
		{"\nc +1 issue.next=2 ", "\nc +3 issue.next=2 ", "cycles 2 and 4, after +1 -> +3"},
		{"\nc +1 issue.next=2 ", "\nc +1 matrix.queue=3 issue.next=2 ",
		 "cycle 2, matrix.queue as before -> 3"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	cli_expect(&options, 0, "trace", "record", GEMM, "--detail", "cycles", "-o", "@/a.trace");
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		size_t bytes;
		char *data = cli_read(cli_path(folder, "a.trace"), &bytes), *at = strstr(data, changes[i].from);
		cr_assert(at, "%s", changes[i].from);
		char *changed = malloc(bytes + 100);
		const int n = snprintf(changed, bytes + 100, "%.*s%s%s", (int)(at - data), data, changes[i].to,
				       at + strlen(changes[i].from));
		cli_write(folder, "b.trace", changed, (size_t)n);
		struct cli_result r = cli_run(&options, "trace", "diff", "@/a.trace", "@/b.trace");
		cr_expect_eq(r.status, 1, "%s", r.err);
		cr_expect(cli_says(r.out, changes[i].says), "%s: %s", changes[i].says, r.out);
		cli_free(&r);
		r = cli_run(&options, "trace", "check", "@/b.trace");
		cr_expect_eq(r.status, 1, "%s", r.err);
		cli_free(&r);
		cli_expect(&options, 0, "trace", "diff", "@/a.trace", "@/b.trace", "--tolerance", "cycles=1%");
		free(changed);
		free(data);
	}
	/* A machine that is slower in one place: signals come later, and others beside them. */
	cli_expect(&options, 0, "trace", "record", GEMM, "--detail", "cycles", "--set",
		   "systolic_16x16.activate.latency_cycles=51", "-o", "@/b.trace");
	struct cli_result r = cli_run(&options, "trace", "diff", "@/a.trace", "@/b.trace");
	cr_expect(r.status == 1 && cli_says(r.out, "differ in times, energy and signals"), "%s", r.out);
	cr_expect(cli_says(r.out, "only in the second trace activate.works changes"), "%s", r.out);
	cli_free(&r);
	r = cli_run(&options, "trace", "show", "@/a.trace", "--unit", "matrix", "--until", "10");
	cr_expect(cli_says(r.out, " 0 matrix.queue=0 matrix.busy=0 ") && cli_says(r.out, "matrix_multiply") &&
			  !cli_says(r.out, "weights.queue"),
		  "%s", r.out);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Returns the number of the first line that has the text. */
static int line_of(const char *data, const char *text)
{
	const char *at = strstr(data, text);
	int line = 1;
	cr_assert(at, "%s", text);
	for (const char *c = data; c < at + (*text == '\n'); c++)
		line += *c == '\n';
	return line;
}

Test(trace_cycles, damaged_lines_are_refused_with_their_number)
{
	static const struct {
		const char *from, *to, *message;
	} damages[] = {{"\nc +1 issue.next=1 ", "\nc 1 issue.next=1 ", "expected + and how many cycles"},
		       {"\nc +1 issue.next=1 ", "\nc +x issue.next=1 ", "expected + and how many cycles"},
		       {"\nc +1 issue.next=1 ", "\nc +-1 issue.next=1 ", "expected + and how many cycles"},
		       {"\nc +1 issue.next=1 ", "\nc issue.next=1 ", "c has too few words"},
		       {"\nc +1 issue.next=1 ", "\nc +1 issue.next=y ", "expected signals with their values"},
		       {"\nc +1 issue.next=1 ", "\nc +1 issue.next= ", "expected signals with their values"},
		       {"\nc +1 issue.next=1 ", "\nc +1 issue.next ", "expected signals with their values"},
		       {"\nc +1 issue.next=1 ", "\nc +1 \"issue.next=1 ", ""},
		       {"\nof Gemm\n", "\nc +1 issue.next=1\nof Gemm\n", "signals within a block"},
		       {"\nevents follow\n", "\nevents follow\nc +1 issue.next=1\n", ""}};
	char folder[CLI_PATH];
	size_t bytes;
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_expect(&options, 0, "trace", "record", GEMM, "--detail", "cycles", "-o", "a.trace");
	char *data = cli_read(cli_path(folder, "a.trace"), &bytes), *changed = malloc(bytes + 100);
	for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
		const char *at = strstr(data, damages[i].from);
		char where[40];
		cr_assert(at, "%s", damages[i].from);
		const int n = snprintf(changed, bytes + 100, "%.*s%s%s", (int)(at - data), data, damages[i].to,
				       at + strlen(damages[i].from));
		cli_write(folder, "bad.trace", changed, (size_t)n);
		const char *damaged = strstr(damages[i].to, "\nc ");
		snprintf(where, sizeof where, "bad.trace:%d: ", line_of(changed, damaged));
		struct cli_result r = cli_run(&options, "trace", "diff", "a.trace", "bad.trace");
		cr_expect(r.status == 3 && strstr(r.err, where) && strstr(r.err, damages[i].message), "%s: %s",
			  damages[i].to, r.err);
		cli_free(&r);
	}
	free(changed);
	free(data);
	cli_remove_folder(folder);
}

Test(trace_cycles, what_has_no_signals_is_refused)
{
	static const struct {
		const char *args[8], *message;
	} bad[] = {{{"digits", "--device", "reference"}, "reference has no engine rtl"},
		   {{"digits", "--device", "gpu_k80"}, "expected a machine of systolic or diannao"},
		   {{"digits", "--device", "tpu_v1", "--engine", "fast"}, "runs the engine rtl, not --engine fast"},
		   {{"digits", "--device", "tpu_v1", "--signals", "mtrix.busy"}, "the nearest is 'matrix.busy'"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	digits_input(folder, 1);
	const struct cli_run_options options = {.folder = folder};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		const char *args[CLI_ARGUMENTS] = {"trace", "record", "--detail", "cycles", "-o", "@/a.trace"};
		memcpy(args + 6, bad[i].args, sizeof bad[i].args);
		struct cli_result r = cli_run_list(&options, args);
		cr_expect(r.status == 2 && strstr(r.err, bad[i].message), "status %d: %s", r.status, r.err);
		cr_expect(access(cli_path(folder, "a.trace"), F_OK) != 0);
		cli_free(&r);
	}
	cli_expect(&options, 2, "trace", "record", "digits", "--device", "tpu_v1", "--signals", "default", "-o",
		   "@/a.trace");
	cli_expect(&options, 2, "trace", "record", "digits", "--device", "tpu_v1", "--detail", "cycle", "-o",
		   "@/a.trace");
	cli_expect(&options, 0, "trace", "record", "digits", "--device", "reference", "--input", "@/in.npy", "-o",
		   "@/a.trace");
	struct cli_result r = cli_run(&options, "trace", "export", "@/a.trace", "--vcd", "@/a.vcd");
	cr_expect(r.status == 2 && strstr(r.err, "reference has no engine rtl"), "status %d: %s", r.status, r.err);
	cli_free(&r);
	r = cli_run(&options, "trace", "export", "@/a.trace", "--list");
	cr_expect(r.status == 0 && cli_says(r.out, "reference: no signals: it has no engine rtl"), "%s%s", r.out,
		  r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}
