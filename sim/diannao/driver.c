/* SPDX-License-Identifier: MIT
 *
 * DianNao as a device: opens with a configuration, says what it runs, runs a layer. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "dn.h"

struct diannao {
	struct dn_config config;
	struct npl_memory *memory;
	struct npl_dma *dma;
};

static void dn_close(void *state)
{
	struct diannao *machine = state;
	if (!machine)
		return;
	npl_dma_close(machine->dma);
	npl_memory_close(machine->memory);
	free(machine);
}

static int open_memory(struct diannao *machine, struct npl_err *err)
{
	const struct dn_config *c = &machine->config;
	const struct npl_memory_options options = {.channels = c->memory_channels, .clock = {c->clock_hz, 1}};
	struct npl_dma_config dma = {.engines = DN_ENGINES, .queue = c->dma_queue, .burst_bytes = c->dma_burst_bytes};
	if (npl_memory_open(c->memory_preset, &options, &machine->memory, err))
		return npl_prefix(err, "memory.preset");
	dma.request_cycles = (int64_t)npl_hz_ceil((uint64_t)c->dma_request_cycles, &options.clock,
						  &npl_memory_info(machine->memory)->clock);
	return npl_dma_open(machine->memory, &dma, &machine->dma, err);
}

static int dn_open(const void *config, void **state, struct npl_err *err)
{
	struct diannao *machine = calloc(1, sizeof *machine);
	if (!machine)
		return npl_fail(err, NPL_ENOMEM, "diannao: out of memory");
	machine->config = *(const struct dn_config *)config;
	if (open_memory(machine, err)) {
		dn_close(machine);
		return err->code;
	}
	*state = machine;
	return 0;
}

/* The machine works in main memory and each layer's result holds the energy of its accesses: the link costs time
 * (and that only for what the host brings or takes), no energy of its own. */
static void dn_describe(const void *state, struct npl_device_info *info)
{
	const struct diannao *machine = state;
	const struct dn_config *config = &machine->config;
	const struct npl_memory_info *memory = npl_memory_info(machine->memory);
	const struct npl_memory_counters none = {0};
	struct npl_memory_energy part[NPL_MEMORY_ENERGIES];
	info->kind = NPL_KIND_SIMULATED;
	info->format = NPL_FORMAT_Q16;
	info->activations = 1u << NPL_ACT_RELU6 | 1u << NPL_ACT_SIGMOID | 1u << NPL_ACT_TANH;
	info->engine = "fast";
	info->clock_hz = (double)config->clock_hz;
	info->peak_macs_per_second = (double)(config->tn * config->tn) * info->clock_hz;
	info->link = (struct npl_link){
		.name = "main memory",
		.bytes_per_second = memory->peak_bytes_per_second,
		.latency_seconds = config->host_latency_seconds,
		.energy_origin = npl_memory_energy_of(machine->memory, &none, part) ? part[0].origin : "absent"};
	info->stat = dn_stats;
	info->n_stats = DN_STATS;
	snprintf(info->detail, sizeof info->detail,
		 "Tn %lld: %lld multiply-accumulates per cycle (%lld operations as the paper counts); memory %.60s",
		 (long long)config->tn, (long long)(config->tn * config->tn),
		 (long long)dn_operations_per_cycle(config), memory->name);
}

static bool dn_supports(const void *state, const struct npl_layer *layer, char *why, size_t n)
{
	const struct diannao *machine = state;
	uint64_t capacity = npl_memory_info(machine->memory)->capacity_bytes;
	struct dn_work work;
	if (!dn_work_of(&machine->config, layer, &work, why, n))
		return false;
	uint64_t bytes = dn_memory_bytes(&machine->config, &work);
	if (bytes > capacity)
		snprintf(why, n, "it needs %" PRIu64 " bytes of memory, there are %" PRIu64, bytes, capacity);
	return bytes <= capacity;
}

static void fill_result(const struct dn_config *config, const struct dn_work *work, const struct dn_traffic *traffic,
			const struct dn_counters *counters, struct npl_result *result)
{
	uint64_t row_bytes = (uint64_t)dn_row_bytes(config);
	result->cycles = dn_cycles(counters);
	result->seconds = (double)result->cycles / (double)config->clock_hz;
	result->seconds_from = NPL_FROM_MODEL;
	result->macs = counters->useful_macs;
	npl_stats_read(dn_stats, DN_STATS, counters, result->counter);
	result->bytes[NPL_MEM_DRAM] = traffic->input_bytes + traffic->synapse_bytes + traffic->output_bytes;
	result->bytes[NPL_MEM_BUFFER] = (counters->nbin_rows + counters->nbout_rows) * row_bytes +
					counters->sb_rows * (uint64_t)dn_sb_row_bytes(config);
	result->bytes_at_least[NPL_MEM_DRAM] = traffic->at_least;
	/* On chip a bias is as wide as a partial sum, which may be less than the four bytes it has in memory. */
	result->bytes_at_least[NPL_MEM_BUFFER] = traffic->at_least -
						 (work->bias ? 4 * (uint64_t)(work->groups * work->no) : 0);
	result->saturations = counters->output_saturations;
	result->overflows = counters->sum_wraps;
}

/* Scales come with the values, after the layer was asked about. */
static int check_scales(const struct npl_layer *layer, struct npl_err *err)
{
	const struct {
		const char *what;
		const struct npl_tensor *tensor;
	} of[] = {{"input", layer->n_in > 0 ? layer->in[0] : NULL},
		  {"weight", layer->n_in > 1 ? layer->in[1] : NULL},
		  {"output", layer->out}};
	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		if (of[i].tensor && !isfinite(of[i].tensor->quant.scale))
			return npl_fail(err, NPL_EINPUT, "the scale of the %s is %g, expected a power of two",
					of[i].what, (double)of[i].tensor->quant.scale);
	return 0;
}

static int dn_run(void *state, const struct npl_layer *layer, struct npl_result *result, struct npl_err *err)
{
	const struct diannao *machine = state;
	const struct dn_config *config = &machine->config;
	struct dn_work work;
	struct dn_traffic traffic;
	struct dn_counters counters = {0};
	char why[200];
	if (check_scales(layer, err))
		return NPL_EINPUT;
	if (!dn_work_of(config, layer, &work, why, sizeof why))
		return npl_fail(err, NPL_EINTERNAL, "diannao: layer %s was not asked about: %s", layer->name, why);
	if (!layer->timing_only && dn_values(config, &work, layer, &counters, err))
		return err->code;
	dn_traffic_of(config, &work, &traffic);
	dn_count(config, &work, &traffic, &counters);
	npl_dma_reset(machine->dma);
	if (dn_time(config, &work, &traffic, machine->memory, machine->dma, &counters, err))
		return err->code;
	fill_result(config, &work, &traffic, &counters, result);
	return dn_energy_of(config, &counters, machine->memory, result, err);
}

const struct npl_driver npl_driver_diannao = {
	.name = "diannao",
	.summary = "DianNao: NFU of Tn x Tn 16-bit multipliers with split buffers behind three DMAs",
	.params = dn_params,
	.config_bytes = sizeof(struct dn_config),
	.needs_machine = true,
	.open = dn_open,
	.close = dn_close,
	.describe = dn_describe,
	.supports = dn_supports,
	.run = dn_run,
};
