/* SPDX-License-Identifier: MIT
 *
 * The functions of operators as core/ops/ has them. Callers use npl_op_attrs, npl_op_shape and npl_op_run of
 * npulab/op.h, which set attrs->op and widen 16-bit floats. */
#ifndef NPULAB_CORE_OP_FUNCTIONS_H
#define NPULAB_CORE_OP_FUNCTIONS_H

#include "npulab/op.h"

/* The functions of an operator, from its row of ops.def. in[i] may be NULL for an optional input that is absent. */
struct npl_op_functions {
	/* Reads the attributes of the model file into out, whose op and opset are set and whose rest is zero.
	 * NPL_EINPUT names the attribute. */
	int (*attrs)(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err);
	/* Sets dtype and shape of out[] from in[] (data of in[i] is NULL unless constant) and completes attrs
	 * (window padding, negative axes). NPL_EINPUT says which shapes do not fit. */
	int (*shape)(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		     int n_out, struct npl_err *err);
	/* Computes out[] (allocated, shaped) from in[]. Float kernels loop in cache order; integer kernels are
	 * exact. */
	int (*run)(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		   int n_out, struct npl_err *err);
	/* Returns the multiply-accumulates of one run; NULL: there are none. */
	uint64_t (*macs)(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
			 const struct npl_tensor *out);
};

/* The row of NPL_OP_NONE is empty. */
extern const struct npl_op_functions npl_op_functions[NPL_OPS];

/* Says whether two operators have the same kernel, which tells them apart by attrs->op. */
static inline bool npl_op_share_kernel(enum npl_op a, enum npl_op b)
{
	return npl_op_functions[a].run == npl_op_functions[b].run;
}

/* Returns the multiply-accumulates of one run, 0 where the operator does none. */
static inline uint64_t npl_op_macs(enum npl_op op, const struct npl_attrs *attrs, const struct npl_tensor *const *in,
				   int n_in, const struct npl_tensor *out)
{
	return npl_op_functions[op].macs ? npl_op_functions[op].macs(attrs, in, n_in, out) : 0;
}

#endif
