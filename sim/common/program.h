/* SPDX-License-Identifier: MIT
 *
 * A program: a list of instructions of one set, with the constants that it defines, and its text. */
#ifndef NPULAB_SIM_COMMON_PROGRAM_H
#define NPULAB_SIM_COMMON_PROGRAM_H

#include <stdarg.h>
#include <stdio.h>

#include "instruction_set.h"
#include "npulab/error.h"

struct sim_constant {
	char name[SIM_CONSTANT_NAME];
	int16_t value[2 * SIM_MOST_PAIRS]; /* a of all pairs, then b of all pairs */
};

/* Owned. Zeroed except `set`, it is empty. */
struct sim_program {
	const struct sim_instruction_set *set;
	void *instruction; /* `count` structs of the set */
	int *line;         /* where each stands in the text that it was made from; 0: it was none */
	int64_t count, capacity;
	int n_constants;
	struct sim_constant constant[SIM_MOST_CONSTANTS];
	uint64_t host_address, weight_address; /* of the files that exec is given, in a set that has_addresses */
};

/* Appends a copy; NPL_ENOMEM. */
int sim_program_add(struct sim_program *program, const void *instruction, int line, struct npl_err *err);
void sim_program_free(struct sim_program *program); /* what it holds; it is empty then */
static inline const void *sim_program_at(const struct sim_program *program, int64_t index)
{
	return (const char *)program->instruction + (size_t)index * program->set->instruction_size;
}

/* Where an instruction stands: its number in the program, and its line in the text that it was made from; 0: it was
 * none. */
struct sim_source_location {
	int64_t index;
	int line;
};
/* "line 12" or, without a line, "instruction 11": in `text`, which it returns. */
const char *sim_location_text(const struct sim_source_location *at, char *text, size_t n);
/* The same of an instruction of a program; of a set with opcodes ": matrix_multiply" after it. */
void sim_program_where(const struct sim_program *program, int64_t index, char *where, size_t n);
/* The name of the instruction; of an opcode that the set has not, its number; empty in a set without opcodes. */
const char *sim_instruction_name(const struct sim_program *program, int64_t index, char *name, size_t n);
/* NPL_EINPUT "SOURCE:12: NAME: what" or, without a line, "SOURCE: instruction 11: NAME: what". An empty name is left
 * out. */
int sim_refuse(struct npl_err *err, const char *source, const struct sim_source_location *at, const char *name,
	       const char *format, va_list args);
/* NPL_EINPUT "SOURCE: WHERE: why" for the first instruction that is none. */
int sim_program_instructions_ok(const struct sim_program *program, const char *source, struct npl_err *err);

/* Whether a text and a header can hold a machine's name: visible characters without blanks, fewer than
 * SIM_MACHINE_NAME. */
#define SIM_MACHINE_NAME 64
bool sim_machine_name_ok(const char *name);
/* Names of constants: letters, digits and '_', no digit first, and not that of the identity. */
bool sim_constant_name_ok(const struct sim_constants *constants, const char *name);
int sim_constant_number(const struct sim_program *program, const char *name); /* from 1 on; 0: there is none */

/* Text to program, which is filled: NPL_EINPUT with "SOURCE:LINE: what is wrong and what was expected". */
int sim_assemble(const struct sim_instruction_set *set, const char *source, const char *text, size_t n,
		 struct sim_program *program, struct npl_err *err);
/* The machine that the text's first statement, `.machine NAME`, names; empty: it has none. */
int sim_text_machine(const char *source, const char *text, size_t n, char *machine, size_t capacity,
		     struct npl_err *err);

/* Writes whole lines before instruction `index`, or nothing; index -1: before all else. */
struct sim_comments {
	void (*put)(void *context, FILE *out, int64_t index);
	void *context;
};
/* To text that assembles to the same program, malloc'ed and NUL-terminated; it begins with `.machine` unless machine is
 * NULL or a name that no text can hold. comments may be NULL. NPL_EINPUT: an instruction that is none. */
int sim_disassemble(const char *source, const struct sim_program *program, const char *machine,
		    const struct sim_comments *comments, char **text, struct npl_err *err);

#endif
