/* SPDX-License-Identifier: MIT
 *
 * Parameters of DianNao machines. A parameter that a machine file leaves out is as in the paper
 * (machines/diannao.yaml has the sources). Two defaults differ from the paper, because the paper's values were
 * fitted: dma.request_cycles is 0, and memory.preset is `ideal`, which never makes the machine wait. Energies are
 * absent until a file gives them with their origin. */
#include "core/param_rows.h"
#include "dn.h"

#define PARAM_CONFIG struct dn_config

static const char energy_keys[] =
#define DN_ENERGY(member, ...) "energy." #member " "
#include "energies.def"
#undef DN_ENERGY
	;

const struct npl_param dn_params[] = {
	NUMBER("clock_hz", INT, clock_hz, "980000000", 1000, 1e10, "Hz", "clock"),
	NUMBER("nfu.tn", INT, tn, "16", 2, 256, "neurons", "inputs and outputs per step: Tn x Tn multipliers"),
	NUMBER("nfu.nfu1_stages", INT, nfu1_stages, "3", 1, 64, "stages", "pipeline of the multipliers"),
	NUMBER("nfu.nfu2_stages", INT, nfu2_stages, "2", 1, 64, "stages", "pipeline of the adder trees"),
	NUMBER("nfu.nfu3_stages", INT, nfu3_stages, "3", 1, 64, "stages", "pipeline of the activation"),
	CHOICE("nfu.product", product, "rounded",
	       "a 16 x 16 product: rounded to 10 fraction bits and saturated to 16, or full", "rounded full"),
	NUMBER("nfu.sum_bits", INT, sum_bits, "32", 16, 48, "bits", "adder trees and partial sums; they wrap"),
	NUMBER("nbin.rows", INT, nbin_rows, "64", 1, 1 << 20, "rows", "input buffer, Tn values a row"),
	NUMBER("nbout.rows", INT, nbout_rows, "64", 3, 1 << 20, "rows", "output buffer, Tn values a row"),
	NUMBER("nbout.sum_rows", INT, nbout_sum_rows, "32", 1, 1 << 20, "rows",
	       "of NBout that hold partial sums; the others hold results on their way to memory"),
	NUMBER("sb.rows", INT, sb_rows, "64", 2, 1 << 20, "rows", "synapse buffer, Tn x Tn values a row"),
	TEXT("memory.preset", memory_preset, "ideal", "a memory's name or file"),
	NUMBER("memory.channels", INT, memory_channels, "0", 0, 64, "channels",
	       "of a DRAM preset; 0: the preset's own"),
	NUMBER("memory.host_latency_seconds", DOUBLE, host_latency_seconds, "0", 0, 1, "s",
	       "before a transfer of data that the host makes or takes"),
	NUMBER("dma.queue", INT, dma_queue, "64", 1, 4096, "requests",
	       "that each DMA for loads holds; as many instructions are decoded ahead of the NFU"),
	NUMBER("dma.burst_bytes", INT, dma_burst_bytes, "512", 1, 1 << 20, "bytes",
	       "of an access to memory that has no access size of its own"),
	NUMBER("dma.request_cycles", INT, dma_request_cycles, "0", 0, 1e6, "cycles",
	       "that a request keeps the memory port at least; the three DMAs take turns with requests"),
	CHOICE("lrn", lrn, "machine",
	       "machine: it makes LRN's factor where it can, its host the squares and the last product; host: all of "
	       "it",
	       "machine host"),
	CHOICE("tiles.nest", nest, "any",
	       "loop nest of convolutions and classifiers; any: of those at most 5 % slower than the fastest, the one "
	       "that moves the fewest bytes",
	       "any down across streamed"),
	NUMBER("tiles.columns", INT, tile_columns, "0", 0, 1 << 20, "outputs", "of a tile going down; 0: chosen"),
	NUMBER("tiles.positions", INT, tile_positions, "0", 0, 1 << 20, "outputs",
	       "of a block whose synapses are streamed; 0: chosen"),
	NUMBER("tiles.groups", INT, tile_groups, "0", 0, 1 << 20, "groups",
	       "of Tn outputs that share inputs, or of Tn maps pooled at once; 0: chosen"),
	NUMBER("tiles.lines", INT, tile_lines, "0", 0, 1 << 20, "lines",
	       "of the window in a part that is streamed; 0: chosen"),
#define DN_ENERGY(member, component, help, events) NUMBER("energy." #member, DOUBLE, member, "0", 0, 1e9, "pJ", help),
#include "energies.def"
#undef DN_ENERGY
	ORIGIN("energy.chip_origin", chip_origin, "of the above", energy_keys),
	{0},
};

const struct npl_former_default dn_former_defaults[] = {
	{"memory.preset", "diannao-250gbps"}, {"dma.request_cycles", "13"}, {0}};

int64_t dn_row_bytes(const struct dn_config *config)
{
	return 2 * config->tn;
}

int64_t dn_sb_row_bytes(const struct dn_config *config)
{
	return 2 * config->tn * config->tn;
}

int64_t dn_sum_rows(const struct dn_config *config)
{
	return (config->sum_bits + 15) / 16;
}

int64_t dn_operations_per_cycle(const struct dn_config *config)
{
	return config->tn * config->tn + config->tn * (config->tn - 1);
}

int dn_config_check(const struct dn_config *config, struct npl_err *err)
{
	if (config->nbout_sum_rows + 2 > config->nbout_rows)
		return npl_fail_settings(
			err, "nbout", "sum_rows rows",
			"nbout.sum_rows is %lld of nbout.rows = %lld, expected at least 2 rows to be left for results",
			(long long)config->nbout_sum_rows, (long long)config->nbout_rows);
	return 0;
}

int dn_memory_open(const struct dn_config *config, bool every_cycle, struct npl_memory **memory, struct npl_err *err)
{
	const struct npl_memory_options options = {
		.dram_channels = config->memory_channels, .clock = {config->clock_hz, 1}, .every_cycle = every_cycle};
	if (npl_memory_open(config->memory_preset, &options, memory, err)) {
		npl_prefix(err, "memory.preset");
		return npl_blame_settings(err, "memory", "preset");
	}
	const struct npl_memory_info *info = npl_memory_info(*memory);
	if (!config->memory_channels || *info->mapping)
		return 0;
	npl_fail_settings(err, "memory", "channels",
			  "memory.channels is %lld, expected 0 with %s, a memory of the model '%s' without channels",
			  (long long)config->memory_channels, info->name, info->model);
	npl_memory_close(*memory);
	*memory = NULL;
	return err->code;
}
