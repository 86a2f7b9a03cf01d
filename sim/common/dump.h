/* SPDX-License-Identifier: MIT
 *
 * What dumps of programs (npulab/program_dump.h) have of every machine. */
#ifndef NPULAB_SIM_COMMON_DUMP_H
#define NPULAB_SIM_COMMON_DUMP_H

#include <stdio.h>

#include "npulab/program_dump.h"

/* The first `given` bytes of a memory, and zeros after them up to `bytes`; of no bytes no image. NPL_ENOMEM. */
int sim_take_memory(const uint8_t *memory, size_t given, size_t bytes, struct npl_memory_image *image,
		    struct npl_err *err);
/* A name from a model file, for a comment: it does not end the line. NULL: none. */
void sim_put_name(FILE *out, const char *name);

#endif
