/* SPDX-License-Identifier: MIT
 *
 * The instruction set of the systolic machines. What the program promises: instructions lie in their 12 bytes as
 * docs/tpu-isa.md says, registers and instructions have the names, numbers and values at reset of its tables, every
 * valid instruction goes to text and back without a bit changed, and whatever the assembler is given it makes an
 * instruction of it or says in one line what is wrong and what was expected. */
#include "tests/kit/sim/tpu_v1/isa_support.h"

#include "tests/kit/sim/tpu_v1/code.h"
#include <ctype.h>

Test(tpu_isa, bytes_of_an_instruction)
{
	const struct tpu_instruction example = {
		.opcode = TPU_CONVOLVE, .flags = 0x1234, .ub = 0xabcdef, .operand = 0x5678, .length = 0x9abcdef0};
	const uint8_t expected[TPU_INSTRUCTION_BYTES] = {0x21, 0x34, 0x12, 0xef, 0xcd, 0xab,
							 0x78, 0x56, 0xf0, 0xde, 0xbc, 0x9a};
	uint8_t bytes[TPU_INSTRUCTION_BYTES];
	tpu_encode(&example, bytes);
	cr_assert_arr_eq(bytes, expected, sizeof bytes);
	uint64_t rng = 11;
	for (int i = 0; i < 1000; i++) {
		uint8_t in[TPU_INSTRUCTION_BYTES];
		for (size_t k = 0; k < sizeof in; k++)
			in[k] = (uint8_t)(test_rng(&rng) >> 32);
		struct tpu_instruction decoded = tpu_decode(in);
		tpu_encode(&decoded, bytes);
		cr_assert_arr_eq(bytes, in, sizeof in, "round %d", i);
	}
}

/* Cell `column` of a row "| a | b | c |", without blanks around it. */
static void cell_of(const char *row, int column, char *cell, size_t n)
{
	for (int i = 0; i <= column; i++)
		row = strchr(row, '|') + 1;
	const char *end = strchr(row, '|');
	while (*row == ' ')
		row++;
	while (end > row && end[-1] == ' ')
		end--;
	snprintf(cell, n, "%.*s", (int)(end - row), row);
}

/* The next name in backticks, or NULL; *at moves after it. */
static const char *next_name(const char **at, char *name, size_t n)
{
	const char *open = strchr(*at, '`'), *close = open ? strchr(open + 1, '`') : NULL;
	if (!close)
		return NULL;
	snprintf(name, n, "%.*s", (int)(close - open - 1), open + 1);
	*at = close + 1;
	return name;
}

static uint32_t reset_value(const char *text, int64_t rows, int64_t columns)
{
	if (!strcmp(text, "R"))
		return (uint32_t)rows;
	if (!strcmp(text, "C"))
		return (uint32_t)columns;
	if (!strcmp(text, "W"))
		return (uint32_t)(rows > columns ? rows : columns);
	if (!strcmp(text, "R * C"))
		return (uint32_t)(rows * columns);
	if (!strcmp(text, "i8"))
		return TPU_I8;
	cr_assert(isdigit((unsigned char)*text), "%s", text);
	return (uint32_t)atoi(text);
}

/* The document's table of registers is the program's. */
Test(tpu_isa, registers_are_those_of_the_document)
{
	char *text = test_isa_read("docs/tpu-isa.md"), cell[400], name[64];
	int next = 0;
	const struct tpu_registers reset = tpu_reset_registers(5, 9), wide = tpu_reset_registers(9, 5);
	const char *row = strstr(text, "| number | register |");
	cr_assert(row);
	for (row = strchr(strchr(row, '\n') + 1, '\n') + 1; *row == '|'; row = strchr(row, '\n') + 1) {
		char otherwise[16], meaning[400];
		cell_of(row, 0, cell, sizeof cell);
		cr_assert_eq(atoi(cell), next, "after register %d comes '%s'", next - 1, cell);
		cell_of(row, 1, cell, sizeof cell);
		cell_of(row, 2, otherwise, sizeof otherwise);
		cell_of(row, 3, meaning, sizeof meaning);
		for (const char *at = cell; next_name(&at, name, sizeof name); next++) {
			cr_assert_lt(next, TPU_REGISTERS, "%s", name);
			const struct sim_field *value = &tpu_register_values[next];
			cr_assert_str_eq(tpu_register_names[next], name);
			cr_assert_eq(reset.value[next], reset_value(otherwise, 5, 9), "%s", name);
			cr_assert_eq(wide.value[next], reset_value(otherwise, 9, 5), "%s", name);
			cr_assert_eq(value->kind == SIM_FLOAT, strstr(meaning, "float32") != NULL, "%s", name);
			cr_assert_eq(value->low < 0, strstr(meaning, "signed") != NULL, "%s", name);
			cr_assert_eq(value->kind == SIM_NAMED, strstr(name, "_type") != NULL, "%s", name);
		}
	}
	cr_assert_eq(next, TPU_REGISTERS, "the document has %d registers", next);
	free(text);
}

