/* SPDX-License-Identifier: MIT
 *
 * The version of an operator that a model's opset picks (ops.def), and the message where there is none. */
#include "npulab/op.h"

#define COUNT(...) (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int))
#define ROW(id, ended, instead, ...)                                                                                   \
	[NPL_OP_##id] = {.n = COUNT(__VA_ARGS__), .end = (ended), .successor = (instead), .since = {__VA_ARGS__}},
#define SINCE(...)                           0, NULL, __VA_ARGS__
#define ENDED(opset, instead, ...)           opset, instead, __VA_ARGS__
#define NPL_OP(id, onnx_name, versions, ...) ROW(id, versions)

const struct npl_op_versions npl_op_versions[NPL_OPS] = {
#include "npulab/ops.def"
};

int npl_op_version(enum npl_op op, int opset, struct npl_err *err)
{
	const struct npl_op_versions *v = &npl_op_versions[op];
	if (opset < v->since[0])
		return npl_fail(
			err, NPL_EINPUT,
			"the operator came with opset %d and the model is of opset %d: export it with opset %d or "
			"later",
			v->since[0], opset, v->since[0]);
	if (v->end && opset >= v->end)
		return npl_fail(err, NPL_EINPUT,
				"the operator ended with opset %d and the model is of opset %d: %s took its place",
				v->end - 1, opset, v->successor);
	int k = v->n - 1;
	while (v->since[k] > opset)
		k--;
	return v->since[k];
}
