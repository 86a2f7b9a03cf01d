/* SPDX-License-Identifier: MIT
 *
 * The device `cpu`: this computer's processor as its best libraries use it. Networks run as layer groups
 * (layer_group.c). In float32, convolutions, global averages, LRN, and average poolings of inputs with channels last
 * run on oneDNN; Gemm, MatMul and the products of recurrent layers on OpenBLAS. Element-wise operators, copies,
 * poolings, sums, normalisations, Softmax and Resize run on the kernels of core/ops with all threads, all other
 * operators with one thread. int8.c runs quantised layers. This file runs single layers: products on OpenBLAS,
 * convolutions as products of patches.
 *
 * A layer's time is that of its work alone: filling patches for a convolution is part of it, taking memory is not.
 * Energy is measured over whole repeated runs with npulab/energy_meter.h, never per layer, so a layer's energy is
 * absent. facts.c has the facts about the processor.
 *
 * Limits: whether caches are still warm from the layer before is not taken into account, and the clock is whatever
 * Linux's governor sets. */
#include "cpu.h"

#include "layer_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/message.h"
#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "core/float_layer.h"
#include "core/param_rows.h"
#include "npulab/driver.h"
#include "npulab/thread.h"
#include "openblas_threads.h"
#include "widened.h"

#define PARAM_CONFIG struct cpu_config

static const struct npl_param params[] = {
	NUMBER("threads", INT, threads, "0", 0, 1024, "threads",
	       "threads of the library; 0: every processor this process may run on"),
	CHOICE("precision", precision, "f32",
	       "f32: OpenBLAS; int8: exact integer kernels, or oneDNN's where they are exact and faster",
	       "f32/float32 int8"),
	CHOICE("convolution", convolution, "onednn",
	       "onednn, where it can be had; blas: patches times weights by OpenBLAS, in int8 our own kernels",
	       "onednn blas"),
	TEXT("powercap", powercap, NPL_POWERCAP_ROOT, "the folder where Linux shows the packages' energy counters"),
	NUMBER("tdp_watts", DOUBLE, tdp_watts, "0", 0, 10000, "W",
	       "of one package, to guess energy from where it cannot be measured; 0: as published/tdp.csv has it"),
	NUMBER("tdp_cores", INT, tdp_cores, "0", 0, 100000, "cores",
	       "of the package that draws tdp_watts; 0: as that table has it, or else as Linux counts"),
	{0}};

static void cpu_close(void *state)
{
	struct cpu_state *cpu = state;
	if (!cpu)
		return;
	npl_pool_close(cpu->pool);
	cpu_dnn_close(&cpu->dnn);
	cpu_blas_unload(&cpu->blas);
	npl_int8_memory_free(&cpu->int8_memory);
	free(cpu->workspace);
	free(cpu->widened);
	free(cpu);
}

/* Sets OpenBLAS's threads. A build of OpenBLAS has a greatest number of them, which limits a device in float32; a
 * greater parameter `threads` is refused. */
static int set_threads(struct cpu_state *cpu, struct npl_err *err)
{
	cpu->blas.set_num_threads(cpu->threads);
	cpu->blas_threads = cpu->blas.get_num_threads();
	if (cpu->int8 || cpu->blas_threads >= cpu->threads)
		return 0;
	if (cpu->config.threads)
		return npl_fail_settings(err, NULL, "threads",
					 "threads is %d, expected at most %d, the limit of this OpenBLAS", cpu->threads,
					 cpu->blas_threads);
	cpu->threads = cpu->blas_threads;
	return 0;
}