/* So are its tables of opcodes, flags (first name: bit 0 or value 1) and units. */
Test(tpu_isa, instructions_are_those_of_the_document)
{
	char *text = test_isa_read("docs/tpu-isa.md"), cell[600], name[64];
	int known = 0;
	for (const char *row = strstr(text, "| 0x00 |"); *row == '|'; row = strchr(row, '\n') + 1, known++) {
		cell_of(row, 0, cell, sizeof cell);
		const struct tpu_instruction at_opcode = {.opcode = (uint8_t)strtol(cell, NULL, 16)};
		const struct sim_slot *syntax = sim_slot_of(&tpu_instruction_set, &at_opcode);
		cr_assert(syntax, "%s", cell);
		cell_of(row, 1, cell, sizeof cell);
		const char *at = cell;
		cr_assert_str_eq(next_name(&at, name, sizeof name), syntax->name);
		cell_of(row, 5, cell, sizeof cell);
		const struct sim_flag *flag = syntax->flag;
		at = cell;
		if (syntax->opcode == TPU_CONVOLVE) /* "as `matrix_multiply`" */
			flag = NULL, at = "";
		while (syntax->opcode != TPU_SYNC && next_name(&at, name, sizeof name)) {
			cr_assert(flag && flag->name, "%s has no flag %s", syntax->name, name);
			cr_assert_str_eq(flag->name, name);
			flag++;
		}
		cr_assert(syntax->opcode == TPU_SYNC || syntax->opcode == TPU_CONVOLVE || !flag || !flag->name, "%s",
			  syntax->name);
	}
	cr_assert_eq(known, TPU_OPCODES);
	known = 0;
	const char *row = strchr(strstr(text, "| unit | instructions |"), '\n') + 1;
	for (row = strchr(row, '\n') + 1; *row == '|'; row = strchr(row, '\n') + 1, known++) {
		const char *at = row;
		cr_assert_str_eq(next_name(&at, name, sizeof name), tpu_units[known].name);
		while (at < strchr(row, '\n') && next_name(&at, name, sizeof name) && at < strchr(row, '\n'))
			for (int i = 0; i < TPU_OPCODES; i++)
				if (!strcmp(tpu_instruction_set.slot[i].name, name))
					cr_assert_eq((int)tpu_unit_of(tpu_instruction_set.slot[i].opcode), known, "%s",
						     name);
	}
	cr_assert_eq(known, TPU_UNITS);
	cr_assert_null(sim_slot_of(&tpu_instruction_set, &(struct tpu_instruction){.opcode = 0x04}));
	cr_assert_eq(tpu_unit_of(0x04), TPU_UNITS);
	free(text);
}

