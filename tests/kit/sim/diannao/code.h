/* SPDX-License-Identifier: MIT
 *
 * Programs of DianNao as the tests make and compare them: the common parts of programs (sim/common/program.h) with
 * DianNao's instruction set. */
#ifndef NPULAB_TESTS_KIT_SIM_DIANNAO_CODE_H
#define NPULAB_TESTS_KIT_SIM_DIANNAO_CODE_H

#include "sim/diannao/diannao/isa/isa.h"

#define DN_INSTRUCTION_BYTES 64

static inline bool dn_instruction_ok(const struct dn_instruction *instruction, int n_functions, char *reason,
				     size_t reason_bytes)
{
	return sim_instruction_ok(&dn_instruction_set, n_functions, instruction, reason, reason_bytes);
}
static inline int dn_program_add(struct sim_program *program, const struct dn_instruction *instruction, int line,
				 struct npl_err *err)
{
	program->set = &dn_instruction_set;
	return sim_program_add(program, instruction, line, err);
}
static inline int dn_assemble(const char *source, const char *text, size_t n, struct sim_program *program,
			      struct npl_err *err)
{
	return sim_assemble(&dn_instruction_set, source, text, n, program, err);
}
static inline int dn_disassemble(const char *source, const struct sim_program *program, char **text,
				 struct npl_err *err)
{
	return sim_disassemble(source, program, NULL, NULL, text, err);
}
static inline int dn_program_encode(const struct sim_program *program, uint8_t **bytes, size_t *n, struct npl_err *err)
{
	return sim_to_binary(program, "diannao", bytes, n, err);
}
static inline int dn_program_decode(const char *source, const uint8_t *bytes, size_t n, struct sim_program *program,
				    struct npl_err *err)
{
	return sim_from_binary(&dn_instruction_set, source, bytes, n, program, err);
}

#endif
