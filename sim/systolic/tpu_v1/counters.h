/* SPDX-License-Identifier: MIT
 *
 * What the systolic machines count (docs/tpu-isa.md, Counters). */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_COUNTERS_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_COUNTERS_H

#include "npulab/counters.h"
#include "npulab/memory.h"

/* Counters of a layer or program. */
struct tpu_counters {
#define TPU_COUNTER(form, member, ...) uint64_t member;
#include "counters.def"
#undef TPU_COUNTER
};
enum {
	TPU_COUNTERS = 0 /* rows of counters.def */
#define TPU_COUNTER(...) +1
#include "counters.def"
#undef TPU_COUNTER
};
extern const struct npl_counter_def tpu_counter_defs[TPU_COUNTERS];
/* Fills in the counters of weight memory up to its present cycle; memory NULL: there is none. */
void tpu_count_weight_memory(const struct npl_memory *memory, struct tpu_counters *counters);

#endif
