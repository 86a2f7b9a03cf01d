/* SPDX-License-Identifier: MIT
 *
 * The fast engine, as others see it. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_FAST_RUN_H
#define NPULAB_SIM_DIANNAO_DIANNAO_FAST_RUN_H

#include "sim/diannao/diannao/engine/engine.h"

dn_engine dn_run_fast;
/* Adds up the activity of a program's operands (activity.def), without the program's time and without computing its
 * values. Memory holds what the program loads into NBin and SB, except partial sums. Returns 0 or NPL_ENOMEM. */
int dn_count_activity(const struct dn_engine_input *engine_input, struct dn_counters *counters, struct npl_err *err);

#endif
