/* SPDX-License-Identifier: MIT
 *
 * The parts of program dumps (npulab/program_dump.h) that all machines share. */
#ifndef NPULAB_SIM_COMMON_DUMP_H
#define NPULAB_SIM_COMMON_DUMP_H

#include <stdio.h>

#include "npulab/program_dump.h"

/* Copies the first `memory_bytes` bytes of a memory, with zeros after them up to `bytes`, to an image; with 0 bytes
 * there is no image. Returns 0 or NPL_ENOMEM. */
int sim_copy_image(const uint8_t *memory, size_t memory_bytes, size_t bytes, struct npl_memory_image *image,
		   struct npl_err *err);
/* Writes a name from a model file into a comment, so that it does not end the line. NULL: nothing is written. */
void sim_put_name(FILE *out, const char *name);

#endif