static void check_round_trip(const struct sim_program *program, uint64_t seed)
{
	struct npl_err err = {0};
	struct sim_program reread;
	char *text;
	cr_assert_eq(tpu_disassemble("a", program, &text, &err), 0, "seed %llu: %s", (unsigned long long)seed, err.msg);
	cr_assert_eq(tpu_assemble("b", text, strlen(text), &reread, &err), 0, "seed %llu: %s", (unsigned long long)seed,
		     err.msg);
	cr_assert_eq(reread.count, program->count);
	const char *line = text;
	for (int64_t i = 0; i < program->count; i++) {
		uint8_t a[TPU_INSTRUCTION_BYTES], b[TPU_INSTRUCTION_BYTES];
		tpu_encode(&tpu_code(program)[i], a);
		tpu_encode(&tpu_code(&reread)[i], b);
		cr_assert_arr_eq(a, b, sizeof a, "seed %llu: %.*s", (unsigned long long)seed, (int)strcspn(line, "\n"),
				 line);
		cr_assert_eq(reread.line[i], i + 1);
		line = strchr(line, '\n') + 1;
	}
	sim_program_free(&reread);
	free(text);
}

Test(tpu_isa, programs_survive_text)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t rng = seed;
		struct npl_err err = {0};
		struct sim_program program = {0};
		for (int i = 0; i < 500; i++)
			cr_assert_eq(tpu_program_add(&program, test_isa_random(&rng), 0, &err), 0);
		check_round_trip(&program, seed);
		sim_program_free(&program);
	}
}

/* Each register with bits that are hard to print: the ends of each type, floats of every kind. */
Test(tpu_isa, register_values_survive_text)
{
	static const uint32_t bits[] = {0,          1,          0x80000000, 0x7fffffff, 0xffffffff, 0x3dcccccd,
					0x3dccccce, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001,
					0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x4b800001, 0x33333333,
					0x80000001, 10,         3};
	uint64_t rng = 77;
	struct sim_program program = {0};
	struct npl_err err = {0};
	for (enum tpu_register r = 0; r < TPU_REGISTERS; r++)
		for (size_t i = 0; i < 400; i++) {
			uint32_t value = i < sizeof bits / sizeof *bits ? bits[i] : (uint32_t)(test_rng(&rng) >> 32);
			if (tpu_register_values[r].kind == SIM_NAMED)
				value %= TPU_TYPES;
			const struct tpu_instruction set = {
				.opcode = TPU_SET_CONFIG, .operand = (uint16_t)r, .length = value};
			cr_assert_eq(tpu_program_add(&program, set, 0, &err), 0);
		}
	check_round_trip(&program, 77);
	sim_program_free(&program);
}

/* The same program in another notation gives the same instructions. */
Test(tpu_isa, every_notation_gives_the_same_program)
{
	static const char plain[] = "set_config source_scale 0.25\nset_config pad_top -3\nset_config result_type u8\n"
				    "sync host_in activate\n"
				    "matrix_multiply.switch.unsigned_inputs ub=16 acc=2 rows=200\n"
				    "activate.from_buffer.add.relu.max ub=4096 rows=200\nhalt\n";
	static const char *const others[] = {
		"# a comment\r\n\r\nset_config source_scale 0x3e800000\r\n\tset_config  pad_top\t-3 # why\r\n"
		"set_config result_type u8\r\nsync activate host_in\r\n"
		"matrix_multiply.unsigned_inputs.switch rows=200 acc=2 ub=16\r\n"
		"activate.max.relu.add.from_buffer rows=200 ub=4096\r\nhalt",
		"define SCALE 2.5e-1\ndefine ROWS 0xC8\ndefine _x1 -3\ndefine ALSO ROWS\nset_config source_scale "
		"SCALE\n"
		"set_config pad_top _x1\nset_config result_type u8\nsync host_in activate\n"
		"matrix_multiply.switch.unsigned_inputs ub=0x10 acc=0x0002 rows=ROWS\n"
		"activate.from_buffer.add.relu.max ub=0x1000 rows=ALSO\nhalt#",
	};
	struct sim_program expected = test_isa_program(plain);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		struct sim_program program = test_isa_program(others[i]);
		cr_assert_eq(program.count, expected.count);
		for (int64_t k = 0; k < program.count; k++) {
			uint8_t a[TPU_INSTRUCTION_BYTES], b[TPU_INSTRUCTION_BYTES];
			tpu_encode(&tpu_code(&program)[k], a);
			tpu_encode(&tpu_code(&expected)[k], b);
			cr_assert_arr_eq(a, b, sizeof a, "way %zu, instruction %lld", i, (long long)k);
		}
		sim_program_free(&program);
	}
	cr_assert_eq(tpu_code(&expected)[4].flags, TPU_MATRIX_SWITCH | TPU_MATRIX_UNSIGNED_INPUTS);
	cr_assert_eq(tpu_code(&expected)[5].flags, TPU_ACTIVATE_FROM_BUFFER | TPU_WITH_OPERAND(TPU_ADD) |
							   TPU_WITH_FUNCTION(TPU_RELU) |
							   TPU_WITH_POOLING(TPU_POOL_MAX));
	sim_program_free(&expected);
	struct sim_program empty = test_isa_program("# nothing\n\n");
	cr_assert_eq(empty.count, 0);
	sim_program_free(&empty);
}

