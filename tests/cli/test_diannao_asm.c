/* SPDX-License-Identifier: MIT
 *
 * npulab asm, disasm and exec with programs of DianNao. What the program promises: the worked example of
 * docs/diannao-isa.md does what the document says, to the byte and the cycle, on both engines; a program is known by
 * what it begins with; and whatever is wrong with it, its memory or the command line is one line and an exit status,
 * and leaves no file. */
#include "npulab/tensor_file.h"
#include "tests/kit/cli_example.h"
#include "tests/kit/cli_json.h"

#include "sim/diannao/nfu/segments.h"

#define DOCUMENT "docs/diannao-isa.md"
#define IDEAL    "--set", "diannao.memory.preset=ideal", "--set", "diannao.dma.request_cycles=0"

enum { INPUTS = 32, HIDDEN = 20, SCORES = 3, TN = 16, WEIGHT_BYTES = 4096 };

/* The example's network, as its text has it. */
static int input(int i)
{
	return i * 397 % 2048 - 1024;
}

static int dense(int n, int i)
{
	return (n * INPUTS + i) * 313 % 1021 - 510;
}

static int bias(int n)
{
	return (n - 10) * 131072;
}

static int last(int n, int i)
{
	return (n * HIDDEN + i) * 271 % 2039 - 1019;
}

/* x / 1024, to the nearest whole number, of two equally near the greater. */
static int rounded(int x)
{
	int floor = (x - ((x % 1024) + 1024) % 1024) / 1024;
	return floor + (x - floor * 1024 >= 512);
}

static void expected_values(int16_t value[HIDDEN + SCORES])
{
	for (int n = 0; n < HIDDEN; n++) {
		int sum = rounded(bias(n));
		for (int i = 0; i < INPUTS; i++)
			sum += rounded(dense(n, i) * input(i));
		int segment = dn_segment((int16_t)sum);
		value[n] = (int16_t)(rounded(dn_sigmoid.a[segment] * sum) + dn_sigmoid.b[segment]);
	}
	for (int n = 0; n < SCORES; n++) {
		int sum = 0;
		for (int i = 0; i < HIDDEN; i++)
			sum += rounded(last(n, i) * value[i]);
		value[HIDDEN + n] = (int16_t)sum;
	}
}

static void put16(uint8_t *bytes, int value)
{
	bytes[0] = (uint8_t)value;
	bytes[1] = (uint8_t)(value >> 8);
}

/* SB rows of outputs first..first + 15, of which there are `outputs`; where the next begin. */
static uint8_t *put_rows(uint8_t *bytes, int first, int outputs, int inputs, int (*weight)(int n, int i))
{
	for (int row = 0; row * TN < inputs; row++, bytes += 2 * TN * TN)
		for (int n = 0; n < TN && first + n < outputs; n++)
			for (int i = 0; i < TN && row * TN + i < inputs; i++)
				put16(bytes + 2 * (n * TN + i), weight(first + n, row * TN + i));
	return bytes;
}

/* Writes host.npy, weights.npy and example.s into the folder. */
static void write_example(const char *folder)
{
	uint8_t inputs[2 * INPUTS], weights[WEIGHT_BYTES] = {0}, *at = weights;
	for (int i = 0; i < INPUTS; i++)
		put16(inputs + 2 * i, input(i));
	for (int first = 0; first < HIDDEN; first += TN) {
		for (int n = 0; n < TN && first + n < HIDDEN; n++) {
			put16(at + 4 * n, bias(first + n));
			put16(at + 4 * n + 2, bias(first + n) >> 16);
		}
		at = put_rows(at + 2 * TN * TN, first, HIDDEN, INPUTS, dense);
	}
	at = put_rows(at, 0, SCORES, HIDDEN, last);
	cr_assert_eq(at - weights, WEIGHT_BYTES);
	cli_save_bytes(folder, "host.npy", inputs, sizeof inputs);
	cli_save_bytes(folder, "weights.npy", weights, sizeof weights);
	char *text = cli_block(DOCUMENT, "asm");
	cli_write_text(folder, "example.s", text);
	free(text);
}

