/* SPDX-License-Identifier: MIT
 *
 * Hazards between the units of a systolic machine. What the program promises: two units that touch the same row of the
 * unified buffer, or the same byte of host memory, one of them writing, are refused with both instructions named unless
 * a sync on the earlier one lies between them, whichever way round; and nothing else is refused. A machine that keeps a
 * flag per row and unit says the same of random programs. */
#include "tests/kit/sim/tpu_v1/code.h"
#include "tests/kit/sim/tpu_v1/isa_support.h"

#define READY                                                                                                          \
	"read_weights first=0 count=1\nread_weights.parameters first=60 count=1\nmatrix_multiply.switch ub=63 acc=0 "  \
	"rows=1\n"                                                                                                     \
	"activate.switch ub=62 acc=0 rows=1\n"

Test(tpu_isa_hazards, each_hazard_of_two_instructions_is_found)
{
	/* two instructions, what makes them safe, and what is said of them without it */
	static const struct {
		const char *first, *sync, *second, *expected;
	} pairs[] = {
		/* read after write */
		{"read_host_memory ub=0 rows=4", "sync host_in", "matrix_multiply ub=3 acc=0 rows=2",
		 "test.s:6: matrix_multiply: reads row 3 of the unified buffer, which line 5: read_host_memory writes; "
		 "expected a `sync host_in` between them"},
		{"activate ub=0 acc=0 rows=4", "sync activate", "matrix_multiply ub=2 acc=0 rows=2",
		 "test.s:6: matrix_multiply: reads row 2 of the unified buffer, which line 5: activate writes; "
		 "expected a `sync activate`"},
		{"activate ub=4 acc=0 rows=4", "sync activate", "write_host_memory ub=0 rows=8",
		 "write_host_memory: reads row 4 of the unified buffer, which line 5: activate writes"},
		{"read_host_memory ub=4 rows=1", "sync host_in", "activate.from_buffer ub=20 rows=5", "reads row 4"},
		/* write after read */
		{"matrix_multiply ub=7 acc=0 rows=2", "sync matrix", "activate ub=8 acc=0 rows=1",
		 "test.s:6: activate: writes row 8 of the unified buffer, which line 5: matrix_multiply reads; "
		 "expected a `sync matrix` between them"},
		{"write_host_memory ub=0 rows=2", "sync host_out", "activate ub=1 acc=0 rows=1",
		 "which line 5: write_host_memory reads"},
		{"matrix_multiply ub=0 acc=0 rows=1", "sync matrix", "read_host_memory ub=0 rows=1", "writes row 0"},
		{"activate.from_buffer ub=20 rows=5", "sync activate", "read_host_memory ub=4 rows=1",
		 "writes row 4 of the unified buffer, which line 5: activate reads"},
		/* write after write */
		{"read_host_memory ub=0 rows=2", "sync host_in", "activate ub=1 acc=0 rows=1",
		 "activate: writes row 1 of the unified buffer, which line 5: read_host_memory writes"},
		{"activate ub=0 acc=0 rows=2", "sync activate", "read_host_memory ub=1 rows=1",
		 "which line 5: activate writes"},
		/* a spill to host memory and back: rows 6 bytes apart, so that bytes 6 to 11 are the second row */
		{"write_host_memory ub=0 rows=2", "sync host_out", "read_host_memory ub=40 rows=2",
		 "read_host_memory: reads byte 0 of host memory, which line 5: write_host_memory writes; expected a "
		 "`sync host_out`"},
		{"read_host_memory ub=40 rows=2", "sync host_in", "write_host_memory ub=0 rows=2",
		 "writes byte 0 of host memory, which line 5: read_host_memory reads"},
	};
	const struct tpu_config config = test_isa_machine();
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		char text[1000], others[64];
		struct npl_err err;
		snprintf(text, sizeof text, READY "%s\n%s\nhalt\n", pairs[i].first, pairs[i].second);
		cr_assert(strstr(test_isa_verdict(&config, NULL, text, &err), pairs[i].expected),
			  "expected '%s' in: %s", pairs[i].expected, err.msg);
		snprintf(text, sizeof text, READY "%s\n%s\n%s\nhalt\n", pairs[i].first, pairs[i].sync, pairs[i].second);
		cr_assert_str_eq(test_isa_verdict(&config, NULL, text, &err), "", "%s\n%s", err.msg, text);
		/* a sync on all others does not help, nor one before or after */
		strcpy(others, "sync");
		for (enum tpu_unit u = 0; u < TPU_UNITS; u++)
			if (strcmp(pairs[i].sync + 5, tpu_units[u].name))
				snprintf(others + strlen(others), sizeof others - strlen(others), " %s",
					 tpu_units[u].name);
		snprintf(text, sizeof text, READY "%s\n%s\n%s\n%s\n%s\nhalt\n", pairs[i].sync, pairs[i].first, others,
			 pairs[i].second, pairs[i].sync);
		cr_assert(strstr(test_isa_verdict(&config, NULL, text, &err), "test.s:8: "), "%s\n%s", err.msg, text);
	}
}

