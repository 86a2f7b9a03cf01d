/* SPDX-License-Identifier: MIT
 *
 * What DianNao counts. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_COUNTERS_H
#define NPULAB_SIM_DIANNAO_DIANNAO_COUNTERS_H

#include "npulab/counters.h"
#include "npulab/memory.h"

/* Counters of one layer or program, in the order of dn_counter_defs. */
struct dn_counters {
	uint64_t nfu_active, nfu_fill, wait_sb, wait_nbin, wait_nbout; /* sum to the cycles */
	uint64_t useful_macs, idle_lanes;                              /* sum to nfu_active * Tn * Tn */
	uint64_t nbin_rows, sb_rows, nbout_rows;
	uint64_t nfu3_operations;
	uint64_t product_saturations, sum_wraps, sum_saturations; /* counts of values: 0 with timing only */
	/* The saturations of sum_saturations that reach the function's result, and results that exceeded 16 bits at the
	 * output's scale. */
	uint64_t output_saturations;
	uint64_t input_bytes, synapse_bytes, output_bytes; /* bytes from and to memory */
	uint64_t dram_reads, dram_writes, dram_row_hits, dram_activates, dram_refreshes;
};
#define DN_COUNTERS 22
extern const struct npl_counter_def dn_counter_defs[DN_COUNTERS];
/* Fills in the counters of memory up to its present cycle. */
void dn_count_memory(const struct npl_memory_counters *memory, struct dn_counters *counters);

#endif
