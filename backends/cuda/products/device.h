/* SPDX-License-Identifier: MIT
 *
 * The cuda device as its layers see it: its parameters, and what stays open as long as the device. Every thread that
 * uses the device calls cu_device_enter first.
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
	int64_t device; /* the GPU's ordinal in the driver's order */
	int precision;  /* enum cu_precision */
	int planar;     /* images always keep ONNX's order */
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
	char dnn_failure[200]; /* the reason if there is no cuDNN */
	struct cu_nvrtc nvrtc;
	struct cu_kernels *kernels;
	struct cu_block fault; /* the fault word (cu_kernels_fault_at) */
	/* Layer groups run one at a time and share the members from here on. */
	struct cu_block workspace; /* workspace of cuBLASLt and cuDNN */
	struct cu_block values;    /* values that layers make and read, except weights */
	struct cu_pinned staging;  /* the bytes of transfers, on the host */
	size_t patch_bytes;        /* the most for a convolution's patches at a time */
	struct cu_dnn_choices choices;
};

/* Makes the device's context the calling thread's. */
int cu_device_enter(const struct cu_device *device, struct npl_err *err);

/* Returns the type in which the GPU stores a tensor of the session: a 16-bit one for float32 if the precision has 16
 * bits. */
enum npl_dtype cu_device_type(const struct cu_device *device, enum npl_dtype dtype);

#endif
