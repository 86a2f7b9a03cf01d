/* SPDX-License-Identifier: MIT
 *
 * The fast engine, as others see it. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_FAST_RUN_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_FAST_RUN_H

#include "sim/systolic/tpu_v1/engine/engine.h"

tpu_engine tpu_run_fast;
/* Frees what the engine keeps for the next execution: its memory, and weights in the form that its kernels take. */
void tpu_fast_cache_free(struct tpu_fast_cache *cache); /* accepts NULL */

#endif
