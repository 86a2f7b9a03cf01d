/* SPDX-License-Identifier: MIT
 *
 * Steps of the NFU and cycles of a layer, from the loop nests of Chen et al., ASPLOS 2014, figures 5, 7 and 8: a step
 * takes one NBin row and, but for pooling, one SB row. A row read in cycle t is in stage s of the pipeline in cycle
 * t + s, so the last of n steps is out of the eighth stage after n + 8 cycles. Pooling passes by NFU-1, and by NFU-3
 * unless it divides or activates.
 *
 * Not here: waiting for memory (timing.c), decoding of instructions. */
#include "dn.h"

#define STAT(name, unit, help, partition)                                                                              \
	{                                                                                                              \
#name, unit, help, offsetof(struct dn_counters, name), partition                                       \
	}

const struct npl_stat dn_stats[DN_STATS] = {
	STAT(nfu_active, "cycles", "a step enters the NFU", 1),
	STAT(nfu_fill, "cycles", "the pipeline fills or drains", 1),
	STAT(wait_sb, "cycles", "the NFU waits for synapses", 1),
	STAT(wait_nbin, "cycles", "it waits for inputs alone", 1),
	STAT(wait_nbout, "cycles", "it waits for room for results alone, or the last leave", 1),
	STAT(useful_macs, "macs", "multiply-accumulates of the layer", 0),
	STAT(idle_lanes, "macs", "multipliers without work in an active cycle", 0),
	STAT(nbin_rows, "rows", "NBin rows read by the NFU", 0),
	STAT(sb_rows, "rows", "SB rows read by the NFU", 0),
	STAT(nbout_rows, "rows", "NBout rows written and read: results, partial sums, biases", 0),
	STAT(nfu3_operations, "operations", "values through NFU-3", 0),
	STAT(product_saturations, "products", "products that left 16 bits", NPL_STAT_OF_VALUES),
	STAT(sum_wraps, "sums", "sums that left the partial-sum register", NPL_STAT_OF_VALUES),
	STAT(sum_saturations, "sums", "sums that left 16 bits before NFU-3", NPL_STAT_OF_VALUES),
	STAT(input_bytes, "bytes", "inputs read from memory", 0),
	STAT(synapse_bytes, "bytes", "SB rows and biases read from memory", 0),
	STAT(output_bytes, "bytes", "results written to memory", 0),
	STAT(dram_reads, "accesses", "of memory", 0),
	STAT(dram_writes, "accesses", "of memory", 0),
	STAT(dram_row_hits, "accesses", "that needed no activate of their own; 0 but for DRAM, as the next two", 0),
	STAT(dram_activates, "rows", "opened in memory", 0),
	STAT(dram_refreshes, "refreshes", "of a rank of memory", 0),
};

static bool uses_nfu3(const struct dn_work *work)
{
	return work->kind == DN_MAX ? work->activates : !work->raw;
}

static uint64_t fill(const struct dn_config *config, const struct dn_work *work)
{
	return (uint64_t)(work->kind == DN_SUM ? config->nfu1_stages : 0) + (uint64_t)config->nfu2_stages +
	       (uint64_t)(work->kind == DN_SUM || uses_nfu3(work) ? config->nfu3_stages : 0);
}

uint64_t dn_cycles(const struct dn_counters *counters)
{
	return counters->nfu_active + counters->nfu_fill + counters->wait_sb + counters->wait_nbin +
	       counters->wait_nbout;
}

void dn_count(const struct dn_config *config, const struct dn_work *work, const struct dn_traffic *traffic,
	      struct dn_counters *counters)
{
	bool sums = work->kind == DN_SUM;
	uint64_t positions = (uint64_t)(work->images * work->groups * dn_positions(work));
	uint64_t in_rows = (uint64_t)dn_in_rows(config, work), out_rows = (uint64_t)dn_out_rows(config, work);
	uint64_t taps = (uint64_t)dn_taps(work), lanes = (uint64_t)(config->tn * config->tn);
	uint64_t steps = positions * taps * in_rows * (sums ? out_rows : 1);
	uint64_t result_rows = positions * out_rows * (work->raw ? 2 : 1);
	uint64_t bias_rows = work->bias ? positions * out_rows * (uint64_t)dn_sum_rows(config) : 0;

	counters->nfu_active = steps;
	counters->nfu_fill = steps ? fill(config, work) : 0;
	counters->useful_macs = sums ? positions * taps * (uint64_t)work->ni * (uint64_t)work->no : 0;
	counters->idle_lanes = steps * lanes - counters->useful_macs;
	counters->nbin_rows = steps;
	counters->sb_rows = sums ? steps : 0;
	counters->nbout_rows = result_rows + bias_rows + traffic->partial_rows;
	counters->nfu3_operations = uses_nfu3(work) ? positions * (uint64_t)work->no : 0;
	counters->input_bytes = traffic->input_bytes;
	counters->synapse_bytes = traffic->synapse_bytes;
	counters->output_bytes = traffic->output_bytes;
}
