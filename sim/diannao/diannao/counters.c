/* SPDX-License-Identifier: MIT
 *
 * The counters of a layer or program, as results show them. */
#include "dn.h"

#define STAT(member, unit, help, partition)                                                                            \
	{                                                                                                              \
		.name = #member, unit, help, offsetof(struct dn_counters, member), partition                           \
	}
#define MACS(member, help, kind)                                                                                       \
	{                                                                                                              \
		.name = #member, "macs", help, offsetof(struct dn_counters, member), 0, NULL, kind                     \
	}
/* One of the five that share out all cycles. */
#define CYCLES(member, help, kind, bound)                                                                              \
	{                                                                                                              \
		.name = #member, "cycles", help, offsetof(struct dn_counters, member), 1, NULL, kind, bound            \
	}

const struct npl_stat dn_stats[DN_STATS] = {
	CYCLES(nfu_active, "a step enters the NFU", NPL_STAT_WORK, "idle lanes"),
	CYCLES(nfu_fill, "the last steps are on their way through the pipeline", NPL_STAT_WAITING, "pipeline"),
	CYCLES(wait_sb, "the NFU waits for synapses", NPL_STAT_MEMORY, "weights late"),
	CYCLES(wait_nbin, "it waits for inputs alone", NPL_STAT_MEMORY, "inputs late"),
	CYCLES(wait_nbout, "it waits for room for results alone, or the last leave", NPL_STAT_MEMORY, "results wait"),
	MACS(useful_macs, "multiply-accumulates of the layer", NPL_STAT_USED),
	MACS(idle_lanes, "multipliers without work in an active cycle", NPL_STAT_IDLE),
	STAT(nbin_rows, "rows", "NBin rows read by the NFU", 0),
	STAT(sb_rows, "rows", "SB rows read by the NFU", 0),
	STAT(nbout_rows, "rows", "NBout rows written and read: results and partial sums", 0),
	STAT(nfu3_operations, "operations", "values through NFU-3", 0),
	STAT(product_saturations, "products", "products that left 16 bits", NPL_STAT_OF_VALUES),
	STAT(sum_wraps, "sums", "sums that left the partial-sum register", NPL_STAT_OF_VALUES),
	STAT(sum_saturations, "sums", "sums that left 16 bits before NFU-3", NPL_STAT_OF_VALUES),
	STAT(input_bytes, "bytes", "inputs read from memory", 0),
	STAT(synapse_bytes, "bytes", "SB rows read from memory, biases among them", 0),
	STAT(output_bytes, "bytes", "results written to memory", 0),
	STAT(dram_reads, "accesses", "of memory", 0),
	STAT(dram_writes, "accesses", "of memory", 0),
	STAT(dram_row_hits, "accesses", "that needed no activate of their own; 0 but for DRAM, as the next two", 0),
	STAT(dram_activates, "rows", "opened in memory", 0),
	STAT(dram_refreshes, "refreshes", "of a rank of memory", 0),
};
