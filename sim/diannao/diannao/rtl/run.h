/* SPDX-License-Identifier: MIT
 *
 * The register-level engine, as others see it. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_RTL_RUN_H
#define NPULAB_SIM_DIANNAO_DIANNAO_RTL_RUN_H

#include "sim/diannao/diannao/engine/engine.h"

dn_engine dn_run_rtl;

#endif
