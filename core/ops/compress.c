/* SPDX-License-Identifier: MIT
 *
 * Compress (the slices of an axis, or the elements, whose condition holds) and NonZero (the indices of the elements
 * that are not zero, one row per dimension). Their number is part of the output's shape, so the condition, and
 * NonZero's input, must be constant. */
#include <string.h>

#include "elements.h"
#include "ops.h"

/* Compress without an axis takes elements. */
#define NO_AXIS INT64_MIN

OP_ATTRS(op_compress_attrs)
{
	return op_attr_int(list, "axis", NO_AXIS, &out->along.axis, err);
}

OP_SHAPE(op_compress_shape)
{
	if (op_inputs(in, n_in, 2, NPL_DTYPES, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape, *condition = &in[1]->shape;
	bool is_flat = attrs->along.axis == NO_AXIS;
	if (!is_flat && op_axis(&attrs->along.axis, x->rank, x->rank - 1, err))
		return NPL_EINPUT;
	int64_t size = is_flat ? npl_shape_count(x) : x->dim[attrs->along.axis], n_selected = 0;
	if (in[1]->dtype != NPL_BOOL || condition->rank != 1 || condition->dim[0] > size)
		return npl_fail(err, NPL_EINPUT, "the condition is %s %s, expected at most %lld bools in one dimension",
				npl_dtype_name(in[1]->dtype), OP_TEXT(condition), (long long)size);
	if (condition->dim[0] && !in[1]->data)
		return op_refuse_not_constant("condition", err);
	for (int64_t i = 0; i < condition->dim[0]; i++)
		n_selected += op_whole(in[1], i);
	out->dtype = in[0]->dtype;
	out->shape = is_flat ? npl_shape_of(1, n_selected) : *x;
	out->shape.dim[is_flat ? 0 : attrs->along.axis] = n_selected;
	return 0;
}

OP_RUN(op_compress_run)
{
	const struct npl_shape *x = &in[0]->shape;
	bool is_flat = attrs->along.axis == NO_AXIS;
	int axis = is_flat ? 0 : (int)attrs->along.axis;
	int64_t outer = is_flat ? 1 : op_count(x->dim, axis), size = is_flat ? npl_shape_count(x) : x->dim[axis];
	size_t element_bytes = npl_dtype_size(out->dtype) *
			       (size_t)(is_flat ? 1 : op_count(x->dim + axis + 1, x->rank - axis - 1));
	char *to = out->data;
	for (int64_t o = 0; o < outer && element_bytes; o++)
		for (int64_t i = 0; i < in[1]->shape.dim[0]; i++) {
			if (!op_whole(in[1], i))
				continue;
			memcpy(to, (const char *)in[0]->data + (size_t)(o * size + i) * element_bytes, element_bytes);
			to += element_bytes;
		}
	return 0;
}

OP_ATTRS(op_nonzero_attrs)
{
	return 0;
}

OP_SHAPE(op_nonzero_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	int64_t count = npl_tensor_count(in[0]), n_nonzero = 0;
	if (count && !in[0]->data)
		return op_refuse_not_constant("input", err);
	for (int64_t i = 0; i < count; i++)
		n_nonzero += npl_tensor_real(in[0], i) != 0.0;
	out->dtype = NPL_I64;
	/* A scalar has one index, as in numpy. */
	out->shape = npl_shape_of(2, in[0]->shape.rank ? in[0]->shape.rank : 1, n_nonzero);
	return op_output_fits(&out->shape, 1, err);
}

OP_RUN(op_nonzero_run)
{
	int64_t stride[NPL_MAX_RANK], count = npl_tensor_count(in[0]), n_nonzero = out->shape.dim[1], k = 0;
	int64_t *y = out->data;
	op_strides(&in[0]->shape, stride);
	for (int64_t i = 0; i < count; i++) {
		if (npl_tensor_real(in[0], i) == 0.0)
			continue;
		y[k] = 0;
		for (int d = 0; d < in[0]->shape.rank; d++)
			y[d * n_nonzero + k] = i / stride[d] % in[0]->shape.dim[d];
		k++;
	}
	return 0;
}
