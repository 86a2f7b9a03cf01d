/* SPDX-License-Identifier: MIT
 *
 * The table of operators, expanded from ops.def, and the look-up of operators by name. */
#include "op_functions.h"

#include <stddef.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/ops/ops.h"

const struct npl_op_def npl_op_defs[NPL_OPS] = {
#define NPL_OP(id, onnx_name, versions, min_inputs, max_inputs, n_outputs, prefix, op_family, op_flags, cost)          \
	[NPL_OP_##id] = {                                                                                              \
		.name = onnx_name,                                                                                     \
		.min_in = min_inputs,                                                                                  \
		.max_in = max_inputs,                                                                                  \
		.outputs = n_outputs,                                                                                  \
		.family = NPL_FAMILY_##op_family,                                                                      \
		.flags = op_flags,                                                                                     \
	},
#include "npulab/ops.def"
#undef NPL_OP
};

/* There is a function PREFIX_macs exactly where the operators of this prefix do multiply-accumulates. */
const struct npl_op_functions npl_op_functions[NPL_OPS] = {
#define NPL_OP(id, onnx_name, versions, min_inputs, max_inputs, n_outputs, prefix, op_family, op_flags, cost)          \
	[NPL_OP_##id] = {                                                                                              \
		.attrs = prefix##_attrs,                                                                               \
		.shape = prefix##_shape,                                                                               \
		.run = prefix##_run,                                                                                   \
		.macs = ((op_flags) & (NPL_OP_IS_GEMM | NPL_OP_HAS_MACS)) ? prefix##_macs : NULL,                      \
	},
#include "npulab/ops.def"
#undef NPL_OP
};

_Static_assert(sizeof(((struct npl_attrs *)NULL)->none) == sizeof(struct npl_attrs) - offsetof(struct npl_attrs, none),
	       "the longest family must be that of the member `none`, so that initialisers clear all of them");

const struct npl_window *npl_op_window(enum npl_op op, const struct npl_attrs *attrs)
{
	const enum npl_op_family family = npl_op_defs[op].family;
	if (!attrs || (family != NPL_FAMILY_CONV && family != NPL_FAMILY_POOL))
		return NULL;
	return family == NPL_FAMILY_CONV ? &attrs->conv.window : &attrs->pool.window;
}

enum npl_op npl_op_find(const char *onnx_name)
{
	int op = NPL_OP_NONE + 1;
	while (op < NPL_OPS && strcmp(npl_op_defs[op].name, onnx_name))
		op++;
	return (enum npl_op)op;
}

const char *npl_op_nearest(const char *onnx_name)
{
	const char *names[NPL_OPS];
	int n = 0;
	for (int op = NPL_OP_NONE + 1; op < NPL_OPS; op++)
		names[n++] = npl_op_defs[op].name;
	return npl_nearest(onnx_name, names, n);
}