#define WORD_100 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggghhhhhhhhhhiiiiiiiiiijjjjjjjjjj"

/* Programs with one mistake, in the last line of each: two parts of what the message says. */
static const struct {
	const char *text, *expected, *expects;
} wrong_texts[] = {
	{"halt\nmatrix_multipy ub=0", "no instruction 'matrix_multipy'", "nearest is 'matrix_multiply'"},
	{"Halt", "no instruction 'Halt'", "'halt'"},
	{"halt.now", "halt: there is no flag 'now'", "expected none"},
	{"convolve.swich ub=0 acc=0 rows=1", "convolve: there is no flag 'swich'", "nearest is 'switch'"},
	{"activate. ub=0 acc=0 rows=1", "activate: there is no flag ''", ""},
	{"convolve.switch.switch ub=0 acc=0 rows=1", "'switch' is one too many", "expected each flag once"},
	{"activate.relu.tanh ub=0 acc=0 rows=1", "'tanh' is one too many", "one of its kind"},
	{"activate.max.average ub=0 acc=0 rows=1", "'average' is one too many", "one of its kind"},
	{"activate.scale.add ub=0 acc=0 rows=1", "'add' is one too many", "one of its kind"},
	{"\n\nconvolve ub=0 rows=1", "convolve: no acc", "expected ub= acc= rows="},
	{"convolve ub=0 acc=0 rows=1 acc=0", "acc= is given twice", "expected ub= acc= rows="},
	{"convolve ub=0 acc=0 length=1", "'length='", "expected ub= acc= rows="},
	{"convolve ub acc=0 rows=1", "'ub'", "expected ub= acc= rows="},
	{"read_weights ub=0 first=1 count=1", "'ub='", "expected count= first="},
	{"activate.from_buffer ub=0 acc=0 rows=1", "'acc='", "expected ub= rows="},
	{"nop ub=0", "'ub='", "expected no more"},
	{"convolve ub=16777216 acc=0 rows=1", "ub is '16777216'", "from 0 to 16777215"},
	{"convolve ub=0 acc=65536 rows=1", "acc is '65536'", "from 0 to 65535"},
	{"convolve ub=0 acc=0 rows=0", "rows is '0'", "from 1 to 4294967295"},
	{"convolve ub=0 acc=0 rows=4294967296", "rows is '4294967296'", "from 1 to 4294967295"},
	{"read_weights first=0 count=0", "count is '0'", "from 1 to 65535"},
	{"convolve ub=-1 acc=0 rows=1", "ub is '-1'", "from 0"},
	{"convolve ub=99999999999999999999 acc=0 rows=1", "ub is '99999999999999999999'", "whole number"},
	{"convolve ub= acc=0 rows=1", "ub= without a value", "expected ub=VALUE"},
	{"convolve ub=1.5 acc=0 rows=1", "ub is '1.5'", "whole number"},
	{"convolve ub=0x acc=0 rows=1", "ub is '0x'", "whole number"},
	{"convolve ub=ROWS acc=0 rows=1", "ub is 'ROWS'", "a defined name"},
	{"define ROWS -1\nconvolve ub=ROWS acc=0 rows=1", "ub is 'ROWS' ('-1')", "whole number from 0"},
	{"sync", "sync: no unit", "host_in, host_out, weights, matrix, activate"},
	{"sync host-in", "no unit 'host-in'", "nearest is 'host_in'"},
	{"sync matrix matrix", "'matrix' is one too many", "once"},
	{"sync.matrix", "sync.matrix", "expected each unit as a word of its own"},
	{"set_config", "no register", "expected register,value"},
	{"set_config strideY 1", "no register 'strideY'", "nearest is 'stride_y'"},
	{"set_config stride_y", "set_config: no stride_y", "expected register,value"},
	{"set_config stride_y -1", "stride_y is '-1'", "from 0 to 4294967295"},
	{"set_config pad_top 2147483648", "pad_top is '2147483648'", "from -2147483648 to 2147483647"},
	{"set_config stride_y 1 2", "'2' is one value too many", "expected register,value"},
	{"set_config result_type s8", "there is no result_type 's8'", "expected i8, u8, i16 or i32"},
	{"set_config source_scale one", "source_scale is 'one'", "float32"},
	{"set_config source_scale nan", "source_scale is 'nan'", "float32"},
	{"set_config source_scale 1e39", "source_scale is '1e39'", "float32"},
	{"set_config source_scale 1e", "source_scale is '1e'", "float32"},
	{"set_config source_scale 0x123456789", "source_scale is '0x123456789'", "float32"},
	{"define", "define ''", "expected a name"},
	{"define 1X 2", "define '1X'", "expected a name"},
	{"define X", "define X ''", "expected a number"},
	{"define X Y", "define X 'Y'", "expected a number"},
	{"define X 1\nhalt\ndefine X 2", "'X' is defined already, on line 1", "another name"},
	{"define X 1 2", "'2' is one too many", "end of the line"},
	{"halt halt", "'halt'", "expected no more"},
	{WORD_100, "no instruction 'aaaaaaaaaa", "jjjj'"},
	{WORD_100 "k", "a word of 101 characters", "at most 100"},
	{"\x01\xff",
	 "no instruction '?"
	 "?'",
	 ""},
};

