/* SPDX-License-Identifier: MIT
 *
 * What machines with programs share (sim/common/), on an instruction set that is no machine's: fields with and without
 * a sign, of every size, by position and by key, flags after dots and as words, names, floats, constants. What the
 * common parts promise: any program that is valid goes to text and to binary and back unchanged, and what is wrong is
 * said with its place. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "sim/common/program.h"
#include "tests/kit/support.h"

struct toy {
	uint8_t opcode, small;
	uint16_t flags;
	int16_t change;
	uint32_t word;
	uint64_t far;
	uint8_t table;
};

#define MEMBER(m) offsetof(struct toy, m), sizeof(((struct toy *)NULL)->m)

static const char *const sizes[] = {"tiny", NULL, "huge"};
static const struct sim_field members[] = {
	{"opcode", true, SIM_NUMBER, NULL, MEMBER(opcode), 1, 0, 255},
	{"flags", true, SIM_NUMBER, NULL, MEMBER(flags), 2, 0, 65535},
	{"small", true, SIM_NUMBER, NULL, MEMBER(small), 1, 0, 255},
	{"change", true, SIM_NUMBER, NULL, MEMBER(change), 2, INT16_MIN, INT16_MAX},
	{"word", true, SIM_NUMBER, NULL, MEMBER(word), 4, 0, UINT32_MAX},
	{"far", true, SIM_NUMBER, NULL, MEMBER(far), 6, 0, ((int64_t)1 << 48) - 1},
	{"table", true, SIM_NUMBER, NULL, MEMBER(table), 1, 0, 255},
};
static const struct sim_slot layout = {.name = "", .n_fields = 7, .field = members};
static const struct sim_field move_fields[] = {
	{"SIZE", false, SIM_NAMED, sizes, MEMBER(small), 1, 0, 2},
	{"TO", false, SIM_NUMBER, NULL, MEMBER(far), 6, 0, ((int64_t)1 << 48) - 1},
	{"by", true, SIM_NUMBER, NULL, MEMBER(change), 2, -300, 300},
};
static const struct sim_field scale_fields[] = {
	{"factor", true, SIM_FLOAT, NULL, MEMBER(word), 4, 0, UINT32_MAX},
	{"shape", true, SIM_CONSTANT, NULL, MEMBER(table), 1, 0, SIM_MAX_CONSTANTS},
};
static const struct sim_flag move_flags[] = {{"fast", 1, 1}, {"up", 6, 2}, {"down", 6, 4}, {0}};
static const struct sim_flag parts[] = {{"left", 1, 1}, {"right", 2, 2}, {0}};
static const struct sim_slot slots[] = {
	{"move", 1, 3, move_fields, move_flags, NULL},
	{"scale", 2, 2, scale_fields, NULL, NULL},
	{"wait", 3, 0, NULL, parts, "part"},
};

static const int16_t line[] = {1, 2, 3, 4};
static const struct sim_known_constant known[] = {{"LINE", line}, {0}};
static const struct sim_constants shapes = {".shape", "FLAT", 2, known};
static const struct sim_instruction_set set = {.name = "toy",
					       .page = "docs/toy.md",
					       .n_slots = 3,
					       .slot = slots,
					       .instruction_size = sizeof(struct toy),
					       .layout = &layout,
					       .n_layout = 1,
					       .opcode = &members[0],
					       .flags = &members[1],
					       .constants = &shapes,
					       .address_bits = 48};

static struct toy random_instruction(uint64_t *rng, int n_constants)
{
	static const uint16_t ups[] = {0, 2, 4};
	struct toy t = {.opcode = (uint8_t)test_range(rng, 1, 3)};
	if (t.opcode == 1) {
		t.flags = (uint16_t)(test_range(rng, 0, 1) | ups[test_range(rng, 0, 2)]);
		t.small = (uint8_t)(2 * test_range(rng, 0, 1));
		t.far = (uint64_t)test_range(rng, 0, ((int64_t)1 << 48) - 1);
		t.change = (int16_t)test_range(rng, -300, 300);
	} else if (t.opcode == 2) {
		t.word = (uint32_t)(test_rng(rng) >> 32);
		t.table = (uint8_t)test_range(rng, 0, n_constants);
	} else {
		t.flags = (uint16_t)test_range(rng, 1, 3);
	}
	return t;
}

static struct sim_program random_program(uint64_t *rng)
{
	struct sim_program program = {.set = &set, .n_constants = (int)test_range(rng, 0, 3)};
	struct npl_err err = {0};
	for (int i = 0; i < program.n_constants; i++) {
		program.constant[i] = sim_constant_of(&shapes, i ? i == 1 ? "a_1" : "_" : "LINE", line);
		program.constant[i].value[3] = (int16_t)test_range(rng, 4, 5);
	}
	program.host_address = (uint64_t)test_range(rng, 0, 1) * 4096;
	program.weight_address = (uint64_t)test_range(rng, 0, 1) * 65537;
	for (int64_t n = test_range(rng, 0, 30); n > 0; n--) {
		const struct toy at = random_instruction(rng, program.n_constants);
		cr_assert_eq(sim_program_add(&program, &at, 0, &err), 0);
	}
	return program;
}

static void check_same(const struct sim_program *a, const struct sim_program *b, uint64_t seed)
{
	cr_assert(a->count == b->count && a->n_constants == b->n_constants && a->host_address == b->host_address &&
			  a->weight_address == b->weight_address,
		  "seed %llu", (unsigned long long)seed);
	for (int i = 0; i < a->n_constants; i++)
		cr_assert(!strcmp(a->constant[i].name, b->constant[i].name) &&
				  !memcmp(a->constant[i].value, b->constant[i].value, 8),
			  "seed %llu", (unsigned long long)seed);
	for (int64_t i = 0; i < a->count; i++)
		for (int f = 0; f < layout.n_fields; f++)
			cr_assert_eq(sim_field_get(sim_program_at(a, i), &members[f]),
				     sim_field_get(sim_program_at(b, i), &members[f]),
				     "seed %llu, instruction %lld, %s", (unsigned long long)seed, (long long)i,
				     members[f].name);
}

Test(sim_programs, programs_survive_text_and_binary)
{
	for (uint64_t seed = 1; seed <= 500; seed++) {
		uint64_t rng = seed;
		struct sim_program program = random_program(&rng), reread;
		struct npl_err err = {0};
		char *text, names[SIM_MACHINE_NAME];
		uint8_t *bytes;
		size_t n;
		int at_line = 0;
		char set_name[SIM_SET_NAME];
		cr_assert_eq(sim_disassemble("a", &program, "mine", NULL, &text, &err), 0, "%s", err.msg);
		cr_assert_eq(sim_text_machine("b", text, strlen(text), names, &at_line, &err), 0, "%s", err.msg);
		cr_assert_eq(at_line, 1);
		cr_assert_str_eq(names, "mine");
		cr_assert_eq(sim_assemble(&set, "b", text, strlen(text), &reread, &err), 0, "%s\n%s", err.msg, text);
		check_same(&program, &reread, seed);
		sim_program_free(&reread);
		free(text);
		cr_assert_eq(sim_to_binary(&program, "mine", &bytes, &n, &err), 0, "%s", err.msg);
		cr_assert(sim_has_header(bytes, n));
		cr_assert_eq(sim_header_names("c", bytes, n, set_name, names, &err), 0, "%s", err.msg);
		cr_assert(!strcmp(set_name, "toy") && !strcmp(names, "mine"));
		cr_assert_eq(sim_from_binary(&set, "c", bytes, n, &reread, &err), 0, "%s", err.msg);
		check_same(&program, &reread, seed);
		sim_program_free(&reread);
		free(bytes);
		sim_program_free(&program);
	}
}

Test(sim_programs, every_notation_gives_the_same_program)
{
	static const char *const texts[] = {
		".machine mine\nmove.fast.down tiny,4096 by=-3\nscale factor=0.5 shape=LINE\nwait left right\n",
		("define TO 0x1000 ; where\nmove.down.fast by=-3 to = TO size=tiny\n# half\nscale shape=LINE "
		 "factor=0x3f000000\n"
		 "wait right left\n"),
		"define HALF 5e-1\ndefine BY -3\nmove.fast.down tiny 4096 by=BY\nscale factor=HALF shape=LINE\nwait "
		"left right",
	};
	struct sim_program first, program;
	struct npl_err err = {0};
	cr_assert_eq(sim_assemble(&set, "0", texts[0], strlen(texts[0]), &first, &err), 0, "%s", err.msg);
	const struct toy *code = first.instruction;
	cr_assert(first.count == 3 && code[0].flags == 5 && code[0].far == 4096 && code[0].change == -3);
	cr_assert(code[1].word == 0x3f000000 && code[1].table == 1 && code[2].flags == 3 && first.n_constants == 1);
	for (size_t i = 1; i < sizeof texts / sizeof *texts; i++) {
		cr_assert_eq(sim_assemble(&set, "i", texts[i], strlen(texts[i]), &program, &err), 0, "%s", err.msg);
		check_same(&first, &program, i);
		sim_program_free(&program);
	}
	sim_program_free(&first);
}

Test(sim_programs, wrong_programs_are_refused)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"mov tiny,0 by=0", "there is no instruction 'mov'; the nearest is 'move'"},
		{"move tiny,0", "move: no by, expected SIZE,TO by="},
		{"move tiny,0 by=301", "move: by is '301', expected a whole number from -300 to 300"},
		{"move medium,0 by=0", "move: there is no SIZE 'medium'"},
		{"move.up.down tiny,0 by=0", "move: 'down' is one too many"},
		{"move.fast.fast tiny,0 by=0", "move: 'fast' is one too many"},
		{"scale.fast factor=1 shape=FLAT", "scale: there is no flag 'fast', expected none"},
		{"scale factor=x shape=FLAT", "scale: factor is 'x', expected a float32 number"},
		{"scale factor=1 shape=LIEN",
		 "scale: there is no shape 'LIEN'; expected FLAT or LINE (.shape makes others)"},
		{"wait", "wait: no part, expected one at least: left, right"},
		{"wait.left", "wait.left: expected each part as a word of its own: wait left"},
		{".shape X 1,2 3", "X: no b1, expected 2 pairs a,b"},
		{".shape X", "X: no a0, expected 2 pairs a,b"},
		{".shap X 1,2 3,4", "there is no directive '.shap'"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sim_program program;
		struct npl_err err = {0};
		cr_assert_eq(sim_assemble(&set, "x.s", cases[i].text, strlen(cases[i].text), &program, &err),
			     NPL_EINPUT, "%s", cases[i].text);
		cr_assert(!strncmp(err.msg, "x.s:1: ", 7) && strstr(err.msg, cases[i].expected), "expected '%s' in: %s",
			  cases[i].expected, err.msg);
		cr_assert(!program.count && !program.instruction);
	}
}

/* A header holds names that a text can hold; what is no name ends the reading, so that no line can hide in one. */
Test(sim_programs, wrong_names_in_a_header_are_refused)
{
	static const char *const bad[] = {"", "two words", "line\nhalt", "a;b", "a,b", "tab\t"};
	struct sim_program program = {.set = &set};
	struct npl_err err = {0};
	uint8_t *bytes;
	size_t n;
	char set_name[SIM_SET_NAME], machine[SIM_MACHINE_NAME], longest[SIM_MACHINE_NAME + 1] = {0};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_assert_eq(sim_to_binary(&program, bad[i], &bytes, &n, &err), NPL_EINPUT, "%s", bad[i]);
	memset(longest, 'm', SIM_MACHINE_NAME);
	cr_assert_eq(sim_to_binary(&program, longest, &bytes, &n, &err), NPL_EINPUT);
	longest[SIM_MACHINE_NAME - 1] = '\0';
	cr_assert_eq(sim_to_binary(&program, longest, &bytes, &n, &err), 0, "%s", err.msg);
	cr_assert_eq(sim_header_names("h", bytes, n, set_name, machine, &err), 0, "%s", err.msg);
	cr_assert_str_eq(machine, longest);
	bytes[56] = '\n';
	cr_assert_eq(sim_header_names("h", bytes, n, set_name, machine, &err), NPL_EINPUT);
	free(bytes);
}
