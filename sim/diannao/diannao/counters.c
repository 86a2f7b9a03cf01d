/* SPDX-License-Identifier: MIT
 *
 * The counters of a layer or program, as results show them. */
#include "counters.h"

#include "sim/common/counters.h"

#define COUNTER(...)   SIM_COUNTER(struct dn_counters, __VA_ARGS__)
#define MACS(...)      SIM_COUNTER_MACS(struct dn_counters, __VA_ARGS__)
#define CYCLES(...)    SIM_COUNTER_CYCLES(struct dn_counters, __VA_ARGS__)
#define OF_VALUES(...) SIM_COUNTER_OF_VALUES(struct dn_counters, __VA_ARGS__)

_Static_assert(DN_COUNTERS <= NPL_MAX_COUNTERS, "a result has room for all counters");

const struct npl_counter_def dn_counter_defs[DN_COUNTERS] = {
	CYCLES(nfu_active, "a step enters the NFU", NPL_COUNTER_WORK, "idle lanes"),
	CYCLES(nfu_fill, "the last steps are on their way through the pipeline", NPL_COUNTER_WAITING, "pipeline"),
	CYCLES(wait_sb, "the NFU waits for synapses", NPL_COUNTER_MEMORY, "weights late"),
	CYCLES(wait_nbin, "it waits for inputs alone", NPL_COUNTER_MEMORY, "inputs late"),
	CYCLES(wait_nbout, "it waits for room for results alone, or the last leave", NPL_COUNTER_MEMORY,
	       "results wait"),
	MACS(useful_macs, "multiply-accumulates of the layer", NPL_COUNTER_USED),
	MACS(idle_lanes, "multipliers without work in an active cycle", NPL_COUNTER_IDLE),
	COUNTER(nbin_rows, "rows", "NBin rows read by the NFU"),
	COUNTER(sb_rows, "rows", "SB rows read by the NFU"),
	COUNTER(nbout_rows, "rows", "NBout rows written and read: results and partial sums"),
	COUNTER(nfu3_operations, "operations", "values through NFU-3"),
	OF_VALUES(product_saturations, "products", "products that left 16 bits"),
	OF_VALUES(sum_wraps, "sums", "sums that left the partial-sum register"),
	OF_VALUES(sum_saturations, "sums", "sums that left 16 bits before NFU-3"),
	COUNTER(input_bytes, "bytes", "inputs read from memory"),
	COUNTER(synapse_bytes, "bytes", "SB rows read from memory, biases among them"),
	COUNTER(output_bytes, "bytes", "results written to memory"),
	COUNTER(dram_reads, "accesses", "of memory"),
	COUNTER(dram_writes, "accesses", "of memory"),
	COUNTER(dram_row_hits, "accesses", "that needed no activate of their own; 0 but for DRAM, as the next two"),
	COUNTER(dram_activates, "rows", "opened in memory"),
	COUNTER(dram_refreshes, "refreshes", "of a rank of memory"),
};

void dn_count_memory(const struct npl_memory_counters *memory, struct dn_counters *counters)
{
	counters->dram_reads = memory->reads;
	counters->dram_writes = memory->writes;
	counters->dram_row_hits = memory->row_hits;
	counters->dram_activates = memory->activates;
	counters->dram_refreshes = memory->refreshes;
}
