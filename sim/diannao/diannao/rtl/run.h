/* SPDX-License-Identifier: MIT
 *
 * The register-level engine, as others see it. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_RTL_RUN_H
#define NPULAB_SIM_DIANNAO_DIANNAO_RTL_RUN_H

#include "npulab/signal_sink.h"
#include "sim/diannao/diannao/engine/engine.h"

dn_engine dn_run_rtl;
/* Fills the table of the engine's signals (signals.def) for a machine. Returns the number of rows. */
int dn_signals(const struct dn_config *config, struct npl_signal_def def[NPL_MAX_SIGNAL_ROWS]);

#endif
