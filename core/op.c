/* SPDX-License-Identifier: MIT
 *
 * The table of operators, expanded from ops.def, and the look-up of operators by name. */
#include "npulab/op.h"

#include <string.h>

#include "core/ops/ops.h"
#include "npulab/text.h"

/* A family has a function F_macs exactly when it does multiply-accumulates. */
const struct npl_op_def npl_op_defs[NPL_OPS] = {
#define NPL_OP(id, onnx_name, min_inputs, max_inputs, n_outputs, family, op_flags, cost)                               \
	[NPL_OP_##id] = {                                                                                              \
		.name = onnx_name,                                                                                     \
		.min_in = min_inputs,                                                                                  \
		.max_in = max_inputs,                                                                                  \
		.outputs = n_outputs,                                                                                  \
		.flags = op_flags,                                                                                     \
		.attrs = family##_attrs,                                                                               \
		.shape = family##_shape,                                                                               \
		.run = family##_run,                                                                                   \
		.macs = ((op_flags) & (NPL_OP_IS_GEMM | NPL_OP_HAS_MACS)) ? family##_macs : NULL,                      \
	},
#include "npulab/ops.def"
#undef NPL_OP
};

enum npl_op npl_op_find(const char *onnx_name)
{
	int op = 0;
	while (op < NPL_OPS && strcmp(npl_op_defs[op].name, onnx_name))
		op++;
	return (enum npl_op)op;
}

const char *npl_op_nearest(const char *onnx_name)
{
	const char *names[NPL_OPS];
	for (int i = 0; i < NPL_OPS; i++)
		names[i] = npl_op_defs[i].name;
	return npl_nearest(onnx_name, names, NPL_OPS);
}
