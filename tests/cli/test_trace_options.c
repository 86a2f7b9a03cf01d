/* SPDX-License-Identifier: MIT
 *
 * Options of `npulab trace`. What the program promises: what contradicts itself, does not fit what is recorded or would
 * be ignored is refused, and says what to do; no command makes a file of another format than its name says, or loses
 * the history of a trace. */
#include <sys/stat.h>

#include "tests/kit/cli_run.h"

#define LAYER "layer", "gemm", "-m", "4", "-n", "16", "-k", "16", "--device", "systolic_16x16"

Test(trace_options, contradictions_are_refused)
{
	static const struct cli_refusal cases[] = {
		{2,
		 "one of --perfetto OUT, --vcd OUT and --list",
		 {"trace", "export", "@/a", "--list", "--vcd", "@/w"}},
		{2, "one of --perfetto OUT", {"trace", "export", "@/a", "--list", "--perfetto", "@/w"}},
		{2, "one of --perfetto OUT", {"trace", "export", "@/a", "--vcd", "@/v", "--perfetto", "@/w"}},
		{2, "--list takes no --signals", {"trace", "export", "@/a", "--list", "--signals", "array.*"}},
		{2, "--list takes no --layer", {"trace", "export", "@/a", "--list", "--layer", "Gemm"}},
		{2, "--list takes no --from", {"trace", "export", "@/a", "--list", "--from", "3"}},
		{2, "--list takes no --until", {"trace", "export", "@/a", "--list", "--until", "3"}},
		{2, "--list takes no --bin", {"trace", "export", "@/a", "--list", "--bin", "3"}},
		{2,
		 "--until must be a whole number from 1",
		 {"trace", "export", "@/a", "--vcd", "@/w", "--until", "0"}},
		{2, "--until must be a whole number from 1", {"trace", "show", "@/a", "--until", "0"}},
		{2, "no cycle is between", {"trace", "show", "@/a", "--from", "3", "--until", "3"}},
		{2,
		 "has 'Gem2' in its name; the nearest is 'Gemm'",
		 {"trace", "diff", "@/a", "@/a", "--layer", "Gem2"}},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	cli_record(&options, LAYER, "-o", "@/a", "--quiet");
	CLI_CHECK(folder, cases);
	cli_expect(&options, 0, "trace", "export", "@/a", "--list", "--machine", "systolic_16x16", "--current");
	cli_expect(&options, 0, "trace", "diff", "@/a", "@/a", "--layer", "em");
	cli_remove_folder(folder);
}

/* Options that the run would ignore. */
Test(trace_options, each_kind_of_run_has_its_own)
{
#define TO "-o", "@/b"
	static const struct cli_refusal cases[] = {
		{2,
		 "-m is an option of layers, and 'digits' is a network",
		 {"trace", "record", "digits", "-m", "4", "--device", "tpu_v1", TO}},
		{2,
		 "--requantise is an option of layers, and 'digits' is a network",
		 {"trace", "record", "digits", "--device", "tpu_v1", "--requantise", TO}},
		{2,
		 "--weights is an option of programs, and 'digits' is a network",
		 {"trace", "record", "digits", "--weights", "x", "--device", "tpu_v1", TO}},
		{2,
		 "--batch is an option of networks, and 'gemm' is a layer",
		 {"trace", "record", LAYER, "--batch", "2", TO}},
		{2,
		 "--host is an option of networks",
		 {"trace", "record", LAYER, "--host", "cpu_haswell_e5_2699v3", TO}},
		{2, "--place is an option of networks", {"trace", "record", LAYER, "--place", "*=tpu_v1", TO}},
		{2, "--buffer is an option of programs", {"trace", "record", LAYER, "--buffer", "x", TO}},
		{2, "-k is an option of layers, and '", {"trace", "record", "@/p.s", "-k", "2", TO}},
		{2, "--input is an option of networks and layers", {"trace", "record", "@/p.s", "--input", "x", TO}},
		{2, "--seed is an option of networks and layers", {"trace", "record", "@/p.s", "--seed", "2", TO}},
		{2, "--place-file is an option of networks", {"trace", "record", "@/p.s", "--place-file", "x", TO}},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	cli_write_text(folder, "p.s", ".machine systolic_16x16\nhalt\n");
	CLI_CHECK(folder, cases);
	/* Those of a head too. */
	cli_record(&options, LAYER, "-o", "@/a", "--quiet");
	char *text = cli_read(cli_path(folder, "a"), NULL), *rest = strstr(text, "option m 4\n");
	FILE *file = fopen(cli_path(folder, "bad"), "w");
	cr_assert(rest && file);
	fprintf(file, "%.*soption batch 2\n%s", (int)(rest - text), text, rest);
	cr_assert_eq(fclose(file), 0);
	struct cli_result r = cli_run(&options, "trace", "check", "@/bad");
	cli_check_refusal(&r, 3, "--batch is an option of networks", "a head");
	cli_free(&r);
	free(text);
	cli_remove_folder(folder);
}

/* A layer that only one of two traces has can be asked for. */
Test(trace_options, a_layer_of_either_trace_is_found)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	cli_record(&options, LAYER, "-o", "@/a", "--quiet");
	cli_record(&options, "digits", "--device", "systolic_16x16", "--timing-only", "-o", "@/b", "--quiet");
	for (int i = 0; i < 2; i++) {
		cli_expect(&options, 1, "trace", "diff", "@/a", "@/b", "--layer", i ? "Gemm" : "fc1");
		cli_expect(&options, 1, "trace", "diff", "@/b", "@/a", "--layer", i ? "Gemm" : "fc1");
	}
	struct cli_result r = cli_run(&options, "trace", "diff", "@/a", "@/b", "--layer", "fc9");
	cli_check_refusal(&r, 2, "no layer of either trace has 'fc9' in its name; the nearest is 'fc1'", "fc9");
	cli_free(&r);
	cli_remove_folder(folder);
}

Test(trace_options, names_say_what_is_written)
{
	static const struct cli_refusal cases[] = {
		{2, "-o -: expected the name of a file", {"trace", "record", LAYER, "-o", "-"}},
		{2, "--vcd -: expected the name of a file", {"trace", "export", "@/a", "--vcd", "-"}},
		{2, "--perfetto -: expected the name of a file", {"trace", "export", "@/a", "--perfetto", "-"}},
		{2, "vcd2fst", {"trace", "export", "@/a", "--vcd", "@/w.fst"}},
		{2, "ends in .zst", {"trace", "export", "@/a", "--vcd", "@/w.vcd.gz"}},
		{2, "ends in .zst", {"trace", "record", LAYER, "-o", "@/b.trace.gz"}},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder}, inside = {.enter = folder};
	cli_record(&options, LAYER, "-o", "@/a", "--quiet");
	CLI_CHECK(folder, cases);
	cli_expect(&inside, 2, "trace", "record", LAYER, "-o", "-");
	cr_expect_eq(cli_count_files(folder), 1, "a file was made");
	cli_remove_folder(folder);
}

Test(trace_options, a_folder_is_no_trace)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cr_assert_eq(mkdir(cli_path(folder, "traces"), 0777), 0);
	static const char *const names[] = {"traces", "traces/"};
	for (int i = 0; i < 2; i++) {
		struct cli_result r = cli_run(&options, "trace", "check", names[i]);
		cli_check_refusal(&r, 3, "is a folder, expected the traces in it, as traces/*", names[i]);
		cli_free(&r);
		r = cli_run(&options, "trace", "bless", names[i], "--reason", "why");
		cli_check_refusal(&r, 3, "is a folder, expected the traces in it, as traces/*", names[i]);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* Reasons are lost by no `record`: a trace with a history is blessed. One without is replaced, as any other file. */
Test(trace_options, recording_loses_no_history)
{
	char folder[CLI_PATH];
	size_t bytes;
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_write_text(folder, "a.trace", "some text");
	for (int i = 0; i < 2; i++)
		cli_record(&options, LAYER, "-o", "a.trace", "--quiet");
	char *text = cli_read(cli_path(folder, "a.trace"), &bytes), *end = strstr(text, "\nend ");
	cr_assert(end);
	end[5] = end[5] == '9' ? '8' : '9';
	cli_write(folder, "a.trace", text, bytes);
	cli_expect(&options, 0, "trace", "bless", "a.trace", "--reason", "a program ends earlier");
	struct cli_result r = cli_run(&options, "trace", "record", LAYER, "-o", "a.trace");
	cli_check_refusal(&r, 2, "a.trace has a history of 2 reasons, which would be lost", "blessed");
	cr_expect(strstr(r.err, "`npulab trace bless`") && strstr(r.err, "remove the file"), "%s", r.err);
	cli_free(&r);
	cr_assert_eq(unlink(cli_path(folder, "a.trace")), 0);
	cli_record(&options, LAYER, "-o", "a.trace", "--quiet");
	cli_record(&options, LAYER, "-o", "/dev/null", "--quiet");
	free(text);
	cli_remove_folder(folder);
}