/* No hazards: rows apart, readers together, one unit after itself, lanes of one row by one unit, planes in between. */
Test(tpu_isa_hazards, programs_without_a_hazard_are_accepted)
{
	static const char *const programs[] = {
		"read_host_memory ub=0 rows=4\nmatrix_multiply ub=4 acc=0 rows=4\nactivate ub=8 acc=0 rows=4\n"
		"set_config host_address 24\nwrite_host_memory ub=12 rows=4\n",
		"matrix_multiply ub=0 acc=0 rows=4\nactivate.from_buffer ub=40 rows=4\nmatrix_multiply ub=0 acc=0 "
		"rows=4\n",
		"activate ub=0 acc=0 rows=4\nactivate.from_buffer ub=4 rows=4\nactivate ub=0 acc=0 rows=4\n",
		"read_host_memory ub=0 rows=4\nread_host_memory ub=3 rows=4\n",
		"set_config source_type i16\nset_config result_type i16\nset_config result_plane_rows 30\n"
		"activate ub=0 acc=0 rows=4\nmatrix_multiply ub=4 acc=0 rows=26\nread_host_memory ub=34 rows=10\n",
		"set_config input_plane_rows 30\nmatrix_multiply.inputs16 ub=0 acc=0 rows=4\nread_host_memory ub=4 "
		"rows=26\n",
		"set_config host_stride 12\nwrite_host_memory ub=0 rows=2\nset_config host_address 18\n"
		"read_host_memory ub=8 rows=2\n",
		"convolve ub=0 acc=0 rows=1\nactivate ub=1 acc=0 rows=1\n",
		"set_config pad_top 1\nconvolve ub=0 acc=0 rows=1\nactivate ub=0 acc=0 rows=1\n", /* all padding */
	};
	const struct tpu_config config = test_isa_machine();
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		char text[1000];
		struct npl_err err;
		snprintf(text, sizeof text, READY "sync matrix activate\n%shalt\n", programs[i]);
		cr_assert_str_eq(test_isa_verdict(&config, NULL, text, &err), "", "%s\n%s", err.msg, text);
	}
}

enum { ROWS = 64, HOST = 256, MAX_INSTRUCTIONS = 60 };

/* For each unit and row (or byte of host memory): the last instruction that read or wrote it since the last sync, or
 * -1. */
struct oracle {
	int64_t row[TPU_UNITS][2][ROWS], byte[TPU_UNITS][2][HOST];
};

/* Notes what unit does with `rows` rows from `first`; true: a conflict. */
static bool touch(int64_t *seen, int64_t size, enum tpu_unit unit, bool writes, int64_t first, int64_t rows,
		  int64_t index)
{
	bool bad = false;
	for (int64_t r = first; r < first + rows; r++) {
		for (int u = 0; u < TPU_UNITS; u++)
			if (u != (int)unit)
				bad = bad || seen[(2 * u + 1) * size + r] >= 0 ||
				      (writes && seen[2 * u * size + r] >= 0);
		seen[(2 * (int64_t)unit + writes) * size + r] = index;
	}
	return bad;
}

static bool step(struct oracle *o, const struct tpu_instruction *instruction, int64_t source, int64_t index)
{
	enum tpu_unit unit = tpu_unit_of(instruction->opcode);
	int64_t *rows = &o->row[0][0][0], *bytes = &o->byte[0][0][0];
	bool bad = false, bad_too = false;
	switch (instruction->opcode) {
	case TPU_SYNC:
		for (int u = 0; u < TPU_UNITS; u++)
			if (instruction->flags >> u & 1) {
				memset(o->row[u], 0xff, sizeof o->row[u]);
				memset(o->byte[u], 0xff, sizeof o->byte[u]);
			}
		break;
	case TPU_READ_HOST_MEMORY:
		bad = touch(rows, ROWS, unit, true, instruction->ub, instruction->length, index);
		bad_too = touch(bytes, HOST, unit, false, 0, 6 * (int64_t)instruction->length, index);
		break;
	case TPU_WRITE_HOST_MEMORY:
		bad = touch(rows, ROWS, unit, false, instruction->ub, instruction->length, index);
		bad_too = touch(bytes, HOST, unit, true, 0, 6 * (int64_t)instruction->length, index);
		break;
	case TPU_MATRIX_MULTIPLY:
		bad = touch(rows, ROWS, unit, false, instruction->ub, instruction->length, index);
		break;
	default:
		if (instruction->flags & TPU_ACTIVATE_FROM_BUFFER)
			bad = touch(rows, ROWS, unit, false, source, instruction->length, index);
		bad_too = touch(rows, ROWS, unit, true, instruction->ub, instruction->length, index);
	}
	return bad || bad_too;
}

