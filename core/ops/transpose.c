/* SPDX-License-Identifier: MIT
 *
 * Transpose: dimension i of the output is dimension perm[i] of the input (default: all reversed). Any type. */
#include "ops.h"
#include "strided.h"

OP_ATTRS(op_transpose_attrs)
{
	if (op_attr_ints(list, "perm", NPL_MAX_RANK, out->transpose.perm, &out->transpose.rank, err))
		return NPL_EINPUT;
	if (out->transpose.rank < 0)
		out->transpose.rank = 0;
	return 0;
}

OP_SHAPE(op_transpose_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	if (!attrs->transpose.rank)
		for (attrs->transpose.rank = 0; attrs->transpose.rank < x->rank; attrs->transpose.rank++)
			attrs->transpose.perm[attrs->transpose.rank] = x->rank - 1 - attrs->transpose.rank;
	unsigned named_axes = 0;
	for (int i = 0; i < attrs->transpose.rank; i++)
		if (attrs->transpose.perm[i] >= 0 && attrs->transpose.perm[i] < x->rank)
			named_axes |= 1u << attrs->transpose.perm[i];
	if (attrs->transpose.rank != x->rank || named_axes != (1u << x->rank) - 1)
		return npl_fail(err, NPL_EINPUT, "perm must be an order of the %d dimensions of the input %s", x->rank,
				OP_TEXT(x));
	out->dtype = in[0]->dtype;
	out->shape.rank = x->rank;
	for (int i = 0; i < x->rank; i++)
		out->shape.dim[i] = x->dim[attrs->transpose.perm[i]];
	return 0;
}

OP_RUN(op_transpose_run)
{
	const struct op_strided copy = op_strided_permute(npl_dtype_size(out->dtype), in[0]->shape.rank,
							  in[0]->shape.dim, attrs->transpose.perm);
	op_strided_copy(&copy, in[0]->data, out->data);
	return 0;
}
