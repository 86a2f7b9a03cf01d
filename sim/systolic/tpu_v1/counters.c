/* SPDX-License-Identifier: MIT
 *
 * The table of counters (counters.def), and the counters of weight memory. */
#include "counters.h"

_Static_assert(TPU_COUNTERS <= NPL_MAX_COUNTERS, "a result has room for all counters");

const struct npl_counter_def tpu_counter_defs[TPU_COUNTERS] = {
#define TPU_COUNTER(form, ...) SIM_COUNTER_##form(struct tpu_counters, __VA_ARGS__),
#include "counters.def"
#undef TPU_COUNTER
};

void tpu_add_activity(const struct tpu_activity *activity, struct tpu_counters *counters)
{
#define TPU_ACTIVITY(member, ...) counters->member += activity->member;
#include "activity.def"
#undef TPU_ACTIVITY
}

void tpu_count_weight_memory(const struct npl_memory *memory, struct tpu_counters *counters)
{
	struct npl_memory_counters count = {0};
	if (memory)
		npl_memory_counters(memory, &count);
	counters->dram_activates = count.activates;
	counters->dram_reads = count.read_commands;
	if (memory && !count.read_commands && npl_memory_info(memory)->access_bytes)
		counters->dram_reads = count.reads; /* reads of a fixed memory, each of access_bytes */
	counters->dram_refreshes = count.refreshes;
	counters->dram_active_cycles = count.active_rank_cycles;
	counters->dram_idle_cycles = count.idle_rank_cycles;
}
