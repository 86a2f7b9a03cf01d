/* SPDX-License-Identifier: MIT
 *
 * An instruction set as a table, from which its text, its binary and the check of single instructions follow.
 *
 * An instruction is a C struct of the machine. A slot is a named part of it with fields. In a set with an opcode (the
 * TPU's) each slot is an instruction of its own; otherwise (DianNao's) the slots stand side by side in one instruction.
 */
#ifndef NPULAB_SIM_COMMON_INSTRUCTION_SET_H
#define NPULAB_SIM_COMMON_INSTRUCTION_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIM_MAX_INSTRUCTION 256 /* bytes of a set's struct */
#define SIM_MAX_FIELDS      16  /* the most fields of a slot */
#define SIM_MAX_CONSTANTS   16  /* the most constants of a program */
#define SIM_MAX_PAIRS       16  /* the most pairs of a constant */
#define SIM_CONSTANT_NAME   32  /* bytes of a constant's name, with a zero at the end */
#define SIM_MAX_NAMES       64  /* the most names of slots, of the values of a field, or of constants */

enum sim_field_kind {
	SIM_NUMBER,
	SIM_NAMED,
	SIM_FLOAT,   /* the bits of a float32 */
	SIM_CONSTANT /* the number of one of the program's constants, from 1 on; 0: the identity */
};

struct sim_field {
	const char *name; /* such as "STRIDE BEGIN"; in the text sim_field_key, "stride_begin", names it too */
	bool keyed;       /* the text names it by its key only, and leaves it out where it is 0 and not required */
	enum sim_field_kind kind;
	const char *const *names; /* SIM_NAMED: names of the values 0 to high; NULL: no such value */
	size_t offset; /* where an integer of `size` bytes is in the instruction's struct; it is signed if low < 0 */
	uint8_t size, bytes; /* size: 1, 2, 4 or 8; bytes: how many the binary has */
	int64_t low, high;
};

/* Initialises a field that is a member of the instruction's struct. */
#define SIM_FIELD(type, member, name, keyed, kind, names, bytes, low, high)                                            \
	{                                                                                                              \
		name, keyed, kind, names, offsetof(type, member), sizeof(((type *)NULL)->member), bytes, low, high     \
	}

/* Flags of one mask exclude each other. A list ends with a name of NULL. */
struct sim_flag {
	const char *name;
	uint16_t mask, bits;
};

struct sim_slot {
	const char *name;
	int opcode; /* the slot's opcode, in a set with opcodes */
	int n_fields;
	const struct sim_field *field;
	const struct sim_flag *flag; /* NULL: none */
	/* What messages call its flags, which are words after its name, at least one; NULL: flags are written .FLAG. */
	const char *flag_noun;
};
#define SIM_SLOT(name, opcode, fields, flags)                                                                          \
	{                                                                                                              \
		name, opcode, sizeof fields / sizeof *fields, fields, flags, NULL                                      \
	}

/* The constants that programs may define beside their instructions: named tables of pairs a,b of 16-bit integers. */
struct sim_constants {
	const char *directive, *identity; /* ".function", "NONE" */
	int pairs;
	/* Those that need no directive, with their values in the order of struct sim_constant; a name of NULL ends. */
	const struct sim_known_constant {
		const char *name;
		const void *value;
	} * known;
};

struct sim_instruction_set {
	const char *name; /* the name of the driver, which binaries hold */
	const char *page; /* the manual */
	/* Optional: the first bytes of its binaries from before all machines had one header. The first 40 bytes of the
	 * header were the same. */
	const char *former_magic;
	int n_slots;
	const struct sim_slot *slot;
	size_t instruction_size; /* bytes of the struct */
	/* All members in the order of the binary: the slots themselves, or in a set with opcodes a single one. */
	const struct sim_slot *layout;
	int n_layout;
	const struct sim_field *opcode; /* NULL: the slots stand side by side */
	const struct sim_field *flags;  /* NULL: no flags */
	/* Narrows a field to its meaning in this instruction. Returns false where the instruction has no such field.
	 * Optional. */
	bool (*refine)(const void *instruction, const struct sim_slot *slot, struct sim_field *field);
	/* Checks rules of the machine for one instruction whose fields are in their ranges. Returns false with the
	 * reason in `reason`. Optional. */
	bool (*accepts)(const void *instruction, char *reason, size_t reason_bytes);
	const struct sim_constants *constants; /* NULL: none */
	int address_bits;                      /* of where in memory the files of exec lie; 0: programs do not say it */
};

/* These read and write a number of at most 8 bytes. It is little-endian, as numbers of this computer are. */
static inline uint64_t sim_get_number(const void *bytes, size_t n)
{
	uint64_t value = 0;
	memcpy(&value, bytes, n);
	return value;
}
static inline void sim_put_number(void *bytes, size_t n, uint64_t value)
{
	memcpy(bytes, &value, n);
}

int64_t sim_field_get(const void *instruction, const struct sim_field *field);
void sim_field_set(void *instruction, const struct sim_field *field, int64_t value);
/* Makes the field's key: its name in lower case, with '_' for each character that is no letter or digit. */
void sim_field_key(const struct sim_field *field, char *key, size_t n);
/* Gets field i of a slot with its meaning in this instruction; false: the instruction has no such field. */
bool sim_field_of(const struct sim_instruction_set *set, const void *instruction, const struct sim_slot *slot, int i,
		  struct sim_field *field);
/* Returns the slot that the instruction's opcode names; NULL: there is none. */
const struct sim_slot *sim_slot_of(const struct sim_instruction_set *set, const void *instruction);
unsigned sim_flags_of(const struct sim_instruction_set *set, const void *instruction);

/* sim_instruction_bytes returns the number of an instruction's bytes in binary. The other two convert an instruction to
 * these bytes and back. sim_decode takes any bytes. */
size_t sim_instruction_bytes(const struct sim_instruction_set *set);
void sim_encode(const struct sim_instruction_set *set, const void *instruction, uint8_t *bytes);
void sim_decode(const struct sim_instruction_set *set, const uint8_t *bytes, void *instruction);

/* Says whether this is an instruction on every machine of the set: its opcode, flags and names are known, its numbers
 * are in their ranges, the set's own rules hold, and each field that has no meaning here is 0. If it is none, `reason`
 * gets the reason. */
bool sim_instruction_ok(const struct sim_instruction_set *set, int n_constants, const void *instruction, char *reason,
			size_t reason_bytes);

#endif
