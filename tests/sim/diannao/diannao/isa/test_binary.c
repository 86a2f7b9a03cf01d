/* SPDX-License-Identifier: MIT
 *
 * The binary form of DianNao's programs. What the program promises: instructions lie in their 64 bytes, header and
 * functions in theirs, as docs/diannao-isa.md says; and of any bytes the decoder makes a program that encodes to them
 * again, or says in one line what is wrong and what was expected. */
#include "tests/kit/sim/diannao/code.h"
#include "tests/kit/sim/diannao/isa_support.h"

enum { FORMER = 40, HEADER = FORMER + 16 + 64, FUNCTION = 96 };

static const struct dn_instruction example = {
	.cp.op = DN_CP_END,
	.sb = {DN_LOAD, 1, 0x665544332211, 0x04030201},
	.nbin = {DN_READ, 0, 3, 0x100, 0x106, 0, 0},
	.nbout = {DN_READ, DN_STORE, 0x0000ffeeddcc, 0x0c0b0a08},
	.nfu = {DN_MULT, DN_ADD, DN_FROM_NBOUT, DN_TO_NFU3, 2, 1, 0, -2, 0x1234, 0x00010000},
};

Test(diannao_isa_binary, bytes_of_a_program)
{
	static const uint8_t instruction[DN_INSTRUCTION_BYTES] = {
		2,                                                             /* CP */
		1, 1, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 1,    2,    3,    4, /* SB */
		2, 0, 3,    0,    0,    0,    0,    1,    0,    0,    6,    1,  0, 0, 0,
		0, 0, 0,    0,    0,    0,    0,    0,    0,                             /* NBIN */
		2, 2, 0xcc, 0xdd, 0xee, 0xff, 0,    0,    8,    10,   11,   12,          /* NBOUT */
		1, 1, 1,    2,    2,    1,    0,    0xfe, 0xff, 0x34, 0x12, 0,  0, 1, 0, /* NFU */
	};
	uint8_t header[HEADER] = {'N', 'P', 'U', 'L', 'A',  'B',  '\n', 0,    1, 0, 0, 0, 2,    0, 0, 0, 1, 0, 0, 0,
				  0,   0,   0,   0,   0x0d, 0xf0, 0xad, 0x0b, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0};
	struct sim_program program = {.set = &dn_instruction_set,
				      .n_constants = 2,
				      .constant = {{.name = "F"}, {.name = "a_rather_long_name_of_31_letter"}},
				      .host_address = 0x0badf00d,
				      .weight_address = 255};
	memcpy(header + FORMER, "diannao", 7);
	memcpy(header + FORMER + 16, "diannao", 7);
	struct npl_err err = {0};
	size_t n;
	for (int i = 0; i < DN_SEGMENTS; i++) {
		program.constant[0].value[i] = (int16_t)(-1 - i);
		program.constant[0].value[DN_SEGMENTS + i] = (int16_t)(256 + i);
	}
	cr_assert_eq(dn_program_add(&program, &example, 7, &err), 0);
	uint8_t *bytes = dn_isa_encoded(&program, &n);
	cr_assert_eq(n, HEADER + 2 * FUNCTION + DN_INSTRUCTION_BYTES);
	cr_assert_arr_eq(bytes, header, HEADER);
	cr_assert_arr_eq(bytes + HEADER, "F\0\0", 3);
	for (int i = 0; i < DN_SEGMENTS; i++) {
		const uint8_t pair[4] = {(uint8_t)(255 - i), 0xff, (uint8_t)i, 1};
		cr_assert_arr_eq(bytes + HEADER + 32 + 4 * i, pair, 4);
	}
	cr_assert_str_eq((char *)bytes + HEADER + FUNCTION, "a_rather_long_name_of_31_letter");
	cr_assert_arr_eq(bytes + HEADER + 2 * FUNCTION, instruction, sizeof instruction);
	free(bytes);
	sim_program_free(&program);
	cr_assert_eq(sim_instruction_bytes(&dn_instruction_set), DN_INSTRUCTION_BYTES);
}

