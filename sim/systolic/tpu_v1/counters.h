/* SPDX-License-Identifier: MIT
 *
 * What the systolic machines count (docs/tpu-isa.md, Counters). */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_COUNTERS_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_COUNTERS_H

#include "npulab/counters.h"
#include "npulab/memory.h"
#include "sim/common/counters.h"

/* Counters of a layer or program. */
struct tpu_counters {
#define TPU_COUNTER(form, member, ...) uint64_t member;
#include "counters.def"
#undef TPU_COUNTER
};
/* Classes of cycles. Each cycle is in one of the whole classes, those of the rows CYCLES, which come first. Those of
 * the rows PART are parts of non_matrix. */
enum tpu_cycle_class {
#define TPU_COUNTER(form, ...) SIM_WHOLE_##form(TPU_CYCLES_, __VA_ARGS__)
#include "counters.def"
#undef TPU_COUNTER
	TPU_WHOLE_CLASSES,
	TPU_LAST_WHOLE_CLASS = TPU_WHOLE_CLASSES - 1,
#define TPU_COUNTER(form, ...) SIM_PART_##form(TPU_CYCLES_, __VA_ARGS__)
#include "counters.def"
#undef TPU_COUNTER
	TPU_CYCLE_CLASSES
};
enum {
	TPU_COUNTERS = 0 /* rows of counters.def */
#define TPU_COUNTER(...) +1
#include "counters.def"
#undef TPU_COUNTER
};
/* What operands do, in the program or in one instruction: the last counters of the table. */
struct tpu_activity {
#define TPU_ACTIVITY(member, ...) uint64_t member;
#include "activity.def"
#undef TPU_ACTIVITY
};
enum { TPU_ACTIVITY_COUNTERS = sizeof(struct tpu_activity) / sizeof(uint64_t) };
void tpu_add_activity(const struct tpu_activity *activity, struct tpu_counters *counters);
extern const struct npl_counter_def tpu_counter_defs[TPU_COUNTERS];
/* Returns the counter of a class. */
static inline uint64_t *tpu_class_counter(struct tpu_counters *counters, enum tpu_cycle_class cycle_class)
{
	static const size_t offset[TPU_CYCLE_CLASSES] = {
#define TPU_COUNTER(form, ...) SIM_OFFSET_##form(TPU_CYCLES_, struct tpu_counters, __VA_ARGS__)
#include "counters.def"
#undef TPU_COUNTER
	};
	return sim_counter_at(counters, offset[cycle_class]);
}
/* Fills in the counters of weight memory up to its present cycle; memory NULL: there is none. */
void tpu_count_weight_memory(const struct npl_memory *memory, struct tpu_counters *counters);

#endif
