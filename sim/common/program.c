/* SPDX-License-Identifier: MIT
 *
 * Programs as lists of instructions (program.h). */
#include "program.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"

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

const char *sim_instruction_name(const struct sim_program *program, int64_t index, char *name, size_t n)
{
	const struct sim_instruction_set *set = program->set;
	const void *instruction = sim_program_at(program, index);
	const struct sim_slot *slot = set->opcode ? sim_slot_of(set, instruction) : NULL;
	if (slot || !set->opcode)
		snprintf(name, n, "%s", slot ? slot->name : "");
	else
		snprintf(name, n, "0x%02x", (unsigned)sim_field_get(instruction, set->opcode));
	return name;
}

void sim_program_location_text(const struct sim_program *program, int64_t index, char *text, size_t n)
{
	char location[32], name[32];
	sim_location_text(&(struct sim_source_location){index, program->line[index]}, location, sizeof location);
	sim_instruction_name(program, index, name, sizeof name);
	snprintf(text, n, "%s%s%s", location, *name ? ": " : "", name);
}

int sim_refuse(struct npl_err *err, const char *source, const struct sim_source_location *at, const char *name,
	       const char *format, va_list args)
{
	char location[40] = "", reason[400];
	vsnprintf(reason, sizeof reason, format, args);
	if (at->line)
		snprintf(location, sizeof location, "%d", at->line);
	else
		sim_location_text(at, location, sizeof location);
	return npl_fail(err, NPL_EINPUT, "%s:%s%s: %s%s%s", source, at->line ? "" : " ", location, name,
			*name ? ": " : "", reason);
}

int sim_program_instructions_ok(const struct sim_program *program, const char *source, struct npl_err *err)
{
	char reason[400], location[80];
	for (int64_t i = 0; i < program->count; i++) {
		if (sim_instruction_ok(program->set, program->n_constants, sim_program_at(program, i), reason,
				       sizeof reason))
			continue;
		sim_program_location_text(program, i, location, sizeof location);
		return npl_fail(err, NPL_EINPUT, "%s: %s: %s", source, location, reason);
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

bool sim_constant_name_ok(const struct sim_constants *constants, const char *name)
{
	if (isdigit((unsigned char)*name) || !*name || !strcmp(name, constants->identity))
		return false;
	while (isalnum((unsigned char)*name) || *name == '_')
		name++;
	return !*name;
}

int sim_constant_number(const struct sim_program *program, const char *name)
{
	for (int i = 0; i < program->n_constants; i++)
		if (!strcmp(program->constant[i].name, name))
			return i + 1;
	return 0;
}
