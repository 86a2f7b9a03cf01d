/* SPDX-License-Identifier: MIT
 *
 * Programs of the systolic machines as lists of instructions, and their binary form. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/grow.h"
#include "isa.h"

int tpu_program_add(struct tpu_program *program, struct tpu_instruction instruction, int line, struct npl_err *err)
{
	int64_t room = program->capacity;
	struct tpu_instruction *instructions = npl_grow(program->instruction, program->count, &room,
							sizeof *instructions);
	if (instructions)
		program->instruction = instructions;
	int *lines = instructions ? npl_grow(program->line, program->count, &program->capacity, sizeof *lines) : NULL;
	if (!lines)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a program of %lld instructions",
				(long long)program->count + 1);
	program->line = lines;
	program->instruction[program->count] = instruction;
	program->line[program->count] = line;
	program->count++;
	return 0;
}

void tpu_program_free(struct tpu_program *program)
{
	free(program->instruction);
	free(program->line);
	*program = (struct tpu_program){0};
}

void tpu_program_where(const struct tpu_program *program, int64_t index, char *where, size_t n)
{
	int opcode = program->instruction[index].opcode;
	const char *name = tpu_opcode_name(opcode);
	char number[16];
	snprintf(number, sizeof number, "0x%02x", (unsigned)opcode);
	if (program->line[index])
		snprintf(where, n, "line %d: %s", program->line[index], name ? name : number);
	else
		snprintf(where, n, "instruction %lld: %s", (long long)index, name ? name : number);
}

int tpu_program_decode(const char *source, const uint8_t *bytes, size_t n, struct tpu_program *program,
		       struct npl_err *err)
{
	*program = (struct tpu_program){0};
	if (n % TPU_INSTRUCTION_BYTES)
		return npl_fail(err, NPL_EINPUT,
				"%s: the last instruction is cut off: %zu bytes, expected a multiple of %d", source, n,
				TPU_INSTRUCTION_BYTES);
	for (size_t at = 0; at < n; at += TPU_INSTRUCTION_BYTES)
		if (tpu_program_add(program, tpu_decode(bytes + at), 0, err)) {
			tpu_program_free(program);
			return err->code;
		}
	return 0;
}
