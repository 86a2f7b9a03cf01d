/* SPDX-License-Identifier: MIT
 *
 * The binary file of a program, the same for all machines (docs/exec.md, Binary programs): a header that names the
 * program's machine, then constants, then instructions. */
#ifndef NPULAB_SIM_COMMON_CONTAINER_H
#define NPULAB_SIM_COMMON_CONTAINER_H

#include "program.h"

#define SIM_SET_NAME 16 /* bytes in the header, with a zero at the end; SIM_MACHINE_NAME includes the zero too */

/* Says whether the bytes begin as such a file does. */
bool sim_has_header(const uint8_t *bytes, size_t n);
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