static int cpu_open(const void *config, void **state, struct npl_err *err)
{
	const struct cpu_config *options = config;
	if (options->powercap && !*options->powercap)
		return npl_fail_settings(err, NULL, "powercap",
					 "powercap is empty, expected a folder, as " NPL_POWERCAP_ROOT);
	struct cpu_state *cpu = calloc(1, sizeof *cpu);
	if (!cpu)
		return npl_no_memory(err);
	struct npl_err failure; /* describe reports what cannot be loaded */
	cpu->config = *options;
	cpu->int8 = options->precision == CPU_INT8;
	cpu->threads = options->threads ? (int)options->threads : npl_processors();
	if (cpu->int8)
		npl_int8_library(NULL);
	cpu->wanted_threads = cpu->threads;
	int rc = cpu_threads_that_fit(cpu->wanted_threads, &cpu->threads, err);
	if (rc) {
		free(cpu);
		return rc;
	}
	rc = cpu_blas_load(CPU_BLAS_SONAME, cpu->threads, &cpu->blas, cpu->int8 ? &failure : err);
	if ((!rc || cpu->int8) && options->convolution == CPU_CONV_ONEDNN)
		cpu_dnn_open(NPL_ONEDNN_SONAME, &cpu->dnn,
			     &failure); /* without it convolutions are products of patches */
	if (!rc)
		rc = set_threads(cpu, err);
	else if (cpu->int8)
		rc = 0; /* the device's own products need no library; those in float32 are refused */
	if (!rc)
		rc = npl_pool_open(cpu->threads, &cpu->pool, err);
	if (rc) {
		cpu_close(cpu);
		return rc;
	}
	*state = cpu;
	return 0;
}

static void cpu_describe(const void *state, struct npl_device_info *info)
{
	const struct cpu_state *cpu = state;
	char library[150] = "", dnn[150] = "", version[110], integers[150];
	info->kind = NPL_KIND_CPU;
	info->capabilities = NPL_TAKES_INT8 | NPL_MULTIPLE_OUTPUTS;
	if (cpu->int8)
		info->capabilities |= NPL_ALSO_FLOAT32 | NPL_CONVERTS_IN_GROUP | NPL_INT8_MATMUL;
	info->activations = 1u << NPL_ACT_RELU6;
	info->format = cpu->int8 ? NPL_FORMAT_INT8 : NPL_FORMAT_F32;
	if (cpu->blas.library)
		cpu_blas_describe(&cpu->blas, cpu->blas_threads, library, sizeof library);
	if (cpu->dnn.engine) {
		cpu_dnn_version(&cpu->dnn, version, sizeof version);
		snprintf(dnn, sizeof dnn, "; convolution, pooling, LRN: %s", version);
	}
	if (cpu->int8) {
		cpu_int8_describe(cpu, integers, sizeof integers);
		snprintf(info->detail, sizeof info->detail, "%s; what 8 bits cannot hold, in float32: %s", integers,
			 cpu->blas.library ? library : "reference kernels, products excepted, without OpenBLAS");
	} else {
		snprintf(info->detail, sizeof info->detail, "%s%s; other operators: reference kernels", library, dnn);
	}
	if (cpu->threads < cpu->wanted_threads)
		npl_append(info->detail, sizeof info->detail, "",
			   "; %d of %d threads, for more there is no room (ulimit -v, -d, -u)", cpu->threads,
			   cpu->wanted_threads);
}

/* Says whether the layer runs without quantisation: in float32, or moving integers unchanged. */
static bool is_plain(const struct npl_layer *layer)
{
	char failure[200];
	return npl_widened_layer_ok(layer, failure, sizeof failure);
}

static bool cpu_supports(const void *state, const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const struct cpu_state *cpu = state;
	if (cpu_int8_is_product(layer) || (cpu->int8 && !is_plain(layer)))
		return cpu_int8_supports(layer, reason, reason_bytes);
	if (!npl_widened_layer_ok(layer, reason, reason_bytes))
		return false;
	if (!(npl_op_defs[layer->op].flags & NPL_OP_IS_GEMM))
		return true;
	if (!cpu->blas.library)
		return npl_refuse(reason, reason_bytes, "there is no OpenBLAS for a product in float32");
	return cpu_fits_blas(layer, reason, reason_bytes);
}

static int run_conv(struct cpu_state *cpu, const struct npl_layer *layer, float *out, double *seconds,
		    struct npl_err *err)
{
	struct cpu_conv conv;
	int rc = cpu_conv_shape(layer, out, &conv, err);
	if (!rc)
		rc = cpu_reserve(cpu, cpu_conv_workspace(cpu, &conv), err);
	if (rc)
		return rc;
	double begin = npl_clock_seconds();
	cpu_conv_run(cpu, &conv);
	*seconds = npl_clock_seconds() - begin;
	return 0;
}

static int run_relu6(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_tensor *out, double *seconds,
		     struct npl_err *err);

