/* SPDX-License-Identifier: MIT
 *
 * The fast engine, as others see it. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_FAST_RUN_H
#define NPULAB_SIM_DIANNAO_DIANNAO_FAST_RUN_H

#include "sim/diannao/diannao/engine/engine.h"

dn_engine dn_run_fast;

#endif
