/* SPDX-License-Identifier: MIT
 *
 * The cuda device as its layers see it: its parameters, and what stays open as long as the device. Each thread that
 * works with it makes its context current first (cu_device_enter).
 */
#ifndef NPULAB_BACKENDS_CUDA_PRODUCTS_DEVICE_H
#define NPULAB_BACKENDS_CUDA_PRODUCTS_DEVICE_H

#include "backends/cuda/kernel/kernel.h"
#include "backends/cuda/load/blas_api.h"
#include "backends/cuda/load/dnn_api.h"
#include "backends/cuda/load/memory.h"
#include "conv_search.h"
#include "npulab/device.h"

struct cu_config {
	int64_t device; /* ordinal of the GPU, as the driver counts them */
	int precision;  /* enum cu_precision */
	int planar;     /* images lie as ONNX has them, always */
	int64_t patch_mib;
	double tdp_watts;
};

struct cu_device {
	const struct cu_config *config;
	enum cu_precision precision;
	struct cu_driver driver;
	struct cu_gpu gpu;
	void *context, *stream;
	struct cu_blas blas;
	struct cu_dnn dnn;
	char no_dnn[200]; /* why there is no cuDNN */
	struct cu_nvrtc nvrtc;
	struct cu_kernels *kernels;
	struct cu_block fault; /* an int that kernels set when an index was outside its tensor */
	/* Layer groups run one at a time and share these: */
	struct cu_block workspace; /* of cuBLASLt and cuDNN */
	struct cu_block values;    /* what layers make and read, except weights */
	struct cu_pinned staging;  /* what crosses the link */
	size_t patch_bytes;        /* of a convolution's patches at a time, at most */
	struct cu_dnn_choices choices;
};

/* Makes the device's context this thread's. */
int cu_device_enter(const struct cu_device *device, struct npl_err *err);

/* The type in which the GPU holds a tensor of the session: 16 bits for float32 where the precision says so. */
enum npl_dtype cu_device_type(const struct cu_device *device, enum npl_dtype dtype);

/* The compute capability that a precision's products need, times 10. */
int cu_capability_for(enum cu_precision precision);

#endif
