/* SPDX-License-Identifier: MIT
 *
 * The register-level engine, as others see it. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_RTL_RUN_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_RTL_RUN_H

#include "npulab/signal_sink.h"
#include "sim/systolic/tpu_v1/engine/engine.h"

tpu_engine tpu_run_rtl;
/* Fills the table of the engine's signals (signals.def) for a machine. Returns the number of rows. */
int tpu_signals(const struct tpu_config *config, struct npl_signal_def def[NPL_MAX_SIGNAL_ROWS]);

#endif
