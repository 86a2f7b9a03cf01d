/* SPDX-License-Identifier: MIT
 *
 * Flatten: a matrix with the dimensions before the axis as rows and the rest as columns. */
#include "ops.h"

OP_ATTRS(op_flatten_attrs)
{
	return op_attr_int(list, "axis", 1, &out->along.axis, err);
}

OP_SHAPE(op_flatten_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	if (op_axis(&attrs->along.axis, x->rank, x->rank, err))
		return NPL_EINPUT;
	int axis = (int)attrs->along.axis;
	out->dtype = in[0]->dtype;
	out->shape = npl_shape_of(2, op_count(x->dim, axis), op_count(x->dim + axis, x->rank - axis));
	return 0;
}

OP_RUN(op_flatten_run)
{
	return op_copy_bytes(in[0], out);
}
