/* SPDX-License-Identifier: MIT
 *
 * Runs a layer on the machine: chooses its tiles, generates its instructions, runs an engine and makes the result. */
#include <stdlib.h>

#include "core/base/refuse.h"
#include "driver_impl.h"
#include "sim/diannao/diannao/fast/run.h"
#include "sim/diannao/diannao/rtl/run.h"
#include "tell.h"

uint64_t dn_lrn_operand_bytes(const struct dn_layer *layer)
{
	if (!layer->lrn.present)
		return 0;
	return 2 * dn_lrn_pairs(layer) + (layer->bias ? 4 * (uint64_t)(layer->groups * layer->no) : 0);
}

/* One run of a layer. */
struct layer_run {
	const struct dn_layer *layer;
	const struct npl_layer *model_layer;
	struct dn_tiles tiles;
	struct dn_generator *generator;
	struct dn_engine_input engine_input;
	struct dn_teller *teller; /* NULL: nothing is told */
	uint8_t *memory;          /* the layer's memory, or the results in it; NULL: neither is needed */
	struct dn_outcome *outcome;
};

/* Runs a layer with values on the register-level engine, where they go through memory in the machine's layout. */
static int run_rtl_with_values(struct layer_run *run, struct npl_err *err)
{
	const struct dn_layout_map *map = dn_generator_map(run->generator);
	run->memory = dn_make_memory(map, run->model_layer, map->end, err);
	if (!run->memory)
		return err->code;
	run->engine_input.memory = (struct dn_memory){run->memory, map->end};
	if (run->teller)
		dn_teller_results(run->teller, run->memory, 0);
	const int rc = dn_run_rtl(&run->engine_input, run->outcome, err);
	if (!rc)
		dn_take_results(map, run->memory, run->model_layer->out);
	return rc;
}

/* Counts the activity of the operands. The program is made a second time for this, and goes through memory in the
 * machine's layout. */
static int count_activity(const struct layer_run *run, struct dn_counters *counters, struct npl_err *err)
{
	struct dn_engine_input counted = run->engine_input;
	struct dn_generator *generator;
	if (dn_generator_open(counted.config, run->layer, &run->tiles, &generator, err))
		return err->code;
	const struct dn_layout_map *map = dn_generator_map(generator);
	uint8_t *bytes = dn_make_memory(map, run->model_layer, map->results, err);
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

/* Puts the results into memory in the machine's layout, from address map->results on, for the checksums of stores. */
static int tell_results(struct layer_run *run, struct npl_err *err)
{
	const struct dn_layout_map *map = dn_generator_map(run->generator);
	run->memory = calloc((size_t)(map->end - map->results) + 1, 1);
	if (!run->memory)
		return npl_no_memory(err);
	dn_put_results(map, run->model_layer->out, run->memory);
	dn_teller_results(run->teller, run->memory, map->results);
	return 0;
}

static int run_fast(struct layer_run *run, struct npl_err *err)
{
	const struct dn_config *config = run->engine_input.config;
	const bool has_values = !run->model_layer->timing_only;
	struct dn_counters values = {0};
	if (has_values && dn_layer_values(config, run->layer, run->model_layer, &values, err))
		return err->code;
	if (has_values && dn_counts_activity(config) && count_activity(run, &values, err))
		return err->code;
	if (has_values && run->teller && tell_results(run, err))
		return err->code;
	const int rc = dn_run_fast(&run->engine_input, run->outcome, err);
	dn_set_value_counters(&values, &run->outcome->counters);
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

/* Runs the layer, whose program is open. */
static int run_program(struct dn_machine *machine, struct layer_run *run, struct npl_err *err)
{
	const struct dn_told told = {.sink = machine->sink, .layer = run->model_layer->name};
	run->engine_input = dn_engine_input_of(machine, run->layer, run->generator);
	run->engine_input.signals = told.sink ? told.sink->signals : NULL;
	int rc = told.sink ? dn_teller_open(&told, &run->engine_input, &run->teller, err) : 0;
	if (!rc)
		rc = !machine->rtl                   ? run_fast(run, err)
		     : run->model_layer->timing_only ? dn_run_rtl(&run->engine_input, run->outcome, err)
						     : run_rtl_with_values(run, err);
	if (!rc)
		rc = dn_generator_failed(run->generator, err);
	if (!rc)
		count_lanes(machine->config, run->layer, &run->outcome->counters);
	if (!rc && run->teller)
		rc = dn_teller_end(run->teller, run->outcome, err);
	dn_teller_close(run->teller);
	free(run->memory);
	return rc;
}

static int simulate_layer(struct dn_machine *machine, const struct dn_layer *layer, const struct npl_layer *model_layer,
			  struct dn_outcome *outcome, struct npl_err *err)
{
	struct layer_run run = {.layer = layer, .model_layer = model_layer, .outcome = outcome};
	int rc = dn_choose_tiles(machine, layer, &run.tiles, err);
	if (!rc)
		rc = dn_generator_open(machine->config, layer, &run.tiles, &run.generator, err);
	if (!rc)
		rc = run_program(machine, &run, err);
	dn_generator_close(run.generator);
	return rc;
}

/* Says whether a run gives an outcome and nothing else, so that a remembered outcome can take its place. Each layer
 * finds the memory at rest, whichever ran before it. */
static bool is_remembered(const struct dn_machine *machine, const struct npl_layer *model_layer)
{
	return model_layer->timing_only && !machine->rtl && !machine->sink && npl_memo_is_allowed();
}

static int run_layer(struct dn_machine *machine, const struct dn_layer *layer, const struct npl_layer *model_layer,
		     struct dn_outcome *outcome, struct npl_err *err)
{
	const bool remembered = is_remembered(machine, model_layer);
	/* Layers are made from zeroed ones, so that equal layers have equal bytes. */
	const struct npl_memo_key key = npl_memo_add(machine->timing, layer, sizeof *layer);
	if (remembered && npl_memo_find(key, outcome, sizeof *outcome))
		return 0;
	const int rc = simulate_layer(machine, layer, model_layer, outcome, err);
	if (!rc && remembered)
		npl_memo_keep(key, outcome, sizeof *outcome);
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