/* A random instruction of rows that do not reach beyond the buffer. */
static struct tpu_instruction draw(uint64_t *rng, int64_t limit, int64_t source)
{
	static const uint8_t opcodes[] = {TPU_SYNC,
					  TPU_SYNC,
					  TPU_READ_HOST_MEMORY,
					  TPU_WRITE_HOST_MEMORY,
					  TPU_MATRIX_MULTIPLY,
					  TPU_MATRIX_MULTIPLY,
					  TPU_ACTIVATE,
					  TPU_ACTIVATE};
	struct tpu_instruction instruction = {.opcode = opcodes[test_range(rng, 0, 7)]};
	if (instruction.opcode == TPU_SYNC) {
		instruction.flags = (uint16_t)test_range(rng, 1, 31);
		return instruction;
	}
	instruction.length = (uint32_t)test_range(rng, 1, limit);
	instruction.ub = (uint32_t)test_range(rng, 0, ROWS - instruction.length);
	if (instruction.opcode == TPU_ACTIVATE && test_range(rng, 0, 1) &&
	    (instruction.ub == source || instruction.ub >= source + instruction.length ||
	     source >= instruction.ub + instruction.length))
		instruction.flags = TPU_ACTIVATE_FROM_BUFFER;
	return instruction;
}

/* Programs without a hazard, or with one at the end. */
Test(tpu_isa_hazards, a_hazard_at_the_end_is_found)
{
	const struct tpu_config config = test_isa_machine();
	int refused = 0, accepted = 0;
	for (uint64_t seed = 1; seed <= 4000; seed++) {
		uint64_t rng = seed;
		struct oracle oracle;
		struct npl_err err = {0};
		int64_t source = test_range(&rng, 0, ROWS - 8), wrong = -1, maximum = test_range(&rng, 1, 8);
		struct sim_program program = test_isa_program(READY "sync host_in host_out weights matrix activate\n");
		const struct tpu_instruction set = {
			.opcode = TPU_SET_CONFIG, .operand = TPU_REG_SOURCE, .length = (uint32_t)source};
		cr_assert_eq(tpu_program_add(&program, set, 0, &err), 0);
		memset(&oracle, 0xff, sizeof oracle);
		for (int64_t n = test_range(&rng, 2, MAX_INSTRUCTIONS); n > 0 && wrong < 0; n--) {
			struct tpu_instruction instruction = draw(&rng, maximum, source);
			struct oracle before = oracle;
			bool bad = step(&oracle, &instruction, source, program.count);
			if (bad && test_range(&rng, 0, 3)) { /* mostly another one instead, so that programs get long */
				oracle = before;
				continue;
			}
			wrong = bad ? program.count : -1;
			cr_assert_eq(tpu_program_add(&program, instruction, 0, &err), 0);
		}
		cr_assert_eq(tpu_program_add(&program, (struct tpu_instruction){.opcode = TPU_HALT}, 0, &err), 0);
		int rc = tpu_program_check(&config, &program, NULL, "x", &err);
		cr_assert_eq(rc, wrong < 0 ? 0 : NPL_EINPUT, "seed %llu: %s", (unsigned long long)seed, err.msg);
		if (rc) {
			char where[32];
			snprintf(where, sizeof where, "x: instruction %lld: ", (long long)wrong);
			cr_assert(!strncmp(err.msg, where, strlen(where)) && strstr(err.msg, "which instruction "),
				  "seed %llu: expected %s: %s", (unsigned long long)seed, where, err.msg);
		}
		refused += rc != 0;
		accepted += rc == 0;
		sim_program_free(&program);
	}
	cr_assert(refused > 500 && accepted > 500, "%d, %d", refused, accepted);
}

/* 200,000 instructions of which none touches what another has, in an order in which no two neighbours meet, and then
 * one that does: this would take hours if each were compared with all before. */
Test(tpu_isa_hazards, long_programs_are_checked_quickly)
{
	enum { COUNT = 200000 };
	struct tpu_config config = test_isa_machine();
	struct npl_err err = {0};
	struct sim_program program = test_isa_program(READY "sync matrix activate\n");
	config.buffer_bytes = (int64_t)6 << 24;
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t row = (uint32_t)((uint64_t)i * 77777 % COUNT) * 16;
		const struct tpu_instruction instruction = {
			.opcode = i % 2 ? TPU_ACTIVATE : TPU_MATRIX_MULTIPLY, .ub = row, .length = 4};
		cr_assert_eq(tpu_program_add(&program, instruction, 0, &err), 0);
	}
	cr_assert_eq(tpu_program_add(&program, (struct tpu_instruction){.opcode = TPU_HALT}, 0, &err), 0);
	cr_assert_eq(tpu_program_check(&config, &program, NULL, "x", &err), 0, "%s", err.msg);
	struct tpu_instruction *code = tpu_code(&program);
	code[program.count - 2].ub = code[7].ub + 3; /* an activate, on what a matrix_multiply reads */
	cr_assert_eq(code[program.count - 2].opcode, TPU_ACTIVATE);
	cr_assert_eq(code[7].opcode, TPU_MATRIX_MULTIPLY);
	cr_assert_eq(tpu_program_check(&config, &program, NULL, "x", &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "which instruction 7: matrix_multiply reads"), "%s", err.msg);
	sim_program_free(&program);
}
