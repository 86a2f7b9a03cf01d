/* SPDX-License-Identifier: MIT
 *
 * DianNao's programs as lists of instructions, and their binary form (docs/diannao-isa.md, Binary): a header, the functions of
 * NFU-3, then 64 bytes an instruction. Every number is little endian. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/base/grow.h"
#include "syntax.h"

enum { HEADER_BYTES = 40, NAME_BYTES = 32, FUNCTION_BYTES = NAME_BYTES + 4 * DN_SEGMENTS, VERSION = 1 };
static const char magic[8] = "DIANNAO"; /* and a NUL */

int dn_program_add(struct dn_program *program, const struct dn_instruction *instruction, int line, struct npl_err *err)
{
	int64_t room = program->capacity;
	struct dn_instruction *instructions = npl_grow(program->instruction, program->count, &room,
						       sizeof *instructions);
	if (instructions)
		program->instruction = instructions;
	int *lines = instructions ? npl_grow(program->line, program->count, &program->capacity, sizeof *lines) : NULL;
	if (!lines)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a program of %lld instructions",
				(long long)program->count + 1);
	program->line = lines;
	program->instruction[program->count] = *instruction;
	program->line[program->count] = line;
	program->count++;
	return 0;
}

void dn_program_free(struct dn_program *program)
{
	free(program->instruction);
	free(program->line);
	*program = (struct dn_program){0};
}

