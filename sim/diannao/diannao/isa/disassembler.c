/* SPDX-License-Identifier: MIT
 *
 * DianNao's programs as text (docs/diannao-isa.md, Text): directives, then one instruction per line, such that assembling it gives
 * the same bytes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "syntax.h"

/* Is it one that every program knows, by its own name? */
static bool is_known(const struct dn_program *program, int i)
{
	struct dn_function room;
	const struct dn_function *known = dn_known_function(program->function_name[i], &room);
	return known && !memcmp(known, &program->function[i], sizeof room);
}

/* How many functions need a directive: all up to the last that would not take its place by being used. */
static int declared(const struct dn_program *program)
{
	int order[DN_MAX_FUNCTIONS], used = 0; /* functions in the order of their first use */
	bool seen[DN_MAX_FUNCTIONS + 1] = {true};
	for (int64_t i = 0; i < program->count; i++) {
		uint8_t number = program->instruction[i].nfu.nfu3;
		if (!seen[number])
			order[used++] = number - 1;
		seen[number] = true;
	}
	for (int n = 0; n < program->n_functions; n++) {
		int next = n;
		for (int i = 0; i < used; i++)
			if (order[i] >= n && (order[i] != next++ || !is_known(program, order[i])))
				next = INT32_MAX / 2; /* never the last */
		if (next == program->n_functions)
			return n;
	}
	return program->n_functions;
}

static void put_function(FILE *out, const char *name, const struct dn_function *function)
{
	fprintf(out, ".function %s", name);
	for (int i = 0; i < DN_SEGMENTS; i++)
		fprintf(out, " %d,%d", function->a[i], function->b[i]);
	fputc('\n', out);
}

static void put_value(FILE *out, const struct dn_program *program, const struct dn_field *field, int64_t value)
{
	if (field->kind == DN_FIELD_NAMED)
		fputs(field->names[value], out);
	else if (field->kind == DN_FIELD_FUNCTION)
		fputs(value ? program->function_name[value - 1] : DN_IDENTITY, out);
	else
		fprintf(out, "%" PRId64, value);
}

static bool is_there(const struct dn_instruction *at, const struct dn_slot *slot)
{
	for (int i = 0; i < slot->n_fields; i++)
		if (dn_field_get(at, &slot->field[i]))
			return true;
	return false;
}

static void put_slot(FILE *out, const struct dn_program *program, const struct dn_instruction *at,
		     const struct dn_slot *slot)
{
	fprintf(out, "%s ", slot->name);
	for (int i = 0; i < slot->n_fields; i++) {
		const struct dn_field *field = &slot->field[i];
		int64_t value = dn_field_get(at, field);
		if (field->keyed && !value)
			continue;
		if (field->keyed)
			fprintf(out, " %s=", field->name);
		else if (i)
			fputc(',', out);
		put_value(out, program, field, value);
	}
}

/* What is absent is NOP, so that an instruction of nothing needs one slot. */
static void put_instruction(FILE *out, const struct dn_program *program, const struct dn_instruction *at)
{
	int slots = 0;
	for (int s = 0; s < DN_SLOTS; s++)
		if (is_there(at, &dn_slots[s])) {
			fputs(slots++ ? " | " : "", out);
			put_slot(out, program, at, &dn_slots[s]);
		}
	if (!slots)
		put_slot(out, program, at, &dn_slots[DN_SLOT_CP]);
	fputc('\n', out);
}

int dn_disassemble(const char *source, const struct dn_program *program, char **text, struct npl_err *err)
{
	char why[200];
	size_t bytes;
	*text = NULL;
	for (int64_t i = 0; i < program->count; i++)
		if (!dn_instruction_ok(&program->instruction[i], program->n_functions, why, sizeof why))
			return npl_fail(err, NPL_EINPUT, "%s: instruction %lld: %s", source, (long long)i, why);
	FILE *out = open_memstream(text, &bytes);
	if (!out)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", source);
	if (program->host_address)
		fprintf(out, ".host %" PRIu64 "\n", program->host_address);
	if (program->weight_address)
		fprintf(out, ".weights %" PRIu64 "\n", program->weight_address);
	for (int i = 0, n = declared(program); i < n; i++)
		put_function(out, program->function_name[i], &program->function[i]);
	for (int64_t i = 0; i < program->count; i++)
		put_instruction(out, program, &program->instruction[i]);
	if (!fclose(out))
		return 0;
	free(*text);
	*text = NULL;
	return npl_fail(err, NPL_ENOMEM, "%s: out of memory", source);
}
