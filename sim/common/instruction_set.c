/* SPDX-License-Identifier: MIT
 *
 * Fields of instructions by their table (instruction_set.h): reading, writing, encoding, and the check of ranges. */
#include "instruction_set.h"

#include <ctype.h>

#include "core/base/message.h"
#include "core/base/refuse.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers in binaries are as in memory");

int64_t sim_field_get(const void *instruction, const struct sim_field *field)
{
	const int unused = 64 - 8 * field->size;
	const uint64_t bits = sim_get_number((const char *)instruction + field->offset, field->size);
	return field->low < 0 ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

void sim_field_set(void *instruction, const struct sim_field *field, int64_t value)
{
	sim_put_number((char *)instruction + field->offset, field->size, (uint64_t)value);
}

void sim_field_key(const struct sim_field *field, char *key, size_t n)
{
	size_t i = 0;
	for (; i + 1 < n && field->name[i]; i++)
		key[i] = isalnum((unsigned char)field->name[i]) ? (char)tolower((unsigned char)field->name[i]) : '_';
	key[i] = '\0';
}

bool sim_field_of(const struct sim_instruction_set *set, const void *instruction, const struct sim_slot *slot, int i,
		  struct sim_field *field)
{
	*field = slot->field[i];
	return !set->refine || set->refine(instruction, slot, field);
}

const struct sim_slot *sim_slot_of(const struct sim_instruction_set *set, const void *instruction)
{
	const int64_t opcode = sim_field_get(instruction, set->opcode);
	for (int s = 0; s < set->n_slots; s++)
		if (set->slot[s].opcode == opcode)
			return &set->slot[s];
	return NULL;
}

unsigned sim_flags_of(const struct sim_instruction_set *set, const void *instruction)
{
	return set->flags ? (unsigned)sim_field_get(instruction, set->flags) : 0;
}

size_t sim_instruction_bytes(const struct sim_instruction_set *set)
{
	size_t bytes = 0;
	for (int s = 0; s < set->n_layout; s++)
		for (int i = 0; i < set->layout[s].n_fields; i++)
			bytes += set->layout[s].field[i].bytes;
	return bytes;
}

void sim_encode(const struct sim_instruction_set *set, const void *instruction, uint8_t *bytes)
{
	for (int s = 0; s < set->n_layout; s++)
		for (int i = 0; i < set->layout[s].n_fields; i++) {
			const struct sim_field *field = &set->layout[s].field[i];
			sim_put_number(bytes, field->bytes, (uint64_t)sim_field_get(instruction, field));
			bytes += field->bytes;
		}
}

void sim_decode(const struct sim_instruction_set *set, const uint8_t *bytes, void *instruction)
{
	memset(instruction, 0, set->instruction_size);
	for (int s = 0; s < set->n_layout; s++)
		for (int i = 0; i < set->layout[s].n_fields; i++) {
			const struct sim_field *field = &set->layout[s].field[i];
			sim_field_set(instruction, field, (int64_t)sim_get_number(bytes, field->bytes));
			bytes += field->bytes;
		}
}

/* The instruction that is examined, and where the reason goes if it is none. */
struct examined {
	const struct sim_instruction_set *set;
	const void *instruction;
	int n_constants;
	char *reason;
	size_t reason_bytes;
};

#define refuse(e, ...) npl_refuse((e)->reason, (e)->reason_bytes, __VA_ARGS__)

#define MAX_LISTED 8 /* the most names in a message */

static bool value_ok(const struct examined *e, const struct sim_slot *slot, const struct sim_field *field)
{
	const int64_t value = sim_field_get(e->instruction, field);
	const char *part = e->set->opcode ? "" : slot->name, *colon = e->set->opcode ? "" : ": ";
	const bool named = field->kind == SIM_NAMED;
	if (field->kind == SIM_CONSTANT && value > e->n_constants)
		return refuse(e, "%s%s%s is number %lld, expected one of the program's %d", part, colon, field->name,
			      (long long)value, e->n_constants);
	if (value >= field->low && value <= field->high && (!named || field->names[value]))
		return true;
	char expected[160] = "";
	const bool listed = named && field->high < MAX_LISTED; /* "0 (NOP), 1 (LOAD)" */
	for (long long i = 0; listed && i <= field->high; i++)
		if (field->names[i])
			npl_append(expected, sizeof expected, ", ", "%lld (%s)", i, field->names[i]);
	if (!listed)
		npl_append(expected, sizeof expected, "", "%lld to %lld", (long long)field->low,
			   (long long)field->high);
	return refuse(e, "%s%s%s is %lld, expected %s", part, colon, field->name, (long long)value, expected);
}

static bool fields_ok(const struct examined *e, const struct sim_slot *slot)
{
	struct sim_field field;
	for (int i = 0; i < slot->n_fields; i++)
		if (sim_field_of(e->set, e->instruction, slot, i, &field) && !value_ok(e, slot, &field))
			return false;
	return true;
}

/* Says whether the bits of each mask have a meaning that the slot knows, or are 0, and there are flags where the slot
 * needs one. */
static bool flags_ok(const struct examined *e, const struct sim_slot *slot)
{
	const unsigned flags = sim_flags_of(e->set, e->instruction);
	unsigned unknown = flags;
	char names[200] = "";
	for (const struct sim_flag *f = slot->flag; f && f->name; f++)
		if ((flags & f->mask) == f->bits)
			unknown &= ~(unsigned)f->mask;
	if (unknown)
		return refuse(e, "flags 0x%04x, expected 0 in the bits 0x%04x, or a value with a meaning", flags,
			      unknown);
	if (flags || !slot->flag_noun)
		return true;
	for (const struct sim_flag *f = slot->flag; f && f->name; f++)
		npl_append(names, sizeof names, ", ", "%s", f->name);
	return refuse(e, "no %s, expected one at least: %s", slot->flag_noun, names);
}

/* Says whether all members that no field of this instruction has are 0. */
static bool absent_ok(const struct examined *e, const struct sim_slot *slot)
{
	const struct sim_instruction_set *set = e->set;
	_Alignas(8) char absent[SIM_MAX_INSTRUCTION];
	struct sim_field field;
	memcpy(absent, e->instruction, set->instruction_size);
	sim_field_set(absent, set->opcode, 0);
	sim_field_set(absent, set->flags, 0);
	for (int i = 0; i < slot->n_fields; i++)
		if (sim_field_of(set, e->instruction, slot, i, &field))
			sim_field_set(absent, &field, 0);
	for (const struct sim_field *f = set->layout->field; f < set->layout->field + set->layout->n_fields; f++)
		if (sim_field_get(absent, f))
			return refuse(e, "the field `%s` is %lld, expected 0: it means nothing here", f->name,
				      (long long)sim_field_get(absent, f));
	return true;
}

bool sim_instruction_ok(const struct sim_instruction_set *set, int n_constants, const void *instruction, char *reason,
			size_t reason_bytes)
{
	const struct examined e = {set, instruction, n_constants, reason, reason_bytes};
	if (set->opcode) {
		const struct sim_slot *slot = sim_slot_of(set, instruction);
		if (!slot)
			return refuse(&e, "unknown opcode 0x%02x, expected one of those in %s",
				      (unsigned)sim_field_get(instruction, set->opcode), set->page);
		if (!flags_ok(&e, slot) || !fields_ok(&e, slot) || !absent_ok(&e, slot))
			return false;
	}
	for (int s = 0; s < set->n_slots && !set->opcode; s++)
		if (!fields_ok(&e, &set->slot[s]))
			return false;
	return !set->accepts || set->accepts(instruction, reason, reason_bytes);
}
