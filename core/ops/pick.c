/* SPDX-License-Identifier: MIT
 *
 * Finds the elements that indices name (ops.h), for the operators that gather and scatter. */
#include "elements.h"
#include "ops.h"

int op_pick_type(const struct npl_tensor *indices, struct npl_err *err)
{
	if (indices->dtype != NPL_I32 && indices->dtype != NPL_I64)
		return npl_fail(err, NPL_EINPUT, "the indices are %s, expected int32 or int64",
				npl_dtype_name(indices->dtype));
	return 0;
}

int op_pick_index(const struct npl_tensor *indices, int64_t i, int64_t size, int64_t *index, struct npl_err *err)
{
	int64_t at = op_whole(indices, i);
	if (at < -size || at >= size)
		return npl_fail(err, NPL_EINPUT, "index %lld is not within a dimension of %lld", (long long)at,
				(long long)size);
	*index = at < 0 ? at + size : at;
	return 0;
}

void op_pick_init(struct op_pick *iterator, const struct npl_shape *x, int axis, const struct npl_tensor *indices)
{
	*iterator = (struct op_pick){.indices = indices, .rank = x->rank, .axis = axis, .size = x->dim[axis]};
	op_strides(x, iterator->stride);
}

int op_pick_next(struct op_pick *iterator, int64_t *offset, struct npl_err *err)
{
	int64_t index = 0, at = 0;
	if (op_pick_index(iterator->indices, iterator->next++, iterator->size, &index, err))
		return NPL_EINPUT;
	for (int d = 0; d < iterator->rank; d++)
		at += (d == iterator->axis ? index : iterator->position[d]) * iterator->stride[d];
	*offset = at;
	for (int d = iterator->rank - 1; d >= 0 && ++iterator->position[d] == iterator->indices->shape.dim[d]; d--)
		iterator->position[d] = 0;
	return 0;
}

int op_pick_tuple(const struct npl_tensor *indices, int64_t i, const struct npl_shape *x, int first, int64_t *offset,
		  struct npl_err *err)
{
	int n = (int)indices->shape.dim[indices->shape.rank - 1];
	int64_t stride[NPL_MAX_RANK], index = 0;
	op_strides(x, stride);
	*offset = 0;
	for (int k = 0; k < n; k++) {
		if (op_pick_index(indices, i * n + k, x->dim[first + k], &index, err))
			return NPL_EINPUT;
		*offset += index * stride[first + k];
	}
	return 0;
}
