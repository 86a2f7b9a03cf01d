/* SPDX-License-Identifier: MIT
 *
 * Concat: tensors of any one type, joined along an axis (required from opset 4, 1 before). */
#include <string.h>

#include "ops.h"

OP_ATTRS(op_concat_attrs)
{
	const int64_t absent = INT64_MIN;
	if (op_attr_int(list, "axis", op_before(out, 4) ? 1 : absent, &out->along.axis, err))
		return NPL_EINPUT;
	return out->along.axis == absent ? npl_fail(err, NPL_EINPUT, "the attribute axis is missing") : 0;
}

OP_SHAPE(op_concat_shape)
{
	int required = n_in > 1 ? n_in : 1;
	if (op_inputs(in, n_in, required, NPL_DTYPES, err) || op_inputs(in, n_in, required, in[0]->dtype, err))
		return NPL_EINPUT;
	struct npl_shape joined_shape = in[0]->shape;
	if (op_axis(&attrs->along.axis, joined_shape.rank, joined_shape.rank - 1, err))
		return NPL_EINPUT;
	for (int i = 1; i < n_in; i++) {
		struct npl_shape expected = in[i]->shape;
		if (expected.rank == joined_shape.rank)
			expected.dim[attrs->along.axis] = joined_shape.dim[attrs->along.axis];
		if (!npl_shape_equal(&joined_shape, &expected))
			return npl_fail(err, NPL_EINPUT, "input %d is %s, which does not join %s along axis %lld", i,
					OP_TEXT(&in[i]->shape), OP_TEXT(&in[0]->shape), (long long)attrs->along.axis);
		joined_shape.dim[attrs->along.axis] += in[i]->shape.dim[attrs->along.axis];
		if (op_output_fits(&joined_shape, 1, err))
			return NPL_EINPUT;
	}
	out->dtype = in[0]->dtype;
	out->shape = joined_shape;
	return 0;
}

OP_RUN(op_concat_run)
{
	int axis = (int)attrs->along.axis;
	int64_t outer = op_count(out->shape.dim, axis);
	size_t element = npl_dtype_size(out->dtype);
	size_t row = (size_t)op_count(out->shape.dim + axis, out->shape.rank - axis) * element;
	char *to = out->data;
	for (int i = 0; i < n_in; i++) {
		size_t piece = (size_t)op_count(in[i]->shape.dim + axis, in[i]->shape.rank - axis) * element;
		for (int64_t o = 0; o < outer && piece; o++)
			memcpy(to + (size_t)o * row, (const char *)in[i]->data + (size_t)o * piece, piece);
		to += piece;
	}
	return 0;
}
