/* SPDX-License-Identifier: MIT
 *
 * The inside of a layer prepared for oneDNN. */
#ifndef NPULAB_BACKENDS_CPU_DNN_IMPL_H
#define NPULAB_BACKENDS_CPU_DNN_IMPL_H

#include "dnn.h"

struct cpu_dnn_op {
	const struct cpu_dnn *dnn;
	void *desc, *primitive;
	void *weights; /* weights in the library's order */
	void *bias;
	struct dnn_md bias_md;
	int n;
	int addend;                      /* index in `argument` of the addend; 0: none */
	struct dnn_argument argument[5]; /* x and y, then those of weights, bias and addend that exist */
};

/* Reports a failed call, "oneDNN: dnnl_WHAT: unimplemented (3)". Returns the error's code. */
int cpu_dnn_failed(const char *function, int status, struct npl_err *err);

/* Returns oneDNN's number for float32 and for integers of 8 and 32 bits. */
int cpu_dnn_type(enum npl_dtype dtype);
/* Describes a tensor (N,C,...) of these types in one of the two orders. */
int cpu_dnn_describe(const struct cpu_dnn *dnn, const struct npl_tensor *tensor, enum cpu_layout layout,
		     struct dnn_md *md, struct npl_err *err);

/* Returns NULL when memory is short. */
struct cpu_dnn_op *cpu_dnn_op_new(const struct cpu_dnn *dnn, struct npl_err *err);
/* Makes the primitive of op->desc and its arguments; `adds` says that it adds a tensor of y's shape and order. */
int cpu_dnn_op_finish(struct cpu_dnn_op *op, bool adds, struct npl_err *err);

#endif
