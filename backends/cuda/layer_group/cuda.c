/* SPDX-License-Identifier: MIT
 *
 * The device `cuda`: an NVIDIA GPU as its libraries use it. cuBLASLt computes products, cuDNN convolutions if it is
 * installed; NVRTC compiles kernels of our own for all other operators. Libraries are loaded when the device is opened,
 * never before. Times are measured by the GPU between events in one stream. Energy is measured over whole runs, never
 * per layer. */
#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/load/alignment.h"
#include "core/base/refuse.h"
#include "core/one_layer_group.h"
#include "core/param_rows.h"
#include "layer_group.h"
#include "npulab/driver.h"

#define PARAM_CONFIG struct cu_config

#define WORDS(constant, word, further, ...) word further " "

static const struct npl_param params[] = {
	NUMBER("device", INT, device, "0", 0, 63, "", "which GPU, as the driver counts them"),
	CHOICE("precision", precision, "f32",
	       "f32; tf32: products of float32 in TF32; f16, bf16: values of 16 bits, sums of 32; int8: exact, by the "
	       "integer rules",
	       CU_PRECISION_LIST(WORDS)),
	CHOICE("layout", planar, "auto",
	       "of images in 8 and 16 bits; auto: channels last from one convolution to the next; planar: as ONNX has "
	       "them",
	       "auto planar"),
	NUMBER("patch_mib", INT, patch_mib, "256", 1, 65536, "MiB",
	       "memory for a convolution's patches at a time, where cuDNN does not make it"),
	NUMBER("tdp_watts", DOUBLE, tdp_watts, "0", 0, 10000, "W",
	       "of the board, to guess energy from where it cannot be measured; 0: as published/tdp.csv has it"),
	{0}};

const struct cu_loader *cu_loader = &cu_system_loader;

void cu_close(struct cu_device *d)
{
	if (!d)
		return;
	if (d->context)
		d->driver.context_set(d->context);
	cu_kernels_close(d->kernels);
	cu_nvrtc_close(&d->nvrtc);
	cu_dnn_close(&d->dnn);
	cu_dnn_choices_free(&d->choices);
	cu_blas_close(&d->blas);
	cu_block_close(&d->driver, &d->fault);
	cu_block_close(&d->driver, &d->workspace);
	cu_block_close(&d->driver, &d->values);
	cu_pinned_close(&d->driver, &d->staging);
	if (d->stream)
		d->driver.stream_destroy(d->stream);
	if (d->context) {
		d->driver.context_set(NULL);
		d->driver.context_release(d->gpu.device);
	}
	cu_driver_close(&d->driver);
	free(d);
}

static int open_context(struct cu_device *d, struct npl_err *err)
{
	if (cu_try(&d->driver, err, cuDevicePrimaryCtxRetain, context_retain, (&d->context, d->gpu.device)))
		return err->code;
	return cu_device_enter(d, err) ||
			       cu_try(&d->driver, err, cuStreamCreate, stream_create, (&d->stream, CU_STREAM_FLAG))
		       ? err->code
		       : 0;
}

/* Loads the libraries. cuBLASLt and NVRTC are required; without cuDNN convolutions are computed as products of
 * patches. */
static int open_libraries(struct cu_device *d, struct npl_err *err)
{
	struct npl_err failure = {0};
	const int capability = d->gpu.major * 10 + d->gpu.minor;
	if (cu_blas_open(&d->driver, &d->blas, err) ||
	    cu_nvrtc_open(d->driver.library.loader, d->driver.version_number, capability, &d->nvrtc, err) ||
	    cu_kernels_open(&d->driver, &d->nvrtc, capability, &d->kernels, err))
		return err->code;
	if (cu_dnn_open(&d->driver, d->stream, &d->dnn, &failure))
		snprintf(d->dnn_failure, sizeof d->dnn_failure, "%.199s", failure.msg);
	return 0;
}

static int check_precision(const struct cu_device *d, struct npl_err *err)
{
	const int needed_capability = cu_precisions[d->precision].capability;
	if (d->gpu.major * 10 + d->gpu.minor >= needed_capability)
		return 0;
	return npl_fail(err, NPL_EDEVICE, "%s has compute capability %d.%d; precision=%s needs %d.%d", d->gpu.name,
			d->gpu.major, d->gpu.minor, cu_precisions[d->precision].word, needed_capability / 10,
			needed_capability % 10);
}

