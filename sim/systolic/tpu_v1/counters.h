/* SPDX-License-Identifier: MIT
 *
 * What the systolic machines count (docs/tpu-isa.md, Counters). */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_COUNTERS_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_COUNTERS_H

#include "npulab/counters.h"
#include "npulab/memory.h"

/* Counters of a layer or program, in the order of tpu_counter_defs. */
struct tpu_counters {
	uint64_t array_active, weight_stall, weight_shift, non_matrix; /* sum to the cycles */
	uint64_t useful_macs, unused_macs;                             /* sum to array_active * rows * columns */
	uint64_t raw_stall, input_stall, output_stall, sync_pause;     /* parts of non_matrix */
	uint64_t tiles, weight_bytes;
	uint64_t ub_rows_read, ub_rows_written, accumulator_writes, activate_cycles;
	uint64_t instructions, host_bytes_in, host_bytes_out;
	/* Counts of weight memory, where its model is at command level: npl_memory_counters. */
	uint64_t dram_activates, dram_reads, dram_refreshes;
	uint64_t dram_active_cycles, dram_idle_cycles; /* sum to weight memory's cycles times its ranks */
};
#define TPU_COUNTERS 24
extern const struct npl_counter_def tpu_counter_defs[TPU_COUNTERS];
/* Fills in the counters of weight memory up to its present cycle; memory NULL: there is none. */
void tpu_count_weight_memory(const struct npl_memory *memory, struct tpu_counters *counters);

#endif
