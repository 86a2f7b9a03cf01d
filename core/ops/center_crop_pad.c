/* SPDX-License-Identifier: MIT
 *
 * CenterCropPad: each dimension, or those of the attribute axes, gets the length that the constant input asks for. A
 * dimension that is too long is cut equally at both ends; one that is too short gets zeros at both ends, one more after
 * than before where the number is odd. */
#include "ops.h"

OP_ATTRS(op_centercroppad_attrs)
{
	return op_attr_ints(list, "axes", NPL_MAX_RANK, out->axes.axis, &out->axes.n, err);
}

OP_SHAPE(op_centercroppad_shape)
{
	int64_t size[NPL_MAX_RANK];
	int n;
	if (op_inputs(in, n_in, 2, NPL_DTYPES, err) || op_input_indices(in[1], "shape", size, &n, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	for (int d = 0; attrs->axes.n < 0 && d < x->rank; d++)
		attrs->axes.axis[d] = d;
	if (attrs->axes.n < 0)
		attrs->axes.n = x->rank;
	if (op_axes(attrs->axes.axis, attrs->axes.n, x->rank, err))
		return NPL_EINPUT;
	if (n != attrs->axes.n)
		return npl_fail(err, NPL_EINPUT, "the shape has %d values, expected one for each of %d axes", n,
				attrs->axes.n);
	out->dtype = in[0]->dtype;
	out->shape = *x;
	for (int i = 0; i < n; i++) {
		if (size[i] < 0)
			return npl_fail(err, NPL_EINPUT, "the shape has a negative dimension, %lld",
					(long long)size[i]);
		out->shape.dim[attrs->axes.axis[i]] = size[i];
	}
	return op_output_fits(&out->shape, 1, err);
}

OP_RUN(op_centercroppad_run)
{
	static const unsigned char zero[8];
	struct op_index_map map = {{NULL}};
	if (op_index_map_alloc(&map, &out->shape, err))
		return NPL_ENOMEM;
	for (int d = 0; d < out->shape.rank; d++) {
		const int64_t length = in[0]->shape.dim[d], size = out->shape.dim[d];
		const int64_t first = size < length ? (length - size) / 2 : -((size - length) / 2);
		for (int64_t i = 0; i < size; i++)
			map.from[d][i] = op_inside(first + i, length) ? first + i : -1;
	}
	op_index_map_copy(&map, in[0], zero, out);
	op_index_map_free(&map);
	return 0;
}
