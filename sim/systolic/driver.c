/* SPDX-License-Identifier: MIT
 *
 * The driver `systolic`: machines described by struct tpu_config behind the device interface. A layer becomes a program
 * (generate.h) and the program runs on one of the two engines (engine.h). Its operands are in the unified buffer when it
 * starts, as far as they fit, and its result ends there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

typedef int engine_run(const struct tpu_config *config, const struct tpu_program *program,
		       const struct tpu_memory *memory, const struct tpu_watcher *watcher, struct tpu_outcome *outcome,
		       struct npl_err *err);

static const struct engine {
	const char *name;
	engine_run *run;
} engines[] = {{"fast", tpu_run_fast}, {"rtl", tpu_run_rtl}};

struct tpu {
	const struct tpu_config *config;
	const struct engine *engine;
	uint8_t *buffer; /* the unified buffer; NULL until a layer with values */
};

static int tpu_open(const void *config, void **state, struct npl_err *err)
{
	if (tpu_config_check(config, err))
		return NPL_EINPUT;
	struct tpu *tpu = malloc(sizeof *tpu);
	if (!tpu)
		return npl_fail(err, NPL_ENOMEM, "out of memory");
	*tpu = (struct tpu){.config = config, .engine = engines};
	*state = tpu;
	return 0;
}

static void tpu_close(void *state)
{
	struct tpu *tpu = state;
	if (tpu)
		free(tpu->buffer);
	free(tpu);
}

static int tpu_choose_engine(void *state, const char *name, struct npl_err *err)
{
	for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
		if (!strcmp(engines[i].name, name)) {
			((struct tpu *)state)->engine = &engines[i];
			return 0;
		}
	return npl_fail(err, NPL_EUSAGE, "there is no engine '%s', expected fast or rtl", name);
}

static void tpu_describe(const void *state, struct npl_device_info *info)
{
	const struct tpu *tpu = state;
	const struct tpu_config *c = tpu->config;
	info->kind = NPL_KIND_SIMULATED;
	info->format = c->precision == TPU_8X16 ? NPL_FORMAT_INT8X16 : NPL_FORMAT_INT8;
	info->activations = 1u << NPL_ACT_RELU6 | 1u << NPL_ACT_SIGMOID | 1u << NPL_ACT_TANH;
	info->engine = tpu->engine->name;
	info->clock_hz = (double)c->clock_hz;
	info->peak_macs_per_second = (double)(c->rows * c->columns) * (double)c->clock_hz;
	if (strcmp(c->static_origin, "absent")) { /* not known is not 0 W: the layers' results say "absent" */
		info->static_watts = c->static_watts;
		info->static_origin = c->static_origin;
	}
	info->link = (struct npl_link){c->link_name, c->link_bytes_per_second, c->link_latency_seconds,
				       c->link_pj_per_byte, c->link_origin};
	info->stat = tpu_counter_table;
	info->n_stats = TPU_COUNTERS;
	snprintf(info->detail, sizeof info->detail,
		 "%lld x %lld cells at %g MHz, %g MiB unified buffer, %lld accumulator rows, weights at %g GB/s",
		 (long long)c->rows, (long long)c->columns, (double)c->clock_hz / 1e6,
		 (double)c->buffer_bytes / 1048576, (long long)c->accumulator_rows,
		 (double)c->weight_bytes_per_second / 1e9);
}

static int generate(const struct tpu *tpu, const struct npl_layer *layer, bool timing_only,
		    struct tpu_generated *generated, struct npl_err *err)
{
	const struct npl_tensor *wanted[] = {layer->out};
	const struct tpu_generate_options options = {.n_wanted = 1, .wanted = wanted, .timing_only = timing_only};
	return tpu_generate(tpu->config, &layer, 1, &options, generated, err);
}

/* Whether it fits is known when there is a program. */
static bool tpu_supports(const void *state, const struct npl_layer *layer, char *why, size_t n)
{
	const struct tpu *tpu = state;
	struct tpu_generated generated = {0};
	struct npl_err err = {0};
	if (!tpu_generate_supports(tpu->config, layer, why, n))
		return false;
	if (generate(tpu, layer, true, &generated, &err)) {
		snprintf(why, n, "%s", err.msg);
		return false;
	}
	tpu_generated_free(&generated);
	return true;
}

static bool is_matrix(const struct npl_layer *layer)
{
	return layer->op == NPL_OP_CONV || layer->op == NPL_OP_GEMM;
}

/* The least that must cross the ports: weights without padding, input that some window covers, output. A layer that only
 * names parts of tensors (Concat, Slice) moves nothing: its neighbours read and write them where they are. */
