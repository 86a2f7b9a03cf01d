/* SPDX-License-Identifier: MIT
 *
 * Squeeze: removes dimensions of 1, those at the given axes or all; axes are an attribute before opset 13, a constant
 * input from then on. */
#include "ops.h"

OP_ATTRS(op_squeeze_attrs)
{
	out->axes.n = -1;
	return op_before(out, 13) ? op_attr_ints(list, "axes", NPL_MAX_RANK, out->axes.axis, &out->axes.n, err) : 0;
}

OP_SHAPE(op_squeeze_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (n_in > 1 && in[1] && op_before(attrs, 13))
		return npl_fail(err, NPL_EINPUT, "axes as an input came with opset 13");
	if (n_in > 1 && in[1] && op_input_dims(in[1], "axes", attrs->axes.axis, &attrs->axes.n, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	struct npl_shape y = {.rank = 0};
	unsigned removed_axes = 0;
	if (op_axes(attrs->axes.axis, attrs->axes.n, x->rank, err))
		return NPL_EINPUT;
	for (int i = 0; i < attrs->axes.n; i++) {
		if (x->dim[attrs->axes.axis[i]] != 1)
			return npl_fail(err, NPL_EINPUT, "axis %lld of %s is not 1", (long long)attrs->axes.axis[i],
					OP_TEXT(x));
		removed_axes |= 1u << attrs->axes.axis[i];
	}
	for (int d = 0; d < x->rank; d++)
		if (attrs->axes.n < 0 ? x->dim[d] != 1 : !(removed_axes & 1u << d))
			y.dim[y.rank++] = x->dim[d];
	out->dtype = in[0]->dtype;
	out->shape = y;
	return 0;
}

OP_RUN(op_squeeze_run)
{
	return op_copy_bytes(in[0], out);
}