/* Each message begins with the file and the number of its last line, and leaves no program. */
Test(tpu_isa, wrong_texts_are_refused_with_their_line)
{
	for (size_t i = 0; i < sizeof wrong_texts / sizeof *wrong_texts; i++) {
		struct sim_program program;
		struct npl_err err = {0};
		char place[32];
		int line = 1;
		for (const char *c = wrong_texts[i].text; *c; c++)
			line += *c == '\n';
		snprintf(place, sizeof place, "bad.s:%d: ", line);
		cr_assert_eq(tpu_assemble("bad.s", wrong_texts[i].text, strlen(wrong_texts[i].text), &program, &err),
			     NPL_EINPUT, "%s", wrong_texts[i].text);
		cr_assert(!strncmp(err.msg, place, strlen(place)) && strstr(err.msg, wrong_texts[i].expected) &&
				  strstr(err.msg, wrong_texts[i].expects),
			  "%s: expected '%s' and '%s' in: %s", wrong_texts[i].text, wrong_texts[i].expected,
			  wrong_texts[i].expects, err.msg);
		cr_assert(program.count == 0 && !program.instruction);
	}
	struct sim_program program;
	struct npl_err err = {0};
	cr_assert_eq(tpu_assemble("bad.s", "halt\0\n", 6, &program, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "bad.s:1: a NUL byte"), "%s", err.msg);
}

