/* SPDX-License-Identifier: MIT
 *
 * Unsqueeze: puts dimensions of 1 at the given axes of the output; axes are an attribute before opset 13, a constant
 * input from then on. */
#include "ops.h"

OP_ATTRS(op_unsqueeze_attrs)
{
	if (!op_before(out, 13))
		return 0;
	if (op_attr_ints(list, "axes", NPL_MAX_RANK, out->axes.axis, &out->axes.n, err))
		return NPL_EINPUT;
	return out->axes.n < 0 ? npl_fail(err, NPL_EINPUT, "the attribute axes is missing") : 0;
}

OP_SHAPE(op_unsqueeze_shape)
{
	if (op_inputs(in, n_in, op_before(attrs, 13) ? 1 : 2, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (!op_before(attrs, 13) && op_input_dims(in[1], "axes", attrs->axes.axis, &attrs->axes.n, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	struct npl_shape y = {.rank = x->rank + attrs->axes.n};
	if (y.rank > NPL_MAX_RANK)
		return npl_fail(err, NPL_EINPUT, "the input %s with %d more dimensions has more than %d", OP_TEXT(x),
				attrs->axes.n, NPL_MAX_RANK);
	for (int i = 0; i < attrs->axes.n; i++) {
		if (op_axis(&attrs->axes.axis[i], y.rank, y.rank - 1, err))
			return NPL_EINPUT;
		if (y.dim[attrs->axes.axis[i]])
			return npl_fail(err, NPL_EINPUT, "axis %lld is given twice", (long long)attrs->axes.axis[i]);
		y.dim[attrs->axes.axis[i]] = 1;
	}
	for (int i = 0, from = 0; i < y.rank; i++)
		if (!y.dim[i])
			y.dim[i] = x->dim[from++];
	out->dtype = in[0]->dtype;
	out->shape = y;
	return 0;
}

OP_RUN(op_unsqueeze_run)
{
	return op_copy_bytes(in[0], out);
}
