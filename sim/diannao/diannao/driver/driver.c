/* SPDX-License-Identifier: MIT
 *
 * DianNao as a device: opens with a configuration, says what it runs, runs a layer. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "driver_impl.h"
#include "sim/common/execute.h"
#include "sim/diannao/diannao/rtl/run.h"

static void dn_close(void *state)
{
	struct dn_machine *machine = state;
	if (!machine)
		return;
	npl_memory_close(machine->memory);
	npl_arena_free(&machine->arena);
	free(machine);
}

static int dn_open(const void *config, void **state, struct npl_err *err)
{
	if (dn_config_check(config, err))
		return err->code;
	struct dn_machine *machine = calloc(1, sizeof *machine);
	if (!machine)
		return npl_no_memory(err);
	machine->config = config;
	int rc = dn_memory_open(config, false, &machine->memory, err);
	if (!rc && !(machine->memory_yaml = npl_memory_yaml(machine->memory, &machine->arena)))
		rc = npl_no_memory(err);
	if (!rc)
		rc = dn_energy_model(config, &machine->arena, &machine->energy, err);
	if (rc) {
		dn_close(machine);
		return rc;
	}
	machine->timing = npl_memo_machine(dn_params, config, "energy. technology.", machine->memory_yaml);
	*state = machine;
	return 0;
}

static int dn_choose_engine(void *state, const char *name, struct npl_err *err)
{
	struct dn_machine *machine = state;
	struct npl_memory *memory;
	const bool rtl = sim_is_rtl(name);
	if (dn_memory_open(machine->config, rtl, &memory, err))
		return err->code;
	npl_memory_close(machine->memory);
	machine->memory = memory;
	machine->rtl = rtl;
	return 0;
}

/* Describes the machine. It works in main memory, and each layer's result includes the energy of its accesses. So the
 * link costs time (only for what the host brings or takes) and no energy of its own. */
static void dn_describe(const void *state, struct npl_device_info *info)
{
	const struct dn_machine *machine = state;
	const struct dn_config *config = machine->config;
	const struct npl_memory_info *memory = npl_memory_info(machine->memory);
	const struct npl_memory_counters no_accesses = {0};
	struct npl_memory_energy part[NPL_MEMORY_ENERGIES];
	info->kind = NPL_KIND_SIMULATED;
	info->format = NPL_FORMAT_Q16;
	info->wrap_setting = "nfu.sum_bits=48";
	info->wrap_setting_effect = "gives them more bits";
	info->activations = 1u << NPL_ACT_RELU6 | 1u << NPL_ACT_SIGMOID | 1u << NPL_ACT_TANH;
	info->capabilities = NPL_PRIVATE_KERNELS | (config->lrn == DN_LRN_MACHINE ? NPL_LRN_FACTOR : 0);
	info->engine = sim_engines[machine->rtl];
	info->clock_hz = (double)config->clock_hz;
	info->peak_macs_per_second = (double)(config->tn * config->tn) * info->clock_hz;
	info->memory_yaml = machine->memory_yaml;
	info->memory_bytes_per_second = memory->peak_bytes_per_second;
	info->link = (struct npl_link){
		.name = "main memory",
		.bytes_per_second = memory->peak_bytes_per_second,
		.latency_seconds = config->host_latency_seconds,
		.energy_origin = npl_memory_energy_of(machine->memory, &no_accesses, part) ? part[0].origin : "absent"};
	if (!npl_origin_is_absent(info->link.energy_origin))
		info->link.energy_within = "the layers' memory";
	info->counts_activity = dn_counts_activity(config);
	npl_describe_area(info, &machine->energy);
	npl_describe_static_power(info, machine->energy.static_watts, machine->energy.static_origin);
	info->crosses[NPL_MEM_DRAM] = info->crosses[NPL_MEM_BUFFER] = NPL_CROSS_ALL;
	info->counter_def = dn_counter_defs;
	info->n_counters = dn_shown_counters(config);
	snprintf(info->detail, sizeof info->detail,
		 "Tn %lld: %lld multiply-accumulates per cycle (%lld operations as the paper counts); memory %.60s",
		 (long long)config->tn, (long long)(config->tn * config->tn),
		 (long long)dn_operations_per_cycle(config), memory->name);
}

/* Makes the layer as the machine sees it. Returns false with a reason where it is none, or memory does not hold it. */
static bool layer_of(const struct dn_machine *machine, const struct npl_layer *model_layer, struct dn_layer *layer,
		     char *reason, size_t reason_bytes)
{
	const uint64_t capacity = npl_memory_info(machine->memory)->capacity_bytes;
	const uint64_t address_space = UINT64_C(1) << DN_ADDRESS_BITS;
	if (!dn_layer_of(machine->config, model_layer, layer, reason, reason_bytes))
		return false;
	const uint64_t bytes = dn_memory_bytes(machine->config, layer);
	return (bytes <= capacity && bytes <= address_space) ||
	       npl_refuse(reason, reason_bytes, "it needs %" PRIu64 " bytes of memory, %s %" PRIu64, bytes,
			  capacity < address_space ? "there are" : "addresses reach",
			  capacity < address_space ? capacity : address_space);
}

