/* SPDX-License-Identifier: MIT
 *
 * The register-level engine, as others see it. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_RTL_RUN_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_RTL_RUN_H

#include "sim/systolic/tpu_v1/engine/engine.h"

tpu_engine tpu_run_rtl;

#endif