/* Cell `column` of a row "| a | b | c |", without blanks around it and the mark of what is not in the paper. */
static void cell_of(const char *row, int column, char *cell, size_t n)
{
	for (int i = 0; i <= column; i++)
		row = strchr(row, '|') + 1;
	const char *end = strchr(row, '|');
	while (*row == ' ')
		row++;
	while (end > row && (end[-1] == ' ' || (unsigned char)end[-1] >= 0x80))
		end--;
	snprintf(cell, n, "%.*s", (int)(end - row), row);
}

/* "NOP, -, READ \xe2\x80\xa0" against a field's names, or "0 to 1" against its range. */
static void check_values(const struct sim_field *field, char *cell)
{
	char range[64], *word = cell;
	snprintf(range, sizeof range, "%lld to %lld", (long long)field->low, (long long)field->high);
	if (!field->names) {
		cr_assert_str_eq(cell, range, "%s", field->name);
		return;
	}
	for (int64_t i = 0; i <= field->high; i++) {
		cr_assert(word, "%s has more than the document's", field->name);
		char *name = strsep(&word, ",");
		name += strspn(name, " ");
		name[strcspn(name, " ")] = '\0';
		cr_assert_str_eq(name, field->names[i] ? field->names[i] : "-", "%s", field->name);
	}
	cr_assert_null(word, "%s: %s", field->name, word);
}

/* The document's table of fields is the program's. */
Test(diannao_isa_binary, fields_are_those_of_the_document)
{
	FILE *file = fopen("docs/diannao-isa.md", "rb");
	char *text = calloc(1, 1 << 20), cell[200];
	cr_assert(file && text && fread(text, 1, (1 << 20) - 1, file) > 0);
	fclose(file);
	const char *row = strstr(text, "| slot | field | byte | bytes | values |");
	cr_assert(row);
	row = strchr(strchr(row, '\n') + 1, '\n') + 1;
	int byte = 0;
	for (int s = 0; s < DN_SLOTS; s++)
		for (int i = 0; i < dn_instruction_set.slot[s].n_fields; i++, row = strchr(row, '\n') + 1) {
			const struct sim_field *field = &dn_instruction_set.slot[s].field[i];
			cell_of(row, 0, cell, sizeof cell);
			cr_assert_str_eq(cell, dn_instruction_set.slot[s].name);
			cell_of(row, 1, cell, sizeof cell);
			cr_assert_str_eq(cell, field->name);
			cell_of(row, 2, cell, sizeof cell);
			cr_assert_eq(atoi(cell), byte, "%s", field->name);
			cell_of(row, 3, cell, sizeof cell);
			cr_assert_eq(atoi(cell), field->bytes, "%s", field->name);
			cell_of(row, 4, cell, sizeof cell);
			check_values(field, cell);
			byte += field->bytes;
		}
	cr_assert_neq(*row, '|', "the document has one more: %.40s", row);
	free(text);
}

static void refuse_binary(const uint8_t *bytes, size_t n, const char *expected)
{
	struct sim_program program;
	struct npl_err err = {0};
	cr_assert_eq(dn_program_decode("f.bin", bytes, n, &program, &err), NPL_EINPUT, "%s", expected);
	cr_assert(!strncmp(err.msg, "f.bin: ", 7) && strstr(err.msg, expected), "expected '%s' in: %s", expected,
		  err.msg);
	cr_assert(program.count == 0 && !program.instruction && !program.n_constants);
}

