/* SPDX-License-Identifier: MIT
 *
 * The check of a program before it runs on a systolic machine. What the program promises: each rule of docs/tpu-isa.md
 * refuses the first program beyond it, naming the instruction, what is wrong and what was expected, and takes the last
 * one within it; hostile numbers overflow nothing; and the rows that a convolve is said to read hold those it reads. */
#include "tests/kit/sim/tpu_v1/isa_support.h"

#include "sim/systolic/tpu_v1/isa/check_impl.h"
#include "tests/kit/sim/tpu_v1/code.h"
#include <float.h>
#include <math.h>

/* 9 tiles and 5 parameter tables, one of each in use. */
#define LOAD  "read_weights first=0 count=9\nread_weights.parameters first=60 count=5\n"
#define READY LOAD "matrix_multiply.switch ub=0 acc=0 rows=1\n"
/* An image of 4 x 5 vectors of 2 lanes, 3 in a row, and 3 x 3 taps. */
#define IMAGE                                                                                                          \
	READY "set_config in_height 4\nset_config in_width 5\nset_config out_height 4\nset_config out_width 5\n"       \
	      "set_config kernel_height 3\nset_config kernel_width 3\nset_config pad_top 1\nset_config pad_left 1\n"   \
	      "set_config pixel_lanes 2\nset_config row_pixels 3\nset_config tap_lanes 2\nset_config taps 3\n"
#define CONVOLVE  "convolve ub=0 acc=0 rows=20\n"
#define ACTIVATE  "activate.switch ub=30 acc=0 rows=2\n"
#define HALT      "halt\n"
#define SET(r, v) "set_config " r " " v "\n"

struct rule {
	const char *valid_text, *wrong_text; /* except the halt */
	const char *expected, *expects;
};

static void check_rules(const struct rule *rule, size_t n, const struct tpu_memory *memory)
{
	const struct tpu_config config = test_isa_machine();
	for (size_t i = 0; i < n; i++) {
		char text[4096];
		struct npl_err err;
		snprintf(text, sizeof text, "%s" HALT, rule[i].valid_text);
		cr_assert_str_eq(test_isa_verdict(&config, memory, text, &err), "", "%s\n%s", err.msg, text);
		snprintf(text, sizeof text, "%s" HALT, rule[i].wrong_text);
		const char *verdict = test_isa_verdict(&config, memory, text, &err);
		cr_assert(!strncmp(verdict, "test.s:", 7) && strstr(verdict, rule[i].expected) &&
				  strstr(verdict, rule[i].expects),
			  "expected '%s' and '%s' in: %s\n%s", rule[i].expected, rule[i].expects, verdict, text);
	}
}
#define CHECK(rules) check_rules((rules), sizeof(rules) / sizeof *(rules), NULL)

Test(tpu_isa_check, instructions_out_of_order_are_refused)
{
	static const struct rule rules[] = {
		{"nop\n", "halt\nnop\n", "test.s:1: halt: more instructions follow", "expected it once and last"},
		{READY, LOAD "matrix_multiply ub=0 acc=0 rows=1\n", "test.s:3: matrix_multiply: no weights",
		 "expected the flag `switch`"},
		{"read_weights first=0 count=2\nmatrix_multiply.switch ub=0 acc=0 rows=1\nconvolve.switch ub=0 acc=0 "
		 "rows=1\n",
		 "read_weights first=0 count=1\nmatrix_multiply.switch ub=0 acc=0 rows=1\nconvolve.switch ub=0 acc=0 "
		 "rows=1\n",
		 "test.s:3: convolve: switches to tile 2, but the program reads 1", "a read_weights for each switch"},
		/* what is read later will come all the same */
		{"matrix_multiply.switch ub=0 acc=0 rows=1\nread_weights first=0 count=1\n",
		 "matrix_multiply.switch ub=0 acc=0 rows=1\nread_weights.parameters first=0 count=1\n",
		 "test.s:1: matrix_multiply: switches to tile 1, but the program reads 0", "read_weights"},
		{LOAD ACTIVATE, "read_weights first=0 count=1\n" ACTIVATE,
		 "activate: switches to parameter table 1, but the program reads 0", "read_weights.parameters"},
		{LOAD ACTIVATE "activate ub=30 acc=0 rows=2\n", LOAD "activate ub=30 acc=0 rows=2\n",
		 "test.s:3: activate: no scales yet", "`switch`"},
		/* 32-bit results need no scales */
		{SET("result_type", "i32") SET("result_plane_rows", "2") "activate ub=30 acc=0 rows=2\n",
		 SET("result_type", "i16") SET("source_type", "i16")
			 SET("result_plane_rows", "2") "activate ub=30 acc=0 rows=2\n",
		 "no scales yet", "`switch`"},
	};
	const struct tpu_config config = test_isa_machine();
	struct npl_err err;
	CHECK(rules);
	cr_assert(strstr(test_isa_verdict(&config, NULL, "# nothing", &err), "test.s: no instructions, expected"), "%s",
		  err.msg);
	cr_assert(strstr(test_isa_verdict(&config, NULL, "halt\nnop\n", &err), "test.s:1: halt"), "%s", err.msg);
	cr_assert(strstr(test_isa_verdict(&config, NULL, "nop\nnop\n", &err),
			 "test.s:2: nop: the last instruction, expected a halt"),
		  "%s", err.msg);
}