/* A damaged text is refused, or gives a program that reads back. */
Test(tpu_isa, random_bytes_never_crash_the_assembler)
{
	static const char seed_text[] = "define ROWS 0x20\nset_config source_scale 1.5e-3\nset_config pad_top -1\n"
					"activate.switch.relu6.average_padded ub=12 acc=3 rows=ROWS # comment\n"
					"sync host_in host_out\nread_weights.parameters first=7 count=2\r\nhalt\n";
	int accepted = 0;
	for (uint64_t seed = 1; seed <= 20000; seed++) {
		uint64_t rng = seed;
		char text[sizeof seed_text], reason[200];
		struct sim_program program;
		struct npl_err err = {0};
		memcpy(text, seed_text, sizeof text);
		for (int64_t k = test_range(&rng, 1, 3); k > 0; k--)
			text[test_range(&rng, 0, sizeof text - 1)] = (char)test_range(&rng, -128, 127);
		size_t n = (size_t)test_range(&rng, 0, sizeof text);
		int rc = tpu_assemble("x", text, n, &program, &err);
		if (rc) {
			cr_assert(rc == NPL_EINPUT && !strncmp(err.msg, "x:", 2), "seed %llu: %s",
				  (unsigned long long)seed, err.msg);
			continue;
		}
		accepted++;
		for (int64_t i = 0; i < program.count; i++)
			cr_assert(tpu_instruction_ok(&tpu_code(&program)[i], reason, sizeof reason), "seed %llu: %s",
				  (unsigned long long)seed, reason);
		sim_program_free(&program);
	}
	cr_assert(accepted > 1000, "%d", accepted);
}

Test(tpu_isa, long_texts_are_assembled)
{
	size_t n = 3 << 20;
	char *text = malloc(n);
	struct sim_program program;
	struct npl_err err = {0};
	cr_assert(text);
	memset(text, ' ', n);
	memcpy(text, "halt", 4);
	cr_assert_eq(tpu_assemble("x", text, n, &program, &err), 0, "%s", err.msg); /* one line */
	cr_assert_eq(program.count, 1);
	sim_program_free(&program);
	memset(text, 'a', n);
	cr_assert_eq(tpu_assemble("x", text, n, &program, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "x:1: a word of 3145728 characters"), "%s", err.msg);
	memset(text, '\n', n);
	memcpy(text + n - 4, "halt", 4);
	cr_assert_eq(tpu_assemble("x", text, n, &program, &err), 0, "%s", err.msg);
	cr_assert_eq(program.line[0], (int)n - 3);
	sim_program_free(&program);
	free(text);
}

Test(tpu_isa, binaries_cut_off_are_refused)
{
	uint8_t bytes[3 * TPU_INSTRUCTION_BYTES] = {0};
	for (size_t n = 0; n <= sizeof bytes; n++) {
		struct sim_program program;
		struct npl_err err = {0};
		int rc = sim_from_binary(&tpu_instruction_set, "f.bin", bytes, n, &program, &err);
		cr_assert_eq(rc, n % TPU_INSTRUCTION_BYTES ? NPL_EINPUT : 0, "%zu", n);
		cr_assert(!rc || strstr(err.msg, "f.bin: the last instruction is cut off"), "%s", err.msg);
		cr_assert_eq(program.count, rc ? 0 : (int64_t)n / TPU_INSTRUCTION_BYTES);
		sim_program_free(&program);
	}
}

/* What has no text is refused, with its number: any damaged byte that makes an instruction none. */
Test(tpu_isa, an_invalid_instruction_has_no_text)
{
	int refused = 0;
	for (uint64_t seed = 1; seed <= 5000; seed++) {
		uint64_t rng = seed;
		struct sim_program program = {0};
		struct npl_err err = {0};
		uint8_t bytes[TPU_INSTRUCTION_BYTES];
		char reason[200], *text;
		struct tpu_instruction instruction = test_isa_random(&rng);
		tpu_encode(&instruction, bytes);
		bytes[test_range(&rng, 0, 11)] ^= (uint8_t)(1 << test_range(&rng, 0, 7));
		instruction = tpu_decode(bytes);
		cr_assert_eq(tpu_program_add(&program, (struct tpu_instruction){.opcode = TPU_NOP}, 0, &err), 0);
		cr_assert_eq(tpu_program_add(&program, instruction, 0, &err), 0);
		if (tpu_instruction_ok(&instruction, reason, sizeof reason)) {
			check_round_trip(&program, seed);
		} else {
			refused++;
			cr_assert_eq(tpu_disassemble("d", &program, &text, &err), NPL_EINPUT);
			cr_assert(!strncmp(err.msg, "d: instruction 1: ", 18) && strstr(err.msg, "expected"), "%s",
				  err.msg);
			cr_assert_null(text);
		}
		sim_program_free(&program);
	}
	cr_assert(refused > 1000 && refused < 4000, "%d", refused);
}
