/* SPDX-License-Identifier: MIT
 *
 * An analytical device: a processor by its figures (processor_model.h). It computes by the reference kernels and takes
 * the time that its figures give. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/device_access.h"
#include "core/float_layer.h"
#include "npulab/driver.h"
#include "processor_model.h"
#include "values.h"

extern const struct npl_driver npl_driver_processor;

struct processor {
	const struct npl_processor_model *config;
	struct npl_link_model link;
};

static const struct npl_counter_def counter_defs[NPL_PROCESSOR_PARTS] = {
#define PROCESSOR_COUNTER(part, name_, help_, kind_, bound_)                                                           \
	{.name = #name_,                                                                                               \
	 .unit = NPL_COUNTER_TIME,                                                                                     \
	 .help = help_,                                                                                                \
	 .offset = NPL_PROCESSOR_##part * sizeof(uint64_t),                                                            \
	 .partition = 1,                                                                                               \
	 .kind = kind_,                                                                                                \
	 .bound = bound_},
#include "counters.def"
#undef PROCESSOR_COUNTER
};

/* in the order of NPL_PROCESSOR_PRECISION_LIST; NULL: the format's own name */
static const char *const element_name[] = {NULL, "tf32", "float16"};
static const size_t element_bytes[] = {4, 4, 2};
_Static_assert(sizeof element_name / sizeof *element_name == NPL_PROCESSOR_PRECISIONS &&
		       sizeof element_bytes / sizeof *element_bytes == NPL_PROCESSOR_PRECISIONS,
	       "each precision has a row");

static int open_link(struct processor *p, struct npl_err *err)
{
	return *p->config->link.name ? npl_link_model_of(&p->config->link, "host_link", &p->link, err) : 0;
}

static int processor_open(const void *config, void **state, struct npl_err *err)
{
	if (npl_processor_check(config, err))
		return err->code;
	struct processor *p = calloc(1, sizeof *p);
	if (!p)
		return npl_no_memory(err);
	p->config = config;
	if (open_link(p, err)) {
		free(p);
		return err->code;
	}
	*state = p;
	return 0;
}

static void processor_close(void *state)
{
	free(state);
}

const struct npl_processor_model *npl_processor_of(const struct npl_device *device)
{
	return npl_device_driver(device) == &npl_driver_processor
		       ? ((const struct processor *)npl_device_state(device))->config
		       : NULL;
}

static void processor_describe(const void *state, struct npl_device_info *info)
{
	const struct processor *p = state;
	const struct npl_processor_model *c = p->config;
	info->kind = NPL_KIND_ANALYTICAL;
	info->format = NPL_FORMAT_F32;
	info->element = element_name[c->precision];
	info->element_bytes = c->precision == NPL_PROCESSOR_F32 ? 0 : element_bytes[c->precision];
	info->activations = 1u << NPL_ACT_RELU6 | 1u << NPL_ACT_SIGMOID | 1u << NPL_ACT_TANH;
	info->capabilities = NPL_PRIVATE_KERNELS | NPL_MULTIPLE_OUTPUTS;
	info->peak_macs_per_second = npl_processor_peak(c, (enum npl_processor_precision)c->precision);
	info->memory_bytes_per_second = c->memory_rate;
	info->crosses[NPL_MEM_DRAM] = NPL_CROSS_ALL;
	info->counter_def = counter_defs;
	info->n_counters = NPL_PROCESSOR_PARTS;
	npl_describe_static_power(info, c->idle_watts, c->origin);
	if (*c->link.name)
		info->link = npl_link_of(&c->link, npl_link_bytes_per_second(&p->link));
	snprintf(info->detail, sizeof info->detail,
		 "analytical: %lld cores at %g MHz, memory at %g GB/s; arithmetic and traffic at %g %% of peak; %g us "
		 "to start an operator",
		 (long long)c->cores, c->clock_hz / 1e6, c->memory_rate / 1e9, 100 * c->efficiency,
		 c->overhead_seconds * 1e6);
}

static bool processor_supports(const void *state, const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	(void)state;
	return npl_widened_layer_ok(layer, reason, reason_bytes);
}

/* Charges the energy. The whole processor is on while it works, so what it draws idle is charged like any other part of
 * its power. */
static int charge(const struct npl_processor_model *c, const struct npl_processor_time *time, struct npl_result *result,
		  struct npl_err *err)
{
	if (npl_result_energy(result, "processor", 0, 0, c->origin, err))
		return err->code;
	if (!npl_origin_is_absent(c->origin))
		result->energy[result->n_energy - 1].joules = time->seconds * time->watts;
	return 0;
}

static int processor_run(void *state, const struct npl_layer *layer, struct npl_result *result, struct npl_err *err)
{
	const struct npl_processor_model *c = ((struct processor *)state)->config;
	const enum npl_processor_precision precision = (enum npl_processor_precision)c->precision;
	struct npl_processor_counts counts = npl_processor_count(layer->op, layer->attrs, layer->in, layer->n_in,
								 layer->out, npl_layer_outputs(layer), layer->macs);
	npl_processor_add_activation(&counts, layer->activation, layer->out);
	counts.bytes = counts.bytes * element_bytes[precision] / sizeof(float);
	counts.weight_bytes = counts.weight_bytes * element_bytes[precision] / sizeof(float);
	/* Each tensor moves as a whole, even where windows skip some of it. */
	result->bytes_at_least[NPL_MEM_DRAM] = result->bytes[NPL_MEM_DRAM] = counts.bytes + counts.weight_bytes;
	const struct npl_processor_time time = npl_processor_estimate(c, precision, &counts);
	result->seconds = time.seconds;
	result->seconds_origin = NPL_TIME_MODELLED;
	result->macs = layer->macs;
	/* The counters of a layer that takes longer stay 0, as npulab/counters.h says. */
	const bool is_countable = time.seconds < NPL_COUNTER_TIME_SECONDS;
	for (int i = 0; i < NPL_PROCESSOR_PARTS && is_countable; i++)
		result->counter[i] = (uint64_t)llround(time.part[i] * 1e12);
	int rc = charge(c, &time, result, err);
	return rc || layer->timing_only ? rc : processor_values(layer, precision, err);
}

const struct npl_driver npl_driver_processor = {
	.name = "processor",
	.summary = "a CPU or GPU by its published figures: time and energy of operators, no cycles",
	.params = npl_processor_params,
	.conditions = npl_processor_conditions,
	.config_bytes = sizeof(struct npl_processor_model),
	.needs_machine = true,
	.may_be_host = true,
	.open = processor_open,
	.close = processor_close,
	.describe = processor_describe,
	.supports = processor_supports,
	.run = processor_run,
};