static void count_bytes(const struct tpu_config *config, const struct npl_layer *layer,
			const struct tpu_counters *counter, struct npl_result *result)
{
	const struct npl_tensor *in = layer->in[0];
	uint64_t read = npl_tensor_bytes(in);
	if (tpu_windows_ok(layer)) {
		struct tpu_windows windows = tpu_windows_of(layer);
		read = (uint64_t)(windows.in.images * windows.in.channels * tpu_touched_pixels(&windows)) *
		       npl_dtype_size(in->dtype);
	}
	result->bytes[NPL_MEM_DRAM] = counter->weight_bytes;
	result->bytes_at_least[NPL_MEM_DRAM] = is_matrix(layer) ? npl_tensor_bytes(layer->in[1]) : 0;
	result->bytes[NPL_MEM_BUFFER] = (counter->ub_rows_read + counter->ub_rows_written) *
					(uint64_t)tpu_row_bytes(config);
	if (result->bytes[NPL_MEM_BUFFER])
		result->bytes_at_least[NPL_MEM_BUFFER] = read + npl_tensor_bytes(layer->out);
}

/* Passes of the array that one multiply-accumulate takes: operands of two bytes are taken apart. */
static uint64_t passes_per_mac(const struct npl_layer *layer)
{
	return is_matrix(layer) ? npl_dtype_size(layer->in[0]->dtype) * npl_dtype_size(layer->in[1]->dtype) : 1;
}

static int report(const struct tpu_config *config, const struct npl_layer *layer, const struct tpu_outcome *outcome,
		  struct npl_result *result, struct npl_err *err)
{
	result->cycles = outcome->cycles;
	result->seconds = (double)outcome->cycles / (double)config->clock_hz;
	result->seconds_from = NPL_FROM_MODEL;
	result->macs = outcome->counter.useful_macs / passes_per_mac(layer);
	result->overflows += outcome->overflows;
	result->saturations += outcome->saturations;
	npl_stats_read(tpu_counter_table, TPU_COUNTERS, &outcome->counter, result->counter);
	count_bytes(config, layer, &outcome->counter, result);
	return tpu_energy_of(config, &outcome->counter, outcome->cycles, result, err);
}

/* Memories for a program, the given tensors in them. host is the caller's to free. */
static int fill_memory(struct tpu *tpu, const struct tpu_generated *generated, struct tpu_memory *memory,
		       struct npl_err *err)
{
	size_t rows = (size_t)tpu_buffer_size_rows(tpu->config);
	if (!tpu->buffer)
		tpu->buffer = calloc(rows, (size_t)tpu_row_bytes(tpu->config));
	*memory = (struct tpu_memory){.buffer = tpu->buffer,
				      .weights = generated->weights,
				      .weight_bytes = generated->weight_bytes,
				      .host = calloc(generated->host_bytes + 1, 1),
				      .host_bytes = generated->host_bytes};
	if (!memory->buffer || !memory->host)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the unified buffer and host memory");
	for (int i = 0; i < generated->n_places; i++) {
		const struct npl_tensor *tensor = generated->place[i].tensor;
		if (generated->place[i].given && tpu_load_tensor(generated, tpu->config, tensor, tensor, memory, err))
			return err->code;
	}
	return 0;
}

static int tpu_run(void *state, const struct npl_layer *layer, struct npl_result *result, struct npl_err *err)
{
	struct tpu *tpu = state;
	struct tpu_generated generated = {0};
	struct tpu_memory memory = {.timing_only = layer->timing_only};
	struct tpu_outcome outcome = {0};
	char why[200] = "";
	if (!tpu_generate_supports(tpu->config, layer, why, sizeof why))
		return npl_fail(err, NPL_EDEVICE, "%s", why);
	int rc = generate(tpu, layer, layer->timing_only, &generated, err);
	if (!rc && !layer->timing_only)
		rc = fill_memory(tpu, &generated, &memory, err);
	if (!rc)
		rc = tpu->engine->run(tpu->config, &generated.program, &memory, NULL, &outcome, err);
	if (!rc && !layer->timing_only)
		rc = tpu_read_tensor(&generated, tpu->config, layer->out, layer->out, &memory, err);
	if (!rc)
		rc = report(tpu->config, layer, &outcome, result, err);
	free(memory.host);
	tpu_generated_free(&generated);
	return rc;
}

const struct npl_driver npl_driver_systolic = {
	.name = "systolic",
	.summary = "weight-stationary int8 arrays: the TPU v1 and its relatives",
	.params = tpu_params,
	.config_bytes = sizeof(struct tpu_config),
	.needs_machine = true,
	.open = tpu_open,
	.close = tpu_close,
	.choose_engine = tpu_choose_engine,
	.describe = tpu_describe,
	.supports = tpu_supports,
	.run = tpu_run,
	.isa = &tpu_isa,
};
