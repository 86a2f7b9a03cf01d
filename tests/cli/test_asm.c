/* SPDX-License-Identifier: MIT
 *
 * npulab asm, disasm and exec. What the program promises: the worked example of docs/tpu-isa.md does what the document
 * says, to the byte and the cycle, on both engines; binary and text go into each other; and whatever is wrong with a
 * program, its memories or the command line is one line and an exit status, and leaves no file. */
#include "tests/kit/cli_example.h"
#include "tests/kit/cli_json.h"

#include "npulab/graph.h"
#include "npulab/tensor_file.h"

#define DOCUMENT "docs/tpu-isa.md"
#define MACHINE  "systolic_16x16"

/* The example's network, as its text has it. */
static const int32_t first_bias[] = {100, 0, -100, 50}, second_bias[] = {10, 20, 30};

static int pixel(int image, int y, int x)
{
	bool inside = y >= 0 && y < 4 && x >= 0 && x < 4;
	return inside ? (image * 16 + y * 4 + x) * 89 % 256 : 0;
}

static int conv_weight(int tap, int filter)
{
	return (tap * 4 + filter) * 37 % 15 - 7;
}

static int dense_weight(int input, int output)
{
	return (input * 3 + output) * 29 % 19 - 9;
}

/* sum / 2^shift, to the nearest whole number, of two equally near the even one, kept within low to high. */
static int scaled(int sum, int shift, int low, int high)
{
	int floor = (sum - ((sum % (1 << shift)) + (1 << shift)) % (1 << shift)) / (1 << shift);
	int rest = sum - floor * (1 << shift), half = 1 << (shift - 1);
	int q = floor + (rest > half || (rest == half && floor % 2 != 0));
	return q < low ? low : q > high ? high : q;
}

static void expected_scores(uint8_t scores[6])
{
	for (int n = 0; n < 2; n++) {
		int hidden[16] = {0};
		for (int p = 0; p < 16; p++)
			for (int f = 0; f < 4; f++) {
				int sum = first_bias[f], *maximum = &hidden[(p / 8 * 2 + p % 4 / 2) * 4 + f];
				for (int t = 0; t < 9; t++)
					sum += pixel(n, p / 4 + t / 3 - 1, p % 4 + t % 3 - 1) * conv_weight(t, f);
				sum = scaled(sum, 4, 0, 255);
				*maximum = sum > *maximum ? sum : *maximum;
			}
		for (int o = 0; o < 3; o++) {
			int sum = second_bias[o];
			for (int i = 0; i < 16; i++)
				sum += hidden[i] * dense_weight(i, o);
			scores[n * 3 + o] = (uint8_t)scaled(sum, 5, -128, 127);
		}
	}
}

static void put_table(uint8_t *table, const int32_t *bias, int n, float scale)
{
	for (int i = 0; i < n; i++) {
		memcpy(table + 8 * i, &bias[i], 4);
		memcpy(table + 8 * i + 4, &scale, 4);
	}
}

/* Writes host.npy, weights.npy and example.s into the folder. */
static void write_example(const char *folder)
{
	uint8_t image[32], weights[48 * 16] = {0};
	for (int i = 0; i < 32; i++)
		image[i] = (uint8_t)pixel(i / 16, i % 16 / 4, i % 4);
	for (int t = 0; t < 9; t++)
		for (int f = 0; f < 4; f++)
			weights[t * 16 + f] = (uint8_t)conv_weight(t, f);
	put_table(weights + 256, first_bias, 4, 0x1p-4f);
	for (int i = 0; i < 16; i++)
		for (int o = 0; o < 3; o++)
			weights[384 + i * 16 + o] = (uint8_t)dense_weight(i, o);
	put_table(weights + 640, second_bias, 3, 0x1p-5f);
	cli_save_bytes(folder, "host.npy", image, sizeof image);
	cli_save_bytes(folder, "weights.npy", weights, sizeof weights);
	char *text = cli_block(DOCUMENT, "asm");
	cli_write_text(folder, "example.s", text);
	free(text);
}

