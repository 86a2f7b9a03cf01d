/* SPDX-License-Identifier: MIT
 *
 * A program: a list of instructions of one set, with the constants that it defines; its text and its binary. */
#ifndef NPULAB_SIM_COMMON_PROGRAM_H
#define NPULAB_SIM_COMMON_PROGRAM_H

#include <stdio.h>

#include "instruction_set.h"
#include "npulab/error.h"

struct sim_constant {
	char name[SIM_CONSTANT_NAME];
	int16_t value[2 * SIM_MAX_PAIRS]; /* a of all pairs, then b of all pairs */
};

/* A program. The owner frees it. Zeroed except for `set`, it is empty. */
struct sim_program {
	const struct sim_instruction_set *set;
	void *instruction; /* `count` structs of the set */
	int *line;         /* the line of each in the text from which the program was made; 0: there was no text */
	int64_t count, capacity;
	int n_constants;
	struct sim_constant constant[SIM_MAX_CONSTANTS];
	uint64_t host_address, weight_address; /* where in memory the files of exec go, in a set with address_bits */
};

/* Makes room for so many instructions in all, whose lines are 0. Returns 0 or NPL_ENOMEM. */
int sim_program_reserve(struct sim_program *program, int64_t count, struct npl_err *err);
/* Appends a copy of the instruction. Returns 0 or NPL_ENOMEM. */
int sim_program_add(struct sim_program *program, const void *instruction, int line, struct npl_err *err);
void sim_program_free(struct sim_program *program); /* frees what it holds; it is empty then */
static inline const void *sim_program_at(const struct sim_program *program, int64_t index)
{
	return (const char *)program->instruction + (size_t)index * program->set->instruction_size;
}

/* The place of an instruction: its number in the program, and its line in the text from which the program was made; 0:
 * there was no text. */
struct sim_source_location {
	int64_t index;
	int line;
};
/* Writes "line 12" or, without a line, "instruction 11" to `text`, and returns `text`. */
const char *sim_location_text(const struct sim_source_location *location, char *text, size_t n);
#define SIM_LOCATION(location) sim_location_text((location), (char[40]){0}, 40)
/* Does the same for an instruction of a program; in a set with opcodes ": matrix_multiply" follows, or the number of an
 * opcode that the set does not have. */
const char *sim_program_location_text(const struct sim_program *program, int64_t index, char *text, size_t n);
#define SIM_PROGRAM_LOCATION(program, index) sim_program_location_text((program), (index), (char[80]){0}, 80)
/* Fails with NPL_EINPUT and "SOURCE:12: NAME: what" or, without a line, "SOURCE: instruction 11: NAME: what". The name
 * is that of the instruction; in a set without opcodes it is left out, and instruction may be NULL. */
int sim_refuse(struct npl_err *err, const char *source, const struct sim_source_location *at,
	       const struct sim_instruction_set *set, const void *instruction, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/* Checks all instructions. NPL_EINPUT "SOURCE: WHERE: why" for the first one that is not valid. */
int sim_program_instructions_ok(const struct sim_program *program, const char *source, struct npl_err *err);

/* Says whether a text and a header can hold a machine's name: one or more visible characters other than
 * # ; , | and =, fewer than SIM_MACHINE_NAME. */
#define SIM_MACHINE_NAME 64
bool sim_machine_name_ok(const char *name);
/* Says whether the word is a name, as those of constants: letters, digits and '_', no digit first. */
bool sim_is_name(const char *word);
/* Makes a constant from its values. A name that is too long is cut. */
struct sim_constant sim_constant_of(const struct sim_constants *constants, const char *name, const void *value);
int sim_constant_number(const struct sim_program *program, const char *name); /* from 1 on; 0: there is none */
/* Returns the values of a constant that needs no directive; NULL: there is none with this name. */
const void *sim_known_values(const struct sim_constants *constants, const char *name);

/* Assembles a text into a program that it fills. NPL_EINPUT with "SOURCE:LINE: what is wrong and what was expected". */
int sim_assemble(const struct sim_instruction_set *set, const char *source, const char *text, size_t n,
		 struct sim_program *program, struct npl_err *err);
/* Gets the machine that the text's first statement, `.machine NAME`, names, and the statement's line; empty: the text
 * has no such statement. */
int sim_text_machine(const char *source, const char *text, size_t n, char machine[SIM_MACHINE_NAME], int *line,
		     struct npl_err *err);

/* Comments in a program's text. put writes whole lines before instruction `index` (-1: before everything else), or
 * nothing. */
struct sim_comments {
	void (*put)(void *context, FILE *out, int64_t index);
	void *context;
};
/* Writes a text that assembles to the same program; *text is malloc'ed and NUL-terminated. It begins with `.machine`
 * unless machine is NULL or a name that no text can hold. comments may be NULL. NPL_EINPUT: an instruction is not
 * valid. */
int sim_disassemble(const char *source, const struct sim_program *program, const char *machine,
		    const struct sim_comments *comments, char **text, struct npl_err *err);

/* The binary file of a program, the same for all machines (docs/exec.md, Binary programs): a header that names the
 * program's machine, then constants, then instructions. */
#define SIM_SET_NAME 16 /* bytes in the header, with a zero at the end; SIM_MACHINE_NAME includes the zero too */
bool sim_has_header(const uint8_t *bytes, size_t n); /* says whether the bytes begin as such a file does */
/* Reads the names of the instruction set and of the machine from a header. NPL_EINPUT: the header is cut off or of
 * another version. */
int sim_header_names(const char *source, const uint8_t *bytes, size_t n, char set[SIM_SET_NAME],
		     char machine[SIM_MACHINE_NAME], struct npl_err *err);
/* Makes the file; *bytes is malloc'ed. NPL_EINPUT: a header cannot hold the machine's name. */
int sim_to_binary(const struct sim_program *program, const char *machine, uint8_t **bytes, size_t *n,
		  struct npl_err *err);
/* Reads a file into a program that it fills; without a header all bytes are instructions. NPL_EINPUT names `source`. */
int sim_from_binary(const struct sim_instruction_set *set, const char *source, const uint8_t *bytes, size_t n,
		    struct sim_program *program, struct npl_err *err);

#endif
