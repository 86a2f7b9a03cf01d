/* SPDX-License-Identifier: MIT
 *
 * The table of counters (counters.def), the counters of values, and those of memory. */
#include "counters.h"

_Static_assert(DN_COUNTERS <= NPL_MAX_COUNTERS, "a result has room for all counters");

const struct npl_counter_def dn_counter_defs[DN_COUNTERS] = {
#define DN_COUNTER(form, ...) SIM_COUNTER_##form(struct dn_counters, __VA_ARGS__),
#include "counters.def"
#undef DN_COUNTER
};

static void merge_value_counters(const struct dn_counters *from, bool adds, struct dn_counters *to)
{
	for (int i = 0; i < DN_COUNTERS; i++) {
		const size_t offset = dn_counter_defs[i].offset;
		uint64_t *counter = (uint64_t *)((char *)to + offset);
		if (dn_counter_defs[i].partition == NPL_COUNTER_OF_VALUES)
			*counter = *(const uint64_t *)((const char *)from + offset) + (adds ? *counter : 0);
	}
	to->output_saturations = from->output_saturations + (adds ? to->output_saturations : 0);
}

void dn_set_value_counters(const struct dn_counters *from, struct dn_counters *to)
{
	merge_value_counters(from, false, to);
}

void dn_add_value_counters(const struct dn_counters *from, struct dn_counters *to)
{
	merge_value_counters(from, true, to);
}

void dn_count_memory(const struct npl_memory_counters *memory, struct dn_counters *counters)
{
	counters->dram_reads = memory->reads;
	counters->dram_writes = memory->writes;
	counters->dram_row_hits = memory->row_hits;
	counters->dram_activates = memory->activates;
	counters->dram_refreshes = memory->refreshes;
}
