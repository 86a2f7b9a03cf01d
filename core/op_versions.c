/* SPDX-License-Identifier: MIT
 *
 * The version of an operator that a model's opset picks (op_versions.def), and what is said where there is none. */
#include "npulab/op.h"

#define COUNT(...) (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int))
#define ROW(id, ended, instead, ...)                                                                                   \
	[NPL_OP_##id] = {.n = COUNT(__VA_ARGS__), .end = (ended), .successor = (instead), .since = {__VA_ARGS__}},
#define NPL_OP_VERSIONS(id, ...)              ROW(id, 0, NULL, __VA_ARGS__)
#define NPL_OP_UNTIL(id, end, ...)            ROW(id, end, NULL, __VA_ARGS__)
#define NPL_OP_ENDED(id, end, successor, ...) ROW(id, end, successor, __VA_ARGS__)

const struct npl_op_versions npl_op_versions[NPL_OPS] = {
#include "op_versions.def"
};

int npl_op_version(enum npl_op op, int opset, struct npl_err *err)
{
	const struct npl_op_versions *v = &npl_op_versions[op];
	if (!v->n)
		return npl_fail(err, NPL_EINTERNAL, "core/op_versions.def has no row for %s", npl_op_defs[op].name);
	if (opset < v->since[0])
		return npl_fail(
			err, NPL_EINPUT,
			"the operator came with opset %d and the model is of opset %d: export it with opset %d or later",
			v->since[0], opset, v->since[0]);
	if (v->end && opset >= v->end && v->successor)
		return npl_fail(err, NPL_EINPUT,
				"the operator ended with opset %d and the model is of opset %d: %s took its place",
				v->end - 1, opset, v->successor);
	if (v->end && opset >= v->end)
		return npl_fail(err, NPL_EINPUT,
				"its version of opset %d is not understood: export the model with opset %d or before",
				v->end, v->end - 1);
	int k = v->n - 1;
	while (v->since[k] > opset)
		k--;
	return v->since[k];
}