int cu_open(const struct cu_loader *loader, const struct cu_config *config, struct cu_device **device,
	    struct npl_err *err)
{
	struct cu_device *d = calloc(1, sizeof *d);
	*device = NULL;
	if (!d)
		return npl_no_memory(err);
	d->config = config;
	d->precision = (enum cu_precision)config->precision;
	d->patch_bytes = (size_t)config->patch_mib << 20;
	int rc = cu_driver_open(loader, &d->driver, err);
	if (!rc)
		rc = cu_gpu_find(&d->driver, (int)config->device, &d->gpu, err);
	if (!rc)
		rc = check_precision(d, err);
	if (!rc)
		rc = open_context(d, err);
	if (!rc)
		rc = open_libraries(d, err);
	if (!rc)
		rc = cu_block_open(&d->driver, CU_ALIGNMENT, "a mark", &d->fault, err);
	if (rc) {
		cu_close(d);
		return rc;
	}
	cu_kernels_fault_at(d->kernels, d->fault.address);
	*device = d;
	return 0;
}

static int cuda_open(const void *config, void **state, struct npl_err *err)
{
	struct cu_device *device;
	int rc = cu_open(cu_loader, config, &device, err);
	*state = device;
	return rc;
}

static void cuda_close(void *state)
{
	cu_close(state);
}

static void cuda_describe(const void *state, struct npl_device_info *info)
{
	const struct cu_device *d = state;
	char dnn[40] = "no cuDNN";
	size_t blas = d->blas.version(), version;
	info->kind = NPL_KIND_GPU;
	info->format = d->precision == CU_INT8 ? NPL_FORMAT_INT8 : NPL_FORMAT_F32;
	info->element = cu_precisions[d->precision].element;
	info->element_bytes = cu_precisions[d->precision].element_bytes;
	info->capabilities = NPL_MULTIPLE_OUTPUTS;
	if (info->format == NPL_FORMAT_INT8)
		info->capabilities |= NPL_TAKES_INT8 | NPL_ALSO_FLOAT32 | NPL_CONVERTS_IN_GROUP | NPL_INT8_MATMUL;
	info->activations = 1u << NPL_ACT_RELU6 | 1u << NPL_ACT_SIGMOID | 1u << NPL_ACT_TANH;
	info->link = (struct npl_link){.name = "GPU link", .measured = true, .energy_origin = "absent"};
	if (d->dnn.handle) {
		version = d->dnn.version();
		snprintf(dnn, sizeof dnn, "cuDNN %zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
	}
	snprintf(info->detail, sizeof info->detail,
		 "%.60s, compute capability %d.%d, %.1f GiB; driver for CUDA %d.%d, cuBLASLt %zu.%zu.%zu, %s; %s",
		 d->gpu.name, d->gpu.major, d->gpu.minor, (double)d->gpu.memory_bytes / 1073741824.0,
		 d->driver.version_number / 1000, d->driver.version_number % 1000 / 10, blas / 10000, blas / 100 % 100,
		 blas % 100, dnn, cu_precisions[d->precision].numbers);
}

static bool cuda_supports(const void *state, const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	return cu_layer_supports(state, layer, reason, reason_bytes);
}

/* Runs a single layer as a layer group of one. */
static int cuda_run(void *state, const struct npl_layer *layer, struct npl_result *result, struct npl_err *err)
{
	struct npl_one_layer_group request;
	struct npl_layer_group_info info;
	void *opened;
	npl_one_layer_group_init(&request, layer);
	int rc = cu_layer_group_open(state, &request.group, &opened, &info, err);
	if (rc)
		return rc;
	rc = cu_layer_group_run(state, opened, NULL, result, err);
	cu_layer_group_close(opened);
	return rc;
}

const struct npl_driver npl_driver_cuda = {
	.name = "cuda",
	.summary = "an NVIDIA GPU",
	.params = params,
	.config_bytes = sizeof(struct cu_config),
	.open = cuda_open,
	.close = cuda_close,
	.describe = cuda_describe,
	.supports = cuda_supports,
	.run = cuda_run,
	.open_layer_group = cu_layer_group_open,
	.run_layer_group = cu_layer_group_run,
	.close_layer_group = cu_layer_group_close,
	.open_meter = cu_open_meter,
	.assume_power = cu_assume_power,
	.facts = cu_facts,
	.measure_memory = cu_measure_memory,
};
