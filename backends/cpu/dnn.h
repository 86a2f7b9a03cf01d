/* SPDX-License-Identifier: MIT
 *
 * Layers prepared for oneDNN once, with weights in the library's own order, and run often. Tensors have channels first,
 * as in ONNX, or channels last, which its kernels read and write without conversion.
 *
 *     struct cpu_dnn dnn;
 *     if (!cpu_dnn_open(NPL_ONEDNN_SONAME, &dnn, &err)) ...
 *     if (!cpu_dnn_prepare(&dnn, &layer, CPU_LAST, CPU_LAST, NULL, &op, &err)) ...  NPL_EDEVICE: the library has no
 *                                                                                   such thing
 *     cpu_dnn_run(op, x, NULL, y, &err);
 *     cpu_dnn_release(op);
 */
#ifndef NPULAB_BACKENDS_CPU_DNN_H
#define NPULAB_BACKENDS_CPU_DNN_H

#include <stdbool.h>

#include "dnn_api.h"
#include "npulab/layer.h"

/* The order of a tensor (N,C,...) in memory: channels first or last. */
enum cpu_layout { CPU_FIRST, CPU_LAST, CPU_LAYOUTS };

struct cpu_dnn {
	struct dnn_api api;
	void *engine, *stream;
};

/* Loads oneDNN and makes an engine and a stream. NPL_EDEVICE with the reason. */
int cpu_dnn_open(const char *soname, struct cpu_dnn *dnn, struct npl_err *err);
void cpu_dnn_close(struct cpu_dnn *dnn); /* accepts a zeroed one */

/* Writes the version and any limit to it: "oneDNN 2.6.3", "oneDNN 2.6.3 with AVX2 instead of AVX-512 because
 * DNNL_MAX_CPU_ISA is set", or "oneDNN 2.6.3, which ignores DNNL_MAX_CPU_ISA=FAST". Returns true if it uses older
 * instructions than the processor has. */
bool cpu_dnn_version(const struct cpu_dnn *dnn, char *text, size_t n);

/* Sets the number of threads for what the calling thread prepares and runs from now on; returns the previous number. */
int cpu_dnn_set_threads(const struct cpu_dnn *dnn, int threads);

struct cpu_dnn_op; /* opaque */

/* Says whether the layer may be prepared: float32 Conv, ConvTranspose, MaxPool, AveragePool, their global forms and
 * LRN; MaxPool of bytes. cpu_dnn_prepare tells whether the library has a kernel for it. */
bool cpu_dnn_knows(const struct npl_layer *layer);
/* Operations after a convolution in the same pass: an addition, then an activation. */
struct cpu_dnn_tail {
	bool add;                       /* a tensor of the result's shape and order is added */
	enum npl_activation activation; /* applied last */
};

/* Prepares a layer (Conv also of u8 by i8 into i32 without a bias). Weights and bias have data and are copied; a fused
 * Relu or Relu6 is part of it. x and y are the orders of input and result. tail, for a Conv that fuses nothing, may be
 * NULL. NPL_EDEVICE: oneDNN cannot run it. */
int cpu_dnn_prepare(const struct cpu_dnn *dnn, const struct npl_layer *layer, enum cpu_layout x, enum cpu_layout y,
		    const struct cpu_dnn_tail *tail, struct cpu_dnn_op **new_op, struct npl_err *err);
/* Prepares the conversion of a tensor from one order to the other. */
int cpu_dnn_reorder(const struct cpu_dnn *dnn, const struct npl_tensor *tensor, enum cpu_layout from,
		    enum cpu_layout to, struct cpu_dnn_op **new_op, struct npl_err *err);
/* Runs a prepared layer. addend is the tensor of a tail that adds, else NULL. */
int cpu_dnn_run(struct cpu_dnn_op *op, const void *x, const void *addend, void *y, struct npl_err *err);
const char *cpu_dnn_kernel(const struct cpu_dnn_op *op); /* the library's name of the kernel: "brgconv:avx512_core" */
void cpu_dnn_release(struct cpu_dnn_op *op);             /* accepts NULL */

#endif