static void check_scores(const char *path, const uint8_t expected[6])
{
	struct npl_tensor y = {0};
	struct npl_err err = {0};
	cr_assert_eq(npl_tensor_load(path, &y, &err), 0, "%s", err.msg);
	cr_assert(y.dtype == NPL_U8 && y.shape.rank == 1 && y.shape.dim[0] == 6);
	cr_assert_arr_eq(y.data, expected, 6);
	npl_tensor_free(&y);
}

/* The block's events are the file's without those of issue. */
static void check_events(const char *folder)
{
	char *file = cli_read(cli_path(folder, "events.csv"), NULL), *tail = file,
	     *expected = cli_block(DOCUMENT, "csv"), *line;
	int issued = 0;
	for (char *at = expected; (line = strsep(&tail, "\n")) && *line;) {
		cr_assert_eq(line[strlen(line) - 1], '\r');
		line[strlen(line) - 1] = '\0';
		if (strstr(line, ",issued,")) {
			issued++;
			continue;
		}
		char *row = strsep(&at, "\n");
		cr_assert(row, "one more event: %s", line);
		cr_assert_str_eq(line, row);
	}
	cr_assert_eq(issued, 49);
	free(file);
	free(expected);
}

/* The document's numbers in numpy, where that is installed: its files are those that this test makes. */
static void check_numpy(const char *folder, const uint8_t expected[6])
{
	char command[3 * CLI_PATH], *script = cli_block(DOCUMENT, "python");
	size_t bytes;
	char *image = cli_read(cli_path(folder, "host.npy"), &bytes),
	     *weights = cli_read(cli_path(folder, "weights.npy"), NULL);
	cli_write_text(folder, "example.py", script);
	snprintf(command, sizeof command, "cd '%s' && /usr/bin/python3 -c 'import numpy' 2>/dev/null", folder);
	if (!system(command)) { /* NOLINT(cert-env33-c) */
		snprintf(command, sizeof command, "cd '%s' && /usr/bin/python3 example.py", folder);
		cr_assert_eq(system(command), 0); /* NOLINT(cert-env33-c) */
		check_scores(cli_path(folder, "expected.npy"), expected);
		struct npl_tensor a = {0}, b = {0};
		struct npl_err err = {0};
		cr_assert_eq(npl_tensor_load(cli_path(folder, "host.npy"), &a, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_tensor_load(cli_path(folder, "weights.npy"), &b, &err), 0, "%s", err.msg);
		cr_assert(npl_tensor_bytes(&a) == 32 && npl_tensor_bytes(&b) == 768);
		cr_assert_arr_eq(a.data, image + bytes - 32, 32);
		cr_assert_arr_eq(b.data, weights + bytes - 32, 768); /* the headers are of one length */
		npl_tensor_free(&a);
		npl_tensor_free(&b);
	}
	free(script);
	free(image);
	free(weights);
}

Test(cli_asm, the_page_s_example_gives_what_it_says)
{
	char folder[CLI_PATH], *lines = cli_block(DOCUMENT, "sh"), *message = cli_block(DOCUMENT, "text"),
			       expected_text[64];
	uint8_t expected[6];
	struct cli_result r = {0};
	cli_folder(folder);
	write_example(folder);
	expected_scores(expected);
	snprintf(expected_text, sizeof expected_text, "%d %d %d %d %d %d\n", expected[0], expected[1], expected[2],
		 expected[3], expected[4], expected[5]);
	cr_assert_str_eq(message, expected_text);
	cli_run_lines(folder, lines, &r);
	check_scores(cli_path(folder, "scores.npy"), expected);
	check_events(folder);
	check_numpy(folder, expected);
	free(lines);
	free(message);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Both engines, text and binary, give the same events and the same JSON except the engine's name. */
Test(cli_asm, both_engines_give_the_same_events_and_json)
{
	char folder[CLI_PATH], *events[2], *json[2];
	const struct cli_run_options options = {.folder = folder};
	static const char *const engine[] = {"rtl", "fast"};
	cli_folder(folder);
	write_example(folder);
	struct cli_result r = cli_run(&options, "asm", "@/example.s", "-o", "@/example.bin");
	cr_assert(r.status == 0 && !r.out_bytes && !r.err_bytes, "%s", r.err);
	cli_free(&r);
	for (int i = 0; i < 2; i++) {
		r = cli_run(&options, "exec", i ? "@/example.s" : "@/example.bin", "--machine", MACHINE,
			    "--host-memory", "@/host.npy", "--weights", "@/weights.npy", "--output", "@/y.npy",
			    "--engine", engine[i], "--events", "@/e.csv", "--json", "@/e.json", "--quiet");
		cr_assert(r.status == 0 && !r.out_bytes && !r.err_bytes, "%s", r.err);
		cli_free(&r);
		events[i] = cli_read(cli_path(folder, "e.csv"), NULL);
		cli_drop_lines(events[i]);
		json[i] = cli_read(cli_path(folder, "e.json"), NULL);
	}
	cr_assert_str_eq(events[0], events[1]);
	json_t *a = cli_parse_json(json[0]), *b = cli_parse_json(json[1]);
	cli_check_keys(a,
		       "schema:s npulab:o machine:s machine_sha256:s engine:s cycles:i seconds:n counters:o "
		       "overflows:i saturations:i output:o instructions:A",
		       "the result");
	cr_assert_str_eq(cli_text(cli_at(a, "schema")), "npulab.exec/1");
	cr_assert_str_eq(cli_text(cli_at(a, "engine")), "rtl");
	cr_assert_str_eq(cli_text(cli_at(b, "engine")), "fast");
	json_object_del(a, "engine");
	json_object_del(b, "engine");
	cr_assert(json_equal(a, b), "%s%s", json[0], json[1]);
	long long cycles = cli_integer(cli_at(a, "cycles"));
	cr_assert_eq(cli_integer(cli_at(a, "counters.array_active")) + cli_integer(cli_at(a, "counters.weight_stall")) +
			     cli_integer(cli_at(a, "counters.weight_shift")) +
			     cli_integer(cli_at(a, "counters.non_matrix")),
		     cycles);
	cr_assert(cli_near(cli_number(cli_at(a, "seconds")), (double)cycles / 700e6, 1e-12));
	cr_assert_eq(cli_integer(cli_at(a, "output.address")), 64);
	cr_assert_eq(cli_integer(cli_at(a, "output.bytes")), 6);
	json_t *timed = cli_json(&options, "exec", "@/example.s", "--machine", MACHINE, "--timing-only", "--json", "-");
	cr_assert_eq(cli_integer(cli_at(timed, "cycles")), cycles);
	cr_assert(json_is_null(cli_at(timed, "output")) && json_is_null(cli_at(timed, "saturations")));
	cr_assert(json_equal(cli_at(timed, "counters"), cli_at(a, "counters")));
	json_decref(timed);
	timed = cli_json(&options, "exec", "@/example.s", "--machine", MACHINE, "--timing-only", "--json", "-", "--set",
			 MACHINE ".activate.cycles_per_row=3");
	cr_assert_gt(cli_integer(cli_at(timed, "cycles")), cycles);
	json_decref(timed);
	for (int i = 0; i < 2; i++) {
		free(events[i]);
		free(json[i]);
	}
	json_decref(a);
	json_decref(b);
	cli_remove_folder(folder);
}

/* A binary becomes text and the same binary again, through standard output as through a file. */
Test(cli_asm, a_binary_becomes_text_and_the_same_binary)
{
	char folder[CLI_PATH];
	size_t bytes, again_bytes;
	const struct cli_run_options options = {.folder = folder};
	cli_folder(folder);
	write_example(folder);
	struct cli_result direct = cli_run(&options, "asm", "@/example.s", "-o", "-", "--machine", MACHINE);
	cr_assert_eq(direct.status, 0, "%s", direct.err);
	cr_assert_eq(direct.out_bytes, 120 + 49 * 12);
	cli_write(folder, "a.bin", direct.out, direct.out_bytes);
	struct cli_result text = cli_run(&options, "disasm", "@/a.bin"),
			  r = cli_run(&options, "disasm", "@/a.bin", "-o", "@/a.s");
	cr_assert(text.status == 0 && r.status == 0 && r.out_bytes == 0, "%s%s", text.err, r.err);
	char *written = cli_read(cli_path(folder, "a.s"), &bytes);
	cr_assert_str_eq(written, text.out);
	cli_free(&r);
	r = cli_run(&options, "asm", "@/a.s", "-o", "@/b.bin");
	cr_assert_eq(r.status, 0, "%s", r.err);
	char *again = cli_read(cli_path(folder, "b.bin"), &again_bytes);
	cr_assert_eq(again_bytes, direct.out_bytes);
	cr_assert_arr_eq(again, direct.out, again_bytes);
	cli_free(&direct);
	cli_free(&text);
	cli_free(&r);
	free(written);
	free(again);
	cli_remove_folder(folder);
}

static void write_bad_programs(const char *folder)
{
	static const uint8_t halt[12] = {1}, unknown[24] = {0x44, [12] = 1}, sync[12] = {2, 8};
	float floats[4] = {0};
	struct npl_err err = {0};
	const struct npl_tensor f = {.dtype = NPL_F32, .shape = npl_shape_of(1, 4), .data = floats};
	cli_write(folder, "halt.bin", halt, 12);
	cli_write(folder, "cut.bin", halt, 11);
	cli_write(folder, "unknown.bin", unknown, 24);
	cli_write(folder, "endless.bin", sync, 12);
	cli_write(folder, "empty.bin", "", 0);
	cli_write_text(folder, "halt.s", "halt\n");
	cli_write_text(folder, "other.s", ".machine tpu_v2\nhalt\n");
	cli_write_text(folder, "cpu.s", "# comment\n.machine cpu\nhalt\n");
	cli_write_text(folder, "diannao.s", ".machine diannao\nCP END\n");
	cli_write_text(folder, "late.s", "halt\n.machine tpu_v1\n");
	cli_write_text(folder, "tile.s", "nop\nread_weights first=3 count=1\nhalt\n");
	cli_write_text(folder, "endless.s", "nop\nsync matrix\n");
	cli_write_text(folder, "typo.s", "nop\n\nactivte ub=0 acc=0 rows=1\nhalt\n");
	cli_write_text(folder, "hazard.s", "read_host_memory ub=0 rows=1\nwrite_host_memory ub=0 rows=1\nhalt\n");
	cli_write_text(folder, "reads.s", "set_config host_address 17\nread_host_memory ub=0 rows=1\nhalt\n");
	cli_write_text(folder, "stuck.s",
		       "sync matrix\nread_weights first=0 count=1\nmatrix_multiply.switch ub=0 acc=0 rows=1\n"
		       "read_weights first=0 count=6\nsync weights\nhalt\n");
	cr_assert_eq(npl_tensor_save_npy(cli_path(folder, "floats.npy"), &f, &err), 0, "%s", err.msg);
	uint8_t many[100] = {0};
	cli_save_bytes(folder, "many.npy", many, 100);
	cli_save_bytes(folder, "sixteen.npy", many, 16);
}

/* Programs, files and options that asm, disasm and exec refuse: the exit status and what is said. */
static const struct cli_refusal wrong_programs[] = {
	{3,
	 "cut.bin: the last instruction is cut off: 11 bytes without a header, expected a multiple of 12",
	 {"disasm", "@/cut.bin", "--machine", MACHINE}},
	{3,
	 "halt.bin: no header of a binary program, which says whose it is; instructions alone are read with "
	 "--machine NAME",
	 {"disasm", "@/halt.bin"}},
	{3,
	 "halt.s: does not say whose program it is, expected `.machine NAME` before all else, or --machine "
	 "NAME",
	 {"asm", "@/halt.s", "-o", "@/x.bin"}},
	{3, "other.s:1: .machine tpu_v2: there is no device 'tpu_v2'; the nearest is 'tpu_v1'", {"exec", "@/other.s"}},
	{3, "cpu.s:2: cpu has no instruction set", {"asm", "@/cpu.s", "-o", "@/x.bin"}},
	{2,
	 "diannao.s: a program for the driver diannao, expected one for systolic, the driver of tpu_v1",
	 {"exec", "@/diannao.s", "--machine", "tpu_v1"}},
	{3, "late.s:2: .machine, expected it before all else and once", {"exec", "@/late.s", "--machine", MACHINE}},
	{3, "unknown.bin: instruction 0: 0x44: unknown opcode 0x44", {"disasm", "@/unknown.bin", "--machine", MACHINE}},
	{3, "empty.bin: the file is empty", {"disasm", "@/empty.bin"}},
	{3, "none.bin: cannot be opened", {"disasm", "@/none.bin", "-o", "@/none.s"}},
	{3, "unknown opcode 0x44", {"exec", "@/unknown.bin", "--machine", MACHINE}},
	{3, "cut off", {"exec", "@/cut.bin", "--machine", MACHINE}},
	{3,
	 "endless.bin: instruction 0: sync: the last instruction, expected a halt",
	 {"exec", "@/endless.bin", "--machine", MACHINE}},
	{3,
	 "typo.s:3: there is no instruction 'activte'; the nearest is 'activate'",
	 {"asm", "@/typo.s", "-o", "@/x.bin", "--machine", MACHINE}},
	{3, "typo.s:3: ", {"exec", "@/typo.s", "--machine", MACHINE}},
	{3,
	 "endless.s:2: sync: the last instruction, expected a halt",
	 {"asm", "@/endless.s", "-o", "@/x.bin", "--machine", MACHINE}},
	{3,
	 "hazard.s:2: write_host_memory: reads row 0 of the unified buffer, which line 1: read_host_memory "
	 "writes; expected a `sync host_in` between them",
	 {"asm", "@/hazard.s", "-o", "@/x.bin", "--machine", "tpu_v1"}},
	{3, "hazard.s:2: ", {"exec", "@/hazard.s", "--machine", MACHINE, "--timing-only", "--json", "@/x.json"}},
	{3,
	 "reads.s:2: read_host_memory: reads bytes 17 to 32 of host memory, which has 16",
	 {"exec", "@/reads.s", "--machine", MACHINE, "--host-memory", "@/sixteen.npy", "--output", "@/y.npy"}},
	{3,
	 "reads.s:2: read_host_memory: reads bytes 17 to 32 of host memory, which has 0 (--host-memory)",
	 {"exec", "@/reads.s", "--machine", MACHINE}},
	{3, "line 4: read_weights waits", {"exec", "@/stuck.s", "--machine", MACHINE, "--timing-only"}},
	{3,
	 "line 4: read_weights waits",
	 {"exec", "@/stuck.s", "--machine", MACHINE, "--timing-only", "--engine", "rtl"}},
	{3,
	 "floats.npy: elements of float32, expected uint8 or int8",
	 {"exec", "@/halt.s", "--machine", MACHINE, "--weights", "@/floats.npy"}},
	{3,
	 "tile.s:2: read_weights: reads rows 3 to 18 of weight memory, of which 0 are given (--weights)",
	 {"exec", "@/tile.s", "--machine", MACHINE}},
	{2,
	 "--output - and --json - cannot both have standard output",
	 {"exec", "@/halt.s", "--machine", MACHINE, "--output", "-", "--json", "-"}},
	{3,
	 "100 bytes of weights, expected at most weight_memory.bytes = 64",
	 {"exec", "@/halt.s", "--machine", MACHINE, "--weights", "@/many.npy", "--set",
	  MACHINE ".weight_memory.bytes=64", "--set", MACHINE ".array.rows=8", "--set", MACHINE ".array.columns=8"}},
	{3,
	 "halt.s: writes nothing to host memory for --output",
	 {"exec", "@/halt.s", "--machine", MACHINE, "--output", "@/y.npy"}},
	{2, "there is no device 'systolic_16'", {"exec", "@/halt.s", "--machine", "systolic_16"}},
	{2,
	 "reference has no instruction set, expected a machine of one of these drivers: systolic, diannao",
	 {"exec", "@/halt.s", "--machine", "reference"}},
	{2, "cpu has no instruction set", {"disasm", "@/halt.bin", "--machine", "cpu"}},
	{2,
	 "there is no engine 'rtx'; the nearest is 'rtl'",
	 {"exec", "@/halt.s", "--machine", MACHINE, "--engine", "rtx"}},
	{3, "halt.s: does not say whose program it is", {"exec", "@/halt.s"}},
	{2, "exec: which program?", {"exec", "--machine", MACHINE}},
	{2, "asm: expected a program and -o", {"asm", "@/halt.s"}},
	{2, "disasm: which program?", {"disasm"}},
	{2, "asm: --set goes with --machine", {"asm", "@/halt.s", "-o", "@/x.bin", "--set", "tpu_v1.array.rows=2"}},
	{2,
	 "--set tpu_v1.array.rows=2: expected " MACHINE ".KEY=VALUE",
	 {"exec", "@/halt.s", "--machine", MACHINE, "--set", "tpu_v1.array.rows=2"}},
	{2,
	 "there is no parameter 'array.row'; the nearest is 'array.rows'",
	 {"exec", "@/halt.s", "--machine", MACHINE, "--set", MACHINE ".array.row=2"}},
	{2,
	 "--timing-only computes no values for --output",
	 {"exec", "@/halt.s", "--machine", MACHINE, "--timing-only", "--output", "@/y.npy"}},
	{2,
	 "halt.s is read by this run and would be overwritten",
	 {"asm", "@/halt.s", "-o", "@/halt.s", "--machine", MACHINE}},
	{2, "halt.bin is read by this run", {"disasm", "@/halt.bin", "-o", "@/./halt.bin", "--machine", MACHINE}},
	{2,
	 "many.npy is read by this run",
	 {"exec", "@/halt.s", "--machine", MACHINE, "--weights", "@/many.npy", "--events", "@/many.npy"}},
	{2,
	 "x is named for two outputs",
	 {"exec", "@/halt.s", "--machine", MACHINE, "--json", "@/x", "--events", "@/x"}},
	{2,
	 "--events - and --json - cannot both",
	 {"exec", "@/halt.s", "--machine", MACHINE, "--json", "-", "--events", "-"}},
	{5, "cannot be written", {"asm", "@/halt.s", "-o", "@/none/x.bin", "--machine", MACHINE}},
	{5, "cannot be written", {"exec", "@/halt.s", "--machine", MACHINE, "--json", "@/none/x.json"}},
};

Test(cli_asm, wrong_programs_are_refused)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_bad_programs(folder);
	CLI_CHECK(folder, wrong_programs);
	/* A machine that is not known here does not matter where another is given. */
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "exec", "@/other.s", "--machine", MACHINE, "--quiet");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	r = cli_run(&options, "asm", "@/other.s", "--machine", MACHINE, "-o", "@/other.bin");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	const struct cli_refusal binary[] = {
		{3, "other.bin: there is no device 'tpu_v2'; the nearest is 'tpu_v1'", {"exec", "@/other.bin"}}};
	CLI_CHECK(folder, binary);
	cli_remove_folder(folder);
}

