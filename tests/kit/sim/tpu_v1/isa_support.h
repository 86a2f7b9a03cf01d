/* SPDX-License-Identifier: MIT
 *
 * What the tests of the instruction set share: a small machine, programs from text, random instructions. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_ISA_SUPPORT_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_ISA_SUPPORT_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/systolic/tpu_v1/isa/check.h"
#include "tests/kit/sim/tpu_v1/code.h"
#include "tests/kit/support.h"

/* 6 x 4 cells, 64 buffer rows of 6 bytes, 32 accumulator rows, 100 weight rows of 4 bytes. */
static inline struct tpu_config test_isa_machine(void)
{
	return (struct tpu_config){.clock_hz = 1000000,
				   .rows = 6,
				   .columns = 4,
				   .accumulator_rows = 32,
				   .buffer_bytes = 64 * 6,
				   .weight_bytes = 400,
				   .weight_bytes_per_second = 1000000,
				   .fifo_tiles = 4,
				   .activate_cycles_per_row = 1,
				   .parameter_tables = 8,
				   .queue_instructions = 32,
				   .issue_cycles = 1,
				   .link_bytes_per_second = 1e9};
}

static inline struct sim_program test_isa_program(const char *text)
{
	struct sim_program program;
	struct npl_err err = {0};
	cr_assert_eq(tpu_assemble("test.s", text, strlen(text), &program, &err), 0, "%s\n%s", err.msg, text);
	return program;
}

/* What the check says of a text; "" when nothing is wrong. */
static inline const char *test_isa_verdict(const struct tpu_config *config, const struct tpu_memory *memory,
					   const char *text, struct npl_err *err)
{
	struct sim_program program = test_isa_program(text);
	*err = (struct npl_err){0};
	int rc = tpu_program_check(config, &program, memory, "test.s", err);
	cr_assert_eq(rc, err->code);
	cr_assert(rc == 0 || rc == NPL_EINPUT, "%d: %s", rc, err->msg);
	sim_program_free(&program);
	return rc ? err->msg : "";
}

/* Any instruction that is one: often at the ends of its ranges. */
static inline struct tpu_instruction test_isa_random(uint64_t *rng)
{
	const struct sim_slot *slot = &tpu_instruction_set.slot[test_range(rng, 0, TPU_OPCODES - 1)];
	struct tpu_instruction out = {.opcode = (uint8_t)slot->opcode};
	struct sim_field field;
	unsigned taken_mask = 0;
	for (const struct sim_flag *f = slot->flag; f && f->name; f++)
		if (test_range(rng, 0, 2) == 0 && !(taken_mask & f->mask)) {
			taken_mask |= f->mask;
			out.flags |= f->bits;
		}
	if (slot->opcode == TPU_SYNC && !out.flags)
		out.flags = (uint16_t)test_range(rng, 1, 31);
	for (int i = 0; i < slot->n_fields; i++) {
		const bool has = sim_field_of(&tpu_instruction_set, &out, slot, i, &field);
		int64_t value = test_range(rng, field.low, field.high);
		if (test_range(rng, 0, 3) == 0)
			value = test_range(rng, 0, 1) ? field.low : field.high;
		if (has)
			sim_field_set(&out, &field, value);
	}
	return out;
}

/* A file of the repository, NUL after it; to be freed. */
static inline char *test_isa_read(const char *path)
{
	FILE *file = fopen(path, "rb");
	cr_assert(file, "%s", path);
	char *text = calloc(1, 1 << 20);
	cr_assert(text && fread(text, 1, (1 << 20) - 1, file) > 0, "%s", path);
	fclose(file);
	return text;
}

#endif
