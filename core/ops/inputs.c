/* SPDX-License-Identifier: MIT
 *
 * Checks that every shape rule begins or ends with. */
#include <string.h>

#include "core/base/message.h"
#include "ops.h"

int op_inputs(const struct npl_tensor *const *in, int n_in, int required, enum npl_dtype dtype, struct npl_err *err)
{
	for (int i = 0; i < required; i++)
		if (i >= n_in || !in[i])
			return npl_fail(err, NPL_EINPUT, "input %d is missing", i);
	for (int i = 0; i < n_in; i++) {
		if (!in[i])
			continue;
		if (npl_tensor_count(in[i]) < 0)
			return npl_fail(err, NPL_EINPUT, "input %d has the impossible shape %s", i,
					OP_TEXT(&in[i]->shape));
		if (dtype != NPL_DTYPES && in[i]->dtype != dtype)
			return npl_fail(err, NPL_EINPUT, "input %d is %s, expected %s", i, npl_dtype_name(in[i]->dtype),
					npl_dtype_name(dtype));
	}
	return 0;
}

int op_axis(int64_t *axis, int rank, int64_t last, struct npl_err *err)
{
	if (*axis < -rank || *axis > last)
		return npl_fail(err, NPL_EINPUT, "the axis must be within %d..%lld for %d dimension%s, got %lld", -rank,
				(long long)last, rank, npl_plural(rank), (long long)*axis);
	if (*axis < 0)
		*axis += rank;
	return 0;
}

int op_input_dims(const struct npl_tensor *tensor, const char *input_name, int64_t *values, int *n, struct npl_err *err)
{
	if (tensor->dtype != NPL_I64 || tensor->shape.rank != 1)
		return npl_fail(err, NPL_EINPUT, "the %s must be one-dimensional int64, got %s %s", input_name,
				npl_dtype_name(tensor->dtype), OP_TEXT(&tensor->shape));
	return op_input_indices(tensor, input_name, values, n, err);
}

int op_input_indices(const struct npl_tensor *tensor, const char *input_name, int64_t *values, int *n,
		     struct npl_err *err)
{
	if ((tensor->dtype != NPL_I64 && tensor->dtype != NPL_I32) || tensor->shape.rank != 1)
		return npl_fail(err, NPL_EINPUT, "the %s must be one-dimensional int32 or int64, got %s %s", input_name,
				npl_dtype_name(tensor->dtype), OP_TEXT(&tensor->shape));
	if (tensor->shape.dim[0] > NPL_MAX_RANK)
		return npl_fail(err, NPL_EINPUT, "the %s has %lld values, at most %d dimensions are supported",
				input_name, (long long)tensor->shape.dim[0], NPL_MAX_RANK);
	*n = (int)tensor->shape.dim[0];
	if (*n && !tensor->data)
		return op_refuse_not_constant(input_name, err);
	for (int i = 0; i < *n; i++)
		values[i] = tensor->dtype == NPL_I64 ? ((const int64_t *)tensor->data)[i]
						     : ((const int32_t *)tensor->data)[i];
	return 0;
}

int op_input_scalar(const struct npl_tensor *tensor, const char *input_name, struct npl_err *err)
{
	if (npl_tensor_count(tensor) != 1 || tensor->shape.rank > 1)
		return npl_fail(err, NPL_EINPUT, "the %s must be one number, got %s", input_name,
				OP_TEXT(&tensor->shape));
	return tensor->data ? 0 : op_refuse_not_constant(input_name, err);
}

int op_axes(int64_t *axes, int n, int rank, struct npl_err *err)
{
	unsigned named_axes = 0;
	for (int i = 0; i < n; i++) {
		if (op_axis(&axes[i], rank, rank - 1, err))
			return NPL_EINPUT;
		if (named_axes & 1u << axes[i])
			return npl_fail(err, NPL_EINPUT, "axis %lld is given twice", (long long)axes[i]);
		named_axes |= 1u << axes[i];
	}
	return 0;
}

int op_refuse_not_constant(const char *input_name, struct npl_err *err)
{
	return npl_fail(err, NPL_EINPUT, "the %s must be constant, not computed by the network", input_name);
}

int op_requested_shape(const int64_t *dims, int n, struct npl_shape *shape, struct npl_err *err)
{
	bool negative = false;
	*shape = (struct npl_shape){.rank = n};
	for (int i = 0; i < n; i++) {
		shape->dim[i] = dims[i];
		negative |= dims[i] < 0;
	}
	return negative ? npl_fail(err, NPL_EINPUT, "the shape %s has a negative dimension", OP_TEXT(shape)) : 0;
}

int op_output_fits(const struct npl_shape *shape, int64_t macs_per_element, struct npl_err *err)
{
	int64_t count = npl_shape_count(shape), macs;
	if (count < 0)
		return npl_fail(err, NPL_EINPUT, "the output would be %s, more than %lld elements", OP_TEXT(shape),
				(long long)NPL_MAX_ELEMENTS);
	if (__builtin_mul_overflow(count, macs_per_element, &macs))
		return npl_fail(err, NPL_EINPUT,
				"the output %s with %lld products per element is too much work to count",
				OP_TEXT(shape), (long long)macs_per_element);
	return 0;
}

int op_copy_bytes(const struct npl_tensor *in, struct npl_tensor *out)
{
	size_t bytes = npl_tensor_bytes(out);
	if (bytes && out->data != in->data)
		memcpy(out->data, in->data, bytes);
	return 0;
}

int64_t op_count(const int64_t *dim, int n)
{
	int64_t count = 1;
	for (int i = 0; i < n; i++)
		count *= dim[i];
	return count;
}

void op_strides(const struct npl_shape *shape, int64_t stride[NPL_MAX_RANK])
{
	int64_t step = 1;
	for (int d = shape->rank - 1; d >= 0; d--) {
		stride[d] = step;
		step *= shape->dim[d];
	}
}

void op_fill(void *to, const void *element, size_t size, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		memcpy((char *)to + (size_t)i * size, element, size);
}
