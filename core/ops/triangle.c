/* SPDX-License-Identifier: MIT
 *
 * Trilu (the upper or lower triangle of each matrix, zero elsewhere; any type) and EyeLike (one on a diagonal, zero
 * elsewhere). k moves the diagonal to the right. */
#include <string.h>

#include "cast.h"
#include "core/base/arith.h"
#include "elements.h"
#include "ops.h"

OP_ATTRS(op_trilu_attrs)
{
	return op_attr_flag(list, "upper", true, &out->trilu.upper, err);
}

OP_SHAPE(op_trilu_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (in[0]->shape.rank < 2)
		return npl_fail(err, NPL_EINPUT, "the input %s is not a matrix", OP_TEXT(&in[0]->shape));
	if (n_in > 1 && in[1] && (in[1]->dtype != NPL_I64 || npl_tensor_count(in[1]) != 1))
		return npl_fail(err, NPL_EINPUT, "k is %s %s, expected one int64", npl_dtype_name(in[1]->dtype),
				OP_TEXT(&in[1]->shape));
	out->dtype = in[0]->dtype;
	out->shape = in[0]->shape;
	return 0;
}

OP_RUN(op_trilu_run)
{
	const struct npl_shape *shape = &out->shape;
	int64_t rows = shape->dim[shape->rank - 2], cols = shape->dim[shape->rank - 1];
	int64_t k = n_in > 1 && in[1] ? npl_clamp_i64(op_whole(in[1], 0), -rows, cols) : 0;
	size_t element = npl_dtype_size(out->dtype);
	const char *x = in[0]->data;
	char *y = out->data;
	if (!npl_tensor_count(out))
		return 0;
	for (int64_t i = 0; i < op_count(shape->dim, shape->rank - 1); i++) {
		int64_t row = i % rows;
		int64_t first = attrs->trilu.upper ? npl_clamp_i64(row + k, 0, cols) : 0;
		int64_t end = attrs->trilu.upper ? cols : npl_clamp_i64(row + k + 1, 0, cols);
		memset(y, 0, (size_t)cols * element);
		memcpy(y + (size_t)first * element, x + (size_t)first * element, (size_t)(end - first) * element);
		x += (size_t)cols * element;
		y += (size_t)cols * element;
	}
	return 0;
}

OP_ATTRS(op_eyelike_attrs)
{
	if (op_attr_type(list, "dtype", &out->eye_like.dtype, err))
		return NPL_EINPUT;
	return op_attr_int(list, "k", 0, &out->eye_like.k, err);
}

OP_SHAPE(op_eyelike_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (in[0]->shape.rank != 2)
		return npl_fail(err, NPL_EINPUT, "the input %s is not a matrix", OP_TEXT(&in[0]->shape));
	out->dtype = attrs->eye_like.dtype == NPL_DTYPES ? in[0]->dtype : attrs->eye_like.dtype;
	out->shape = in[0]->shape;
	return 0;
}

OP_RUN(op_eyelike_run)
{
	int64_t rows = out->shape.dim[0], cols = out->shape.dim[1], k = npl_clamp_i64(attrs->eye_like.k, -rows, cols);
	size_t bytes = npl_tensor_bytes(out);
	if (bytes)
		memset(out->data, 0, bytes);
	for (int64_t row = 0; row < rows; row++)
		if (row + k >= 0 && row + k < cols)
			op_store_real(out, row * cols + row + k, 1.0);
	return 0;
}
