/* SPDX-License-Identifier: MIT
 *
 * Runs a layer on the machine: chooses its tiles, generates its instructions, runs an engine and makes the result. */
#include <stdlib.h>

#include "driver_impl.h"
#include "sim/diannao/diannao/fast/run.h"
#include "sim/diannao/diannao/rtl/run.h"

uint64_t dn_lrn_operand_bytes(const struct dn_layer *layer)
{
	if (!layer->lrn.present)
		return 0;
	return 2 * dn_lrn_pairs(layer) + (layer->bias ? 4 * (uint64_t)(layer->groups * layer->no) : 0);
}

/* Runs a layer with values on the register-level engine, where they go through memory in the machine's layout. */
static int run_with_values(struct dn_engine_input *engine_input, const struct dn_layout_map *map,
			   const struct npl_layer *model_layer, struct dn_outcome *outcome, struct npl_err *err)
{
	uint8_t *bytes = dn_make_memory(map, model_layer, map->end, err);
	if (!bytes)
		return err->code;
	engine_input->memory = (struct dn_memory){bytes, map->end};
	int rc = dn_run_rtl(engine_input, outcome, err);
	if (!rc)
		dn_take_results(map, bytes, model_layer->out);
	free(bytes);
	return rc;
}

/* Counts the activity of the operands. The program is made a second time for this, and goes through memory in the
 * machine's layout. */
static int count_activity(const struct dn_engine_input *engine_input, const struct dn_layer *layer,
			  const struct dn_tiles *tiles, const struct npl_layer *model_layer,
			  struct dn_counters *counters, struct npl_err *err)
{
	struct dn_engine_input counted = *engine_input;
	struct dn_generator *generator;
	if (dn_generator_open(engine_input->config, layer, tiles, &generator, err))
		return err->code;
	const struct dn_layout_map *map = dn_generator_map(generator);
	uint8_t *bytes = dn_make_memory(map, model_layer, map->results, err);
	int rc = bytes ? 0 : err->code;
	if (!rc) {
		counted.stream = dn_generator_stream(generator);
		counted.memory = (struct dn_memory){bytes, map->results};
		rc = dn_count_activity(&counted, counters, err);
	}
	if (!rc)
		rc = dn_generator_failed(generator, err);
	free(bytes);
	dn_generator_close(generator);
	return rc;
}

static int run_fast(const struct dn_engine_input *engine_input, const struct dn_layer *layer,
		    const struct dn_tiles *tiles, const struct npl_layer *model_layer, struct dn_outcome *outcome,
		    struct npl_err *err)
{
	struct dn_counters values = {0};
	if (!model_layer->timing_only && dn_layer_values(engine_input->config, layer, model_layer, &values, err))
		return err->code;
	if (!model_layer->timing_only && dn_counts_activity(engine_input->config) &&
	    count_activity(engine_input, layer, tiles, model_layer, &values, err))
		return err->code;
	int rc = dn_run_fast(engine_input, outcome, err);
	dn_set_value_counters(&values, &outcome->counters);
	return rc;
}

static uint64_t macs_of(const struct dn_layer *layer)
{
	if (layer->lrn.present)
		return (uint64_t)(layer->images * dn_positions(layer)) * dn_lrn_pairs(layer);
	return layer->kind != DN_SUM ? 0
				     : (uint64_t)(layer->images * layer->groups * dn_positions(layer) * dn_taps(layer) *
						  layer->ni * layer->no);
}

/* Counts the multiply-accumulates that are not padding: the engines count all lanes. */
static void count_lanes(const struct dn_config *config, const struct dn_layer *layer, struct dn_counters *counters)
{
	counters->useful_macs = macs_of(layer);
	counters->idle_lanes = counters->nfu_active * (uint64_t)(config->tn * config->tn) - counters->useful_macs;
}

static int run_layer(struct dn_machine *machine, const struct dn_layer *layer, const struct npl_layer *model_layer,
		     struct dn_outcome *outcome, struct npl_err *err)
{
	struct dn_generator *generator = NULL;
	struct dn_tiles tiles;
	int rc = dn_choose_tiles(machine, layer, &tiles, err);
	if (!rc)
		rc = dn_generator_open(machine->config, layer, &tiles, &generator, err);
	if (!rc) {
		struct dn_engine_input engine_input = dn_engine_input_of(machine, layer, generator);
		if (!machine->rtl)
			rc = run_fast(&engine_input, layer, &tiles, model_layer, outcome, err);
		else if (model_layer->timing_only)
			rc = dn_run_rtl(&engine_input, outcome, err);
		else
			rc = run_with_values(&engine_input, dn_generator_map(generator), model_layer, outcome, err);
	}
	if (!rc)
		rc = dn_generator_failed(generator, err);
	if (!rc)
		count_lanes(machine->config, layer, &outcome->counters);
	dn_generator_close(generator);
	return rc;
}

int dn_operands_open(const struct dn_layer *layer, const struct npl_layer *model_layer, struct dn_operands *operands,
		     struct npl_err *err)
{
	*operands = (struct dn_operands){.model_layer = *model_layer};
	if (!layer->lrn.present || model_layer->timing_only)
		return 0;
	operands->model_layer.n_in = 3;
	operands->model_layer.in[1] = &operands->kernels;
	operands->model_layer.in[2] = &operands->biases;
	return dn_lrn_operands(layer, &operands->kernels, &operands->biases, err);
}

void dn_operands_close(struct dn_operands *operands)
{
	npl_tensor_free(&operands->kernels);
	npl_tensor_free(&operands->biases);
}

int dn_run_layer(struct dn_machine *machine, const struct dn_layer *layer, const struct npl_layer *model_layer,
		 struct dn_outcome *outcome, struct npl_err *err)
{
	struct dn_operands operands;
	int rc = dn_operands_open(layer, model_layer, &operands, err);
	if (!rc)
		rc = run_layer(machine, layer, &operands.model_layer, outcome, err);
	dn_operands_close(&operands);
	return rc;
}