/* A program without lines names instructions by their number; bytes that are no instruction. */
Test(tpu_isa_check, bytes_that_are_no_instruction_are_refused)
{
	static const struct {
		struct tpu_instruction instruction;
		const char *expected;
	} cases[] = {
		{{.opcode = 0x04}, "0x04: unknown opcode 0x04"},
		{{.opcode = 0xff}, "unknown opcode 0xff"},
		{{.opcode = TPU_NOP, .flags = 1}, "nop: flags 0x0001, expected 0"},
		{{.opcode = TPU_NOP, .ub = 1}, "field `ub` is 1, expected 0"},
		{{.opcode = TPU_NOP, .operand = 1}, "field `acc` is 1, expected 0"},
		{{.opcode = TPU_NOP, .length = 1}, "field `length` is 1, expected 0"},
		{{.opcode = TPU_SYNC}, "sync: no unit, expected one"},
		{{.opcode = TPU_SYNC, .flags = 0x20},
		 "sync: flags 0x0020, expected 0 in the bits 0x0020, or a value with a meaning"},
		{{.opcode = TPU_SET_CONFIG, .operand = TPU_REGISTERS}, "register is 47, expected 0 to 46"},
		{{.opcode = TPU_SET_CONFIG, .operand = TPU_REG_RESULT_TYPE, .length = 4},
		 "result_type is 4, expected 0 (i8), 1 (u8), 2 (i16), 3 (i32)"},
		{{.opcode = TPU_SET_CONFIG, .ub = 1}, "field `ub` is 1, expected 0"},
		{{.opcode = TPU_READ_HOST_MEMORY}, "read_host_memory: rows is 0, expected 1 to"},
		{{.opcode = TPU_READ_HOST_MEMORY, .operand = 1, .length = 1}, "field `acc` is 1"},
		{{.opcode = TPU_READ_WEIGHTS}, "read_weights: count is 0, expected 1 to 65535"},
		{{.opcode = TPU_READ_WEIGHTS, .operand = 1, .flags = 2}, "flags 0x0002"},
		{{.opcode = TPU_READ_WEIGHTS, .operand = 1, .ub = 2}, "field `ub` is 2"},
		{{.opcode = TPU_MATRIX_MULTIPLY, .flags = 0x41, .length = 1}, "flags 0x0041"},
		{{.opcode = TPU_MATRIX_MULTIPLY, .ub = 1 << 24, .length = 1}, "ub is 16777216, expected 0 to 16777215"},
		{{.opcode = TPU_CONVOLVE, .flags = 0x8000, .length = 1}, "flags 0x8000"},
		{{.opcode = TPU_ACTIVATE, .flags = 0x200, .length = 1}, "flags 0x0200"},
		{{.opcode = TPU_ACTIVATE, .flags = TPU_WITH_FUNCTION(5), .length = 1},
		 "flags 0x0050, expected 0 in the bits 0x0050, or a value with a meaning"},
		{{.opcode = TPU_ACTIVATE, .flags = TPU_ACTIVATE_FROM_BUFFER, .operand = 1, .length = 1},
		 "field `acc` is 1"},
	};
	const struct tpu_config config = test_isa_machine();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sim_program program = {0};
		struct npl_err err = {0};
		tpu_program_add(&program, (struct tpu_instruction){.opcode = TPU_NOP}, 0, &err);
		tpu_program_add(&program, cases[i].instruction, 0, &err);
		tpu_program_add(&program, (struct tpu_instruction){.opcode = TPU_HALT}, 0, &err);
		cr_assert_eq(tpu_program_check(&config, &program, NULL, "f.bin", &err), NPL_EINPUT, "case %zu", i);
		cr_assert(!strncmp(err.msg, "f.bin: instruction 1: ", 22) && strstr(err.msg, cases[i].expected),
			  "expected '%s' in: %s", cases[i].expected, err.msg);
		sim_program_free(&program);
	}
}

