/* SPDX-License-Identifier: MIT
 *
 * Gather (slices along an axis by index), GatherElements (one element for each index) and GatherND (slices by tuples of
 * indices). Tensors of any type; negative indices count from the end. */
#include <string.h>

#include "ops.h"

OP_ATTRS(op_gather_attrs)
{
	if (out->op == NPL_OP_GATHERND)
		return op_attr_int(list, "batch_dims", 0, &out->gather.batch_dims, err);
	return op_attr_int(list, "axis", 0, &out->gather.axis, err);
}

static int gather_shape(struct npl_attrs *attrs, const struct npl_shape *x, const struct npl_shape *indices,
			struct npl_shape *y, struct npl_err *err)
{
	if (op_axis(&attrs->gather.axis, x->rank, x->rank - 1, err))
		return NPL_EINPUT;
	int axis = (int)attrs->gather.axis;
	*y = (struct npl_shape){.rank = x->rank + indices->rank - 1};
	if (y->rank > NPL_MAX_RANK)
		return npl_fail(err, NPL_EINPUT, "indices of %s in %s give more than %d dimensions", OP_TEXT(indices),
				OP_TEXT(x), NPL_MAX_RANK);
	memcpy(y->dim, x->dim, (size_t)axis * sizeof *y->dim);
	memcpy(y->dim + axis, indices->dim, (size_t)indices->rank * sizeof *y->dim);
	memcpy(y->dim + axis + indices->rank, x->dim + axis + 1, (size_t)(x->rank - axis - 1) * sizeof *y->dim);
	return 0;
}

static int elements_shape(struct npl_attrs *attrs, const struct npl_shape *x, const struct npl_shape *indices,
			  struct npl_shape *y, struct npl_err *err)
{
	if (op_axis(&attrs->gather.axis, x->rank, x->rank - 1, err))
		return NPL_EINPUT;
	*y = *indices;
	for (int d = 0; d < x->rank; d++)
		if (indices->rank != x->rank || (d != attrs->gather.axis && indices->dim[d] > x->dim[d]))
			return npl_fail(err, NPL_EINPUT, "indices of %s do not lie within %s along axis %lld",
					OP_TEXT(indices), OP_TEXT(x), (long long)attrs->gather.axis);
	return 0;
}

static int nd_shape(const struct npl_attrs *attrs, const struct npl_shape *x, const struct npl_shape *indices,
		    struct npl_shape *y, struct npl_err *err)
{
	int64_t batch = attrs->gather.batch_dims, tuple = indices->rank ? indices->dim[indices->rank - 1] : 0;
	bool fits = indices->rank >= 1 && batch >= 0 && batch < indices->rank && batch < x->rank && tuple >= 1 &&
		    tuple <= x->rank - batch;
	for (int d = 0; fits && d < batch; d++)
		fits = indices->dim[d] == x->dim[d];
	if (!fits)
		return npl_fail(err, NPL_EINPUT, "indices of %s are not tuples over %s after %lld batch dimensions",
				OP_TEXT(indices), OP_TEXT(x), (long long)batch);
	int slice = x->rank - (int)(batch + tuple);
	*y = *indices;
	y->rank = indices->rank - 1 + slice;
	if (y->rank > NPL_MAX_RANK)
		return npl_fail(err, NPL_EINPUT, "indices of %s in %s give more than %d dimensions", OP_TEXT(indices),
				OP_TEXT(x), NPL_MAX_RANK);
	memcpy(y->dim + indices->rank - 1, x->dim + x->rank - slice, (size_t)slice * sizeof *y->dim);
	return 0;
}

OP_SHAPE(op_gather_shape)
{
	if (op_inputs(in, n_in, 2, NPL_DTYPES, err) || op_pick_type(in[1], err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape, *indices = &in[1]->shape;
	int rc = attrs->op == NPL_OP_GATHER           ? gather_shape(attrs, x, indices, &out->shape, err)
		 : attrs->op == NPL_OP_GATHERELEMENTS ? elements_shape(attrs, x, indices, &out->shape, err)
						      : nd_shape(attrs, x, indices, &out->shape, err);
	out->dtype = in[0]->dtype;
	return rc ? rc : op_output_fits(&out->shape, 1, err);
}

static int gather_slices(int axis, const struct npl_tensor *x, const struct npl_tensor *indices, struct npl_tensor *out,
			 struct npl_err *err)
{
	int64_t outer = op_count(x->shape.dim, axis), size = x->shape.dim[axis], n = npl_tensor_count(indices), index;
	size_t piece = (size_t)op_count(x->shape.dim + axis + 1, x->shape.rank - axis - 1) * npl_dtype_size(x->dtype);
	for (int64_t i = 0; i < n; i++) {
		if (op_pick_index(indices, i, size, &index, err))
			return NPL_EINPUT;
		for (int64_t o = 0; o < outer && piece; o++)
			memcpy((char *)out->data + (size_t)(o * n + i) * piece,
			       (const char *)x->data + (size_t)(o * size + index) * piece, piece);
	}
	return 0;
}

static int gather_elements(int axis, const struct npl_tensor *x, const struct npl_tensor *indices,
			   struct npl_tensor *out, struct npl_err *err)
{
	int64_t n = npl_tensor_count(indices), offset;
	size_t element = npl_dtype_size(x->dtype);
	struct op_pick iterator;
	op_pick_init(&iterator, &x->shape, axis, indices);
	for (int64_t i = 0; i < n; i++) {
		if (op_pick_next(&iterator, &offset, err))
			return NPL_EINPUT;
		memcpy((char *)out->data + (size_t)i * element, (const char *)x->data + (size_t)offset * element,
		       element);
	}
	return 0;
}

static int gather_tuples(int batch, const struct npl_tensor *x, const struct npl_tensor *indices,
			 struct npl_tensor *out, struct npl_err *err)
{
	int rank = x->shape.rank, last = indices->shape.rank - 1, tuple = (int)indices->shape.dim[last];
	int64_t whole = op_count(x->shape.dim + batch, rank - batch), offset;
	int64_t per_batch = op_count(indices->shape.dim + batch, last - batch), n = op_count(indices->shape.dim, last);
	size_t element = npl_dtype_size(x->dtype);
	size_t piece = (size_t)op_count(x->shape.dim + batch + tuple, rank - batch - tuple) * element;
	for (int64_t i = 0; i < n; i++) {
		if (op_pick_tuple(indices, i, &x->shape, batch, &offset, err))
			return NPL_EINPUT;
		if (piece)
			memcpy((char *)out->data + (size_t)i * piece,
			       (const char *)x->data + (size_t)(i / per_batch * whole + offset) * element, piece);
	}
	return 0;
}

OP_RUN(op_gather_run)
{
	if (attrs->op == NPL_OP_GATHER)
		return gather_slices((int)attrs->gather.axis, in[0], in[1], out, err);
	return attrs->op == NPL_OP_GATHERELEMENTS
		       ? gather_elements((int)attrs->gather.axis, in[0], in[1], out, err)
		       : gather_tuples((int)attrs->gather.batch_dims, in[0], in[1], out, err);
}
