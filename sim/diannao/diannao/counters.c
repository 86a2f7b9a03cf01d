/* SPDX-License-Identifier: MIT
 *
 * The counters of a layer or program, as results show them. */
#include "sim/common/counters.h"
#include "dn.h"

#define STAT(...)      SIM_STAT(struct dn_counters, __VA_ARGS__)
#define MACS(...)      SIM_STAT_MACS(struct dn_counters, __VA_ARGS__)
#define CYCLES(...)    SIM_STAT_CYCLES(struct dn_counters, __VA_ARGS__)
#define OF_VALUES(...) SIM_STAT_OF_VALUES(struct dn_counters, __VA_ARGS__)

const struct npl_stat dn_stats[DN_STATS] = {
	CYCLES(nfu_active, "a step enters the NFU", NPL_STAT_WORK, "idle lanes"),
	CYCLES(nfu_fill, "the last steps are on their way through the pipeline", NPL_STAT_WAITING, "pipeline"),
	CYCLES(wait_sb, "the NFU waits for synapses", NPL_STAT_MEMORY, "weights late"),
	CYCLES(wait_nbin, "it waits for inputs alone", NPL_STAT_MEMORY, "inputs late"),
	CYCLES(wait_nbout, "it waits for room for results alone, or the last leave", NPL_STAT_MEMORY, "results wait"),
	MACS(useful_macs, "multiply-accumulates of the layer", NPL_STAT_USED),
	MACS(idle_lanes, "multipliers without work in an active cycle", NPL_STAT_IDLE),
	STAT(nbin_rows, "rows", "NBin rows read by the NFU"),
	STAT(sb_rows, "rows", "SB rows read by the NFU"),
	STAT(nbout_rows, "rows", "NBout rows written and read: results and partial sums"),
	STAT(nfu3_operations, "operations", "values through NFU-3"),
	OF_VALUES(product_saturations, "products", "products that left 16 bits"),
	OF_VALUES(sum_wraps, "sums", "sums that left the partial-sum register"),
	OF_VALUES(sum_saturations, "sums", "sums that left 16 bits before NFU-3"),
	STAT(input_bytes, "bytes", "inputs read from memory"),
	STAT(synapse_bytes, "bytes", "SB rows read from memory, biases among them"),
	STAT(output_bytes, "bytes", "results written to memory"),
	STAT(dram_reads, "accesses", "of memory"),
	STAT(dram_writes, "accesses", "of memory"),
	STAT(dram_row_hits, "accesses", "that needed no activate of their own; 0 but for DRAM, as the next two"),
	STAT(dram_activates, "rows", "opened in memory"),
	STAT(dram_refreshes, "refreshes", "of a rank of memory"),
};
