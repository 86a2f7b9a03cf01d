/* SPDX-License-Identifier: MIT
 *
 * The driver `systolic`: the device interface of machines that struct tpu_config describes. A layer, or a layer group
 * (layer_group.c), becomes a program (generate.h), and the program runs on one of the two engines (engine.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/integer.h"
#include "core/one_layer_group.h"
#include "driver_impl.h"
#include "sim/common/execute.h"
#include "sim/systolic/tpu_v1/rtl/run.h"

static void tpu_close(void *state)
{
	struct tpu_machine *machine = state;
	if (machine) {
		npl_memory_close(machine->weights);
		npl_arena_free(&machine->arena);
		free(machine->buffer);
	}
	free(machine);
}

/* Completes the configuration: the link, weight memory, and what follows from them. */
static int complete(struct tpu_machine *machine, struct npl_err *err)
{
	struct tpu_config *config = &machine->config;
	if (tpu_config_derive(config, err) || tpu_weight_memory_open(config, false, &machine->weights, err) ||
	    tpu_energy_model(config, &machine->arena, &machine->energy, err))
		return err->code;
	if (!machine->weights)
		return 0;
	config->weight_peak_bytes_per_second = npl_memory_info(machine->weights)->peak_bytes_per_second;
	machine->memory_yaml = npl_memory_yaml(machine->weights, &machine->arena);
	return machine->memory_yaml ? 0 : npl_no_memory(err);
}

static int tpu_open(const void *config, void **state, struct npl_err *err)
{
	if (tpu_config_check(config, err))
		return err->code;
	struct tpu_machine *machine = malloc(sizeof *machine);
	if (!machine)
		return npl_no_memory(err);
	*machine = (struct tpu_machine){.config = *(const struct tpu_config *)config};
	if (complete(machine, err)) {
		tpu_close(machine);
		return err->code;
	}
	machine->timing = npl_memo_machine(tpu_params, config, "energy. technology.", machine->memory_yaml);
	*state = machine;
	return 0;
}

static int tpu_choose_engine(void *state, const char *name, struct npl_err *err)
{
	(void)err;
	((struct tpu_machine *)state)->rtl = sim_is_rtl(name);
	return 0;
}

static void tpu_tell_instructions(void *state, const struct npl_instruction_sink *sink)
{
	((struct tpu_machine *)state)->sink = sink;
}

static int tpu_list_signals(const void *state, struct npl_signal_def *def)
{
	return tpu_signals(&((const struct tpu_machine *)state)->config, def);
}

static void tpu_describe(const void *state, struct npl_device_info *info)
{
	const struct tpu_machine *machine = state;
	const struct tpu_config *c = &machine->config;
	info->kind = NPL_KIND_SIMULATED;
	info->capabilities = NPL_TAKES_INT8;
	info->format = NPL_FORMAT_INT8;
	if (c->precision == TPU_8X16)
		npl_describe_int8x16(info);
	info->activations = 1u << NPL_ACT_RELU6 | 1u << NPL_ACT_SIGMOID | 1u << NPL_ACT_TANH;
	info->engine = sim_engines[machine->rtl];
	info->clock_hz = (double)c->clock_hz;
	/* A vector of 16-bit activations enters the array twice, so that a product takes two cycles of a cell. */
	info->peak_macs_per_second = (double)(c->rows * c->columns) * (double)c->clock_hz /
				     (c->precision == TPU_8X16 ? 2 : 1);
	info->memory_yaml = machine->memory_yaml;
	info->memory_bytes_per_second = tpu_weight_rate(c);
	info->crosses[NPL_MEM_DRAM] = NPL_CROSS_WEIGHTS;
	info->crosses[NPL_MEM_BUFFER] = NPL_CROSS_ACTIVATIONS;
	info->counts_activity = tpu_counts_activity(c);
	npl_describe_area(info, &machine->energy);
	npl_describe_static_power(info, machine->energy.static_watts, machine->energy.static_origin);
	info->link = npl_link_of(&c->link, c->link_bytes_per_second);
	info->counter_def = tpu_counter_defs;
	info->n_counters = tpu_shown_counters(c);
	char rate[40] = "at once";
	if (isfinite(tpu_weight_rate(c)))
		snprintf(rate, sizeof rate, "at %g GB/s", tpu_weight_rate(c) / 1e9);
	snprintf(info->detail, sizeof info->detail,
		 "%lld x %lld cells at %g MHz, %g MiB unified buffer, %lld accumulator rows, weights %s%s%s",
		 (long long)c->rows, (long long)c->columns, (double)c->clock_hz / 1e6,
		 (double)c->buffer_bytes / 1048576, (long long)c->accumulator_rows, rate,
		 machine->weights ? " from " : "", machine->weights ? npl_memory_info(machine->weights)->name : "");
}

