/* SPDX-License-Identifier: MIT
 *
 * Programs as lists of instructions (program.h). */
#include "program.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/message.h"

int sim_program_reserve(struct sim_program *program, int64_t count, struct npl_err *err)
{
	if (count <= program->capacity)
		return 0;
	void *instructions = reallocarray(program->instruction, (size_t)count, program->set->instruction_size);
	if (instructions)
		program->instruction = instructions;
	int *lines = instructions ? reallocarray(program->line, (size_t)count, sizeof *lines) : NULL;
	if (!lines)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a program of %lld instructions", (long long)count);
	program->line = lines;
	memset(lines + program->count, 0, (size_t)(count - program->count) * sizeof *lines);
	program->capacity = count;
	return 0;
}

int sim_program_add(struct sim_program *program, const void *instruction, int line, struct npl_err *err)
{
	const size_t size = program->set->instruction_size;
	int64_t capacity = program->capacity;
	char *instructions = npl_grow(program->instruction, program->count, &capacity, size);
	if (instructions)
		program->instruction = instructions;
	int *lines = instructions ? npl_grow(program->line, program->count, &program->capacity, sizeof *lines) : NULL;
	if (!lines)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a program of %lld instructions",
				(long long)program->count + 1);
	program->line = lines;
	memcpy(instructions + (size_t)program->count * size, instruction, size);
	lines[program->count++] = line;
	return 0;
}

void sim_program_free(struct sim_program *program)
{
	free(program->instruction);
	free(program->line);
	*program = (struct sim_program){.set = program->set};
}

const char *sim_location_text(const struct sim_source_location *location, char *text, size_t n)
{
	if (location->line)
		snprintf(text, n, "line %d", location->line);
	else
		snprintf(text, n, "instruction %lld", (long long)location->index);
	return text;
}

/* Appends ": " and the name of the instruction; in a set without opcodes it has none. */
static void append_name(const struct sim_instruction_set *set, const void *instruction, char *text, size_t n)
{
	const struct sim_slot *slot = set->opcode ? sim_slot_of(set, instruction) : NULL;
	if (slot)
		npl_append(text, n, "", ": %s", slot->name);
	else if (set->opcode)
		npl_append(text, n, "", ": 0x%02x", (unsigned)sim_field_get(instruction, set->opcode));
}

const char *sim_program_location_text(const struct sim_program *program, int64_t index, char *text, size_t n)
{
	const struct sim_source_location location = {index, program->line[index]};
	sim_location_text(&location, text, n);
	append_name(program->set, sim_program_at(program, index), text, n);
	return text;
}

int sim_refuse(struct npl_err *err, const char *source, const struct sim_source_location *at,
	       const struct sim_instruction_set *set, const void *instruction, const char *format, ...)
{
	char name[40] = "", reason[400];
	va_list args;
	va_start(args, format);
	vsnprintf(reason, sizeof reason, format, args);
	va_end(args);
	append_name(set, instruction, name, sizeof name);
	if (at->line)
		return npl_fail(err, NPL_EINPUT, "%s:%d%s: %s", source, at->line, name, reason);
	return npl_fail(err, NPL_EINPUT, "%s: instruction %lld%s: %s", source, (long long)at->index, name, reason);
}

int sim_program_instructions_ok(const struct sim_program *program, const char *source, struct npl_err *err)
{
	char reason[400];
	for (int64_t i = 0; i < program->count; i++) {
		const void *instruction = sim_program_at(program, i);
		if (!sim_instruction_ok(program->set, program->n_constants, instruction, reason, sizeof reason))
			return sim_refuse(err, source, &(struct sim_source_location){i, program->line[i]}, program->set,
					  instruction, "%s", reason);
	}
	return 0;
}

bool sim_machine_name_ok(const char *name)
{
	size_t i = 0;
	while (isgraph((unsigned char)name[i]) && !strchr("#;,|=", name[i]))
		i++;
	return i && !name[i] && i < SIM_MACHINE_NAME;
}

bool sim_is_name(const char *word)
{
	if (isdigit((unsigned char)*word) || !*word)
		return false;
	while (isalnum((unsigned char)*word) || *word == '_')
		word++;
	return !*word;
}

struct sim_constant sim_constant_of(const struct sim_constants *constants, const char *name, const void *value)
{
	struct sim_constant constant = {0};
	snprintf(constant.name, sizeof constant.name, "%s", name);
	memcpy(constant.value, value, 2 * (size_t)constants->pairs * sizeof *constant.value);
	return constant;
}

int sim_constant_number(const struct sim_program *program, const char *name)
{
	for (int i = 0; i < program->n_constants; i++)
		if (!strcmp(program->constant[i].name, name))
			return i + 1;
	return 0;
}

const void *sim_known_values(const struct sim_constants *constants, const char *name)
{
	const struct sim_known_constant *known = constants->known;
	while (known->name && strcmp(known->name, name))
		known++;
	return known->value;
}
