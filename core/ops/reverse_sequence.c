/* SPDX-License-Identifier: MIT
 *
 * ReverseSequence: of each sequence of the batch the first `length` steps in reverse, the rest as they are. Any type;
 * time and batch are the first two dimensions, in either order. */
#include <string.h>

#include "elements.h"
#include "ops.h"

OP_ATTRS(op_reversesequence_attrs)
{
	int64_t *time = &out->reverse_sequence.time_axis, *batch = &out->reverse_sequence.batch_axis;
	if (op_attr_int(list, "time_axis", 0, time, err) || op_attr_int(list, "batch_axis", 1, batch, err))
		return NPL_EINPUT;
	if (*time < 0 || *time > 1 || *batch != 1 - *time)
		return npl_fail(err, NPL_EINPUT, "time_axis=%lld and batch_axis=%lld: expected 0 and 1 or 1 and 0",
				(long long)*time, (long long)*batch);
	return 0;
}

OP_SHAPE(op_reversesequence_shape)
{
	if (op_inputs(in, n_in, 2, NPL_DTYPES, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape, *lengths = &in[1]->shape;
	const int64_t batch = attrs->reverse_sequence.batch_axis;
	if (x->rank < 2)
		return npl_fail(err, NPL_EINPUT, "the input %s has no time and batch", OP_TEXT(x));
	if (in[1]->dtype != NPL_I64 || lengths->rank != 1 || lengths->dim[0] != x->dim[batch])
		return npl_fail(err, NPL_EINPUT, "the lengths are %s %s, expected %lld int64",
				npl_dtype_name(in[1]->dtype), OP_TEXT(lengths), (long long)x->dim[batch]);
	out->dtype = in[0]->dtype;
	out->shape = *x;
	return 0;
}

OP_RUN(op_reversesequence_run)
{
	const struct npl_shape *x = &in[0]->shape;
	const bool batch_first = attrs->reverse_sequence.time_axis == 1;
	const int64_t steps = x->dim[batch_first], batch = x->dim[!batch_first];
	size_t step_bytes = (size_t)op_count(x->dim + 2, x->rank - 2) * npl_dtype_size(out->dtype);
	for (int64_t b = 0; b < batch; b++) {
		int64_t length = op_whole(in[1], b);
		if (length < 0 || length > steps)
			return npl_fail(err, NPL_EINPUT, "sequence %lld has length %lld of %lld steps", (long long)b,
					(long long)length, (long long)steps);
		for (int64_t t = 0; t < steps && step_bytes; t++) {
			int64_t from = t < length ? length - 1 - t : t;
			int64_t out_step = batch_first ? b * steps + t : t * batch + b;
			int64_t in_step = batch_first ? b * steps + from : from * batch + b;
			memcpy((char *)out->data + (size_t)out_step * step_bytes,
			       (const char *)in[0]->data + (size_t)in_step * step_bytes, step_bytes);
		}
	}
	return 0;
}
