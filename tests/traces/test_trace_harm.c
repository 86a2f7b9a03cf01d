/* SPDX-License-Identifier: MIT
 *
 * What `npulab trace` must not do with files: replace what a run read, leave a trace that nobody can read, or obey
 * options in a trace that no recording writes. */
#include "tests/kit/cli_run.h"

static void expect_status(const struct cli_run_options *options, int status, const char *says,
			  const char *const *arguments)
{
	struct cli_result r = cli_run_list(options, arguments);
	cr_expect(r.status == status && strstr(r.err, says), "%s %s: status %d\n%s", arguments[1], arguments[2],
		  r.status, r.err);
	cli_free(&r);
}
#define EXPECT(options, status, says, ...)                                                                             \
	expect_status(options, status, says, (const char *const[]){__VA_ARGS__, NULL})

#define LAYER "layer", "gemm", "-m", "4", "-n", "16", "-k", "16", "--device", "systolic_16x16", "--quiet"

static void expect_bytes(const char *folder, const char *name, const char *data, size_t bytes)
{
	size_t now;
	char *read = cli_read(cli_path(folder, name), &now);
	cr_expect(now == bytes && !memcmp(read, data, bytes), "%s is another file", name);
	free(read);
}

Test(trace_harm, a_report_replaces_nothing_that_a_run_reads)
{
	static const char *const outputs[] = {"--json", "--junit", "--markdown"};
	char folder[CLI_PATH];
	size_t trace_bytes, model_bytes;
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	char *model = cli_read("models/digits.onnx", &model_bytes);
	cli_write(folder, "net.onnx", model, model_bytes);
	EXPECT(&options, 0, "", "trace", "record", LAYER, "-o", "a.trace");
	EXPECT(&options, 0, "", "trace", "record", "net.onnx", "--device", "tpu_v1", "--batch", "2", "--quiet", "-o",
	       "net.trace");
	char *trace = cli_read(cli_path(folder, "a.trace"), &trace_bytes);
	for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
		EXPECT(&options, 2, "is read by this run and would be overwritten", "trace", "check", "net.trace",
		       "a.trace", outputs[i], "./a.trace");
		expect_bytes(folder, "a.trace", trace, trace_bytes);
		EXPECT(&options, 2, "is read by this run and would be overwritten", "trace", "check", "net.trace",
		       outputs[i], "net.onnx");
		expect_bytes(folder, "net.onnx", model, model_bytes);
	}
	free(trace);
	free(model);
	cli_remove_folder(folder);
}

/* Text that does not fit into a line of a trace. */
Test(trace_harm, a_trace_that_nobody_could_read_is_not_written)
{
	enum { LONG = 70000 };
	char folder[CLI_PATH], *reason = malloc(LONG + 1);
	size_t bytes;
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cr_assert(reason);
	memset(reason, 'y', LONG);
	reason[LONG] = '\0';
	EXPECT(&options, 0, "", "trace", "record", LAYER, "-o", "a.trace", "--set",
	       "systolic_16x16.weight_fifo.tiles=2");
	char *trace = cli_read(cli_path(folder, "a.trace"), &bytes);
	EXPECT(&options, 5, "a line of it would have", "trace", "record", LAYER, "-o", "b.trace", "--reason", reason);
	cr_expect(access(cli_path(folder, "b.trace"), F_OK) != 0);
	/* A blessing records what moved. */
	char *moved = malloc(bytes + 1), *end = strstr(trace, "\nend ");
	cr_assert(moved && end);
	memcpy(moved, trace, bytes);
	moved[end - trace + 5] = moved[end - trace + 5] == '9' ? '8' : '9';
	cli_write(folder, "a.trace", moved, bytes);
	EXPECT(&options, 5, "a line of it would have", "trace", "bless", "a.trace", "--reason", reason);
	expect_bytes(folder, "a.trace", moved, bytes);
	free(moved);
	free(trace);
	free(reason);
	cli_remove_folder(folder);
}

Test(trace_harm, options_that_no_recording_writes_are_refused)
{
	static const char *const options_of_none[] = {"help",      "h",     "o x",          "max-memory 1",
						      "threads 2", "quiet", "detail layers"};
	char folder[CLI_PATH], text[200];
	size_t bytes;
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	EXPECT(&options, 0, "", "trace", "record", LAYER, "-o", "a.trace");
	char *trace = cli_read(cli_path(folder, "a.trace"), &bytes), *rest = strstr(trace, "\noption ");
	cr_assert(rest);
	for (size_t i = 0; i < sizeof options_of_none / sizeof *options_of_none; i++) {
		FILE *file = fopen(cli_path(folder, "b.trace"), "wb");
		cr_assert(file);
		const char *blank = strchr(options_of_none[i], ' ');
		fwrite(trace, 1, (size_t)(rest - trace), file);
		fprintf(file, "\noption %s%s%s", options_of_none[i], blank ? "" : " \"\"", rest);
		fclose(file);
		snprintf(text, sizeof text, "its option '%.*s' is none of a run", (int)strcspn(options_of_none[i], " "),
			 options_of_none[i]);
		EXPECT(&options, 3, text, "trace", "check", "b.trace");
	}
	free(trace);
	cli_remove_folder(folder);
}
