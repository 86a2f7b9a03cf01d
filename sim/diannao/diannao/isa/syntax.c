/* SPDX-License-Identifier: MIT
 *
 * DianNao's slots as a table (docs/diannao-isa.md, Slots): Chen et al., ASPLOS 2014, section 5.3.3 and tables 3 and 4, and npulab's
 * own fields. */
#include "syntax.h"

#include <ctype.h>
#include <string.h>

static const char *const cps[] = {"NOP", "SYNC", "END"};
static const char *const reads[] = {"NOP", "LOAD", "READ"};
static const char *const sum_reads[] = {"NOP", NULL, "READ"};
static const char *const writes[] = {"NOP", "WRITE", "STORE"};
static const char *const nfu1s[] = {"NOP", "MULT", "BIAS"};
static const char *const nfu2s[] = {"NOP", "ADD", "MAX"};
static const char *const froms[] = {"RESET", "NBOUT", "KEEP"};
static const char *const tos[] = {"KEEP", "NBOUT", "NFU3"};

#define MEMBER(m) offsetof(struct dn_instruction, m), sizeof(((struct dn_instruction *)NULL)->m)
#define NAMED(name, m, names)                                                                                          \
	{                                                                                                              \
		name, false, DN_FIELD_NAMED, names, MEMBER(m), 1, 0, sizeof names / sizeof *names - 1                  \
	}
#define NUMBER(name, m, bytes, high)                                                                                   \
	{                                                                                                              \
		name, false, DN_FIELD_NUMBER, NULL, MEMBER(m), bytes, 0, high                                          \
	}
#define KEYED(name, m, bytes, low, high)                                                                               \
	{                                                                                                              \
		name, true, DN_FIELD_NUMBER, NULL, MEMBER(m), bytes, low, high                                         \
	}
#define ADDRESS(m) NUMBER("ADDRESS", m, DN_ADDRESS_BITS / 8, ((int64_t)1 << DN_ADDRESS_BITS) - 1)

static const struct dn_field cp[] = {NAMED("OP", cp, cps)};
static const struct dn_field sb[] = {
	NAMED("READ OP", sb.op, reads),
	NUMBER("REUSE", sb.reuse, 1, 1),
	ADDRESS(sb.address),
	NUMBER("SIZE", sb.size, 4, UINT32_MAX),
};
static const struct dn_field nbin[] = {
	NAMED("READ OP", nbin.op, reads),
	NUMBER("REUSE", nbin.reuse, 1, 1),
	NUMBER("STRIDE", nbin.stride, 4, UINT32_MAX),
	NUMBER("STRIDE BEGIN", nbin.begin, 4, UINT32_MAX),
	NUMBER("STRIDE END", nbin.end, 4, UINT32_MAX),
	ADDRESS(nbin.address),
	NUMBER("SIZE", nbin.size, 4, UINT32_MAX),
};
static const struct dn_field nbout[] = {
	NAMED("READ OP", nbout.read, sum_reads),
	NAMED("WRITE OP", nbout.write, writes),
	ADDRESS(nbout.address),
	NUMBER("SIZE", nbout.size, 4, UINT32_MAX),
};
static const struct dn_field nfu[] = {
	NAMED("NFU-1 OP", nfu.nfu1, nfu1s),
	NAMED("NFU-2 OP", nfu.nfu2, nfu2s),
	NAMED("NFU-2 IN", nfu.in, froms),
	NAMED("NFU-2 OUT", nfu.out, tos),
	{"NFU-3 OP", false, DN_FIELD_FUNCTION, NULL, MEMBER(nfu.nfu3), 1, 0, DN_MAX_FUNCTIONS},
	NUMBER("OUTPUT BEGIN", nfu.begin, 1, 1),
	NUMBER("OUTPUT END", nfu.end, 1, 1),
	KEYED("shift", nfu.shift, 2, INT16_MIN, INT16_MAX),
	KEYED("result_shift", nfu.result_shift, 2, INT16_MIN, INT16_MAX),
	KEYED("divisor", nfu.divisor, 4, 0, 65536),
};

#define SLOT(name, fields)                                                                                             \
	{                                                                                                              \
		name, sizeof fields / sizeof *fields, fields                                                           \
	}
const struct dn_slot dn_slots[DN_SLOTS] = {
	[DN_SLOT_CP] = SLOT("CP", cp),          [DN_SLOT_SB] = SLOT("SB", sb),    [DN_SLOT_NBIN] = SLOT("NBIN", nbin),
	[DN_SLOT_NBOUT] = SLOT("NBOUT", nbout), [DN_SLOT_NFU] = SLOT("NFU", nfu),
};
_Static_assert(sizeof nfu / sizeof *nfu == DN_MOST_FIELDS, "the NFU has the most");

int64_t dn_field_get(const struct dn_instruction *at, const struct dn_field *field)
{
	const void *member = (const char *)at + field->offset;
	switch (field->size) {
	case 1:
		return *(const uint8_t *)member;
	case 2:
		return *(const int16_t *)member;
	case 4:
		return *(const uint32_t *)member;
	default:
		return (int64_t)(*(const uint64_t *)member);
	}
}

void dn_field_set(struct dn_instruction *at, const struct dn_field *field, int64_t value)
{
	void *member = (char *)at + field->offset;
	switch (field->size) {
	case 1:
		*(uint8_t *)member = (uint8_t)value;
		break;
	case 2:
		*(int16_t *)member = (int16_t)value;
		break;
	case 4:
		*(uint32_t *)member = (uint32_t)value;
		break;
	default:
		*(uint64_t *)member = (uint64_t)value;
	}
}

bool dn_function_name_ok(const char *name)
{
	if (isdigit((unsigned char)*name) || !*name || !strcmp(name, DN_IDENTITY))
		return false;
	while (isalnum((unsigned char)*name) || *name == '_')
		name++;
	return !*name;
}

const char *const dn_known_functions[DN_KNOWN_FUNCTIONS] = {"SIGMOID", "TANH", "RELU"};

const struct dn_function *dn_known_function(const char *name, struct dn_function *room)
{
	if (!strcmp(name, dn_known_functions[0]))
		return &dn_sigmoid;
	if (!strcmp(name, dn_known_functions[1]))
		return &dn_tanh;
	return !strcmp(name, dn_known_functions[2]) && dn_clip(0, INT16_MAX, room) ? room : NULL;
}

int dn_function_number(const struct dn_program *program, const char *name)
{
	for (int i = 0; i < program->n_functions; i++)
		if (!strcmp(program->function_name[i], name))
			return i + 1;
	return 0;
}
