/* SPDX-License-Identifier: MIT
 *
 * The driver `systolic`: machines described by struct tpu_config behind the device interface. A layer whose
 * activations exceed the unified buffer is split over images; each part starts from cold, and the cycles add up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

struct tpu {
	const struct tpu_config *config;
	struct npl_int8_memory memory; /* of the values */
};

static int tpu_open(const void *config, void **state, struct npl_err *err)
{
	if (tpu_config_check(config, err))
		return NPL_EINPUT;
	struct tpu *tpu = malloc(sizeof *tpu);
	if (!tpu)
		return npl_fail(err, NPL_ENOMEM, "out of memory");
	*tpu = (struct tpu){.config = config};
	*state = tpu;
	return 0;
}

static void tpu_close(void *state)
{
	struct tpu *tpu = state;
	if (tpu)
		npl_int8_memory_free(&tpu->memory);
	free(tpu);
}

static void tpu_describe(const void *state, struct npl_device_info *info)
{
	const struct tpu_config *c = ((const struct tpu *)state)->config;
	info->kind = NPL_KIND_SIMULATED;
	info->format = c->precision == TPU_8X16 ? NPL_FORMAT_INT8X16 : NPL_FORMAT_INT8;
	info->engine = "fast";
	info->clock_hz = (double)c->clock_hz;
	info->peak_macs_per_second = (double)(c->rows * c->columns) * (double)c->clock_hz;
	if (strcmp(c->static_origin, "absent")) { /* not known is not 0 W: the layers' results say "absent" */
		info->static_watts = c->static_watts;
		info->static_origin = c->static_origin;
	}
	info->link = (struct npl_link){c->link_name, c->link_bytes_per_second, c->link_latency_seconds,
				       c->link_pj_per_byte, c->link_origin};
	info->stat = tpu_stats_table;
	info->n_stats = TPU_STATS;
	snprintf(info->detail, sizeof info->detail,
		 "%lld x %lld cells at %g MHz, %g MiB unified buffer, %lld accumulator rows, weights at %g GB/s",
		 (long long)c->rows, (long long)c->columns, (double)c->clock_hz / 1e6,
		 (double)c->buffer_bytes / 1048576, (long long)c->accumulator_rows,
		 (double)c->weight_bytes_per_second / 1e9);
}

static bool is_matrix(const struct npl_layer *layer)
{
	return layer->op == NPL_OP_CONV || layer->op == NPL_OP_GEMM;
}

static bool tpu_supports(const void *state, const struct npl_layer *layer, char *why, size_t n)
{
	const struct tpu_config *config = ((const struct tpu *)state)->config;
	struct tpu_plan plan;
	if (config->precision == TPU_8X16) {
		snprintf(why, n, "instructions for 16-bit activations are not generated");
		return false;
	}
	switch (layer->op) {
	case NPL_OP_CONV:
	case NPL_OP_GEMM:
		return tpu_plan_layer(config, layer, &plan, why, n);
	case NPL_OP_RELU:
	case NPL_OP_MAXPOOL:
	case NPL_OP_AVERAGEPOOL:
	case NPL_OP_GLOBALAVERAGEPOOL:
		return tpu_vector_supports(config, layer, why, n);
	case NPL_OP_MATMUL:
		snprintf(why, n, "the TPU v1 multiplies by weights from its weight memory, not by another activation");
		return false;
	default:
		snprintf(why, n, "the TPU v1 has no %s", npl_op_defs[layer->op].name);
		return false;
	}
}

/* The least that must cross the ports: weights without padding, input that some window covers, output. */
static void count_bytes(const struct tpu_config *config, const struct npl_layer *layer, const struct tpu_stats *stats,
			struct npl_result *result)
{
	const struct npl_tensor *in = layer->in[0];
	int64_t read = npl_tensor_count(in);
	if (layer->op != NPL_OP_GEMM && layer->op != NPL_OP_RELU) {
		struct tpu_windows windows = tpu_windows_of(layer);
		read = windows.in.images * windows.in.channels * tpu_touched_pixels(&windows);
	}
	result->bytes[NPL_MEM_DRAM] = stats->weight_bytes;
	result->bytes_at_least[NPL_MEM_DRAM] = is_matrix(layer) ? npl_tensor_bytes(layer->in[1]) : 0;
	result->bytes[NPL_MEM_BUFFER] = (stats->ub_rows_read + stats->ub_rows_written) *
					(uint64_t)tpu_row_bytes(config);
	result->bytes_at_least[NPL_MEM_BUFFER] = (uint64_t)read + npl_tensor_bytes(layer->out);
}

/* As few parts as fit, of equal size or one image apart: two schedules at most tell the cycles of all. */
static uint64_t matrix_cycles(const struct tpu_config *config, const struct tpu_plan *plan, struct tpu_stats *stats)
{
	int64_t parts = (plan->images + plan->images_at_once - 1) / plan->images_at_once;
	int64_t images = plan->images / parts, larger = plan->images % parts;
	const struct {
		int64_t images, parts;
	} sizes[] = {{images + 1, larger}, {images, parts - larger}};
	uint64_t cycles = 0;
	for (size_t i = 0; i < 2; i++) {
		if (sizes[i].parts == 0)
			continue;
		struct tpu_stats part = {0};
		cycles += tpu_schedule(config, plan, sizes[i].images, NULL, &part) * (uint64_t)sizes[i].parts;
		tpu_stats_add(stats, &part, (uint64_t)sizes[i].parts);
	}
	return cycles;
}

static int tpu_run(void *state, const struct npl_layer *layer, struct npl_result *result, struct npl_err *err)
{
	struct tpu *tpu = state;
	const struct tpu_config *config = tpu->config;
	struct tpu_stats stats = {0};
	struct tpu_plan plan = {0};
	char why[200] = "";
	if (!tpu_supports(state, layer, why, sizeof why))
		return npl_fail(err, NPL_EDEVICE, "%s", why);
	if (is_matrix(layer)) {
		tpu_plan_layer(config, layer, &plan, why, sizeof why);
		result->cycles = matrix_cycles(config, &plan, &stats);
	} else {
		result->cycles = tpu_vector_cycles(config, layer, &stats);
	}
	result->seconds = (double)result->cycles / (double)config->clock_hz;
	result->seconds_from = NPL_FROM_MODEL;
	result->macs = stats.useful_macs;
	npl_stats_read(tpu_stats_table, TPU_STATS, &stats, result->counter);
	count_bytes(config, layer, &stats, result);
	if (tpu_energy_of(config, &stats, result->cycles, result, err))
		return NPL_EINTERNAL;
	if (layer->timing_only)
		return 0;
	if (is_matrix(layer))
		return tpu_matrix_values(config, &plan, layer, &tpu->memory, result, err);
	return tpu_vector_values(layer, err);
}

const struct npl_driver npl_driver_systolic = {
	.name = "systolic",
	.summary = "weight-stationary int8 arrays: the TPU v1 and its relatives",
	.params = tpu_params,
	.config_bytes = sizeof(struct tpu_config),
	.needs_machine = true,
	.open = tpu_open,
	.close = tpu_close,
	.describe = tpu_describe,
	.supports = tpu_supports,
	.run = tpu_run,
	.isa = &tpu_isa,
};
