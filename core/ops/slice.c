/* SPDX-License-Identifier: MIT
 *
 * Slice: takes the elements start, start + step, ... before end of each named dimension; tensors of any one type.
 * Negative starts and ends count from the end. Limits outside are clamped: with a positive step both to [0, size], with
 * a negative step the start to [0, size - 1] and the end to [-1, size - 1]. Lists are attributes before opset 10,
 * constant inputs from then on; steps, which may be negative, came with opset 10. */
#include "core/base/arith.h"
#include "core/base/message.h"
#include "ops.h"
#include "strided.h"

OP_ATTRS(op_slice_attrs)
{
	struct npl_slice_attrs *s = &out->slice;
	int n_ends, n_axes;
	s->n = 0;
	if (!op_before(out, 10))
		return 0;
	if (op_attr_ints(list, "starts", NPL_MAX_RANK, s->starts, &s->n, err) ||
	    op_attr_ints(list, "ends", NPL_MAX_RANK, s->ends, &n_ends, err) ||
	    op_attr_ints(list, "axes", NPL_MAX_RANK, s->axes, &n_axes, err))
		return NPL_EINPUT;
	if (s->n < 0 || n_ends != s->n || (n_axes >= 0 && n_axes != s->n))
		return npl_fail(err, NPL_EINPUT,
				"the attributes starts and ends must be there and they and axes be of one length");
	for (int i = 0; i < s->n; i++) {
		s->axes[i] = n_axes < 0 ? i : s->axes[i];
		s->steps[i] = 1;
	}
	return 0;
}

/* Reads the lists of opset 10 and later, which are inputs 1 to 4. */
static int read_inputs(struct npl_slice_attrs *s, const struct npl_tensor *const *in, int n_in, struct npl_err *err)
{
	static const char *const names[] = {"", "starts", "ends", "axes", "steps"};
	int64_t *const to[] = {NULL, s->starts, s->ends, s->axes, s->steps};
	if (n_in < 3 || !in[1] || !in[2])
		return npl_fail(err, NPL_EINPUT, "starts and ends are missing");
	for (int k = 1; k < 5; k++) {
		int n = -1;
		if (k < n_in && in[k] && op_input_indices(in[k], names[k], to[k], &n, err))
			return NPL_EINPUT;
		s->n = k == 1 ? n : s->n;
		for (int i = 0; i < s->n && n < 0; i++)
			to[k][i] = k == 3 ? i : 1;
		if (n >= 0 && n != s->n)
			return npl_fail(err, NPL_EINPUT, "starts has %d value%s, %s has %d", s->n, npl_plural(s->n),
					names[k], n);
	}
	return 0;
}

static int64_t clamped(int64_t value, int64_t size, int64_t low, int64_t high)
{
	if (value < 0)
		value = value < -size ? -1 : value + size;
	return npl_clamp_i64(value, low, high);
}

/* Returns how many elements are taken of a dimension of `size`; sets the first one. */
static int64_t count_taken(int64_t start, int64_t end, int64_t step, int64_t size, int64_t *first)
{
	bool forward = step > 0;
	uint64_t distance = forward ? (uint64_t)step : 0 - (uint64_t)step;
	*first = 0;
	if (!size)
		return 0;
	*first = clamped(start, size, 0, forward ? size : size - 1);
	int64_t last = forward ? clamped(end, size, 0, size) : clamped(end, size, -1, size - 1);
	int64_t span = forward ? last - *first : *first - last;
	return span > 0 && distance ? (int64_t)((uint64_t)(span - 1) / distance) + 1 : 0;
}

OP_SHAPE(op_slice_shape)
{
	struct npl_slice_attrs *s = &attrs->slice;
	bool is_named[NPL_MAX_RANK] = {false};
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (!op_before(attrs, 10) && read_inputs(s, in, n_in, err))
		return NPL_EINPUT;
	struct npl_shape y = in[0]->shape;
	for (int d = 0; d < y.rank; d++) {
		s->first[d] = 0;
		s->step[d] = 1;
	}
	for (int i = 0; i < s->n; i++) {
		int64_t axis = s->axes[i];
		if (op_axis(&axis, y.rank, y.rank - 1, err))
			return NPL_EINPUT;
		if (is_named[axis])
			return npl_fail(err, NPL_EINPUT, "axis %lld is given twice", (long long)axis);
		if (!s->steps[i])
			return npl_fail(err, NPL_EINPUT, "the step along axis %lld is 0", (long long)axis);
		is_named[axis] = true;
		s->step[axis] = s->steps[i];
		y.dim[axis] = count_taken(s->starts[i], s->ends[i], s->steps[i], y.dim[axis], &s->first[axis]);
	}
	out->dtype = in[0]->dtype;
	out->shape = y;
	return 0;
}

struct op_strided op_slice_copy(const struct npl_attrs *attrs, const struct npl_tensor *x, const struct npl_tensor *y)
{
	const struct npl_slice_attrs *slice = &attrs->slice;
	int64_t stride[NPL_MAX_RANK], first = 0;
	op_strides(&x->shape, stride);
	for (int d = 0; d < y->shape.rank; d++) {
		first += slice->first[d] * stride[d];
		/* A dimension that gives one element may have any step. */
		stride[d] *= y->shape.dim[d] > 1 ? slice->step[d] : 1;
	}
	return op_strided_make(npl_dtype_size(y->dtype), y->shape.rank, y->shape.dim, stride, first);
}

OP_RUN(op_slice_run)
{
	const struct op_strided copy = op_slice_copy(attrs, in[0], out);
	op_strided_copy(&copy, in[0]->data, out->data);
	return 0;
}
