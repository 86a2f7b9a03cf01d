/* SPDX-License-Identifier: MIT
 *
 * Functions of program.c for devices.c. */
#ifndef NPULAB_CORE_PROGRAM_H
#define NPULAB_CORE_PROGRAM_H

#include "npulab/error.h"

/* Returns NPL_EUSAGE: `name` has no instruction set; the message names the drivers that have one. */
int npl_program_no_isa(const char *name, struct npl_err *err);

#endif