Test(tpu_isa_check, rows_outside_of_a_memory_are_refused)
{
	static const struct rule rules[] = {
		{"read_weights first=94 count=1\n", "read_weights first=95 count=1\n",
		 "reads rows 95 to 100 of weight memory", "expected at most 99"},
		{"read_weights.parameters first=92 count=1\n", "read_weights.parameters first=93 count=1\n",
		 "reads rows 93 to 100 of weight memory", "expected at most 99"},
		{"read_weights first=4 count=16\n", "read_weights first=4294967295 count=65535\n",
		 "read_weights: reads rows 4294967295 to 4295360504", "at most 99"},
		{"read_host_memory ub=60 rows=4\n", "read_host_memory ub=61 rows=4\n",
		 "writes rows 61 to 64 of the unified buffer", "at most 63"},
		{"write_host_memory ub=60 rows=4\n",
		 SET("host_stride", "0") "write_host_memory ub=16777215 rows=4294967295\n",
		 "reads rows 16777215 to 4311744509 of the unified buffer", "at most 63"},
		{SET("host_row_bytes", "1") "read_host_memory ub=0 rows=1\n",
		 SET("host_row_bytes", "0") "read_host_memory ub=0 rows=1\n", "host_row_bytes is 0", "expected 1 to 6"},
		{SET("host_row_bytes", "6") "read_host_memory ub=0 rows=1\n",
		 SET("host_row_bytes", "7") "read_host_memory ub=0 rows=1\n", "host_row_bytes is 7", "expected 1 to 6"},
		{SET("host_address", "4294967290") "read_host_memory ub=0 rows=1\n",
		 SET("host_address", "4294967291") "read_host_memory ub=0 rows=1\n",
		 "reads bytes 4294967291 to 4294967296 of host memory", "has 4294967296"},
		{SET("host_stride", "0") "write_host_memory ub=0 rows=64\n",
		 SET("host_stride", "4294967295")
			 SET("host_address", "4294967295") "write_host_memory ub=0 rows=4294967295\n",
		 "writes bytes 4294967295 to", "host memory"},
		{READY "matrix_multiply ub=60 acc=28 rows=4\n", READY "matrix_multiply ub=60 acc=28 rows=5\n",
		 "writes accumulator rows 28 to 32", "at most 31"},
		{READY "matrix_multiply ub=60 acc=28 rows=4\n", READY "matrix_multiply ub=61 acc=28 rows=4\n",
		 "reads rows 61 to 64 of the unified buffer", "at most 63"},
		{READY SET("input_plane_rows", "60") "matrix_multiply.inputs16 ub=0 acc=0 rows=4\n",
		 READY SET("input_plane_rows", "4294967295") "matrix_multiply.inputs16 ub=0 acc=0 rows=4\n",
		 "reads rows 4294967295 to 4294967298", "at most 63"},
		{READY "matrix_multiply ub=0 acc=0 rows=4\n" ACTIVATE,
		 READY "matrix_multiply ub=0 acc=0 rows=4\nactivate.switch ub=30 acc=32 rows=1\n",
		 "reads accumulator rows 32 to 32", "at most 31"},
	};
	CHECK(rules);
}

Test(tpu_isa_check, host_memory_and_tables)
{
	uint8_t weights[400] = {0}, host[40] = {0};
	struct tpu_memory memory = {.weights = weights, .weight_bytes = 400, .host = host, .host_bytes = 40};
	static const struct rule host_rules[] = {
		{SET("host_address", "10") "read_host_memory ub=0 rows=5\n",
		 SET("host_address", "11") "read_host_memory ub=0 rows=5\n",
		 "read_host_memory: reads bytes 11 to 40 of host memory", "which has 40"},
		{SET("host_stride", "17") "write_host_memory ub=0 rows=3\n",
		 SET("host_stride", "18") "write_host_memory ub=0 rows=3\n", "writes bytes 0 to 41 of host memory",
		 "which has 40"},
	};
	check_rules(host_rules, 2, &memory);
	static const float bad[] = {NAN, INFINITY, -INFINITY, 0x1.000002p96f, -FLT_MAX};
	static const float good[] = {0, 1, -0x1p96f, 0x1p96f, 1e-45f};
	const struct tpu_config config = test_isa_machine();
	const char *text = "read_weights.parameters first=20 count=3\nhalt\n";
	struct npl_err err;
	for (size_t i = 0; i < 5; i++)
		for (int entry = 0; entry < 12; entry++) {
			memset(weights, 0xff, sizeof weights); /* NaNs everywhere else */
			memset(weights + 80, 0, 96);
			memcpy(weights + 80 + 8 * entry + 4, &good[i], 4);
			cr_assert_str_eq(test_isa_verdict(&config, &memory, text, &err), "");
			memcpy(weights + 80 + 8 * entry + 4, &bad[i], 4);
			char expected[80];
			snprintf(expected, sizeof expected,
				 "test.s:1: read_weights: the scale of entry %d of parameter table %d", entry % 4,
				 entry / 4);
			cr_assert(strstr(test_isa_verdict(&config, &memory, text, &err), expected), "%s", err.msg);
			/* not without values, nor where the weights given end before */
			struct tpu_memory timing = memory, less = memory;
			timing.timing_only = true;
			less.weight_bytes = (size_t)(80 + 8 * entry + 4);
			cr_assert_str_eq(test_isa_verdict(&config, &timing, text, &err), "");
			cr_assert_str_eq(test_isa_verdict(&config, &less, text, &err), "");
			cr_assert_str_eq(test_isa_verdict(&config, NULL, text, &err), "");
		}
}

