/* SPDX-License-Identifier: MIT
 *
 * ScatterElements (before opset 11: Scatter) and ScatterND: a copy of the input where the elements, or slices, that
 * indices name are replaced by updates, one after the other. From opset 16 they may also be added or multiplied in, and
 * from 18 the greater or the lesser of the two may be kept, which is NaN where one of them is. */
#include <string.h>

#include "elements.h"
#include "ops.h"

OP_ATTRS(op_scatter_attrs)
{
	static const char *const reductions[] = {
		[NPL_SCATTER_REPLACE] = "none", [NPL_SCATTER_ADD] = "add", [NPL_SCATTER_MULTIPLY] = "mul",
		[NPL_SCATTER_MAX] = "max",      [NPL_SCATTER_MIN] = "min", NULL};
	out->scatter.reduction = NPL_SCATTER_REPLACE;
	if (out->op != NPL_OP_SCATTERND && op_attr_int(list, "axis", 0, &out->scatter.axis, err))
		return NPL_EINPUT;
	if (!op_before(out, 16) &&
	    op_attr_choice(list, "reduction", reductions, NPL_SCATTER_REPLACE, &out->scatter.reduction, err))
		return NPL_EINPUT;
	if (out->scatter.reduction >= NPL_SCATTER_MAX && op_before(out, 18))
		return npl_fail(err, NPL_EINPUT, "attribute reduction is '%s', which came with opset 18",
				reductions[out->scatter.reduction]);
	return 0;
}

static int elements_fit(struct npl_attrs *attrs, const struct npl_shape *x, const struct npl_shape *indices,
			const struct npl_shape *updates, struct npl_err *err)
{
	if (op_axis(&attrs->scatter.axis, x->rank, x->rank - 1, err))
		return NPL_EINPUT;
	bool fits = indices->rank == x->rank && npl_shape_equal(indices, updates);
	for (int d = 0; fits && d < x->rank; d++)
		fits = d == attrs->scatter.axis || indices->dim[d] <= x->dim[d];
	return fits ? 0
		    : npl_fail(err, NPL_EINPUT,
			       "indices of %s and updates of %s do not scatter into %s along axis %lld",
			       OP_TEXT(indices), OP_TEXT(updates), OP_TEXT(x), (long long)attrs->scatter.axis);
}

static int tuples_fit(const struct npl_shape *x, const struct npl_shape *indices, const struct npl_shape *updates,
		      struct npl_err *err)
{
	int64_t tuple = indices->rank ? indices->dim[indices->rank - 1] : 0;
	bool fits = indices->rank >= 1 && x->rank >= 1 && tuple >= 1 && tuple <= x->rank &&
		    updates->rank == indices->rank - 1 + x->rank - tuple;
	for (int d = 0; fits && d < updates->rank; d++)
		fits = updates->dim[d] ==
		       (d < indices->rank - 1 ? indices->dim[d] : x->dim[d - (indices->rank - 1) + tuple]);
	return fits ? 0
		    : npl_fail(err, NPL_EINPUT, "indices of %s and updates of %s do not scatter into %s",
			       OP_TEXT(indices), OP_TEXT(updates), OP_TEXT(x));
}

OP_SHAPE(op_scatter_shape)
{
	if (op_inputs(in, n_in, 3, NPL_DTYPES, err) || op_pick_type(in[1], err))
		return NPL_EINPUT;
	if (in[2]->dtype != in[0]->dtype)
		return npl_fail(err, NPL_EINPUT, "the updates are %s, the input is %s", npl_dtype_name(in[2]->dtype),
				npl_dtype_name(in[0]->dtype));
	if (attrs->scatter.reduction != NPL_SCATTER_REPLACE && !op_is_number(in[0]->dtype))
		return npl_fail(err, NPL_EINPUT, "elements of %s are not combined", npl_dtype_name(in[0]->dtype));
	out->dtype = in[0]->dtype;
	out->shape = in[0]->shape;
	return attrs->op == NPL_OP_SCATTERND ? tuples_fit(&in[0]->shape, &in[1]->shape, &in[2]->shape, err)
					     : elements_fit(attrs, &in[0]->shape, &in[1]->shape, &in[2]->shape, err);
}

/* Defines combine_TYPE, which merges n updates x into the elements y by the operator's reduction. Sums and products of
 * integers wrap: they are made in the unsigned type `wide`. */
#define DEFINE_COMBINE(type, wide)                                                                                     \
	static void combine_##type(enum npl_scatter_reduction reduction, void *to, const void *from, int64_t n)        \
	{                                                                                                              \
		type *y = to;                                                                                          \
		const type *x = from;                                                                                  \
		for (int64_t i = 0; i < n; i++)                                                                        \
			if (reduction == NPL_SCATTER_ADD)                                                              \
				y[i] = (type)((wide)y[i] + (wide)x[i]);                                                \
			else if (reduction == NPL_SCATTER_MULTIPLY)                                                    \
				y[i] = (type)((wide)y[i] * (wide)x[i]);                                                \
			else if (x[i] != x[i] || (reduction == NPL_SCATTER_MAX ? x[i] > y[i] : x[i] < y[i]))           \
				y[i] = x[i];                                                                           \
	}
#define DEFINE_INTEGER(dtype, type) DEFINE_COMBINE(type, uint64_t)
DEFINE_COMBINE(float, float)
DEFINE_COMBINE(double, double)
OP_EACH_INTEGER(DEFINE_INTEGER)

/* Puts n elements of `updates`, from element `from` on, to element `to` of the output. */
static void put(enum npl_scatter_reduction reduction, struct npl_tensor *out, int64_t to,
		const struct npl_tensor *updates, int64_t from, int64_t n)
{
#define COMBINE(dtype, type)                                                                                           \
	case dtype:                                                                                                    \
		combine_##type(reduction, y, x, n);                                                                    \
		break;
	size_t element = npl_dtype_size(out->dtype);
	char *y = (char *)out->data + (size_t)to * element;
	const char *x = (const char *)updates->data + (size_t)from * element;
	if (reduction == NPL_SCATTER_REPLACE)
		memcpy(y, x, (size_t)n * element);
	else
		switch (out->dtype) {
			OP_EACH_NUMBER(COMBINE)
		default:
			break;
		}
}

static int scatter_tuples(enum npl_scatter_reduction reduction, const struct npl_tensor *const *in,
			  struct npl_tensor *out, struct npl_err *err)
{
	const struct npl_shape *x = &in[0]->shape, *indices = &in[1]->shape;
	int last = indices->rank - 1, tuple = (int)indices->dim[last];
	int64_t piece = op_count(x->dim + tuple, x->rank - tuple), n = op_count(indices->dim, last), offset;
	for (int64_t i = 0; i < n; i++) {
		if (op_pick_tuple(in[1], i, x, 0, &offset, err))
			return NPL_EINPUT;
		if (piece)
			put(reduction, out, offset, in[2], i * piece, piece);
	}
	return 0;
}

OP_RUN(op_scatter_run)
{
	int64_t n = npl_tensor_count(in[1]), offset;
	struct op_pick iterator;
	op_copy_bytes(in[0], out);
	if (attrs->op == NPL_OP_SCATTERND)
		return scatter_tuples(attrs->scatter.reduction, in, out, err);
	op_pick_init(&iterator, &in[0]->shape, (int)attrs->scatter.axis, in[1]);
	for (int64_t i = 0; i < n; i++) {
		if (op_pick_next(&iterator, &offset, err))
			return NPL_EINPUT;
		put(attrs->scatter.reduction, out, offset, in[2], i, 1);
	}
	return 0;
}
