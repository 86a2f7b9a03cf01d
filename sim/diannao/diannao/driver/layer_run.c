/* SPDX-License-Identifier: MIT
 *
 * A layer on the machine: its tiles, its instructions, an engine, what came of it. */
#include <inttypes.h>
#include <stdlib.h>

#include "driver_impl.h"
#include "sim/diannao/diannao/generate/generate.h"
#include "sim/diannao/diannao/isa/check.h"

uint64_t dn_made_bytes(const struct dn_work *work)
{
	if (!work->lrn.made)
		return 0;
	return 2 * dn_lrn_pairs(work) + (work->bias ? 4 * (uint64_t)(work->groups * work->no) : 0);
}

/* Values on the register-level engine go through memory as the machine lays it out. */
static int run_with_values(struct dn_run *run, const struct dn_layout_map *map, const struct npl_layer *layer,
			   struct npl_err *err)
{
	run->size = map->end;
	run->bytes = calloc(map->end ? map->end : 1, 1);
	if (!run->bytes)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the %" PRIu64 " bytes of layer %s in memory",
				map->end, layer->name);
	dn_put_operands(map, layer, run->bytes);
	int rc = dn_run_rtl(run, err);
	if (!rc)
		dn_take_results(map, run->bytes, layer->out);
	free(run->bytes);
	return rc;
}

static int run_fast(struct dn_run *run, const struct dn_work *work, const struct npl_layer *layer, struct npl_err *err)
{
	struct dn_counters values = {0};
	if (!layer->timing_only && dn_values(run->config, work, layer, &values, err))
		return err->code;
	int rc = dn_run_fast(run, err);
	run->counters.product_saturations = values.product_saturations;
	run->counters.sum_wraps = values.sum_wraps;
	run->counters.sum_saturations = values.sum_saturations;
	run->counters.output_saturations = values.output_saturations;
	return rc;
}

static uint64_t macs_of(const struct dn_work *work)
{
	if (work->lrn.made)
		return (uint64_t)(work->images * dn_positions(work)) * dn_lrn_pairs(work);
	return work->kind != DN_SUM ? 0
				    : (uint64_t)(work->images * work->groups * dn_positions(work) * dn_taps(work) *
						 work->ni * work->no);
}

/* The engines count lanes; which of them had work is the layer's affair. */
static void count_lanes(const struct dn_config *config, const struct dn_work *work, struct dn_counters *counters)
{
	counters->useful_macs = macs_of(work);
	counters->idle_lanes = counters->nfu_active * (uint64_t)(config->tn * config->tn) - counters->useful_macs;
}

static int run_layer(struct diannao *machine, const struct dn_work *work, const struct npl_layer *layer,
		     struct dn_run *run, struct npl_err *err)
{
	struct dn_generator *generator = NULL;
	struct dn_tiles tiles;
	int rc = dn_choose_tiles(machine, work, &tiles, err);
	if (!rc)
		rc = dn_generator_open(&machine->config, work, &tiles, &generator, err);
	if (!rc) {
		*run = (struct dn_run){.config = &machine->config,
				       .source = dn_generator_source(generator),
				       .n_functions = work->activates,
				       .function = &work->function,
				       .memory = machine->memory};
		if (!machine->rtl)
			rc = run_fast(run, work, layer, err);
		else if (layer->timing_only)
			rc = dn_run_rtl(run, err);
		else
			rc = run_with_values(run, dn_generator_map(generator), layer, err);
	}
	if (!rc)
		rc = dn_generator_failed(generator, err);
	if (!rc)
		count_lanes(&machine->config, work, &run->counters);
	dn_generator_close(generator);
	return rc;
}

/* What is done with a layer when it has all its operands. */
typedef int layer_job(struct diannao *machine, const struct dn_work *work, const struct npl_layer *layer, void *out,
		      struct npl_err *err);

/* Makes the operands that LRN's factor has. */
static int with_operands(struct diannao *machine, const struct dn_work *work, const struct npl_layer *layer,
			 layer_job *job, void *out, struct npl_err *err)
{
	if (!work->lrn.made || layer->timing_only)
		return job(machine, work, layer, out, err);
	struct npl_tensor kernels, biases;
	struct npl_layer made = *layer;
	if (dn_lrn_operands(work, &kernels, &biases, err))
		return err->code;
	made.n_in = 3;
	made.in[1] = &kernels;
	made.in[2] = &biases;
	int rc = job(machine, work, &made, out, err);
	npl_tensor_free(&kernels);
	npl_tensor_free(&biases);
	return rc;
}

static int run_job(struct diannao *machine, const struct dn_work *work, const struct npl_layer *layer, void *run,
		   struct npl_err *err)
{
	return run_layer(machine, work, layer, run, err);
}

static int dump_job(struct diannao *machine, const struct dn_work *work, const struct npl_layer *layer, void *dump,
		    struct npl_err *err)
{
	return dn_dump_run(machine, work, layer, dump, err);
}

int dn_run_layer(struct diannao *machine, const struct dn_work *work, const struct npl_layer *layer, struct dn_run *run,
		 struct npl_err *err)
{
	return with_operands(machine, work, layer, run_job, run, err);
}

int dn_dump_layer(struct diannao *machine, const struct dn_work *work, const struct npl_layer *layer,
		  struct npl_program_dump *dump, struct npl_err *err)
{
	return with_operands(machine, work, layer, dump_job, dump, err);
}
