/* SPDX-License-Identifier: MIT
 *
 * `npulab trace record` and `bless`. What the program promises: what was recorded is said in a line; the result of a
 * single layer is recorded; blessing leaves alone what has not moved, byte for byte, and says what moved in the rest;
 * where files or parameters are others, and nothing else, a check says so. */
#include "tests/kit/cli_run.h"

static struct cli_result expect(const struct cli_run_options *options, int status, const char *const *args)
{
	struct cli_result r = cli_run_list(options, args);
	cr_assert_eq(r.status, status, "%s %s %s: status %d\n%s%s", args[0], args[1], args[2], r.status, r.err, r.out);
	return r;
}
#define EXPECT(options, status, ...) expect((options), (status), (const char *const[]){__VA_ARGS__, NULL})

/* The seed draws the operands of a layer, and its result shows it. */
Test(trace_record, the_result_of_a_single_layer_is_recorded)
{
	static const char *const runs[][4] = {
		{"cpu", "instructions"}, {"systolic_16x16", "layers"}, {"diannao", "layers"}, {"reference", "layers"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		for (int seed = 1; seed <= 2; seed++)
			cli_expect(&options, 0, "trace", "record", "layer", "gemm", "-m", "4", "-n", "16", "-k", "16",
				   "--device", runs[i][0], "--detail", runs[i][1], "--seed", seed == 1 ? "1" : "2",
				   "-o", seed == 1 ? "@/1.trace" : "@/2.trace");
		struct cli_result r = EXPECT(&options, 1, "trace", "diff", "@/1.trace", "@/2.trace");
		cr_expect(cli_says(r.out, "differ in values"), "%s: %s", runs[i][0], r.out);
		cli_free(&r);
	}
	char *text;
	cli_expect(&options, 0, "trace", "record", "layer", "gemm", "-m", "4", "-n", "16", "-k", "16", "--device",
		   "systolic_16x16", "--requantise", "-o", "@/1.trace");
	text = cli_read(cli_path(folder, "1.trace"), NULL);
	const char *row = strstr(text, "\nlayer ");
	cr_assert(row);
	cr_expect(strstr(row, " scale=") && strstr(row, " sum="), "%s", row);
	free(text);
	cli_remove_folder(folder);
}

Test(trace_record, a_line_says_what_was_recorded)
{
	char folder[CLI_PATH], expected[100];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	struct cli_result r = EXPECT(&options, 0, "trace", "record", "layer", "gemm", "-m", "4", "-n", "16", "-k", "16",
				     "--device", "systolic_16x16", "-o", "a.trace"),
			  check = EXPECT(&options, 0, "trace", "check", "a.trace");
	size_t bytes;
	const unsigned long long events = strtoull(strstr(check.out, "same, ") + 6, NULL, 10);
	free(cli_read(cli_path(folder, "a.trace"), &bytes));
	cr_assert(bytes > 999 && bytes < 9950);
	snprintf(expected, sizeof expected, "a.trace: %llu events, %.3g kB\n", events, (double)bytes / 1000);
	cr_expect_str_eq(r.out, expected);
	cli_free(&r);
	cli_free(&check);
	r = EXPECT(&options, 0, "trace", "record", "layer", "gemm", "-m", "4", "-n", "16", "-k", "16", "--device",
		   "systolic_16x16", "-o", "a.trace", "--quiet");
	cr_expect_eq(r.out_bytes + r.err_bytes, 0, "%s%s", r.out, r.err);
	cli_free(&r);
	r = EXPECT(&options, 0, "trace", "export", "a.trace", "--perfetto", "a.json");
	cr_expect(!strncmp(r.out, "a.json: ", 8) && strstr(r.out, " events, "), "%s", r.out);
	cli_free(&r);
	cr_assert_eq(setenv("TMPDIR", "/nonexistent/folder", 1), 0);
	r = EXPECT(&options, 5, "trace", "check", "a.trace");
	cr_expect(strstr(r.err, "a.trace: ") && strstr(r.err, "/nonexistent/folder"), "%s", r.err);
	cli_free(&r);
	unsetenv("TMPDIR");
	cli_remove_folder(folder);
}

/* Writes a copy of a trace in which the line that begins with `line` is another one; NULL: there is none instead. */
static void change(const char *folder, const char *from, const char *to, const char *line, const char *other)
{
	char *text = cli_read(cli_path(folder, from), NULL), *tail = text;
	FILE *out = fopen(cli_path(folder, to), "w");
	int found = 0;
	cr_assert(out);
	for (char *at; (at = strsep(&tail, "\n")) && tail;) {
		const bool is_it = !strncmp(at, line, strlen(line));
		found += is_it;
		if (!is_it || other)
			fprintf(out, "%s\n", is_it ? other : at);
	}
	cr_assert(!fclose(out) && found == 1, "%s has %d lines '%s'", from, found, line);
	free(text);
}

static void expect_same(const char *folder, const char *name, const char *before, size_t bytes, bool same)
{
	size_t n;
	char *now = cli_read(cli_path(folder, name), &n);
	cr_expect_eq(n == bytes && !memcmp(now, before, n), same, "%s", name);
	free(now);
}

Test(trace_bless, what_has_not_moved_is_left_alone)
{
	char folder[CLI_PATH];
	size_t bytes;
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_expect(&options, 0, "trace", "record", "layer", "gemm", "-m", "4", "-n", "16", "-k", "16", "--device",
		   "systolic_16x16", "-o", "a.trace");
	char *text = cli_read(cli_path(folder, "a.trace"), &bytes);
	/* b has other times; c the same events with a parameter that moves none; d a run that cannot be made. */
	change(folder, "a.trace", "b.trace", "end ", "end 75");
	change(folder, "a.trace", "c.trace", "parameter activity ", NULL);
	change(folder, "a.trace", "d.trace", "run layer gemm", "run layer gem");
	struct cli_result r = EXPECT(&options, 0, "trace", "check", "c.trace");
	cr_expect(strstr(r.err, "systolic_16x16: the trace lacks activity: checked with not_counted, as it is now"),
		  "%s", r.err);
	cli_free(&r);
	r = EXPECT(&options, 3, "trace", "bless", "a.trace", "d.trace", "b.trace", "c.trace", "--reason", "why not",
		   "--jobs", "2");
	cr_expect(strstr(r.out, "a.trace: the same, left alone\nb.trace: blessed: ") == r.out, "%s", r.out);
	cr_expect(strstr(r.out, " moved\nc.trace: blessed: other files or parameters, and the same events\n"), "%s",
		  r.out);
	cr_expect(strstr(r.err, "npulab: d.trace: layer: 'gem'") &&
			  strstr(r.err, "npulab: 1 of 4 traces could not be made again"),
		  "%s", r.err);
	cli_free(&r);
	expect_same(folder, "a.trace", text, bytes, true);
	expect_same(folder, "b.trace", text, bytes, false);
	free(text);
	r = EXPECT(&options, 0, "trace", "diff", "a.trace", "b.trace");
	cli_free(&r);
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = {"a.trace", "b.trace", "c.trace"};
		r = EXPECT(&options, 0, "trace", "show", names[i]);
		cr_expect_eq(cli_says(r.out, ": why not\n"), i > 0, "%s", r.out);
		cli_free(&r);
	}
	r = EXPECT(&options, 0, "trace", "bless", "a.trace", "b.trace", "--reason", "once more", "--quiet");
	cr_expect_eq(r.out_bytes + r.err_bytes, 0, "%s%s", r.out, r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* A model file with other bytes and the same weights. */
Test(trace_bless, another_version_of_a_file_is_named)
{
	char folder[CLI_PATH];
	size_t bytes;
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	char *model = cli_read("models/digits.onnx", &bytes);
	cli_write(folder, "net.onnx", model, bytes);
	cli_expect(&options, 0, "trace", "record", "net.onnx", "--device", "tpu_v1", "--timing-only", "-o", "a.trace");
	/* An unknown field of ModelProto, which readers skip: number 100, a varint. */
	char *longer = realloc(model, bytes + 3);
	cr_assert(longer);
	memcpy(longer + bytes, "\xa0\x06\x01", 3);
	cli_write(folder, "net.onnx", longer, bytes + 3);
	free(longer);
	struct cli_result r = EXPECT(&options, 0, "trace", "check", "a.trace", "--current");
	cr_expect(strstr(r.err, "a.trace: the model of 'net.onnx' is another version than that of the trace"), "%s",
		  r.err);
	cli_free(&r);
	cli_expect(&options, 3, "trace", "check", "a.trace");
	r = EXPECT(&options, 0, "trace", "bless", "a.trace", "--reason", "a note in the model");
	cr_expect(cli_says(r.out, "a.trace: blessed: other files or parameters"), "%s", r.out);
	cli_free(&r);
	cli_expect(&options, 0, "trace", "check", "a.trace");
	cli_remove_folder(folder);
}

/* A head may have any number of machines. */
Test(trace_again, all_machines_are_listed)
{
	char folder[CLI_PATH], line[100];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_expect(&options, 0, "trace", "record", "lenet5", "--place", "Conv*=tpu_v1,*=diannao", "--timing-only",
		   "--detail", "layers", "-o", "a.trace");
	char *text = cli_read(cli_path(folder, "a.trace"), NULL), *machines = strstr(text, "\nmachine ");
	FILE *out = fopen(cli_path(folder, "b.trace"), "w");
	cr_assert(out && machines);
	fprintf(out, "%.*s\n", (int)(machines - text), text);
	for (int tiles = 1; tiles <= 40; tiles++)
		fprintf(out, "machine \"systolic_16x16@weight_fifo.tiles=%d\" systolic int8 0\n", tiles);
	cr_assert(fputs(machines + 1, out) >= 0 && !fclose(out));
	free(text);
	struct cli_result r = EXPECT(&options, 0, "trace", "export", "b.trace", "--list", "--current");
	for (int tiles = 1; tiles <= 40; tiles++) {
		snprintf(line, sizeof line, "systolic_16x16@weight_fifo.tiles=%d: * stands before", tiles);
		cr_expect(strstr(r.out, line), "no list of %s", line);
	}
	cli_free(&r);
	cli_remove_folder(folder);
}