static void check_results(const char *path, const int16_t expected[HIDDEN + SCORES])
{
	struct npl_tensor y = {0};
	struct npl_err err = {0};
	cr_assert_eq(npl_tensor_load(path, &y, &err), 0, "%s", err.msg);
	cr_assert(y.dtype == NPL_U8 && y.shape.rank == 1 && y.shape.dim[0] == 2 * (HIDDEN + SCORES));
	cr_assert_arr_eq(y.data, expected, 2 * (HIDDEN + SCORES));
	npl_tensor_free(&y);
}

/* The document's numbers in numpy, where that is installed: its files are those that this test makes. */
static void check_numpy(const char *folder, const int16_t expected[HIDDEN + SCORES])
{
	char command[3 * CLI_PATH], *script = cli_block(DOCUMENT, "python");
	size_t bytes[2];
	char *own[2] = {cli_read(cli_path(folder, "host.npy"), &bytes[0]),
			cli_read(cli_path(folder, "weights.npy"), &bytes[1])};
	cli_write_text(folder, "example.py", script);
	snprintf(command, sizeof command, "cd '%s' && /usr/bin/python3 -c 'import numpy' 2>/dev/null", folder);
	if (!system(command)) { /* NOLINT(cert-env33-c) */
		snprintf(command, sizeof command, "cd '%s' && /usr/bin/python3 example.py", folder);
		cr_assert_eq(system(command), 0); /* NOLINT(cert-env33-c) */
		check_results(cli_path(folder, "expected.npy"), expected);
		for (int i = 0; i < 2; i++) {
			const int64_t n = i ? WEIGHT_BYTES : 2 * INPUTS;
			struct npl_tensor a = {0};
			struct npl_err err = {0};
			cr_assert_eq(npl_tensor_load(cli_path(folder, i ? "weights.npy" : "host.npy"), &a, &err), 0,
				     "%s", err.msg);
			cr_assert_eq((int64_t)npl_tensor_bytes(&a), n);
			cr_assert_arr_eq(a.data, own[i] + bytes[i] - n, (size_t)n);
			npl_tensor_free(&a);
		}
	}
	free(script);
	free(own[0]);
	free(own[1]);
}