/* What is not a binary, by each of its parts. */
Test(diannao_isa_binary, malformed_binaries_are_refused)
{
	static const struct {
		int at, value;
		const char *expected;
	} cases[] = {
		{0, 'n', "the last instruction is cut off: 440 bytes without a header, expected a multiple of 64"},
		{7, 1, "without a header"},
		{8, 2, "version 2 of binary programs, expected 1"},
		{12, 17, "17 constants, expected at most 16"},
		{12, 1, "expected 120 of header, 1 constants of 96 bytes and 2 instructions of 64"},
		{16, 3, "440 bytes, expected 120 of header, 2 constants of 96 bytes and 3 instructions of 64"},
		{23, 0x80, "9223372036854775810 instructions"},
		{30, 1, "host memory at byte 281474976710656"},
		{38, 1, "weights at 281474976710656 in the header, expected at most 281474976710655"},
		{FORMER, 'D', "a program for the driver Diannao, expected one for diannao"},
		{FORMER + 9, 1, "the names of instruction set and machine in the header"},
		{HEADER - 1, 1, "the names of instruction set and machine in the header"},
		{HEADER, '1', "the name of function 1 is '1', expected at most 31 letters"},
		{HEADER, 0, "the name of function 1 is '',"},
		{HEADER, 'G', "functions 1 and 2 are both named G"},
		{HEADER, '-', "the name of function 1 is '-'"},
		{HEADER + 5, 'x', "the name of function 1 is 'F', expected"},
		{HEADER + 2 * FUNCTION, 3, "instruction 0: CP: OP is 3, expected 0 (NOP), 1 (SYNC), 2 (END)"},
		{HEADER + 2 * FUNCTION + 1, 7, "instruction 0: SB: READ OP is 7, expected 0 (NOP), 1 (LOAD), 2 (READ)"},
		{HEADER + 2 * FUNCTION + 2, 2, "SB: REUSE is 2, expected 0 to 1"},
		{HEADER + 2 * FUNCTION + 37, 1, "NBOUT: READ OP is 1, expected 0 (NOP), 2 (READ)"},
		{HEADER + 2 * FUNCTION + 53, 3, "NFU: NFU-3 OP is number 3, expected one of the program's 2"},
		{HEADER + 2 * FUNCTION + 53, 17, "NFU: NFU-3 OP is number 17, expected one of the program's 2"},
		{HEADER + 2 * FUNCTION + 55, 2, "NFU: OUTPUT END is 2, expected 0 to 1"},
		{HEADER + 2 * FUNCTION + 60, 1, "NFU: divisor is 65537, expected 0 to 65536"},
		{HEADER + 2 * FUNCTION + 64 + 3, 1, "instruction 1: SB: ADDRESS is 1, expected 0: READ OP is NOP"},
	};
	struct sim_program program = {
		.set = &dn_instruction_set, .n_constants = 2, .constant = {{.name = "F"}, {.name = "G"}}};
	const struct dn_instruction end = {.cp.op = DN_CP_END};
	struct npl_err err = {0};
	size_t n;
	dn_program_add(&program, &example, 0, &err);
	dn_program_add(&program, &end, 0, &err);
	uint8_t *bytes = dn_isa_encoded(&program, &n);
	cr_assert_eq(n, HEADER + 2 * FUNCTION + 2 * DN_INSTRUCTION_BYTES);
	sim_program_free(&program);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint8_t old = bytes[cases[i].at];
		bytes[cases[i].at] = (uint8_t)cases[i].value;
		refuse_binary(bytes, n, cases[i].expected);
		bytes[cases[i].at] = old;
	}
	memset(bytes + HEADER, 'A', 32); /* no NUL */
	refuse_binary(bytes, n, "the name of function 1 is 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'");
	memset(bytes + HEADER + 1, 0, 31);
	cr_assert_eq(dn_program_decode("f.bin", bytes, n, &program, &err), 0, "%s", err.msg);
	sim_program_free(&program);
	for (size_t less = 1; less < n; less++)
		refuse_binary(bytes, less,
			      less < 8        ? "the last instruction is cut off: "
			      : less < HEADER ? "cut off: "
					      : " bytes, expected 120 of header");
	free(bytes);
}

