/* SPDX-License-Identifier: MIT
 *
 * What DianNao counts. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_COUNTERS_H
#define NPULAB_SIM_DIANNAO_DIANNAO_COUNTERS_H

#include "npulab/counters.h"
#include "npulab/memory.h"
#include "sim/common/counters.h"

/* Counters of a layer or program. */
struct dn_counters {
#define DN_COUNTER(form, member, ...) uint64_t member;
#include "counters.def"
#undef DN_COUNTER
	/* The saturations of sum_saturations that reach the function's result, and results that exceeded 16 bits at the
	 * output's scale. It is in no table: results have it as their saturations. */
	uint64_t output_saturations;
};
/* Classes of cycles: each cycle is in one of them. */
enum dn_cycle_class {
#define DN_COUNTER(form, ...) SIM_WHOLE_##form(DN_CYCLES_, __VA_ARGS__)
#include "counters.def"
#undef DN_COUNTER
	DN_WHOLE_CLASSES,
	DN_LAST_WHOLE_CLASS = DN_WHOLE_CLASSES - 1,
#define DN_COUNTER(form, ...) SIM_PART_##form(DN_CYCLES_, __VA_ARGS__)
#include "counters.def"
#undef DN_COUNTER
	DN_CYCLE_CLASSES
};
enum {
	DN_COUNTERS = 0 /* rows of counters.def */
#define DN_COUNTER(...) +1
#include "counters.def"
#undef DN_COUNTER
};
enum {
	DN_ACTIVITY_COUNTERS = 0 /* rows of activity.def: the last counters of the table */
#define DN_ACTIVITY(...) +1
#include "activity.def"
#undef DN_ACTIVITY
};
extern const struct npl_counter_def dn_counter_defs[DN_COUNTERS];
/* Returns the counter of a class. */
static inline uint64_t *dn_class_counter(struct dn_counters *counters, enum dn_cycle_class cycle_class)
{
	static const size_t offset[DN_CYCLE_CLASSES] = {
#define DN_COUNTER(form, ...) SIM_OFFSET_##form(DN_CYCLES_, struct dn_counters, __VA_ARGS__)
#include "counters.def"
#undef DN_COUNTER
	};
	return sim_counter_at(counters, offset[cycle_class]);
}
/* These set, and add to, the counters of what happens to values: those OF_VALUES and output_saturations. */
void dn_set_value_counters(const struct dn_counters *from, struct dn_counters *to);
void dn_add_value_counters(const struct dn_counters *from, struct dn_counters *to);
/* Fills in the counters of memory up to its present cycle. */
void dn_count_memory(const struct npl_memory_counters *memory, struct dn_counters *counters);

#endif
