/* SPDX-License-Identifier: MIT
 *
 * The inside of a layer prepared for oneDNN. */
#ifndef NPULAB_CPU_DNN_IMPL_H
#define NPULAB_CPU_DNN_IMPL_H

#include "dnn.h"

struct cpu_dnn_op {
	const struct cpu_dnn *dnn;
	void *desc, *primitive;
	float *weights; /* in the library's order */
	float *bias;
	struct dnn_md bias_md;
	int n;
	int addend;                      /* where in the arguments; 0: none */
	struct dnn_argument argument[5]; /* x, y, then weights, bias and what is added where there are any */
};

/* "oneDNN: dnnl_WHAT: unimplemented (3)". Returns the code. */
int cpu_dnn_failed(const char *what, int status, struct npl_err *err);

/* A float32 tensor (N,C,...) in one of the two orders. */
int cpu_dnn_describe(const struct cpu_dnn *dnn, const struct npl_shape *shape, enum cpu_layout layout,
		     struct dnn_md *md, struct npl_err *err);

struct cpu_dnn_op *cpu_dnn_op_new(const struct cpu_dnn *dnn, struct npl_err *err); /* NULL: out of memory */
/* Makes the primitive of op->desc, and its arguments; adds: something of y's shape and order. */
int cpu_dnn_op_finish(struct cpu_dnn_op *op, bool adds, struct npl_err *err);

#endif