static int run_float(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_tensor *out, double *seconds,
		     struct npl_err *err)
{
	if (npl_layer_widens(layer))
		return cpu_widened_run_alone(cpu, layer, out, seconds, err);
	if (layer->activation > NPL_ACT_RELU && (npl_op_defs[layer->op].flags & NPL_OP_IS_GEMM))
		return run_relu6(cpu, layer, out, seconds, err);
	char failure[200];
	if (cpu->blas.library) /* the setting is the process's; another device may have changed it */
		cpu->blas.set_num_threads(cpu->threads);
	/* The reference kernel runs convolutions in three dimensions. */
	bool volume = layer->op == NPL_OP_CONV && layer->attrs->conv.window.rank > NPL_SPATIAL;
	if (layer->op == NPL_OP_CONV && !volume)
		return run_conv(cpu, layer, out->data, seconds, err);
	if (cpu_is_recurrent(layer) && cpu->blas.library && !layer->activation &&
	    cpu_fits_blas(layer, failure, sizeof failure))
		return cpu_recurrent_run(cpu, layer, out, seconds, err);
	if (cpu_is_copy(layer)) {
		cpu_copy_run(cpu, layer, out, seconds);
		return 0;
	}
	if (cpu_is_sliced(layer))
		return cpu_slices_run(cpu, layer, out, seconds, err);
	if (cpu_is_matmul_integer(layer))
		return cpu_matmul_integer_run(cpu, layer, out, seconds, err);
	if (layer->op != NPL_OP_GEMM && layer->op != NPL_OP_MATMUL)
		return npl_run_reference(layer, out, seconds, err);
	double begin = npl_clock_seconds();
	int rc = layer->op == NPL_OP_GEMM ? cpu_gemm_run(cpu, layer, out->data, err)
					  : cpu_matmul_run(cpu, layer, out->data, err);
	*seconds = npl_clock_seconds() - begin;
	return rc;
}

/* Runs a product, then the Relu6 that its own kernels do not fuse. */
static int run_relu6(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_tensor *out, double *seconds,
		     struct npl_err *err)
{
	struct npl_layer product = *layer;
	product.activation = NPL_ACT_NONE;
	int rc = run_float(cpu, &product, out, seconds, err);
	double begin = npl_clock_seconds();
	if (!rc)
		rc = npl_activate(layer->activation, out, err);
	*seconds += npl_clock_seconds() - begin;
	return rc;
}

int cpu_run_layer(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_tensor *out,
		  struct npl_result *result, struct npl_err *err)
{
	if (cpu_is_conversion(layer))
		return cpu_convert_run(cpu, layer, out, result, err);
	return cpu_int8_is_product(layer) || (cpu->int8 && !is_plain(layer))
		       ? cpu_int8_run(cpu, layer, out, result, err)
		       : run_float(cpu, layer, out, &result->seconds, err);
}

static int cpu_run(void *state, const struct npl_layer *layer, struct npl_result *result, struct npl_err *err)
{
	struct cpu_state *cpu = state;
	struct npl_tensor target[NPL_MAX_OUTPUTS];
	if (npl_float_layer_check(layer, err))
		return NPL_EINTERNAL;
	int rc = npl_layer_target_open(layer, target, err);
	if (!rc)
		rc = cpu_run_layer(cpu, layer, target, result, err);
	npl_layer_target_close(layer, target);
	if (rc)
		return rc;
	result->seconds_origin = NPL_TIME_MEASURED;
	result->macs = layer->macs;
	return npl_result_energy(result, "package", 0, 0, "absent", err);
}

const struct npl_driver npl_driver_cpu = {
	.name = "cpu",
	.summary = "this computer's processor: float32 through OpenBLAS, or exact int8 (precision=int8)",
	.params = params,
	.config_bytes = sizeof(struct cpu_config),
	.open = cpu_open,
	.close = cpu_close,
	.describe = cpu_describe,
	.supports = cpu_supports,
	.run = cpu_run,
	.open_layer_group = cpu_layer_group_open,
	.run_layer_group = cpu_layer_group_run,
	.close_layer_group = cpu_layer_group_close,
	.open_meter = cpu_open_meter,
	.assume_power = cpu_assume_power,
	.facts = cpu_facts,
	.measure_memory = cpu_measure_memory,
};
