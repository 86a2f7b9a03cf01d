/* SPDX-License-Identifier: MIT
 *
 * The energy of a layer: counters times the table of the machine file. The matrix unit costs the same in every cell of
 * an active array, used or padding: weights of zero still move operands. Rows of the memories are charged as a whole,
 * by the byte or the word, so that the rows of a narrower array cost less. Each row of partial sums is one read and one
 * write of the accumulators: the first tile's writes read nothing, but the Activate reads each row once. Bytes over the
 * host link within the cycles cost as much as bytes over it elsewhere (frontend/session/execute.c). Where no bytes
 * cross, the link has no part in the result, so that a link of unknown energy does not make the layer's energy
 * unknown.
 *
 * Weight memory at command level costs what its commands do (npulab/memory.h); other memories cost a figure for each
 * byte fetched. Standby and refresh are apart or, where the static power was measured with the memory in it, inside the
 * static power.
 *
 * Not modelled, as no table has them for this chip: clock tree and pipeline registers, the activation unit's
 * arithmetic, instruction issue, I/O of the weight memory. The static power is calibrated and includes whatever is
 * constant. Energy per byte does not follow the size of a memory either: the table is right for the sizes for which it
 * was made. */
#include "driver_impl.h"
#include "sim/common/memory_energy.h"

static int weight_memory_energy(const struct tpu_config *config, const struct npl_memory *weights,
				const struct tpu_counters *counters, struct npl_result *result, struct npl_err *err)
{
	static const char *const names[NPL_MEMORY_ENERGIES] = SIM_MEMORY_PARTS("weight memory");
	const uint64_t access = weights ? npl_memory_info(weights)->access_bytes : 0;
	const struct npl_memory_counters count = {.reads = counters->dram_reads,
						  .read_bytes = access ? counters->dram_reads * access
								       : counters->weight_bytes,
						  .read_commands = counters->dram_reads,
						  .activates = counters->dram_activates,
						  .refreshes = counters->dram_refreshes,
						  .active_rank_cycles = counters->dram_active_cycles,
						  .idle_rank_cycles = counters->dram_idle_cycles};
	const unsigned parts = config->weight_standby == TPU_STANDBY_STATIC ? 0 : SIM_STANDING_PARTS;
	bool known = false;
	if (weights && sim_memory_energy(result, weights, &count, names, parts, &known, err))
		return err->code;
	if (known)
		return 0;
	/* A memory without an energy model must not be charged another memory's energy. */
	return npl_result_energy_of(result, NPL_OF_MEMORY, "weight memory", counters->weight_bytes,
				    weights ? 0 : config->weight_byte.pj,
				    weights ? "absent" : config->weight_byte.origin, err);
}

int tpu_energy_of(const struct tpu_config *config, const struct npl_memory *weights,
		  const struct tpu_counters *counters, uint64_t cycles, struct npl_result *result, struct npl_err *err)
{
	const uint64_t link_bytes = counters->host_bytes_in + counters->host_bytes_out;
	const uint64_t row_bytes = (uint64_t)tpu_row_bytes(config), row_words = (uint64_t)config->columns;
	const struct {
		const char *component;
		uint64_t events;
		const struct tpu_energy *event_energy;
	} part[] = {
		{"matrix unit", counters->useful_macs + counters->unused_macs, &config->cell},
		{"unified buffer read", counters->ub_rows_read * row_bytes, &config->buffer_byte_read},
		{"unified buffer write", counters->ub_rows_written * row_bytes, &config->buffer_byte_written},
		{"accumulators", counters->accumulator_writes * row_words, &config->accumulator_word},
	};
	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		if (npl_result_energy_of(result, NPL_OF_MACHINE, part[i].component, part[i].events,
					 part[i].event_energy->pj, part[i].event_energy->origin, err))
			return err->code;
	const int rc = weight_memory_energy(config, weights, counters, result, err);
	const double cycle_pj = config->static_watts / (double)config->clock_hz * 1e12;
	if (rc || npl_result_energy(result, "static", cycles, cycle_pj, config->static_origin, err))
		return err->code;
	return link_bytes ? npl_result_energy_of(result, NPL_OF_LINK, NPL_HOST_LINK, link_bytes,
						 config->link.pj_per_byte, config->link.energy_origin, err)
			  : 0;
}
