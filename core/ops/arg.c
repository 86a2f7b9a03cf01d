/* SPDX-License-Identifier: MIT
 *
 * ArgMax and ArgMin: the index of the greatest or least element along the axis; of equal elements the first or, from
 * opset 12 on with select_last_index, the last. NaN is both greatest and least, as in numpy. */
#include "elements.h"
#include "ops.h"

OP_ATTRS(op_arg_attrs)
{
	if (op_attr_int(list, "axis", 0, &out->arg.axis, err) ||
	    op_attr_flag(list, "keepdims", true, &out->arg.keep_dims, err))
		return NPL_EINPUT;
	return op_before(out, 12) ? 0 : op_attr_flag(list, "select_last_index", false, &out->arg.select_last, err);
}

OP_SHAPE(op_arg_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (!op_is_number(in[0]->dtype))
		return npl_fail(err, NPL_EINPUT, "the input is %s, expected numbers", npl_dtype_name(in[0]->dtype));
	struct npl_shape y = in[0]->shape;
	if (op_axis(&attrs->arg.axis, y.rank, y.rank - 1, err))
		return NPL_EINPUT;
	bool is_empty = !y.dim[attrs->arg.axis];
	y.dim[attrs->arg.axis] = 1;
	if (is_empty && npl_shape_count(&y))
		return npl_fail(err, NPL_EINPUT, "axis %lld of %s has no element", (long long)attrs->arg.axis,
				OP_TEXT(&in[0]->shape));
	if (!attrs->arg.keep_dims) {
		for (int d = (int)attrs->arg.axis; d + 1 < y.rank; d++)
			y.dim[d] = y.dim[d + 1];
		y.dim[--y.rank] = 0;
	}
	out->dtype = NPL_I64;
	out->shape = y;
	return 0;
}

/* Returns the index of the greatest or least of n elements, `step` apart. */
#define DEFINE_ARG(dtype, type)                                                                                        \
	static int64_t arg_##type(bool is_greatest, bool last, const void *data, int64_t n, int64_t step)              \
	{                                                                                                              \
		const type *x = data;                                                                                  \
		int64_t best = 0;                                                                                      \
		for (int64_t i = 1; i < n; i++) {                                                                      \
			type a = x[i * step], b = x[best * step];                                                      \
			bool nan_a = a != a, nan_b = b != b;                                                           \
			bool better = nan_a ? !nan_b : !nan_b && (is_greatest ? a > b : a < b);                        \
			bool equal = (nan_a && nan_b) || a == b;                                                       \
			if (better || (last && equal))                                                                 \
				best = i;                                                                              \
		}                                                                                                      \
		return best;                                                                                           \
	}
OP_EACH_NUMBER(DEFINE_ARG)

OP_RUN(op_arg_run)
{
#define ARG(dtype, type)                                                                                               \
	case dtype:                                                                                                    \
		y[i] = arg_##type(is_greatest, attrs->arg.select_last, (const type *)in[0]->data + at, n, inner);      \
		break;
	const struct npl_shape *x = &in[0]->shape;
	bool is_greatest = attrs->op == NPL_OP_ARGMAX;
	const int axis = (int)attrs->arg.axis;
	int64_t n = x->dim[axis], inner = op_count(x->dim + axis + 1, x->rank - 1 - axis);
	int64_t count = npl_tensor_count(out), *y = out->data;
	for (int64_t i = 0; i < count; i++) {
		int64_t at = i / inner * n * inner + i % inner;
		switch (in[0]->dtype) {
			OP_EACH_NUMBER(ARG)
		default:
			break;
		}
	}
	return 0;
}