Test(tpu_isa_check, wrong_operands_of_products_are_refused)
{
#define ONE "matrix_multiply ub=0 acc=0 rows=1\n"
	static const struct rule rules[] = {
		{READY SET("input_zero_point", "127") ONE, READY SET("input_zero_point", "128") ONE,
		 "input_zero_point is 128", "expected -128 to 127: the type is i8"},
		{READY SET("input_zero_point", "-128") ONE, READY SET("input_zero_point", "-129") ONE,
		 "input_zero_point is -129", "expected -128"},
		{READY SET("input_zero_point", "255") "matrix_multiply.unsigned_inputs ub=0 acc=0 rows=1\n",
		 READY SET("input_zero_point", "-1") "matrix_multiply.unsigned_inputs ub=0 acc=0 rows=1\n",
		 "input_zero_point is -1", "expected 0 to 255: the type is u8"},
		{READY SET("weight_zero_point", "-128") ONE, READY SET("weight_zero_point", "200") ONE,
		 "weight_zero_point is 200", "expected -128 to 127"},
		{READY SET("weight_zero_point", "255") "matrix_multiply.unsigned_weights ub=0 acc=0 rows=1\n",
		 READY SET("weight_zero_point", "256") "matrix_multiply.unsigned_weights ub=0 acc=0 rows=1\n",
		 "weight_zero_point is 256", "expected 0 to 255"},
		{READY "matrix_multiply.inputs16 ub=0 acc=0 rows=1\n",
		 READY SET("input_zero_point", "1") "matrix_multiply.inputs16 ub=0 acc=0 rows=1\n",
		 "input_zero_point is 1", "expected 0 with inputs16"},
		{READY SET("useful_cells", "24") ONE, READY SET("useful_cells", "25") ONE, "useful_cells is 25",
		 "expected 0 to 24"},
	};
	CHECK(rules);
}

Test(tpu_isa_check, wrong_windows_of_convolve_are_refused)
{
	static const struct rule rules[] = {
		{IMAGE CONVOLVE, IMAGE SET("in_height", "0") CONVOLVE, "in_height is 0", "expected 1 to 65535"},
		{IMAGE CONVOLVE, IMAGE SET("in_width", "65536") CONVOLVE, "in_width is 65536", "expected 1 to 65535"},
		{IMAGE CONVOLVE, IMAGE SET("out_height", "0") CONVOLVE, "out_height is 0", "expected 1"},
		{IMAGE CONVOLVE, IMAGE SET("out_width", "0") CONVOLVE, "out_width is 0", "expected 1"},
		{IMAGE CONVOLVE, IMAGE SET("kernel_height", "0") CONVOLVE, "kernel_height is 0", "expected 1"},
		{IMAGE CONVOLVE, IMAGE SET("kernel_width", "0") CONVOLVE, "kernel_width is 0", "expected 1"},
		{IMAGE CONVOLVE, IMAGE SET("stride_y", "0") CONVOLVE, "stride_y is 0", "expected 1"},
		{IMAGE CONVOLVE, IMAGE SET("stride_x", "4294967295") CONVOLVE, "stride_x is 4294967295", "expected 1"},
		{IMAGE SET("dilation_y", "65535") CONVOLVE, IMAGE SET("dilation_y", "0") CONVOLVE, "dilation_y is 0",
		 "expected 1 to 65535"},
		{IMAGE SET("dilation_x", "65535") CONVOLVE, IMAGE SET("dilation_x", "65536") CONVOLVE,
		 "dilation_x is 65536", "expected 1 to 65535"},
		{IMAGE SET("pad_top", "65535") CONVOLVE, IMAGE SET("pad_top", "65536") CONVOLVE, "pad_top is 65536",
		 "expected -65535 to 65535"},
		{IMAGE SET("pad_left", "-65535") CONVOLVE, IMAGE SET("pad_left", "-2147483648") CONVOLVE,
		 "pad_left is -2147483648", "expected -65535 to 65535"},
		{IMAGE CONVOLVE, IMAGE SET("tap_lanes", "0") CONVOLVE, "tap_lanes is 0", "expected 1 to 6"},
		{IMAGE SET("pixel_lanes", "6") SET("row_pixels", "1") SET("tap_lanes", "6") SET("taps", "1") CONVOLVE,
		 IMAGE SET("tap_lanes", "7") CONVOLVE, "tap_lanes is 7", "expected 1 to 6"},
		{IMAGE CONVOLVE, IMAGE SET("taps", "4") CONVOLVE, "taps is 4", "expected 1 to 3"},
		{IMAGE CONVOLVE, IMAGE SET("taps", "0") CONVOLVE, "taps is 0", "expected 1 to 3"},
		{IMAGE SET("first_tap", "6") CONVOLVE, IMAGE SET("first_tap", "7") CONVOLVE, "taps 7 to 9",
		 "expected at most 8: the kernel has 9"},
		{IMAGE SET("first_tap", "6") CONVOLVE, IMAGE SET("first_tap", "4294967295") CONVOLVE,
		 "first_tap is 4294967295", "expected 0 to 8"},
		{IMAGE CONVOLVE, IMAGE SET("pixel_lanes", "0") CONVOLVE, "pixel_lanes is 0", "expected 1 to 6"},
		{IMAGE SET("row_pixels", "1") SET("pixel_lanes", "6") CONVOLVE,
		 IMAGE SET("row_pixels", "1") SET("pixel_lanes", "7") CONVOLVE, "pixel_lanes is 7", "expected 1 to 6"},
		{IMAGE CONVOLVE, IMAGE SET("row_pixels", "4") CONVOLVE, "row_pixels is 4", "expected 1 to 3"},
		{IMAGE CONVOLVE, IMAGE SET("row_pixels", "0") CONVOLVE, "row_pixels is 0", "expected 1 to 3"},
		{IMAGE SET("first_lane", "1") SET("tap_lanes", "1") CONVOLVE, IMAGE SET("first_lane", "1") CONVOLVE,
		 "lanes 1 to 2 of each vector", "expected at most 1: the register pixel_lanes is 2"},
		{IMAGE CONVOLVE, IMAGE SET("first_lane", "4294967295") CONVOLVE, "lanes 4294967295 to 4294967296",
		 "at most 1"},
		/* 20 vectors, 3 in a row: 7 rows */
		{IMAGE SET("first_tap", "6") "convolve ub=57 acc=0 rows=20\n",
		 IMAGE SET("first_tap", "6") "convolve ub=58 acc=0 rows=20\n", "reads rows 59 to 64", "at most 63"},
		/* the second image begins at vector 20, in row 6 */
		{IMAGE "set_config pad_top 0\nset_config first_output 20\nconvolve ub=50 acc=0 rows=20\n",
		 IMAGE "set_config pad_top 0\nset_config first_output 20\nconvolve ub=51 acc=0 rows=20\n",
		 "reads rows 57 to 64", "at most 63"},
		/* far outside the image nothing is read */
		{IMAGE SET("pad_top", "60000") "convolve ub=16777215 acc=0 rows=20\n",
		 IMAGE SET("pad_top", "1") "convolve ub=16777215 acc=0 rows=20\n", "reads rows 16777215 to",
		 "at most 63"},
		{IMAGE SET("pad_top", "60000") SET("first_output", "4294967279") "convolve ub=0 acc=0 rows=1\n",
		 IMAGE SET("pad_top", "60000") SET("first_output", "4294967280") "convolve ub=0 acc=0 rows=1\n",
		 "reaches image 214748364 of 20 vectors", "expected at most 2^32"},
		{IMAGE SET("pad_top", "65535") SET("in_width", "65535")
			 SET("in_height", "65535") "convolve ub=0 acc=0 rows=20\n",
		 IMAGE SET("pad_top", "65535") SET("in_width", "65535") SET("in_height", "65535")
			 SET("first_output", "4294967295") "convolve ub=0 acc=0 rows=32\n",
		 "of 4294836225 vectors", "expected at most 2^32"},
	};
	CHECK(rules);
}

