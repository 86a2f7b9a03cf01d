/* SPDX-License-Identifier: MIT
 *
 * Programs of the systolic machines as the tests make and compare them: the common parts of programs
 * (sim/common/program.h) with the TPU's instruction set. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_CODE_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_CODE_H

#include "sim/systolic/tpu_v1/isa/isa.h"

#define TPU_INSTRUCTION_BYTES 12

static inline void tpu_encode(const struct tpu_instruction *instruction, uint8_t bytes[TPU_INSTRUCTION_BYTES])
{
	sim_encode(&tpu_instruction_set, instruction, bytes);
}
static inline struct tpu_instruction tpu_decode(const uint8_t bytes[TPU_INSTRUCTION_BYTES])
{
	struct tpu_instruction instruction;
	sim_decode(&tpu_instruction_set, bytes, &instruction);
	return instruction;
}
static inline bool tpu_instruction_ok(const struct tpu_instruction *instruction, char *reason, size_t reason_bytes)
{
	return sim_instruction_ok(&tpu_instruction_set, 0, instruction, reason, reason_bytes);
}
static inline int tpu_program_add(struct sim_program *program, struct tpu_instruction instruction, int line,
				  struct npl_err *err)
{
	program->set = &tpu_instruction_set;
	return sim_program_add(program, &instruction, line, err);
}
static inline int tpu_assemble(const char *source, const char *text, size_t n, struct sim_program *program,
			       struct npl_err *err)
{
	return sim_assemble(&tpu_instruction_set, source, text, n, program, err);
}
static inline int tpu_disassemble(const char *source, const struct sim_program *program, char **text,
				  struct npl_err *err)
{
	return sim_disassemble(source, program, NULL, NULL, text, err);
}

#endif
