/* SPDX-License-Identifier: MIT
 *
 * Fields of instructions by their table (instruction_set.h): reading, writing, encoding, and the check of ranges. */
#include "instruction_set.h"

#include <ctype.h>
#include <stdio.h>

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

/* Returns field i in the order of the binary; NULL: there are no more. */
static const struct sim_field *binary_field(const struct sim_instruction_set *set, int i)
{
	const struct sim_slot *slot = set->layout ? set->layout : set->slot;
	const struct sim_slot *end = slot + (set->layout ? 1 : set->n_slots);
	for (; slot < end; i -= slot++->n_fields)
		if (i < slot->n_fields)
			return &slot->field[i];
	return NULL;
}

size_t sim_instruction_bytes(const struct sim_instruction_set *set)
{
	size_t bytes = 0;
	const struct sim_field *field;
	for (int i = 0; (field = binary_field(set, i)); i++)
		bytes += field->bytes;
	return bytes;
}

void sim_encode(const struct sim_instruction_set *set, const void *instruction, uint8_t *bytes)
{
	const struct sim_field *field;
	for (int i = 0; (field = binary_field(set, i)); i++, bytes += field->bytes)
		sim_put_number(bytes, field->bytes, (uint64_t)sim_field_get(instruction, field));
}

void sim_decode(const struct sim_instruction_set *set, const uint8_t *bytes, void *instruction)
{
	const struct sim_field *field;
	memset(instruction, 0, set->instruction_size);
	for (int i = 0; (field = binary_field(set, i)); i++, bytes += field->bytes)
		sim_field_set(instruction, field, (int64_t)sim_get_number(bytes, field->bytes));
}

#define MOST_LISTED 8 /* names in a message */

/* Lists the values of a field that has names for them: "0 (NOP), 1 (LOAD)". */
static const char *list_names(const struct sim_field *field, char *list, size_t n)
{
	size_t used = 0;
	list[0] = '\0';
	for (int64_t i = 0; i <= field->high && used < n; i++)
		if (field->names[i])
			used += (size_t)snprintf(list + used, n - used, "%s%lld (%s)", used ? ", " : "", (long long)i,
						 field->names[i]);
	return list;
}

/* Says whether a field may have the value. If not, `reason` says why, with `prefix` before it: "SB: ", "". */
static bool value_ok(const char *prefix, const struct sim_field *field, int n_constants, int64_t value, char *reason,
		     size_t reason_bytes)
{
	char list[160];
	const bool named = field->kind == SIM_NAMED;
	if (field->kind == SIM_CONSTANT && value > n_constants)
		return npl_refuse(reason, reason_bytes, "%s%s is number %lld, expected one of the program's %d", prefix,
				  field->name, (long long)value, n_constants);
	if (value >= field->low && value <= field->high && (!named || field->names[value]))
		return true;
	if (named && field->high < MOST_LISTED)
		return npl_refuse(reason, reason_bytes, "%s%s is %lld, expected %s", prefix, field->name,
				  (long long)value, list_names(field, list, sizeof list));
	return npl_refuse(reason, reason_bytes, "%s%s is %lld, expected %lld to %lld", prefix, field->name,
			  (long long)value, (long long)field->low, (long long)field->high);
}

static bool fields_ok(const struct sim_instruction_set *set, const struct sim_slot *slot, int n_constants,
		      const void *instruction, char *reason, size_t reason_bytes)
{
	struct sim_field field;
	char prefix[64] = "";
	if (!set->opcode)
		snprintf(prefix, sizeof prefix, "%s: ", slot->name);
	for (int i = 0; i < slot->n_fields; i++)
		if (sim_field_of(set, instruction, slot, i, &field) &&
		    !value_ok(prefix, &field, n_constants, sim_field_get(instruction, &field), reason, reason_bytes))
			return false;
	return true;
}

/* Says whether all bits belong to known flags, and the bits of each mask have a known meaning. */
static bool flags_ok(const struct sim_slot *slot, unsigned flags, char *reason, size_t reason_bytes)
{
	unsigned known = 0;
	for (const struct sim_flag *f = slot->flag; f && f->name; f++)
		known |= f->mask;
	if (flags & ~known)
		return npl_refuse(reason, reason_bytes, "flags 0x%04x, expected 0 in all bits but those of 0x%04x",
				  flags, known);
	for (const struct sim_flag *f = slot->flag; f && f->name; f++) {
		const struct sim_flag *known_flag = slot->flag;
		while (known_flag->name && (known_flag->mask != f->mask || known_flag->bits != (flags & f->mask)))
			known_flag++;
		if (flags & f->mask && !known_flag->name)
			return npl_refuse(reason, reason_bytes,
					  "flags 0x%04x, expected another value in the bits 0x%04x", flags, f->mask);
	}
	if (slot->flag_noun && !flags)
		return npl_refuse(reason, reason_bytes, "no %s, expected one at least", slot->flag_noun);
	return true;
}

/* Says whether all members that no field of this instruction has are 0. */
static bool absent_ok(const struct sim_instruction_set *set, const struct sim_slot *slot, const void *instruction,
		      char *reason, size_t reason_bytes)
{
	for (int i = 0; i < set->layout->n_fields; i++) {
		const struct sim_field *member = &set->layout->field[i];
		struct sim_field field;
		bool has = member->offset == set->opcode->offset || member->offset == set->flags->offset;
		for (int k = 0; k < slot->n_fields && !has; k++)
			has = sim_field_of(set, instruction, slot, k, &field) && field.offset == member->offset;
		if (!has && sim_field_get(instruction, member))
			return npl_refuse(reason, reason_bytes,
					  "the field `%s` is %lld, expected 0: it means nothing here", member->name,
					  (long long)sim_field_get(instruction, member));
	}
	return true;
}

static bool slots_ok(const struct sim_instruction_set *set, int n_constants, const void *instruction, char *reason,
		     size_t reason_bytes)
{
	if (!set->opcode) {
		for (int s = 0; s < set->n_slots; s++)
			if (!fields_ok(set, &set->slot[s], n_constants, instruction, reason, reason_bytes))
				return false;
		return true;
	}
	const struct sim_slot *slot = sim_slot_of(set, instruction);
	if (!slot)
		return npl_refuse(reason, reason_bytes, "unknown opcode 0x%02x, expected one of those in %s",
				  (unsigned)sim_field_get(instruction, set->opcode), set->page);
	return flags_ok(slot, sim_flags_of(set, instruction), reason, reason_bytes) &&
	       fields_ok(set, slot, n_constants, instruction, reason, reason_bytes) &&
	       absent_ok(set, slot, instruction, reason, reason_bytes);
}

bool sim_instruction_ok(const struct sim_instruction_set *set, int n_constants, const void *instruction, char *reason,
			size_t reason_bytes)
{
	return slots_ok(set, n_constants, instruction, reason, reason_bytes) &&
	       (!set->accepts || set->accepts(instruction, reason, reason_bytes));
}
