/* SPDX-License-Identifier: MIT
 *
 * The counters of a program's run on a systolic machine (docs/tpu-isa.md, Counters), described. The first eight are those
 * of Jouppi et al., ISCA 2017, Table 3, in cycles. */
#include <stddef.h>

#include "engine.h"

#define STAT(member, unit, help, partition)                                                                            \
	{                                                                                                              \
#member, unit, help, offsetof(struct tpu_counters, member), partition                                  \
	}

const struct npl_stat tpu_counter_table[TPU_COUNTERS] = {
	STAT(array_active, "cycles", "an input vector enters the array", 1),
	STAT(weight_stall, "cycles", "the array waits for weights to reach the FIFO", 1),
	STAT(weight_shift, "cycles", "the array waits for weights to be shifted in", 1),
	STAT(non_matrix, "cycles", "it waits for something else, or has no work", 1),
	STAT(useful_macs, "macs", "done by cells that hold a weight of the layer", 0),
	STAT(unused_macs, "macs", "that the other cells could have done meanwhile", 0),
	STAT(raw_stall, "cycles", "of those: issue waits for matrix or activate", 0),
	STAT(input_stall, "cycles", "of those: issue waits for host_in", 0),
	STAT(tiles, "tiles", "switched into use by the array", 0),
	STAT(weight_bytes, "bytes", "read from weight memory: tiles and parameter tables", 0),
	STAT(ub_rows_read, "rows", "read from the unified buffer", 0),
	STAT(ub_rows_written, "rows", "written to the unified buffer", 0),
	STAT(accumulator_writes, "rows", "of sums written or added to the accumulators", 0),
	STAT(activate_cycles, "cycles", "the activation unit reads", 0),
	STAT(instructions, "instructions", "issued, of all kinds", 0),
	STAT(host_bytes_in, "bytes", "from host memory to the unified buffer", 0),
	STAT(host_bytes_out, "bytes", "from the unified buffer to host memory", 0),
	STAT(dram_activates, "rows", "opened in weight memory", 0),
	STAT(dram_reads, "accesses", "of weight memory that has an access size: bursts of DRAM", 0),
	STAT(dram_refreshes, "refreshes", "of a rank of weight memory", 0),
	STAT(dram_active_cycles, "rank cycles", "of weight memory's clock with a row open", 0),
	STAT(dram_idle_cycles, "rank cycles", "of weight memory's clock with none", 0),
};

void tpu_count_weight_memory(const struct npl_memory *memory, struct tpu_counters *counters)
{
	struct npl_memory_counters count = {0};
	if (memory)
		npl_memory_counters(memory, &count);
	counters->dram_activates = count.activates;
	counters->dram_reads = count.read_commands;
	if (memory && !count.read_commands && npl_memory_info(memory)->access_bytes)
		counters->dram_reads = count.reads; /* a fixed memory's, each of access_bytes */
	counters->dram_refreshes = count.refreshes;
	counters->dram_active_cycles = count.active_rank_cycles;
	counters->dram_idle_cycles = count.idle_rank_cycles;
}