#define TYPES(source, result) SET("source_type", source) SET("result_type", result)

Test(tpu_isa_check, wrong_types_of_activate_are_refused)
{
	static const struct rule rules[] = {
		{READY TYPES("u8", "u8") ACTIVATE, READY TYPES("u8", "i8") ACTIVATE,
		 "source_type and result_type are u8 and i8", "expected the same without an operand"},
		{READY TYPES("u8", "i8") "activate.switch.scale ub=30 acc=0 rows=2\n",
		 READY TYPES("i32", "i8") ACTIVATE, "source_type is i32", "expected i8, u8 or i16"},
		{READY SET("source_zero_point", "5") SET("result_zero_point", "5") ACTIVATE,
		 READY SET("source_zero_point", "5") ACTIVATE, "are 5 and 0", "the same without an operand"},
		{READY SET("source_zero_point", "5") "activate.switch.scale ub=30 acc=0 rows=2\n",
		 READY SET("source_zero_point", "128") "activate.switch.scale ub=30 acc=0 rows=2\n",
		 "source_zero_point is 128", "expected -128 to 127"},
		{READY TYPES("u8", "u8") SET("result_zero_point", "255") "activate.switch.scale ub=30 acc=0 rows=2\n",
		 READY TYPES("u8", "u8") SET("result_zero_point", "-1") "activate.switch.scale ub=30 acc=0 rows=2\n",
		 "result_zero_point is -1", "expected 0 to 255"},
		{READY TYPES("i16", "i16") SET("result_plane_rows", "2") ACTIVATE,
		 READY TYPES("i16", "i16") SET("result_plane_rows", "2") SET("source_zero_point", "1") ACTIVATE,
		 "source_zero_point is 1", "expected 0 to 0: the type is i16"},
		{READY TYPES("i16", "i8") SET("function_scale", "0.01") "activate.switch.tanh ub=30 acc=0 rows=2\n",
		 READY TYPES("i8", "i8") "activate.switch.tanh ub=30 acc=0 rows=2\n", "source_type is i8",
		 "expected i16"},
		{READY TYPES("i8", "u8") "activate.switch.scale.sigmoid ub=30 acc=0 rows=2\n",
		 READY TYPES("i8", "u8") "activate.switch.sigmoid ub=30 acc=0 rows=2\n", "source_type is i8",
		 "expected i16"},
		{READY SET("operand_type", "u8")
			 SET("operand_zero_point", "255") "activate.switch.add ub=30 acc=0 rows=2\n",
		 READY SET("operand_type", "i32") "activate.switch.add ub=30 acc=0 rows=2\n", "operand_type is i32",
		 "expected i8, u8 or i16"},
		{READY SET("operand_zero_point", "128") "activate.switch.scale ub=30 acc=0 rows=2\n",
		 READY SET("operand_zero_point", "128") "activate.switch.multiply ub=30 acc=0 rows=2\n",
		 "operand_zero_point is 128", "expected -128 to 127"},
		{READY SET("source_scale", "0x7fc00000") ACTIVATE,
		 READY SET("source_scale", "0x7fc00000") "activate.switch.scale ub=30 acc=0 rows=2\n",
		 "source_scale is nan", "expected a number"},
		{READY SET("source_scale", "7.9e28") "activate.switch.multiply ub=30 acc=0 rows=2\n",
		 READY SET("source_scale", "8e28") "activate.switch.multiply ub=30 acc=0 rows=2\n",
		 "source_scale is 8e+28", "to 2^96"},
		{READY SET("operand_scale", "0xff800000") "activate.switch.multiply ub=30 acc=0 rows=2\n",
		 READY SET("operand_scale", "0xff800000") "activate.switch.add ub=30 acc=0 rows=2\n",
		 "operand_scale is -inf", "expected a number"},
		{READY SET("function_scale", "0x7f800000") "activate.switch.relu ub=30 acc=0 rows=2\n",
		 READY TYPES("i16", "i8")
			 SET("function_scale", "0x7f800000") "activate.switch.sigmoid ub=30 acc=0 rows=2\n",
		 "function_scale is inf", "expected a number"},
		{READY SET("relu6_limit", "127") "activate.switch.relu6 ub=30 acc=0 rows=2\n",
		 READY SET("relu6_limit", "128") "activate.switch.relu6 ub=30 acc=0 rows=2\n", "relu6_limit is 128",
		 "expected -128 to 127"},
		{READY TYPES("i16", "i16") SET("result_plane_rows", "2")
			 SET("relu6_limit", "32767") "activate.switch.relu6 ub=30 acc=0 rows=2\n",
		 READY TYPES("u8", "u8") SET("relu6_limit", "-1") "activate.switch.relu6 ub=30 acc=0 rows=2\n",
		 "relu6_limit is -1", "expected 0 to 255"},
		{READY SET("result_type", "i32") SET("result_plane_rows", "2") ACTIVATE,
		 READY SET("result_type", "i32")
			 SET("result_plane_rows", "2") "activate.switch.relu ub=30 acc=0 rows=2\n",
		 "result_type is i32", "no flag but `switch`"},
	};
	CHECK(rules);
}

