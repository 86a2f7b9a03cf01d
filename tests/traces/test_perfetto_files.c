/* SPDX-License-Identifier: MIT
 *
 * Which traces become pictures for Perfetto, and which parts of them. What the program promises: the options choose the
 * instructions that `trace show` prints; names of any bytes are text; what is no trace, or has no times, is refused
 * with its place, and leaves no file. */
#include <zlib.h>

#include "npulab/driver.h"
#include "npulab/run_trace.h"
#include "sim/common/isa.h"
#include "tests/kit/picture.h"
#include "tests/kit/written_trace.h"

/* The instructions of a picture are those that `trace show` prints with the same options. */
static void check_choice(const char *folder, const char *const *choice)
{
	const char *show[CLI_ARGUMENTS] = {"trace", "show", "@/a.trace"},
		   *export[CLI_ARGUMENTS] = {"trace", "export", "@/a.trace", "--perfetto", "@/a.json"};
	for (int i = 0; choice[i]; i++)
		show[3 + i] = export[5 + i] = choice[i];
	picture_expect(folder, 0, export);
	struct cli_result r = cli_run_list(&(struct cli_run_options){.folder = folder}, show);
	json_t *root = picture_read(folder, "a.json"), *events = cli_at(root, "traceEvents"), *event;
	char *tail = r.out;
	size_t e;
	int n = 0;
	json_array_foreach (events, e, event) {
		long long number, begin = -1, end = -1;
		if (!picture_is_instruction(event))
			continue;
		for (char *line; begin < 0 && (line = strsep(&tail, "\n"));)
			if (sscanf(line, "%lld %lld %lld", &number, &begin, &end) != 3)
				begin = -1;
		cr_assert(begin == cli_integer(cli_at(event, "args.begin")) &&
				  end == cli_integer(cli_at(event, "args.end")),
			  "%s %s: instruction %d", choice[0], choice[1], n);
		n++;
	}
	for (char *line; (line = strsep(&tail, "\n"));) {
		long long number, begin, end;
		cr_assert_neq(sscanf(line, "%lld %lld %lld", &number, &begin, &end), 3, "not in the picture: %s", line);
	}
	cr_assert_gt(n, 0);
	json_decref(root);
	cli_free(&r);
}

