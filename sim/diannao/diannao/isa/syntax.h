/* SPDX-License-Identifier: MIT
 *
 * What DianNao's instructions are made of, in one table for the assembler, the disassembler, the binary form and the check
 * of single instructions: slots, their fields in the order of text and binary, the names of their values and their ranges. */
#ifndef DIANNAO_SYNTAX_H
#define DIANNAO_SYNTAX_H

#include "isa.h"

#define DN_INSTRUCTION_BYTES 64 /* all fields' bytes */

enum dn_field_kind { DN_FIELD_NUMBER, DN_FIELD_NAMED, DN_FIELD_FUNCTION };

struct dn_field {
	const char *name;         /* as the paper has it, or in the text NAME= */
	bool keyed;               /* npulab's own: by name, behind the slot's other values; 0 when left out */
	enum dn_field_kind kind;  /* FUNCTION: a number of the program's table */
	const char *const *names; /* NAMED: of the values 0 on, `high` the last; NULL: no such value */
	size_t offset;            /* in struct dn_instruction, of an integer of `size` bytes */
	uint8_t size, bytes;      /* bytes: in the binary */
	int64_t low, high;
};

struct dn_slot {
	const char *name;
	int n_fields;
	const struct dn_field *field;
};

enum dn_slot_at { DN_SLOT_CP, DN_SLOT_SB, DN_SLOT_NBIN, DN_SLOT_NBOUT, DN_SLOT_NFU, DN_SLOTS };
extern const struct dn_slot dn_slots[DN_SLOTS];
#define DN_MOST_FIELDS 10 /* of a slot */

int64_t dn_field_get(const struct dn_instruction *at, const struct dn_field *field);
void dn_field_set(struct dn_instruction *at, const struct dn_field *field, int64_t value);

/* Names of functions: letters, digits and '_', no digit first, and not that of the identity. */
#define DN_IDENTITY "NONE"
bool dn_function_name_ok(const char *name);
/* Those that every program knows; they take a place in its table where it uses them. NULL: no such. */
#define DN_KNOWN_FUNCTIONS 3
extern const char *const dn_known_functions[DN_KNOWN_FUNCTIONS];
const struct dn_function *dn_known_function(const char *name, struct dn_function *room);
/* Its number; 0: not in the table. */
int dn_function_number(const struct dn_program *program, const char *name);

#endif