/* Files of the first binary form, which had a header of DianNao's own, and instructions without any. */
Test(diannao_isa_binary, former_binaries_are_read)
{
	struct sim_program program = {.set = &dn_instruction_set,
				      .n_constants = 2,
				      .constant = {{.name = "F"}, {.name = "G"}},
				      .host_address = 64,
				      .weight_address = 4096};
	struct npl_err err = {0};
	size_t n, n_again;
	cr_assert_eq(dn_program_add(&program, &example, 0, &err), 0);
	uint8_t *bytes = dn_isa_encoded(&program, &n), *former = calloc(1, n);
	sim_program_free(&program);
	cr_assert(former);
	memcpy(former, bytes, FORMER);
	memcpy(former, "DIANNAO", 8);
	memcpy(former + FORMER, bytes + HEADER, n - HEADER);
	cr_assert_eq(dn_program_decode("f.bin", former, n - HEADER + FORMER, &program, &err), 0, "%s", err.msg);
	uint8_t *reread = dn_isa_encoded(&program, &n_again);
	cr_assert(n == n_again && !memcmp(bytes, reread, n));
	sim_program_free(&program);
	const struct dn_instruction end = {.cp.op = DN_CP_END};
	sim_encode(&dn_instruction_set, &end, former);
	cr_assert_eq(dn_program_decode("f.bin", former, DN_INSTRUCTION_BYTES, &program, &err), 0, "%s", err.msg);
	cr_assert(program.count == 1 && dn_code(&program)->cp.op == DN_CP_END && !program.n_constants);
	sim_program_free(&program);
	free(bytes);
	free(former);
	free(reread);
}

/* Damaged bytes: refused, or a program of just these bytes. */
Test(diannao_isa_binary, random_binaries_never_crash_the_reader)
{
	int refused = 0;
	for (uint64_t seed = 1; seed <= 20000; seed++) {
		uint64_t rng = seed;
		struct sim_program program = dn_isa_random_program(&rng);
		struct npl_err err = {0};
		size_t n, n_again;
		uint8_t *bytes = dn_isa_encoded(&program, &n);
		sim_program_free(&program);
		int64_t at = test_range(&rng, 0, (int64_t)n - 1);
		if (at >= FORMER + 16 && at < HEADER) /* the machine's name, which is no part of the program */
			at %= FORMER;
		bytes[at] ^= (uint8_t)(1 << test_range(&rng, 0, 7));
		int rc = dn_program_decode("f.bin", bytes, n, &program, &err);
		if (rc) {
			refused++;
			cr_assert(rc == NPL_EINPUT && !strncmp(err.msg, "f.bin: ", 7), "seed %llu: %s",
				  (unsigned long long)seed, err.msg);
		} else {
			uint8_t *reread = dn_isa_encoded(&program, &n_again);
			cr_assert(n == n_again && !memcmp(bytes, reread, n), "seed %llu", (unsigned long long)seed);
			free(reread);
		}
		sim_program_free(&program);
		free(bytes);
	}
	cr_assert(refused > 4000 && refused < 16000, "%d", refused);
}

/* What is no instruction has neither text nor binary. */
Test(diannao_isa_binary, an_invalid_instruction_has_neither_text_nor_binary)
{
	struct sim_program program = {0};
	const struct dn_instruction nothing = {0}, bad = {.sb = {.op = DN_LOAD}},
				    far = {.sb = {DN_READ, 0, UINT64_MAX, 8}};
	struct npl_err err = {0};
	char *text;
	uint8_t *bytes;
	size_t n;
	dn_program_add(&program, &nothing, 0, &err);
	dn_program_add(&program, &bad, 0, &err);
	cr_assert_eq(dn_disassemble("d", &program, &text, &err), NPL_EINPUT);
	cr_assert(!strncmp(err.msg, "d: instruction 1: SB: SIZE is 0, expected", 41), "%s", err.msg);
	cr_assert_null(text);
	cr_assert_eq(dn_program_encode(&program, &bytes, &n, &err), NPL_EINPUT);
	cr_assert(!strncmp(err.msg, "the program: instruction 1: SB: SIZE is 0, expected", 51), "%s", err.msg);
	cr_assert_null(bytes);
	dn_code(&program)[1] = far;
	cr_assert_eq(dn_program_encode(&program, &bytes, &n, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "SB: ADDRESS is -1, expected 0 to 281474976710655"), "%s", err.msg);
	sim_program_free(&program);
}