static bool dn_supports(const void *state, const struct npl_layer *model_layer, char *reason, size_t reason_bytes)
{
	const struct dn_machine *machine = state;
	struct dn_layer layer;
	struct dn_candidates tiles;
	struct npl_err err;
	if (!layer_of(machine, model_layer, &layer, reason, reason_bytes))
		return false;
	if (!dn_find_tiles(machine->config, &layer, dn_bytes_per_cycle(machine), &tiles, &err))
		return true;
	return npl_refuse(reason, reason_bytes, "%s", err.msg);
}

static void fill_result(const struct dn_config *config, const struct dn_layer *layer,
			const struct npl_layer *model_layer, const struct dn_outcome *outcome,
			struct npl_result *result)
{
	const struct dn_counters *counters = &outcome->counters;
	const uint64_t row_bytes = (uint64_t)dn_row_bytes(config);
	const uint64_t output_bytes = dn_lrn_operand_bytes(layer);
	result->cycles = outcome->cycles;
	result->macs = counters->useful_macs;
	npl_counters_read(dn_counter_defs, DN_COUNTERS, counters, result->counter);
	result->bytes[NPL_MEM_DRAM] = counters->input_bytes + counters->synapse_bytes + counters->output_bytes;
	result->bytes[NPL_MEM_BUFFER] = (counters->nbin_rows + counters->nbout_rows) * row_bytes +
					counters->sb_rows * (uint64_t)dn_sb_row_bytes(config);
	for (int i = 0; output_bytes && i < NPL_MEM_HOST; i++) /* core knows only the layer's own tensors */
		result->bytes_at_least[i] = npl_tensor_bytes(model_layer->in[0]) + output_bytes +
					    npl_tensor_bytes(model_layer->out);
	result->saturations = counters->output_saturations;
	result->overflows = counters->sum_wraps;
}

/* Checks the scales, which come with the values, after the device was asked about the layer. */
static int check_scales(const struct npl_layer *model_layer, struct npl_err *err)
{
	const struct {
		const char *role;
		const struct npl_tensor *tensor;
	} operand[] = {{"input", model_layer->n_in > 0 ? model_layer->in[0] : NULL},
		       {"weight", model_layer->n_in > 1 ? model_layer->in[1] : NULL},
		       {"output", model_layer->out}};
	for (size_t i = 0; i < sizeof operand / sizeof *operand; i++)
		if (operand[i].tensor && !isfinite(operand[i].tensor->quant.scale))
			return npl_fail(err, NPL_EINPUT, "the scale of the %s is %g, expected a power of two",
					operand[i].role, (double)operand[i].tensor->quant.scale);
	return 0;
}

static int supported_layer_of(const struct dn_machine *machine, const struct npl_layer *model_layer,
			      struct dn_layer *layer, struct npl_err *err)
{
	char reason[200];
	if (check_scales(model_layer, err))
		return NPL_EINPUT;
	return layer_of(machine, model_layer, layer, reason, sizeof reason) ? 0 : npl_unsupported(reason, err);
}

static int dn_run(void *state, const struct npl_layer *model_layer, struct npl_result *result, struct npl_err *err)
{
	struct dn_machine *machine = state;
	struct dn_layer layer;
	struct dn_outcome outcome;
	if (supported_layer_of(machine, model_layer, &layer, err) ||
	    dn_run_layer(machine, &layer, model_layer, &outcome, err))
		return err->code;
	fill_result(machine->config, &layer, model_layer, &outcome, result);
	return dn_energy_of(machine, &outcome, dn_counts_activity(machine->config) && !model_layer->timing_only, result,
			    err);
}

static int dn_dump_layer(void *state, const struct npl_layer *model_layer, struct npl_program_dump *dump,
			 struct npl_err *err)
{
	struct dn_layer layer;
	if (supported_layer_of(state, model_layer, &layer, err))
		return err->code;
	return dn_dump(state, &layer, model_layer, dump, err);
}

static void dn_tell_instructions(void *state, const struct npl_instruction_sink *sink)
{
	((struct dn_machine *)state)->sink = sink;
}

static int dn_list_signals(const void *state, struct npl_signal_def *def)
{
	return dn_signals(((const struct dn_machine *)state)->config, def);
}

static const struct npl_energy_model *dn_model_of(const void *state)
{
	return &((const struct dn_machine *)state)->energy;
}

const struct npl_driver npl_driver_diannao = {
	.name = "diannao",
	.summary = "DianNao: NFU of Tn x Tn 16-bit multipliers with split buffers behind three DMAs",
	.params = dn_params,
	.config_bytes = sizeof(struct dn_config),
	.needs_machine = true,
	.former_defaults = dn_former_defaults,
	.former_machine = "DianNao",
	.size_keys = dn_size_keys,
	.open = dn_open,
	.close = dn_close,
	.engines = sim_engines,
	.choose_engine = dn_choose_engine,
	.describe = dn_describe,
	.supports = dn_supports,
	.run = dn_run,
	.isa = &dn_isa,
	.energy_model = dn_model_of,
	.dump_layer = dn_dump_layer,
	.tell_instructions = dn_tell_instructions,
	.signals = dn_list_signals,
};