/* A header names a driver and a machine; this one's machine has another driver. */
Test(cli_asm, a_header_that_contradicts_itself)
{
	char folder[CLI_PATH], machine[64] = "diannao";
	const struct cli_run_options options = {.folder = folder};
	cli_folder(folder);
	cli_write_text(folder, "p.s", ".machine " MACHINE "\nhalt\n");
	struct cli_result r = cli_run(&options, "asm", "@/p.s", "-o", "-");
	char *name = memmem(r.out, r.out_bytes, MACHINE, sizeof MACHINE);
	cr_assert(r.status == 0 && name, "%s", r.err);
	memcpy(name, machine, sizeof MACHINE > sizeof "diannao" ? sizeof MACHINE : sizeof "diannao");
	cli_write(folder, "p.bin", r.out, r.out_bytes);
	cli_free(&r);
	const struct cli_refusal refusal = {
		3,
		"p.bin: a program for the driver systolic, expected one for diannao, the driver of diannao",
		{"exec", "@/p.bin", "--timing-only"}};
	cli_check_refusals(folder, &refusal, 1);
	cli_remove_folder(folder);
}

/* Whatever is wrong with a header, or with the machine that it names, is told with the program's file. */
Test(cli_asm, a_wrong_header_is_refused_with_its_file)
{
	enum { HOST_ADDRESS = 24 }; /* the header's byte */
	char folder[CLI_PATH], text[2 * CLI_PATH];
	const struct cli_run_options options = {.folder = folder};
	cli_folder(folder);
	cli_write_text(folder, "m.yaml", "name: m\ndriver: systolic\n");
	snprintf(text, sizeof text, ".machine %s/m.yaml\nhalt\n", folder);
	cli_write_text(folder, "p.s", text);
	struct cli_result r = cli_run(&options, "asm", "@/p.s", "-o", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_write(folder, "m.bin", r.out, r.out_bytes);
	r.out[HOST_ADDRESS] = 7;
	cli_write(folder, "address.bin", r.out, r.out_bytes);
	cli_free(&r);
	snprintf(text, sizeof text, "m.bin: %s/m.yaml: cannot be opened", folder);
	const struct cli_refusal cases[] = {
		{3,
		 "address.bin: host memory at byte 7 and weights at 0 in the header, expected at most 0",
		 {"disasm", "@/address.bin"}},
		{3, text, {"exec", "@/m.bin"}}};
	cr_assert_eq(remove(cli_path(folder, "m.yaml")), 0);
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* No machine runs a program without instructions, so none is made. */
Test(cli_asm, a_program_without_instructions)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "tpu.s", ".machine tpu_v1\n# nothing\n");
	cli_write_text(folder, "diannao.s", ".machine diannao\n");
	const struct cli_refusal cases[] = {
		{3, "tpu.s: no instructions, expected one at least", {"asm", "@/tpu.s", "-o", "@/tpu.bin"}},
		{3, "diannao.s: no instructions, expected one at least", {"exec", "@/diannao.s"}}};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* A halt takes a cycle; its table fits a terminal, and a full disk is reported. */
Test(cli_asm, a_halt_takes_a_cycle)
{
	char folder[CLI_PATH];
	const struct cli_run_options options = {.folder = folder}, full = {.folder = folder, .stdout_to = "/dev/full"};
	cli_folder(folder);
	write_bad_programs(folder);
	struct cli_result r = cli_run(&options, "exec", "@/halt.bin", "--machine", "tpu_v1");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "tpu_v1, engine fast: 1 cycles"), "%s", r.out);
	for (const char *line = r.out; *line; line += strcspn(line, "\n") + 1)
		cr_assert(strcspn(line, "\n") <= 100, "%s", line);
	cli_free(&r);
	r = cli_run(&full, "disasm", "@/halt.bin", "--machine", "tpu_v1");
	cr_assert_eq(r.status, 5, "%s", r.err);
	cli_free(&r);
	static const char *const commands[] = {"asm", "disasm", "exec"};
	for (size_t i = 0; i < 3; i++) {
		r = cli_run(&options, commands[i], "--help");
		cr_assert(r.status == 0 && !strncmp(r.out, "usage: npulab ", 14), "%s", r.out);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}
