/* SPDX-License-Identifier: MIT
 *
 * The counters of a layer or program, as results show them. */
#include "dn.h"

#define STAT(name, unit, help, partition)                                                                              \
	{                                                                                                              \
#name, unit, help, offsetof(struct dn_counters, name), partition                                       \
	}

const struct npl_stat dn_stats[DN_STATS] = {
	STAT(nfu_active, "cycles", "a step enters the NFU", 1),
	STAT(nfu_fill, "cycles", "the last steps are on their way through the pipeline", 1),
	STAT(wait_sb, "cycles", "the NFU waits for synapses", 1),
	STAT(wait_nbin, "cycles", "it waits for inputs alone", 1),
	STAT(wait_nbout, "cycles", "it waits for room for results alone, or the last leave", 1),
	STAT(useful_macs, "macs", "multiply-accumulates of the layer", 0),
	STAT(idle_lanes, "macs", "multipliers without work in an active cycle", 0),
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
