/* SPDX-License-Identifier: MIT
 *
 * CumSum: along an axis (an input of one int32 or int64) the sum of all elements up to each, without it if exclusive,
 * from the other end if reverse. Floats are summed in double, integers wrap. */
#include "elements.h"
#include "ops.h"

OP_ATTRS(op_cumsum_attrs)
{
	if (op_attr_flag(list, "exclusive", false, &out->cumsum.exclusive, err))
		return NPL_EINPUT;
	return op_attr_flag(list, "reverse", false, &out->cumsum.reverse, err);
}

OP_SHAPE(op_cumsum_shape)
{
	if (op_inputs(in, n_in, 2, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (!op_is_number(in[0]->dtype))
		return npl_fail(err, NPL_EINPUT, "the input is %s, expected numbers", npl_dtype_name(in[0]->dtype));
	if ((in[1]->dtype != NPL_I32 && in[1]->dtype != NPL_I64) || npl_tensor_count(in[1]) != 1)
		return npl_fail(err, NPL_EINPUT, "the axis is %s %s, expected one int32 or int64",
				npl_dtype_name(in[1]->dtype), OP_TEXT(&in[1]->shape));
	out->dtype = in[0]->dtype;
	out->shape = in[0]->shape;
	return 0;
}

/* Defines line_TYPE, which computes the running sums of n elements. The first is the one where the sum begins; each
 * next one is `step` away, which may be backwards. */
#define DEFINE_LINE(type, wide)                                                                                        \
	static void line_##type(bool exclusive, const void *in, void *out, int64_t n, int64_t step)                    \
	{                                                                                                              \
		const type *x = in;                                                                                    \
		type *y = out;                                                                                         \
		wide sum = 0;                                                                                          \
		for (int64_t i = 0; i < n; i++) {                                                                      \
			wide next = sum + (wide)x[i * step];                                                           \
			y[i * step] = (type)(exclusive ? sum : next);                                                  \
			sum = next;                                                                                    \
		}                                                                                                      \
	}
#define DEFINE_INTEGER_LINE(dtype, type) DEFINE_LINE(type, uint64_t)
DEFINE_LINE(float, double)
DEFINE_LINE(double, double)
OP_EACH_INTEGER(DEFINE_INTEGER_LINE)

OP_RUN(op_cumsum_run)
{
#define LINE(dtype, type)                                                                                              \
	case dtype:                                                                                                    \
		line_##type(attrs->cumsum.exclusive, (const type *)in[0]->data + first, (type *)out->data + first, n,  \
			    step);                                                                                     \
		break;
	const struct npl_shape *x = &in[0]->shape;
	int64_t axis = op_whole(in[1], 0);
	if (op_axis(&axis, x->rank, x->rank - 1, err))
		return NPL_EINPUT;
	int64_t n = x->dim[axis], inner = op_count(x->dim + axis + 1, x->rank - 1 - (int)axis);
	int64_t step = attrs->cumsum.reverse ? -inner : inner;
	for (int64_t i = 0; n && i < npl_tensor_count(out) / n; i++) {
		int64_t first = i / inner * n * inner + i % inner + (attrs->cumsum.reverse ? (n - 1) * inner : 0);
		switch (out->dtype) {
			OP_EACH_NUMBER(LINE)
		default:
			break;
		}
	}
	return 0;
}
