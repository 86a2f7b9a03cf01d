/* SPDX-License-Identifier: MIT
 *
 * The counters of a systolic machine with their descriptions (docs/tpu-isa.md, Counters). The first eight are those of
 * Jouppi et al., ISCA 2017, Table 3: six in cycles, two in multiply-accumulates.
 *
 * In the cycles of non_matrix that are in none of its parts, issue puts instructions into queues or finds a queue full.
 * Where there are many such cycles, the array waits for accumulators that the activation unit has not read; so these
 * cycles have that unit's bound. */
#include "counters.h"

#include "sim/common/counters.h"

#define COUNTER(...) SIM_COUNTER(struct tpu_counters, __VA_ARGS__)
#define MACS(...)    SIM_COUNTER_MACS(struct tpu_counters, __VA_ARGS__)
#define CYCLES(...)  SIM_COUNTER_CYCLES(struct tpu_counters, __VA_ARGS__)
#define PART(...)    SIM_COUNTER_PART(struct tpu_counters, __VA_ARGS__)

_Static_assert(TPU_COUNTERS <= NPL_MAX_COUNTERS, "a result has room for all counters");

const struct npl_counter_def tpu_counter_defs[TPU_COUNTERS] = {
	CYCLES(array_active, "an input vector enters the array", NPL_COUNTER_WORK, "idle cells"),
	CYCLES(weight_stall, "the array waits for weights to reach the FIFO", NPL_COUNTER_MEMORY, "weights late"),
	CYCLES(weight_shift, "the array waits for weights to be shifted in", NPL_COUNTER_WAITING, "too few rows"),
	CYCLES(non_matrix, "the array waits for accumulators, or has no work", NPL_COUNTER_WAITING, "activation"),
	MACS(useful_macs, "done by useful_cells cells: those that hold a weight of the layer", NPL_COUNTER_USED),
	MACS(unused_macs, "that the other cells could have done meanwhile", NPL_COUNTER_IDLE),
	PART(raw_stall, non_matrix, "issue waits for matrix or activate", NPL_COUNTER_WAITING, "activation"),
	PART(input_stall, non_matrix, "issue waits for host_in", NPL_COUNTER_WAITING, "link"),
	PART(output_stall, non_matrix, "issue waits for host_out", NPL_COUNTER_WAITING, "link"),
	PART(sync_pause, non_matrix, "a sync takes its time", NPL_COUNTER_WAITING, "sync"),
	COUNTER(tiles, "tiles", "switched into use by the array"),
	COUNTER(weight_bytes, "bytes", "read from weight memory: tiles and parameter tables"),
	COUNTER(ub_rows_read, "rows", "read from the unified buffer"),
	COUNTER(ub_rows_written, "rows", "written to the unified buffer"),
	COUNTER(accumulator_writes, "rows", "of sums written or added to the accumulators"),
	COUNTER(activate_cycles, "cycles", "the activation unit reads"),
	COUNTER(instructions, "instructions", "issued, of all kinds"),
	COUNTER(host_bytes_in, "bytes", "from host memory to the unified buffer"),
	COUNTER(host_bytes_out, "bytes", "from the unified buffer to host memory"),
	COUNTER(dram_activates, "rows", "opened in weight memory"),
	COUNTER(dram_reads, "accesses", "of weight memory that has an access size: bursts of DRAM"),
	COUNTER(dram_refreshes, "refreshes", "of a rank of weight memory"),
	COUNTER(dram_active_cycles, "rank cycles", "of weight memory's clock with a row open"),
	COUNTER(dram_idle_cycles, "rank cycles", "of weight memory's clock with none"),
};

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
