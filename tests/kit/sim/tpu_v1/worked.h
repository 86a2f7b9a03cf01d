/* SPDX-License-Identifier: MIT
 *
 * Tiny programs on a 3 x 3 array whose cycles are worked out by hand from docs/tpu-isa.md. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_WORKED_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_WORKED_H

#include "run.h"

enum { WORKED_CASES = 17 };
/* Whether an engine does case `index` as worked out; *name is the case's, *reason what differs. */
bool program_works(int index, tpu_engine *engine, const char **name, char *reason, size_t reason_bytes);

#endif