Test(tpu_isa_check, wrong_places_of_activate_are_refused)
{
#define COPY "activate.from_buffer ub=30 rows=4\n"
	static const struct rule rules[] = {
		{READY SET("result_columns", "4") ACTIVATE, READY SET("result_columns", "5") ACTIVATE,
		 "result_columns is 5", "expected 1 to 4"},
		{READY SET("result_columns", "1") ACTIVATE, READY SET("result_columns", "0") ACTIVATE,
		 "result_columns is 0", "expected 1 to 4"},
		{READY SET("result_lane", "2") ACTIVATE, READY SET("result_lane", "3") ACTIVATE,
		 "lanes 3 to 6 of each vector", "expected at most 5: the register result_pixel_lanes is 6"},
		{READY SET("result_pixel_lanes", "4") ACTIVATE, READY SET("result_pixel_lanes", "3") ACTIVATE,
		 "lanes 0 to 3", "at most 2"},
		{READY SET("result_columns", "2") SET("result_pixel_lanes", "2") SET("result_row_pixels", "3") ACTIVATE,
		 READY SET("result_row_pixels", "2") ACTIVATE, "result_row_pixels is 2", "expected 1 to 1"},
		{READY "activate.switch ub=62 acc=0 rows=2\n", READY "activate.switch ub=63 acc=0 rows=2\n",
		 "writes rows 63 to 64", "at most 63"},
		{READY SET("first_result", "4") "activate.switch ub=58 acc=0 rows=2\n",
		 READY SET("first_result", "4294967295") "activate.switch ub=58 acc=0 rows=2\n",
		 "writes rows 4294967353 to 4294967354", "at most 63"},
		{READY TYPES("i16", "i16") SET("result_plane_rows", "2") ACTIVATE,
		 READY TYPES("i16", "i16") SET("result_plane_rows", "1") ACTIVATE, "result_plane_rows is 1",
		 "expected 2 at least"},
		{READY SET("result_type", "i32") SET("result_plane_rows", "10") ACTIVATE,
		 READY SET("result_type", "i32") SET("result_plane_rows", "11") ACTIVATE,
		 "activate: writes rows 63 to 64", "at most 63"},
		{SET("source", "10") COPY, SET("source", "61") COPY, "reads rows 61 to 64", "at most 63"},
		{SET("source", "10") COPY, SET("source", "4294967295") COPY, "reads rows 4294967295", "at most 63"},
		{SET("source", "4") SET("first_source", "56") COPY, SET("source", "5") SET("first_source", "56") COPY,
		 "reads rows 61 to 64", "at most 63"},
		{SET("source", "34") COPY, SET("source", "33") COPY,
		 "rows 30 to 33 of the result lie on rows 33 to 36 of the source", "expected others"},
		{SET("source", "30") COPY, SET("source", "27") COPY, "rows 30 to 33 of the result lie on rows 27 to 30",
		 "expected others"},
		{SET("source", "30") SET("first_source", "7") SET("first_result", "7") COPY,
		 SET("source", "30") SET("first_source", "1") COPY, "lie on", "each result in the place of its source"},
		{TYPES("i16", "i16") SET("source", "30") SET("source_plane_rows", "4") SET("result_plane_rows", "4")
			 COPY,
		 TYPES("i16", "i16") SET("source", "30") SET("source_plane_rows", "8") SET("result_plane_rows", "4")
			 COPY,
		 "lie on", "expected others"},
		{SET("operand", "30") SET("source", "10") "activate.from_buffer.add ub=30 rows=4\n",
		 SET("operand", "29") SET("source", "10") "activate.from_buffer.add ub=30 rows=4\n",
		 "rows 30 to 33 of the result lie on rows 29 to 32 of the operand", "expected others"},
		{READY SET("operand", "29") "activate.switch.scale ub=30 acc=0 rows=4\n",
		 READY SET("operand", "29") "activate.switch.multiply ub=30 acc=0 rows=4\n", "of the operand",
		 "expected others"},
		{SET("operand", "60") "activate.from_buffer.add ub=30 rows=4\n",
		 SET("operand", "61") "activate.from_buffer.add ub=30 rows=4\n", "reads rows 61 to 64", "at most 63"},
	};
	CHECK(rules);
}

