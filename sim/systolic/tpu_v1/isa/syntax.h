/* SPDX-License-Identifier: MIT
 *
 * What instructions are made of, in one table for the assembler, the disassembler and the check of single
 * instructions: the names of flags and fields, and what the fields may hold. */
#ifndef NPULAB_SYSTOLIC_SYNTAX_H
#define NPULAB_SYSTOLIC_SYNTAX_H

#include "isa.h"

enum tpu_field_at { TPU_FIELD_UB, TPU_FIELD_ACC, TPU_FIELD_LENGTH, TPU_FIELDS };

struct tpu_flag {
	const char *name;    /* NULL ends a list */
	uint16_t mask, bits; /* flags of one mask exclude each other */
};

struct tpu_field {
	const char *name; /* in the text; NULL: means nothing here, is 0 */
	uint32_t low, high;
};

struct tpu_syntax {
	uint8_t opcode;
	const char *name;
	enum tpu_unit unit;
	const struct tpu_flag *flags;
	struct tpu_field field[TPU_FIELDS];
};

#define TPU_OPCODES 10
extern const struct tpu_syntax tpu_syntax_table[TPU_OPCODES];
const struct tpu_syntax *tpu_syntax_of(int opcode); /* NULL: no such */
/* Whether this instruction has no such field: one it never has, or acc of an activate from the buffer. */
bool tpu_field_absent(const struct tpu_syntax *syntax, unsigned flags, enum tpu_field_at at);
uint32_t tpu_field_get(const struct tpu_instruction *instruction, enum tpu_field_at at);
void tpu_field_set(struct tpu_instruction *instruction, enum tpu_field_at at, uint32_t value);

#endif