Test(perfetto_files, choices_are_those_of_show)
{
	static const char *const choices[][8] = {{"--unit", "matrix"},
						 {"--layer", "conv"},
						 {"--layer", "fc1", "--unit", "weights"},
						 {"--from", "3000", "--until", "9000"},
						 {"--from", "1", "--until", "2"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	picture_record(folder, (const char *const[]){"digits", "--device", "tpu_v1", "--timing-only", NULL});
	for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
		check_choice(folder, choices[i]);
	PICTURE_EXPECT(folder, 2, "trace", "export", "@/a.trace", "--perfetto", "@/a.json", "--vcd", "@/a.vcd");
	PICTURE_EXPECT(folder, 2, "trace", "export", "@/a.trace", "--perfetto", "@/a.json", "--signals", "issue");
	PICTURE_EXPECT(folder, 2, "trace", "export", "@/a.trace", "--vcd", "@/a.vcd", "--bin", "4");
	PICTURE_EXPECT(folder, 2, "trace", "export", "@/a.trace", "--perfetto", "@/a.json", "--from", "5", "--until",
		       "5");
	PICTURE_EXPECT(folder, 2, "trace", "export", "@/a.trace", "--perfetto", "@/a.trace");
	cli_remove_folder(folder);
}

/* A picture whose name ends in .gz is the same one, compressed by gzip. */
Test(perfetto_files, gzip_has_the_same_picture)
{
	char folder[CLI_PATH];
	size_t plain, packed;
	cli_folder(folder);
	picture_record(folder, (const char *const[]){"digits", "--device", "tpu_v1", "--timing-only", NULL});
	PICTURE_EXPECT(folder, 0, "trace", "export", "@/a.trace", "--perfetto", "@/a.json");
	PICTURE_EXPECT(folder, 0, "trace", "export", "@/a.trace", "--perfetto", "@/b.json.gz");
	char *text = cli_read(cli_path(folder, "a.json"), &plain), *unpacked = malloc(plain + 2);
	free(cli_read(cli_path(folder, "b.json.gz"), &packed));
	gzFile file = gzopen(cli_path(folder, "b.json.gz"), "rb");
	cr_assert(file && unpacked && !gzdirect(file));
	cr_expect_eq(gzread(file, unpacked, (unsigned)plain + 1), (int)plain);
	cr_expect(!memcmp(text, unpacked, plain) && packed < plain / 4, "%zu bytes, and %zu", plain, packed);
	gzclose(file);
	free(text);
	free(unpacked);
	cli_remove_folder(folder);
}

/* The same trace gives the same bytes, also where it is compressed. */
Test(perfetto_files, compressed_traces_give_the_same)
{
	char folder[CLI_PATH];
	size_t n, m;
	cli_folder(folder);
	PICTURE_EXPECT(folder, 0, "trace", "record", "digits", "--device", "tpu_v1", "--timing-only", "-o",
		       "@/a.trace");
	PICTURE_EXPECT(folder, 0, "trace", "record", "digits", "--device", "tpu_v1", "--timing-only", "-o",
		       "@/b.trace.zst");
	PICTURE_EXPECT(folder, 0, "trace", "export", "@/a.trace", "--perfetto", "@/a.json");
	PICTURE_EXPECT(folder, 0, "trace", "export", "@/b.trace.zst", "--perfetto", "@/b.json");
	char *a = cli_read(cli_path(folder, "a.json"), &n), *b = cli_read(cli_path(folder, "b.json"), &m);
	cr_assert(n == m && !memcmp(a, b, n));
	free(a);
	free(b);
	cli_remove_folder(folder);
}

/* ---- What is refused. */

#define HEAD                                                                                                           \
	"npulab-trace 2\nnpulab 0\nrun layer gemm\ndetail instructions\nvalues no\ntimes yes\n"                        \
	"machine m systolic int8 0\nparameter clock_hz 700000000\nevents follow\n"

/* Names with characters that JSON writes in another way, or cannot. */
Test(perfetto_files, any_names_are_text)
{
	static const char trace[] =
		"npulab-trace 2\nnpulab 0\nrun layer \"\\\"}]\"\ndetail instructions\nvalues no\ntimes yes\n"
		"machine \"m \\\"1\\\\\" systolic int8 0\nparameter clock_hz 1e9\nevents follow\n"
		"program \"m \\\"1\\\\\" \"a\\\"\\x01\xff\xc3\xa9\\\\\"\nblock 1 fields=0\n"
		"of \"a\\\"\\x01\xff\xc3\xa9\\\\\"\ni \"}{\\x1b\" \"u\\\"\" +5 3 unit_busy=1 \"k\\\"\"=2 "
		"x_bytes=7 \"\\\\\"=5\nend 9\n"
		"task layer \"m \\\"1\\\\\" \"a\\\"\\x01\xff\xc3\xa9\\\\\" start=1e-6 seconds=9e-9\n"
		"batch 0 seconds=1e-6\n";
	char folder[CLI_PATH];
	cli_folder(folder);
	trace_write(folder, "a.trace", trace);
	PICTURE_EXPECT(folder, 0, "trace", "export", "@/a.trace", "--perfetto", "@/a.json");
	json_t *root = picture_read(folder, "a.json"), *events = cli_at(root, "traceEvents"), *event;
	size_t e;
	int n = 0;
	json_array_foreach (events, e, event) {
		picture_check_form(events, event);
		cr_assert_str_eq(picture_process(events, event), "m \"1\\");
		if (!picture_is_instruction(event))
			continue;
		cr_assert_str_eq(cli_text(cli_at(event, "name")), "}{\x1b");
		cr_assert_str_eq(picture_thread(events, event), "u\"");
		cr_assert_str_eq(cli_text(cli_at(event, "args.layer")), "a\"\x01\xef\xbf\xbd\xc3\xa9\\");
		cr_assert_eq(picture_ns(event, "ts"), 1006);
		cr_assert_eq(picture_ns(event, "dur"), 2);
		n++;
	}
	cr_assert_eq(n, 1);
	json_decref(root);
	cli_remove_folder(folder);
}

Test(perfetto_files, what_has_no_times_is_refused)
{
	static const struct {
		const char *events, *message;
	} bad[] = {
		{"program m L\nblock 1 fields=0\nof K\ni a u +0 1 issue=1\nend 1\n",
		 ":12: the program has no such layer"},
		{"program m\nblock 1 fields=0\ni a u +0 2 issue=1\nend 1\n", ":12: the classes of the instruction's"},
		{"program m\nblock 1 fields=0\ni a u -1 1 issue=1\nend 1\n",
		 ":12: the instruction begins before its program"},
		{"program m\nblock 1 fields=0\ni a u 1\nend 1\n", ":12: expected an instruction's name"},
		{"program m\nblock 1 fields=0\ni a u +0 900000000000000000 issue=900000000000000000\nend 1\n",
		 ":12: the instruction ends more than 104 days"},
		{"program m\nend 900000000000000000\n", ":11: the program takes more than 104 days"},
		{"program m\nblock 1 fields=0\ni a u +3 2 issue=2\nend 4\n", ":13: an instruction of the program ends"},
		{"program m\nend x\n", ":11: expected the cycles"},
		{"program other\nend 1\n", ":10: the head of the trace has no clock_hz"},
		{"batch 0 seconds=8e6\nbatch 1 seconds=8e6\n", ":11: the batch begins more than 104 days"},
		{"program m\nblock 1 fields=0\n", ":12: comes within a program"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char text[1000];
		snprintf(text, sizeof text, HEAD "%s", bad[i].events);
		trace_write(folder, "bad.trace", text);
		struct cli_result r = cli_run(&options, "trace", "export", "bad.trace", "--perfetto", "bad.json");
		cr_expect(r.status == 3 && strstr(r.err, "bad.trace:") && strstr(r.err, bad[i].message), "%s", r.err);
		cr_expect(access(cli_path(folder, "bad.json"), F_OK), "%s leaves a file", bad[i].message);
		cli_free(&r);
	}
	PICTURE_EXPECT(folder, 0, "trace", "record", "digits", "--device", "reference", "-o", "@/r.trace");
	struct cli_result r = cli_run(&options, "trace", "export", "r.trace", "--perfetto", "bad.json");
	cr_expect(r.status == 3 && strstr(r.err, "r.trace: has no times"), "%s", r.err);
	cli_free(&r);
	/* A full disk leaves the file that was there. */
	PICTURE_EXPECT(folder, 0, "trace", "record", "digits", "--device", "tpu_v1", "--timing-only", "-o",
		       "@/a.trace");
	cli_write_text(folder, "a.json", "before");
	const struct cli_run_options full = {.enter = folder, .largest_file = 1000};
	r = cli_run(&full, "trace", "export", "a.trace", "--perfetto", "a.json");
	cr_expect(r.status == 5 && strstr(r.err, "a.json"), "status %d: %s", r.status, r.err);
	cli_free(&r);
	char *now = cli_read(cli_path(folder, "a.json"), NULL);
	cr_expect_str_eq(now, "before");
	free(now);
	cli_remove_folder(folder);
}

/* Bytes of a trace that have changed: it is refused, with its name, or becomes a whole document. */
Test(perfetto_files, damaged_traces_are_refused_or_whole)
{
	static const char letters[] = "0123456789 ioe=+-\"\\\n\xff";
	const struct npl_trace_choice all = {0};
	char folder[CLI_PATH], in[CLI_PATH], out[CLI_PATH];
	size_t bytes;
	uint64_t rng = 7;
	int whole = 0;
	cli_folder(folder);
	PICTURE_EXPECT(folder, 0, "trace", "record", "lenet5", "--place", "Conv*=systolic_16x16,*=diannao",
		       "--timing-only", "--batch", "1", "-o", "@/a.trace");
	char *text = cli_read(cli_path(folder, "a.trace"), &bytes), *events = strstr(text, "\nevents ");
	snprintf(in, sizeof in, "%s", cli_path(folder, "b.trace"));
	snprintf(out, sizeof out, "%s", cli_path(folder, "b.json"));
	const int64_t first = events - text;
	for (int round = 0; round < TEST_TIMES(100); round++) {
		struct npl_err err = {0};
		char *copy = malloc(bytes + 1);
		cr_assert(copy);
		memcpy(copy, text, bytes + 1);
		for (int k = 0; k <= round % 4; k++)
			copy[test_range(&rng, first, (int64_t)bytes - 1)] = letters[test_range(&rng, 0, 20)];
		cli_write(folder, "b.trace", copy, bytes);
		unlink(out);
		if (npl_trace_export_perfetto(in, out, &all, 16, NULL, &err)) {
			cr_assert(err.code == NPL_EINPUT && !strncmp(err.msg, in, strlen(in)), "%s", err.msg);
			cr_assert(access(out, F_OK), "%s leaves a file", err.msg);
		} else {
			json_t *root = json_load_file(out, 0, NULL);
			cr_assert(root, "round %d gives no document", round);
			picture_check_no_overlap(cli_at(root, "traceEvents"));
			json_decref(root);
			whole++;
		}
		free(copy);
	}
	cr_assert_gt(whole, 0);
	free(text);
	cli_remove_folder(folder);
}

/* The list of classes of cycles has those of all machines. */
Test(perfetto_files, all_classes_of_cycles_are_known)
{
	char *list = cli_read("traces/classes.def", NULL), row[100];
	int n = 0;
	for (const struct npl_driver *const *d = npl_drivers; *d; d++)
		for (int i = 0; (*d)->isa && i < (*d)->isa->n_time_classes; i++, n++) {
			snprintf(row, sizeof row, "\nTRACE_CLASS(%s, ", (*d)->isa->time_class[i].name);
			cr_expect(strstr(list, row), "traces/classes.def lacks %s of %s", (*d)->isa->time_class[i].name,
				  (*d)->name);
		}
	cr_assert_gt(n, 20);
	free(list);
}
