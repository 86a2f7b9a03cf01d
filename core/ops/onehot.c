/* SPDX-License-Identifier: MIT
 *
 * OneHot: for each index a vector of `depth` elements (constant) along the axis, the on value at the index and the off
 * value elsewhere: `values` holds both. Indices may be of any numeric type. Negative indices count from the end from
 * opset 11 on; all other indices outside of the depth give only off values. */
#include <string.h>

#include "elements.h"
#include "ops.h"

OP_ATTRS(op_onehot_attrs)
{
	return op_attr_int(list, "axis", -1, &out->one_hot.axis, err);
}

OP_SHAPE(op_onehot_shape)
{
	if (op_inputs(in, n_in, 3, NPL_DTYPES, err) || op_input_scalar(in[1], "depth", err))
		return NPL_EINPUT;
	const struct npl_shape *indices = &in[0]->shape;
	const int64_t depth = attrs->one_hot.depth = op_whole(in[1], 0);
	if (depth < 1)
		return npl_fail(err, NPL_EINPUT, "the depth is %lld, expected at least 1", (long long)depth);
	if (in[2]->shape.rank != 1 || in[2]->shape.dim[0] != 2)
		return npl_fail(err, NPL_EINPUT, "the values are %s, expected two: off and on", OP_TEXT(&in[2]->shape));
	struct npl_shape y = {.rank = indices->rank + 1};
	if (y.rank > NPL_MAX_RANK)
		return npl_fail(err, NPL_EINPUT, "the indices %s and one more dimension are more than %d",
				OP_TEXT(indices), NPL_MAX_RANK);
	if (op_axis(&attrs->one_hot.axis, y.rank, y.rank - 1, err))
		return NPL_EINPUT;
	for (int d = 0; d < y.rank; d++)
		y.dim[d] = d == attrs->one_hot.axis ? depth : indices->dim[d - (d > attrs->one_hot.axis)];
	out->dtype = in[2]->dtype;
	out->shape = y;
	return op_output_fits(&y, 1, err);
}

OP_RUN(op_onehot_run)
{
	const int axis = (int)attrs->one_hot.axis;
	int64_t depth = attrs->one_hot.depth, inner = op_count(out->shape.dim + axis + 1, out->shape.rank - 1 - axis);
	int64_t n = npl_tensor_count(in[0]);
	size_t element = npl_dtype_size(out->dtype);
	const char *on_value = (const char *)in[2]->data + element;
	op_fill(out->data, in[2]->data, element, npl_tensor_count(out));
	for (int64_t i = 0; i < n; i++) {
		int64_t index = op_whole(in[0], i);
		if (index < 0 && !op_before(attrs, 11))
			index += depth;
		if (index >= 0 && index < depth)
			memcpy((char *)out->data + (size_t)((i / inner * depth + index) * inner + i % inner) * element,
			       on_value, element);
	}
	return 0;
}