/* 2 x 2 windows over 4 x 4 vectors. */
#define POOL                                                                                                           \
	SET("in_height", "4")                                                                                          \
	SET("in_width", "4")                                                                                           \
	SET("out_height", "2")                                                                                         \
	SET("out_width", "2")                                                                                          \
	SET("kernel_height", "2") SET("kernel_width", "2") SET("stride_y", "2") SET("stride_x", "2")
#define SAME SET("out_height", "4") SET("out_width", "4") SET("stride_y", "1") SET("stride_x", "1")
#define MAX  "activate.from_buffer.max ub=30 rows=16\n"

Test(tpu_isa_check, wrong_windows_of_pooling_are_refused)
{
	static const struct rule rules[] = {
		{POOL MAX, POOL SET("out_height", "0") MAX, "out_height is 0", "expected 1"},
		{POOL MAX, POOL SET("dilation_y", "2") MAX, "dilation_y is 2", "expected 1 to 1"},
		{POOL MAX, POOL "activate.from_buffer.average ub=30 rows=15\n", "15 source vectors",
		 "in_height x in_width = 16"},
		{POOL "activate.from_buffer.max ub=60 rows=16\n", POOL "activate.from_buffer.max ub=61 rows=16\n",
		 "writes rows 61 to 64", "at most 63"},
		{POOL "activate.from_buffer.max ub=32 rows=32\n", POOL "activate.from_buffer.max ub=0 rows=16\n",
		 "rows 0 to 3 of the result lie on rows 0 to 15 of the source", "expected others"},
		/* 3 x 3 windows one apart give as many results as there are sources */
		{POOL SAME "activate.from_buffer.relu ub=0 rows=16\n",
		 POOL SAME "activate.from_buffer.max ub=0 rows=16\n",
		 "rows 0 to 15 of the result lie on rows 0 to 15 of the source", "expected others"},
		{POOL SET("pad_top", "1") MAX, POOL SET("pad_top", "2") MAX,
		 "the first window along the height begins at -2", "expected -1 to 3"},
		{POOL SET("pad_left", "-1") MAX, POOL SET("pad_left", "-2") MAX,
		 "the last window along the width begins at 4", "expected -1 to 3"},
		{POOL SET("stride_x", "3") MAX, POOL SET("stride_x", "4") MAX,
		 "the last window along the width begins at 4", "to 3"},
		{POOL SET("kernel_height", "256") SET("kernel_width", "256") MAX,
		 POOL SET("kernel_height", "257") SET("kernel_width", "256") MAX, "a pooling window of 65792 taps",
		 "expected at most 65536"},
		{POOL SET("kernel_height", "65535") SET("kernel_width", "1") SET("pad_top", "65534")
			 SET("stride_y", "1") SET("out_height", "60") SET("out_width", "1") SET("stride_x", "1")
				 SET("in_width", "1") SET("in_height", "1") "activate.from_buffer.max ub=4 rows=1\n",
		 POOL SET("kernel_height", "65535") SET("kernel_width", "1") SET("pad_top", "65534")
			 SET("stride_y", "1") SET("out_height", "65535") SET("out_width", "1") SET("stride_x", "1")
				 SET("in_width", "1") SET("in_height", "1") "activate.from_buffer.max ub=4 rows=1\n",
		 "writes rows 4 to 65538", "at most 63"},
	};
	CHECK(rules);
}

struct touched {
	int64_t first, last; /* rows; first > last: none */
};