Test(cli_diannao_asm, the_page_s_example_gives_what_it_says)
{
	char folder[CLI_PATH], expected_text[400], *lines = cli_block(DOCUMENT, "sh"),
						   *message = cli_block(DOCUMENT, "text"),
						   *events = cli_block(DOCUMENT, "csv"), *at = events, *line;
	int16_t expected[HIDDEN + SCORES];
	struct cli_result r = {0};
	size_t used = 0;
	cli_folder(folder);
	write_example(folder);
	expected_values(expected);
	for (int i = 0; i < HIDDEN + SCORES; i++)
		used += (size_t)snprintf(expected_text + used, sizeof expected_text - used, "%s%d", i ? " " : "",
					 expected[i]);
	snprintf(expected_text + used, sizeof expected_text - used, "\n");
	cr_assert_str_eq(message, expected_text);
	cli_run_lines(folder, lines, &r);
	check_results(cli_path(folder, "results.npy"), expected);
	char *file = cli_read(cli_path(folder, "events.csv"), NULL), *tail = file;
	while ((line = strsep(&at, "\n")) && *line) {
		char *row = strsep(&tail, "\n");
		cr_assert(row && *row && row[strlen(row) - 1] == '\r', "expected %s", line);
		row[strlen(row) - 1] = '\0';
		cr_assert_str_eq(row, line);
	}
	cr_assert_str_eq(tail, "");
	check_numpy(folder, expected);
	free(file);
	free(lines);
	free(message);
	free(events);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Both engines, text and binary, give the same events and the same JSON except the engine's name. */
Test(cli_diannao_asm, both_engines_give_the_same_events_and_json)
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
		r = cli_run(&options, "exec", i ? "@/example.s" : "@/example.bin", "--machine", "diannao",
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
	cr_assert_str_eq(cli_text(cli_at(a, "engine")), "rtl");
	cr_assert_str_eq(cli_text(cli_at(b, "engine")), "fast");
	json_object_del(a, "engine");
	json_object_del(b, "engine");
	cr_assert(json_equal(a, b), "%s%s", json[0], json[1]);
	long long cycles = cli_integer(cli_at(a, "cycles"));
	cr_assert_eq(cli_integer(cli_at(a, "counters.nfu_active")) + cli_integer(cli_at(a, "counters.nfu_fill")) +
			     cli_integer(cli_at(a, "counters.wait_sb")) + cli_integer(cli_at(a, "counters.wait_nbin")) +
			     cli_integer(cli_at(a, "counters.wait_nbout")),
		     cycles);
	cr_assert_eq(cli_integer(cli_at(a, "output.address")), 256);
	cr_assert_eq(cli_integer(cli_at(a, "output.bytes")), 46);
	/* Without values: the same time, and nothing is known of them. */
	json_t *timed = cli_json(&options, "exec", "@/example.s", "--machine", "diannao", "--timing-only", "--json",
				 "-");
	cr_assert_eq(cli_integer(cli_at(timed, "cycles")), cycles);
	cr_assert(json_is_null(cli_at(timed, "output")) && json_is_null(cli_at(timed, "saturations")));
	cr_assert(json_is_null(cli_at(timed, "counters.sum_wraps")) && json_is_null(cli_at(timed, "overflows")));
	cr_assert_eq(cli_integer(cli_at(timed, "counters.synapse_bytes")), WEIGHT_BYTES);
	json_decref(timed);
	timed = cli_json(&options, "exec", "@/example.s", "--machine", "diannao", "--timing-only", "--json", "-",
			 IDEAL);
	cr_assert_lt(cli_integer(cli_at(timed, "cycles")), cycles);
	json_decref(timed);
	for (int i = 0; i < 2; i++) {
		free(events[i]);
		free(json[i]);
	}
	json_decref(a);
	json_decref(b);
	cli_remove_folder(folder);
}

/* Sums that wrap and results that saturate are told: 16-bit sums of 30000 and 30000, and a result of 2^15. */
Test(cli_diannao_asm, wraps_and_saturations_are_told)
{
	char folder[CLI_PATH];
	const struct cli_run_options options = {.folder = folder};
	uint8_t inputs[64] = {0};
	cli_folder(folder);
	put16(inputs, 30000);
	put16(inputs + 2, 16384);
	put16(inputs + 32, 30000);
	put16(inputs + 34, 0);
	cli_save_bytes(folder, "host.npy", inputs, sizeof inputs);
	cli_write_text(
		folder, "wraps.s",
		"NBIN LOAD,0,0,0,0,0,64 | NBOUT NOP,STORE,64,8 | NFU NOP,ADD,RESET,NFU3,NONE,0,0 shift=-1\nCP END\n");
	json_t *a = cli_json(&options, "exec", "@/wraps.s", "--machine", "diannao", "--host-memory", "@/host.npy",
			     "--output", "@/y.npy", "--json", "-", "--set", "diannao.nfu.sum_bits=16");
	cr_assert_eq(cli_integer(cli_at(a, "overflows")), 1);
	cr_assert_eq(cli_integer(cli_at(a, "saturations")), 1);
	json_decref(a);
	struct npl_tensor y = {0};
	struct npl_err err = {0};
	cr_assert_eq(npl_tensor_load(cli_path(folder, "y.npy"), &y, &err), 0, "%s", err.msg);
	static const int16_t expected[4] = {2 * (60000 - 65536), 32767, 0, 0};
	cr_assert_eq(npl_tensor_bytes(&y), 8);
	cr_assert_arr_eq(y.data, expected, 8);
	npl_tensor_free(&y);
	cli_remove_folder(folder);
}

/* Binary to text to binary; whose it is, it says itself. */
Test(cli_diannao_asm, a_binary_becomes_text_and_the_same_binary)
{
	char folder[CLI_PATH];
	size_t bytes, again_bytes;
	const struct cli_run_options options = {.folder = folder};
	cli_folder(folder);
	write_example(folder);
	struct cli_result direct = cli_run(&options, "asm", "@/example.s", "-o", "-", "--machine", "diannao");
	cr_assert_eq(direct.status, 0, "%s", direct.err);
	cr_assert_eq(direct.out_bytes, 120 + 96 + 7 * 64);
	cli_write(folder, "a.bin", direct.out, direct.out_bytes);
	struct cli_result text = cli_run(&options, "disasm", "@/a.bin"),
			  r = cli_run(&options, "disasm", "@/a.bin", "-o", "@/a.s", "--machine", "diannao");
	cr_assert(text.status == 0 && r.status == 0 && r.out_bytes == 0, "%s%s", text.err, r.err);
	char *written = cli_read(cli_path(folder, "a.s"), &bytes);
	cr_assert_str_eq(written, text.out);
	cr_assert(!strncmp(written, ".machine diannao\n.weights 4096\n.function SIGMOID\nSB LOAD,0,4096,512 | ", 70),
		  "%s", written);
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

static void write_programs(const char *folder)
{
	static const uint8_t tpu[12] = {1}, cut[20] = "DIANNAO";
	uint8_t hundred[100] = {0};
	cli_write(folder, "tpu.bin", tpu, sizeof tpu);
	cli_write(folder, "cut.bin", cut, sizeof cut);
	cli_write_text(folder, "tpu.s", "halt\n");
	cli_write_text(folder, "end.s", "; the least\n\tCP END\n");
	cli_write_text(folder, "endless.s", "CP NOP\n");
	cli_write_text(folder, "typo.s", ".machine diannao\n.host 0\nSBB LOAD,1,0,512\n");
	cli_write_text(folder, "rows.s", "SB LOAD,1,0,512\nSB LOAD,1,0,32768\nCP END\n");
	cli_write_text(folder, "far.s", "SB LOAD,1,281474976710144,512\nCP END\n");
	cli_write_text(folder, "apart.s", ".host 50\n.weights 150\nCP END\n");
	cli_write_text(folder, "over.s", ".host 51\n.weights 150\nCP END\n");
	cli_write_text(folder, "high.s", ".host 281474976710600\nCP END\n");
	cli_write_text(folder, "later.s", "SBB LOAD,1,0,512\n\n  CP END\n");
	cli_write_text(folder, "lower.s", "# in small letters\nsb load,1,0,512\nCP END\n");
	cli_write_text(folder, "said.s", ".machine diannao\nCP END\n");
	cli_save_bytes(folder, "hundred.npy", hundred, sizeof hundred);
}

Test(cli_diannao_asm, wrong_programs_are_refused)
{
	static const struct cli_refusal cases[] = {
		{3, "end.s:2: there is no instruction 'CP'", {"exec", "@/end.s", "--machine", "tpu_v1"}},
		{2,
		 "said.s: a program for the driver diannao, expected one for systolic, the driver of tpu_v1",
		 {"exec", "@/said.s", "--machine", "tpu_v1"}},
		{3,
		 "cut.bin: the last instruction is cut off: 20 bytes",
		 {"disasm", "@/cut.bin", "--machine", "diannao"}},
		{3,
		 "tpu.bin: the last instruction is cut off: 12 bytes without a header, expected a multiple of 64",
		 {"exec", "@/tpu.bin", "--machine", "diannao"}},
		{3, "tpu.s:1: there is no slot 'halt'", {"asm", "@/tpu.s", "-o", "@/x.bin", "--machine", "diannao"}},
		{3, "typo.s:3: there is no slot 'SBB'; the nearest is 'SB'", {"asm", "@/typo.s", "-o", "@/x.bin"}},
		{3,
		 "endless.s:1: the last instruction, expected CP END in it",
		 {"asm", "@/endless.s", "-o", "@/x.bin", "--machine", "diannao"}},
		{3,
		 "rows.s:2: SB: loads 64 rows while 1 are held, expected at most the buffer's 64",
		 {"exec", "@/rows.s", "--machine", "diannao", "--timing-only", "--json", "@/x.json"}},
		{3,
		 "rows.s:1: SB: SIZE is 512, expected a multiple of 3872",
		 {"exec", "@/rows.s", "--machine", "diannao", "--set", "diannao.nfu.tn=44", "--set",
		  "diannao.sb.rows=100"}},
		{3,
		 "far.s:1: SB: loads bytes 281474976710144 to 281474976710655 of memory, which has",
		 {"exec", "@/far.s", "--machine", "diannao", "--set", "diannao.memory.preset=ddr3-1600"}},
		{3,
		 "100 bytes of host memory at byte 51 and 100 of weights at 150 overlap, expected .host and .weights "
		 "to keep them apart",
		 {"exec", "@/over.s", "--machine", "diannao", "--host-memory", "@/hundred.npy", "--weights",
		  "@/hundred.npy"}},
		{3,
		 "100 bytes of host memory at byte 0 and 100 of weights at 0 overlap",
		 {"exec", "@/end.s", "--machine", "diannao", "--host-memory", "@/hundred.npy", "--weights",
		  "@/hundred.npy"}},
		{3,
		 "100 bytes of host memory at byte 281474976710600, expected them within the memory's",
		 {"exec", "@/high.s", "--machine", "diannao", "--host-memory", "@/hundred.npy", "--set",
		  "diannao.memory.preset=ddr3-1600"}},
		{3, "later.s:1: there is no slot 'SBB'", {"asm", "@/later.s", "-o", "@/x.bin", "--machine", "diannao"}},
		{3,
		 "lower.s:2: there is no slot 'sb'; the nearest is 'SB'",
		 {"asm", "@/lower.s", "-o", "@/x.bin", "--machine", "diannao"}},
		{5,
		 "out of memory for 281474976710656 bytes of the machine's memory",
		 {"exec", "@/far.s", "--machine", "diannao"}},
		{3, "end.s: writes nothing", {"exec", "@/end.s", "--machine", "diannao", "--output", "@/y.npy"}},
		{2, "there is no engine 'slow'", {"exec", "@/end.s", "--machine", "diannao", "--engine", "slow"}},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	write_programs(folder);
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* The least there is takes no time; the files lie apart, or one of them is not there. */
Test(cli_diannao_asm, an_empty_program_takes_no_time)
{
	char folder[CLI_PATH];
	const struct cli_run_options options = {.folder = folder};
	cli_folder(folder);
	write_programs(folder);
	for (int rtl = 0; rtl < 2; rtl++) {
		struct cli_result r = cli_run(&options, "exec", "@/end.s", "--machine", "diannao", "--weights",
					      "@/hundred.npy", "--engine", rtl ? "rtl" : "fast");
		cr_assert_eq(r.status, 0, "%s", r.err);
		cr_assert(strstr(r.out, rtl ? "diannao, engine rtl: 0 cycles" : "diannao, engine fast: 0 cycles"), "%s",
			  r.out);
		for (const char *line = r.out; *line; line += strcspn(line, "\n") + 1)
			cr_assert(strcspn(line, "\n") <= 100, "%s", line);
		cli_free(&r);
	}
	struct cli_result r = cli_run(&options, "exec", "@/apart.s", "--machine", "diannao", "--weights",
				      "@/hundred.npy", "--host-memory", "@/hundred.npy");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	r = cli_run(&options, "exec", "@/far.s", "--machine", "diannao", "--timing-only", "--quiet");
	cr_assert(r.status == 0 && !r.out_bytes, "%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}
