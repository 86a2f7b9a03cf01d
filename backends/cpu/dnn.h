/* SPDX-License-Identifier: MIT
 *
 * Layers prepared for oneDNN: made once, with their weights in the library's own order, and run often. Tensors are
 * (channels first, as ONNX has them) or (channels last), which its kernels read and write without a detour.
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

/* How a tensor (N,C,...) lies in memory. */
enum cpu_layout { CPU_FIRST, CPU_LAST, CPU_LAYOUTS };

struct cpu_dnn {
	struct dnn_api api;
	void *engine, *stream;
};

/* NPL_EDEVICE with the reason: there is no oneDNN. */
int cpu_dnn_open(const char *soname, struct cpu_dnn *dnn, struct npl_err *err);
void cpu_dnn_close(struct cpu_dnn *dnn); /* accepts a zeroed one */

/* "oneDNN 2.6.3", and what is wrong with it: "oneDNN 2.6.3 with AVX2 instead of AVX-512 because DNNL_MAX_CPU_ISA is
 * set", or "oneDNN 2.6.3, which ignores DNNL_MAX_CPU_ISA=FAST". True: it uses older instructions. */
bool cpu_dnn_version(const struct cpu_dnn *dnn, char *text, size_t n);

/* Threads of what the calling thread prepares, and runs, from now on; returns how many it were before. */
int cpu_dnn_set_threads(const struct cpu_dnn *dnn, int threads);

struct cpu_dnn_op; /* opaque */

/* Operators that may be prepared: float32 Conv, ConvTranspose, MaxPool, AveragePool and their like, LRN; MaxPool of
 * bytes. Whether the library has a kernel, cpu_dnn_prepare tells. */
bool cpu_dnn_knows(const struct npl_layer *layer);
/* What follows a convolution in the same pass. */
struct cpu_dnn_tail {
	bool add;                       /* another tensor of the result's shape and order is added to it, */
	enum npl_activation activation; /* before this */
};

/* The layer with the data of its weights and bias, which are copied (Conv also of u8 by i8 into i32 without a bias); a
 * fused Relu or Relu6 is part of it. x and y: how input and result will lie. tail: for Conv without anything fused, or
 * NULL. NPL_EDEVICE: not with oneDNN. */
int cpu_dnn_prepare(const struct cpu_dnn *dnn, const struct npl_layer *layer, enum cpu_layout x, enum cpu_layout y,
		    const struct cpu_dnn_tail *tail, struct cpu_dnn_op **made, struct npl_err *err);
/* From one order to the other. */
int cpu_dnn_reorder(const struct cpu_dnn *dnn, const struct npl_tensor *tensor, enum cpu_layout from,
		    enum cpu_layout to, struct cpu_dnn_op **made, struct npl_err *err);
/* addend: with a tail that adds, else NULL. */
int cpu_dnn_run(struct cpu_dnn_op *op, const void *x, const void *addend, void *y, struct npl_err *err);
const char *cpu_dnn_kernel(const struct cpu_dnn_op *op); /* the library's name for what runs: "brgconv:avx512_core" */
void cpu_dnn_release(struct cpu_dnn_op *op);             /* accepts NULL */

#endif
