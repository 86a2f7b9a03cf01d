/* SPDX-License-Identifier: MIT
 *
 * Shape (from opset 15 a part of it: dimensions start to end) and Size (the number of elements), as int64. They are
 * known without the input's values. */
#include <string.h>

#include "ops.h"

OP_ATTRS(op_shapeof_attrs)
{
	out->shape_of.end = INT64_MAX;
	if (out->op == NPL_OP_SIZE || op_before(out, 15))
		return 0;
	if (op_attr_int(list, "start", 0, &out->shape_of.start, err))
		return NPL_EINPUT;
	return op_attr_int(list, "end", INT64_MAX, &out->shape_of.end, err);
}

/* Returns a start or end clamped to the dimensions. A negative one counts from the last. */
static int clamped(int64_t index, int rank)
{
	if (index < 0)
		index = index < -rank ? 0 : index + rank;
	return index > rank ? rank : (int)index;
}

OP_SHAPE(op_shapeof_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	int rank = in[0]->shape.rank, first = clamped(attrs->shape_of.start, rank),
	    end = clamped(attrs->shape_of.end, rank);
	out->dtype = NPL_I64;
	out->shape = (struct npl_shape){.rank = 0};
	if (attrs->op == NPL_OP_SHAPE)
		out->shape = npl_shape_of(1, end > first ? end - first : 0);
	return 0;
}

OP_RUN(op_shapeof_run)
{
	const struct npl_shape *x = &in[0]->shape;
	int64_t *y = out->data;
	if (attrs->op == NPL_OP_SIZE)
		y[0] = npl_shape_count(x);
	else
		memcpy(y, x->dim + clamped(attrs->shape_of.start, x->rank), npl_tensor_bytes(out));
	return 0;
}
