/* SPDX-License-Identifier: MIT
 *
 * Messages for a program that does not end. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_ENGINE_STUCK_H
#define NPULAB_SIM_DIANNAO_DIANNAO_ENGINE_STUCK_H

#include "engine.h"

#define DN_MAX_SECONDS 400000000 /* of an execution, 12 years: 4e18 cycles of the fastest clock are within 63 bits */

/* Fails with NPL_EINPUT: the program takes longer than DN_MAX_SECONDS. */
int dn_fail_too_long(const struct dn_engine_input *engine_input, struct npl_err *err);
/* Fails with NPL_EINTERNAL: the machine has come to a stop. */
int dn_fail_deadlock(uint64_t cycle, int64_t instruction, struct npl_err *err);

#endif
