/* SPDX-License-Identifier: MIT
 *
 * The table of counters (counters.def), and the counters of memory. */
#include "counters.h"

#include "sim/common/counters.h"

_Static_assert(DN_COUNTERS <= NPL_MAX_COUNTERS, "a result has room for all counters");

const struct npl_counter_def dn_counter_defs[DN_COUNTERS] = {
#define DN_COUNTER(form, ...) SIM_COUNTER_##form(struct dn_counters, __VA_ARGS__),
#include "counters.def"
#undef DN_COUNTER
};

void dn_count_memory(const struct npl_memory_counters *memory, struct dn_counters *counters)
{
	counters->dram_reads = memory->reads;
	counters->dram_writes = memory->writes;
	counters->dram_row_hits = memory->row_hits;
	counters->dram_activates = memory->activates;
	counters->dram_refreshes = memory->refreshes;
}
