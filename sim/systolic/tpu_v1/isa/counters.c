/* SPDX-License-Identifier: MIT
 *
 * The counters of a program's run on a systolic machine (docs/tpu-isa.md, Counters), described. The first eight are those
 * of Jouppi et al., ISCA 2017, Table 3: six in cycles, two in multiply-accumulates.
 *
 * What no part of non_matrix has are cycles in which issue puts instructions into queues or finds one full. Where these are
 * many the array waits for accumulators that the activation unit has not read, and so they have that unit's bound. */
#include "sim/common/counters.h"
#include "engine.h"

#define STAT(...)   SIM_STAT(struct tpu_counters, __VA_ARGS__)
#define MACS(...)   SIM_STAT_MACS(struct tpu_counters, __VA_ARGS__)
#define CYCLES(...) SIM_STAT_CYCLES(struct tpu_counters, __VA_ARGS__)
#define PART(...)   SIM_STAT_PART(struct tpu_counters, __VA_ARGS__)

_Static_assert(TPU_COUNTERS <= NPL_MAX_COUNTERS, "a result has room for all counters");

const struct npl_stat tpu_counter_table[TPU_COUNTERS] = {
	CYCLES(array_active, "an input vector enters the array", NPL_STAT_WORK, "idle cells"),
	CYCLES(weight_stall, "the array waits for weights to reach the FIFO", NPL_STAT_MEMORY, "weights late"),
	CYCLES(weight_shift, "the array waits for weights to be shifted in", NPL_STAT_WAITING, "too few rows"),
	CYCLES(non_matrix, "it waits for accumulators, or has no work", NPL_STAT_WAITING, "activation"),
	MACS(useful_macs, "done by cells that hold a weight of the layer", NPL_STAT_USED),
	MACS(unused_macs, "that the other cells could have done meanwhile", NPL_STAT_IDLE),
	PART(raw_stall, non_matrix, "issue waits for matrix or activate", NPL_STAT_WAITING, "activation"),
	PART(input_stall, non_matrix, "issue waits for host_in", NPL_STAT_WAITING, "link"),
	PART(output_stall, non_matrix, "issue waits for host_out", NPL_STAT_WAITING, "link"),
	PART(sync_pause, non_matrix, "a sync takes its time", NPL_STAT_WAITING, "sync"),
	STAT(tiles, "tiles", "switched into use by the array"),
	STAT(weight_bytes, "bytes", "read from weight memory: tiles and parameter tables"),
	STAT(ub_rows_read, "rows", "read from the unified buffer"),
	STAT(ub_rows_written, "rows", "written to the unified buffer"),
	STAT(accumulator_writes, "rows", "of sums written or added to the accumulators"),
	STAT(activate_cycles, "cycles", "the activation unit reads"),
	STAT(instructions, "instructions", "issued, of all kinds"),
	STAT(host_bytes_in, "bytes", "from host memory to the unified buffer"),
	STAT(host_bytes_out, "bytes", "from the unified buffer to host memory"),
	STAT(dram_activates, "rows", "opened in weight memory"),
	STAT(dram_reads, "accesses", "of weight memory that has an access size: bursts of DRAM"),
	STAT(dram_refreshes, "refreshes", "of a rank of weight memory"),
	STAT(dram_active_cycles, "rank cycles", "of weight memory's clock with a row open"),
	STAT(dram_idle_cycles, "rank cycles", "of weight memory's clock with none"),
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