/* What the document says of a convolve, vector by vector. */
static struct touched brute_force(const struct tpu_registers *g, const struct tpu_instruction *instruction)
{
	struct touched t = {INT64_MAX, -1};
	int64_t ow = g->value[TPU_REG_OUT_WIDTH], oh = g->value[TPU_REG_OUT_HEIGHT];
	int64_t iw = g->value[TPU_REG_IN_WIDTH], ih = g->value[TPU_REG_IN_HEIGHT];
	for (int64_t b = 0; b < instruction->length; b++) {
		int64_t p = g->value[TPU_REG_FIRST_OUTPUT] + b, x = p % ow, y = p / ow % oh, n = p / (ow * oh);
		for (int64_t i = 0; i < g->value[TPU_REG_TAPS]; i++) {
			int64_t tap = g->value[TPU_REG_FIRST_TAP] + i;
			int64_t iy = y * g->value[TPU_REG_STRIDE_Y] +
				     tap / g->value[TPU_REG_KERNEL_WIDTH] * g->value[TPU_REG_DILATION_Y] -
				     tpu_signed(g, TPU_REG_PAD_TOP);
			int64_t ix = x * g->value[TPU_REG_STRIDE_X] +
				     tap % g->value[TPU_REG_KERNEL_WIDTH] * g->value[TPU_REG_DILATION_X] -
				     tpu_signed(g, TPU_REG_PAD_LEFT);
			if (iy < 0 || iy >= ih || ix < 0 || ix >= iw)
				continue;
			int64_t row = instruction->ub + ((n * ih + iy) * iw + ix) / g->value[TPU_REG_ROW_PIXELS];
			t.first = row < t.first ? row : t.first;
			t.last = row > t.last ? row : t.last;
		}
	}
	return t;
}

Test(tpu_isa_check, rows_of_a_convolve)
{
	struct tpu_config config = test_isa_machine();
	config.buffer_bytes = 36000;
	int tight = 0, some = 0;
	for (uint64_t seed = 1; seed <= 20000; seed++) {
		uint64_t rng = seed;
		struct tpu_instruction instruction = {
			.opcode = TPU_CONVOLVE, .flags = TPU_MATRIX_SWITCH, .ub = (uint32_t)test_range(&rng, 0, 9)};
		struct sim_program program = {
			.set = &tpu_instruction_set, .instruction = &instruction, .line = &(int){1}, .count = 1};
		struct npl_err err = {0};
		struct tpu_check check = {.config = &config,
					  .program = &program,
					  .source = "x",
					  .err = &err,
					  .instruction = &instruction,
					  .tiles = 1};
		struct tpu_registers *g = &check.registers;
		*g = tpu_reset_registers(6, 4);
		for (enum tpu_register r = TPU_REG_IN_HEIGHT; r <= TPU_REG_KERNEL_WIDTH; r++)
			g->value[r] = (uint32_t)test_range(&rng, 1, r <= TPU_REG_OUT_WIDTH ? 6 : 3);
		for (enum tpu_register r = TPU_REG_STRIDE_Y; r <= TPU_REG_DILATION_X; r++)
			g->value[r] = (uint32_t)test_range(&rng, 1, 2);
		for (enum tpu_register r = TPU_REG_PAD_TOP; r <= TPU_REG_PAD_LEFT; r++)
			g->value[r] = (uint32_t)test_range(&rng, -2, 4);
		g->value[TPU_REG_PIXEL_LANES] = (uint32_t)test_range(&rng, 1, 6);
		g->value[TPU_REG_ROW_PIXELS] = (uint32_t)test_range(&rng, 1, 6 / g->value[TPU_REG_PIXEL_LANES]);
		g->value[TPU_REG_TAP_LANES] = 1;
		int64_t kernel = g->value[TPU_REG_KERNEL_HEIGHT] * g->value[TPU_REG_KERNEL_WIDTH];
		g->value[TPU_REG_FIRST_TAP] = (uint32_t)test_range(&rng, 0, kernel - 1);
		int64_t maximum = kernel - g->value[TPU_REG_FIRST_TAP];
		g->value[TPU_REG_TAPS] = (uint32_t)test_range(&rng, 1, maximum < 6 ? maximum : 6);
		g->value[TPU_REG_FIRST_OUTPUT] = (uint32_t)test_range(&rng, 0, 80);
		instruction.length = (uint32_t)test_range(&rng, 1, 32);
		cr_assert_eq(tpu_check_matrix(&check), 0, "seed %llu: %s", (unsigned long long)seed, err.msg);
		struct touched exact = brute_force(g, &instruction);
		if (exact.first > exact.last)
			continue;
		some++;
		cr_assert_eq(check.n_accesses, 1, "seed %llu", (unsigned long long)seed);
		cr_assert(check.access[0].first <= exact.first && check.access[0].end > exact.last,
			  "seed %llu: rows %lld to %lld are read, said are %lld to %lld", (unsigned long long)seed,
			  (long long)exact.first, (long long)exact.last, (long long)check.access[0].first,
			  (long long)check.access[0].end - 1);
		/* never more than two rows of the image beyond, and mostly none */
		int64_t slack = 2 * (g->value[TPU_REG_IN_WIDTH] / g->value[TPU_REG_ROW_PIXELS] + 1);
		bool near = check.access[0].first >= exact.first - slack &&
			    check.access[0].end <= exact.last + 1 + slack;
		tight += near;
	}
	cr_assert(some > 8000 && tight > some * 9 / 10, "%d of %d", tight, some);
}
