/* SPDX-License-Identifier: MIT
 *
 * Split: cuts a tensor of any type along an axis into as many parts as the node has outputs, of the sizes given (an
 * attribute before opset 13, a constant input from then on) or of one size, except the last, which from opset 18 on
 * may be smaller. */
#include <string.h>

#include "core/base/message.h"
#include "ops.h"

OP_ATTRS(op_split_attrs)
{
	struct npl_attr *attr;
	if (op_attr_int(list, "axis", 0, &out->split.axis, err))
		return NPL_EINPUT;
	if (!op_before(out, 18) && op_attr_count(list, "num_outputs", &out->split.num_outputs, err))
		return NPL_EINPUT;
	if (!op_before(out, 13))
		return 0;
	if (op_attr_find(list, "split", NPL_ATTR_INTS, &attr, err))
		return NPL_EINPUT;
	if (attr && (attr->n < 1 || attr->n > NPL_MAX_OUTPUTS))
		return npl_fail(err, NPL_EINPUT, "attribute split has %lld sizes, expected 1 to %d", (long long)attr->n,
				NPL_MAX_OUTPUTS);
	out->split.sizes = attr ? attr->ints : NULL;
	out->split.n_sizes = attr ? (int)attr->n : 0;
	return 0;
}

/* Reads the sizes that the model gives; *n is 0 when it gives none. */
static int read_sizes(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, int64_t *size,
		      int *n, struct npl_err *err)
{
	const struct npl_tensor *sizes = n_in > 1 ? in[1] : NULL;
	*n = attrs->split.n_sizes;
	if (attrs->split.n_sizes)
		memcpy(size, attrs->split.sizes, (size_t)attrs->split.n_sizes * sizeof *size);
	if (!sizes)
		return 0;
	if (op_before(attrs, 13))
		return npl_fail(err, NPL_EINPUT, "sizes as an input came with opset 13");
	if (attrs->split.num_outputs)
		return npl_fail(err, NPL_EINPUT, "expected either sizes or num_outputs");
	if (sizes->dtype != NPL_I64 || sizes->shape.rank != 1 || sizes->shape.dim[0] > NPL_MAX_OUTPUTS)
		return npl_fail(err, NPL_EINPUT, "split must be at most %d int64 values in one dimension, got %s %s",
				NPL_MAX_OUTPUTS, npl_dtype_name(sizes->dtype), OP_TEXT(&sizes->shape));
	*n = (int)sizes->shape.dim[0];
	if (*n && !sizes->data)
		return op_refuse_not_constant("split", err);
	if (*n)
		memcpy(size, sizes->data, (size_t)*n * sizeof *size);
	return 0;
}

/* Computes parts of one size, rounded up, and the rest as the last part; before opset 18 all must be equal. */
static int divide_equally(const struct npl_attrs *attrs, int64_t total, int64_t *size, int n_out, struct npl_err *err)
{
	const int64_t part = total / n_out + (total % n_out != 0), last = total - part * (n_out - 1);
	if (attrs->split.num_outputs && attrs->split.num_outputs != n_out)
		return npl_fail(err, NPL_EINPUT, "num_outputs is %lld and the node has %d output%s",
				(long long)attrs->split.num_outputs, n_out, npl_plural(n_out));
	if (last < 0 || (last != part && op_before(attrs, 18)))
		return npl_fail(err, NPL_EINPUT, "%lld along axis %lld do not divide by %d output%s", (long long)total,
				(long long)attrs->split.axis, n_out, npl_plural(n_out));
	for (int k = 0; k < n_out; k++)
		size[k] = k < n_out - 1 ? part : last;
	return 0;
}

OP_SHAPE(op_split_shape)
{
	int64_t size[NPL_MAX_OUTPUTS] = {0}, sum = 0;
	int n;
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err) || read_sizes(attrs, in, n_in, size, &n, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	if (op_axis(&attrs->split.axis, x->rank, x->rank - 1, err))
		return NPL_EINPUT;
	int64_t total = x->dim[attrs->split.axis];
	if (n && n != n_out)
		return npl_fail(err, NPL_EINPUT, "split has %d size%s, the node %d output%s", n, npl_plural(n), n_out,
				npl_plural(n_out));
	if (!n && divide_equally(attrs, total, size, n_out, err))
		return NPL_EINPUT;
	for (int k = 0; k < n_out; k++) {
		if (size[k] < 0 || __builtin_add_overflow(sum, size[k], &sum))
			return npl_fail(err, NPL_EINPUT, "size %d of split is %lld", k, (long long)size[k]);
		out[k].dtype = in[0]->dtype;
		out[k].shape = *x;
		out[k].shape.dim[attrs->split.axis] = size[k];
	}
	if (sum != total)
		return npl_fail(err, NPL_EINPUT, "the sizes of split sum to %lld, axis %lld of %s has %lld",
				(long long)sum, (long long)attrs->split.axis, OP_TEXT(x), (long long)total);
	return 0;
}

OP_RUN(op_split_run)
{
	int axis = (int)attrs->split.axis;
	const struct npl_shape *x = &in[0]->shape;
	int64_t outer = op_count(x->dim, axis);
	size_t element = npl_dtype_size(in[0]->dtype), row = (size_t)op_count(x->dim + axis, x->rank - axis) * element;
	const char *from = in[0]->data;
	for (int k = 0; k < n_out; k++) {
		size_t piece = (size_t)op_count(out[k].shape.dim + axis, x->rank - axis) * element;
		for (int64_t o = 0; o < outer && piece && out[k].data; o++)
			memcpy((char *)out[k].data + (size_t)o * piece, from + (size_t)o * row, piece);
		from += piece;
	}
	return 0;
}