static uint8_t *put(uint8_t *bytes, int n, uint64_t value)
{
	for (int i = 0; i < n; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	return bytes + n;
}

static const uint8_t *get(const uint8_t *bytes, int n, uint64_t *value)
{
	*value = 0;
	for (int i = 0; i < n; i++)
		*value |= (uint64_t)bytes[i] << 8 * i;
	return bytes + n;
}

static uint8_t *put_function(uint8_t *bytes, const char *name, const struct dn_function *function)
{
	memset(bytes, 0, NAME_BYTES);
	memcpy(bytes, name, strlen(name));
	bytes += NAME_BYTES;
	for (int i = 0; i < DN_SEGMENTS; i++) {
		bytes = put(bytes, 2, (uint16_t)function->a[i]);
		bytes = put(bytes, 2, (uint16_t)function->b[i]);
	}
	return bytes;
}

static uint8_t *put_instruction(uint8_t *bytes, const struct dn_instruction *at)
{
	for (int s = 0; s < DN_SLOTS; s++)
		for (int i = 0; i < dn_slots[s].n_fields; i++) {
			const struct dn_field *field = &dn_slots[s].field[i];
			bytes = put(bytes, field->bytes, (uint64_t)dn_field_get(at, field));
		}
	return bytes;
}

int dn_program_encode(const struct dn_program *program, uint8_t **bytes, size_t *n, struct npl_err *err)
{
	char why[200];
	*bytes = NULL;
	*n = HEADER_BYTES + (size_t)program->n_functions * FUNCTION_BYTES +
	     (size_t)program->count * DN_INSTRUCTION_BYTES;
	for (int64_t i = 0; i < program->count; i++)
		if (!dn_instruction_ok(&program->instruction[i], program->n_functions, why, sizeof why))
			return npl_fail(err, NPL_EINPUT, "instruction %lld: %s", (long long)i, why);
	*bytes = malloc(*n);
	if (!*bytes)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes of program", *n);
	memcpy(*bytes, magic, sizeof magic);
	uint8_t *at = put(*bytes + sizeof magic, 4, VERSION);
	at = put(at, 4, (uint64_t)program->n_functions);
	at = put(at, 8, (uint64_t)program->count);
	at = put(at, 8, program->host_address);
	at = put(at, 8, program->weight_address);
	for (int i = 0; i < program->n_functions; i++)
		at = put_function(at, program->function_name[i], &program->function[i]);
	for (int64_t i = 0; i < program->count; i++)
		at = put_instruction(at, &program->instruction[i]);
	return 0;
}

bool dn_program_begins(const uint8_t *bytes, size_t n)
{
	return n >= sizeof magic && !memcmp(bytes, magic, sizeof magic);
}

static int take_header(const char *source, const uint8_t *bytes, size_t n, struct dn_program *program, uint64_t *count,
		       struct npl_err *err)
{
	uint64_t version, functions, most = (uint64_t)1 << DN_ADDRESS_BITS;
	if (!dn_program_begins(bytes, n))
		return npl_fail(err, NPL_EINPUT, "%s: not a program of DianNao, which begins with the letters %s",
				source, magic);
	if (n < HEADER_BYTES)
		return npl_fail(err, NPL_EINPUT, "%s: cut off: %zu bytes, expected a header of %d", source, n,
				HEADER_BYTES);
	bytes = get(bytes + sizeof magic, 4, &version);
	bytes = get(bytes, 4, &functions);
	bytes = get(bytes, 8, count);
	bytes = get(bytes, 8, &program->host_address);
	get(bytes, 8, &program->weight_address);
	if (version != VERSION)
		return npl_fail(err, NPL_EINPUT, "%s: version %llu of the binary form, expected %d", source,
				(unsigned long long)version, VERSION);
	if (functions > DN_MAX_FUNCTIONS)
		return npl_fail(err, NPL_EINPUT, "%s: %llu functions, expected at most %d", source,
				(unsigned long long)functions, DN_MAX_FUNCTIONS);
	if (program->host_address >= most || program->weight_address >= most)
		return npl_fail(err, NPL_EINPUT,
				"%s: host memory at byte %llu and weights at %llu, expected less than 2^%d", source,
				(unsigned long long)program->host_address, (unsigned long long)program->weight_address,
				DN_ADDRESS_BITS);
	size_t rest = n - HEADER_BYTES, tables = functions * FUNCTION_BYTES;
	if (rest < tables || (rest - tables) % DN_INSTRUCTION_BYTES || (rest - tables) / DN_INSTRUCTION_BYTES != *count)
		return npl_fail(err, NPL_EINPUT,
				"%s: %zu bytes, expected %d of header, %llu functions of %d bytes and %llu "
				"instructions of %d",
				source, n, HEADER_BYTES, (unsigned long long)functions, FUNCTION_BYTES,
				(unsigned long long)*count, DN_INSTRUCTION_BYTES);
	program->n_functions = (int)functions;
	return 0;
}

/* `taken` of the table's functions are there. */
static int take_function(const char *source, const uint8_t *bytes, int taken, struct dn_program *program,
			 struct npl_err *err)
{
	char *name = program->function_name[taken];
	struct dn_function *function = &program->function[taken];
	size_t length = strnlen((const char *)bytes, NAME_BYTES);
	bool good = length < NAME_BYTES;
	for (size_t i = length; i < NAME_BYTES; i++)
		good = good && !bytes[i];
	memcpy(name, bytes, good ? NAME_BYTES : 0);
	if (!good || !dn_function_name_ok(name))
		return npl_fail(err, NPL_EINPUT,
				"%s: the name of function %d is '%.*s', expected at most %d letters, digits and '_', "
				"filled up with zeros, and not " DN_IDENTITY,
				source, taken + 1, (int)length, (const char *)bytes, NAME_BYTES - 1);
	for (int i = 0; i < taken; i++)
		if (!strcmp(program->function_name[i], name))
			return npl_fail(err, NPL_EINPUT, "%s: functions %d and %d are both named %s", source, i + 1,
					taken + 1, name);
	bytes += NAME_BYTES;
	for (int i = 0; i < DN_SEGMENTS; i++) {
		uint64_t a, b;
		bytes = get(get(bytes, 2, &a), 2, &b);
		function->a[i] = (int16_t)(uint16_t)a;
		function->b[i] = (int16_t)(uint16_t)b;
	}
	return 0;
}

static int take_instruction(const char *source, const uint8_t *bytes, struct dn_program *program, struct npl_err *err)
{
	struct dn_instruction at = {0};
	char why[200];
	uint64_t value;
	for (int s = 0; s < DN_SLOTS; s++)
		for (int i = 0; i < dn_slots[s].n_fields; i++) {
			const struct dn_field *field = &dn_slots[s].field[i];
			bytes = get(bytes, field->bytes, &value);
			dn_field_set(&at, field, (int64_t)value);
		}
	if (!dn_instruction_ok(&at, program->n_functions, why, sizeof why))
		return npl_fail(err, NPL_EINPUT, "%s: instruction %lld: %s", source, (long long)program->count, why);
	return dn_program_add(program, &at, 0, err);
}

int dn_program_decode(const char *source, const uint8_t *bytes, size_t n, struct dn_program *program,
		      struct npl_err *err)
{
	uint64_t count = 0;
	*program = (struct dn_program){0};
	int rc = take_header(source, bytes, n, program, &count, err);
	size_t at = HEADER_BYTES;
	for (int i = 0; i < program->n_functions && !rc; i++, at += FUNCTION_BYTES)
		rc = take_function(source, bytes + at, i, program, err);
	for (; count && !rc; count--, at += DN_INSTRUCTION_BYTES)
		rc = take_instruction(source, bytes + at, program, err);
	if (rc)
		dn_program_free(program);
	return rc;
}
