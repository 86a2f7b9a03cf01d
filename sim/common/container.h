/* SPDX-License-Identifier: MIT
 *
 * The binary file of a program, the same for all machines (docs/exec.md, Binary programs): a header that says whose
 * program it is, then constants, then instructions. */
#ifndef NPULAB_SIM_COMMON_CONTAINER_H
#define NPULAB_SIM_COMMON_CONTAINER_H

#include "program.h"

#define SIM_SET_NAME 16 /* bytes of the header, with a zero at the end, as SIM_MACHINE_NAME */

/* Whether the bytes begin as such a file does. */
bool sim_has_header(const uint8_t *bytes, size_t n);
/* The names in a header: of the instruction set and of the machine. NPL_EINPUT: the header is cut off or of another
 * version. */
int sim_header_names(const char *source, const uint8_t *bytes, size_t n, char set[SIM_SET_NAME],
		     char machine[SIM_MACHINE_NAME], struct npl_err *err);

/* The file, malloc'ed. NPL_EINPUT: a machine whose name a header cannot hold. */
int sim_to_binary(const struct sim_program *program, const char *machine, uint8_t **bytes, size_t *n,
		  struct npl_err *err);
/* Back, into a program that is filled; without a header all bytes are instructions. NPL_EINPUT names `source`. */
int sim_from_binary(const struct sim_instruction_set *set, const char *source, const uint8_t *bytes, size_t n,
		    struct sim_program *program, struct npl_err *err);

#endif