/* Says whether the machine runs the layer. Only its allocations in the unified buffer and its tiles show
 * whether a layer fits. */
static bool tpu_supports(const void *state, const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const struct tpu_config *config = &((const struct tpu_machine *)state)->config;
	struct npl_one_layer_group request;
	struct npl_err err = {0};
	if (!tpu_generate_supports(config, layer, reason, reason_bytes))
		return false;
	npl_one_layer_group_init(&request, layer);
	request.group.timing_only = true;
	request.group.n_outputs = 1; /* the caller refuses a layer whose further results are read */
	return !tpu_generate_fits(config, &request.group, &err) || npl_refuse(reason, reason_bytes, "%s", err.msg);
}

/* A layer that runs by itself. Its operands are in the unified buffer when it starts, as far as they fit, and its
 * result is there when it ends. */
struct single_layer {
	struct npl_one_layer_group request;
	void *group;
};

static int open_single_layer(void *state, const struct npl_layer *layer, struct single_layer *single_layer,
			     struct npl_err *err)
{
	const struct tpu_machine *machine = state;
	npl_one_layer_group_init(&single_layer->request, layer);
	single_layer->group = NULL;
	struct npl_layer_group_info info;
	struct npl_err local = {0};
	char reason[200] = "";
	if (!tpu_generate_supports(&machine->config, layer, reason, sizeof reason))
		return npl_unsupported(reason, err);
	const int rc = tpu_layer_group_open(state, &single_layer->request.group, &single_layer->group, &info, &local);
	return rc == NPL_EDEVICE ? npl_unsupported(local.msg, err) : rc ? npl_fail_as(err, &local) : 0;
}

static int tpu_run(void *state, const struct npl_layer *layer, struct npl_result *result, struct npl_err *err)
{
	struct single_layer single_layer;
	int rc = open_single_layer(state, layer, &single_layer, err);
	if (!rc)
		rc = tpu_layer_group_run(state, single_layer.group, NULL, result, err);
	tpu_layer_group_close(single_layer.group);
	return rc;
}

static int tpu_dump_layer(void *state, const struct npl_layer *layer, struct npl_program_dump *dump,
			  struct npl_err *err)
{
	struct single_layer single_layer;
	int rc = open_single_layer(state, layer, &single_layer, err);
	if (!rc)
		rc = tpu_layer_group_dump(state, single_layer.group, dump, err);
	tpu_layer_group_close(single_layer.group);
	return rc;
}

static const struct npl_energy_model *tpu_model_of(const void *state)
{
	return &((const struct tpu_machine *)state)->energy;
}

const struct npl_driver npl_driver_systolic = {
	.name = "systolic",
	.summary = "weight-stationary int8 arrays: the TPU v1 and its relatives",
	.params = tpu_params,
	.config_bytes = sizeof(struct tpu_config),
	.needs_machine = true,
	.former_defaults = tpu_former_defaults,
	.former_machine = "the TPU v1",
	.size_keys = tpu_size_keys,
	.conditions = tpu_conditions,
	.adapt_unset = tpu_config_adapt,
	.open = tpu_open,
	.close = tpu_close,
	.engines = sim_engines,
	.choose_engine = tpu_choose_engine,
	.describe = tpu_describe,
	.supports = tpu_supports,
	.run = tpu_run,
	.open_layer_group = tpu_layer_group_open,
	.run_layer_group = tpu_layer_group_run,
	.close_layer_group = tpu_layer_group_close,
	.dump_layer = tpu_dump_layer,
	.dump_layer_group = tpu_layer_group_dump,
	.tell_instructions = tpu_tell_instructions,
	.signals = tpu_list_signals,
	.isa = &tpu_isa,
	.energy_model = tpu_model_of,
};
