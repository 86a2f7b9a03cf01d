/* SPDX-License-Identifier: MIT
 *
 * MaxUnpool: every value goes to the element that its index names, and all other elements are zero. Of two values for
 * one element the later one is kept. Indices count the elements of the shape that kernel, strides and pads give, batch
 * and channels included, as ONNX's own definition has it; in a larger output_shape that shape is the first corner. */
#include <string.h>

#include "elements.h"
#include "ops.h"

OP_ATTRS(op_maxunpool_attrs)
{
	if (op_window_attrs(list, &out->pool.window, err))
		return NPL_EINPUT;
	if (!out->pool.window.kernel[NPL_SPATIAL - 1])
		return npl_fail(err, NPL_EINPUT, "the attribute kernel_shape is missing or zero");
	return 0;
}

/* Gives the shape that the indices count in. */
static int inferred_shape(struct npl_window *window, const struct npl_shape *x, struct npl_shape *shape,
			  struct npl_err *err)
{
	if (op_window_kernel(window, x, NULL, err))
		return NPL_EINPUT;
	*shape = *x;
	for (int i = 0; i < window->rank; i++) {
		int d = npl_window_index(window->rank, i);
		int64_t size;
		if (__builtin_mul_overflow(x->dim[2 + i] - 1, window->stride[d], &size) ||
		    __builtin_add_overflow(size, window->kernel[d] - window->pad_begin[d] - window->pad_end[d], &size))
			size = -1;
		if (size < 1)
			return npl_fail(err, NPL_EINPUT,
					"the pads of %lld and %lld leave nothing of the output of the input %s",
					(long long)window->pad_begin[d], (long long)window->pad_end[d], OP_TEXT(x));
		shape->dim[2 + i] = size;
	}
	return op_output_fits(shape, 1, err);
}

static int read_output_shape(const struct npl_tensor *output_shape, const struct npl_shape *inferred,
			     struct npl_shape *shape, struct npl_err *err)
{
	int64_t dims[NPL_MAX_RANK];
	int n;
	if (op_input_dims(output_shape, "output_shape", dims, &n, err))
		return NPL_EINPUT;
	bool fits = n == inferred->rank;
	for (int i = 0; i < n && fits; i++) {
		shape->dim[i] = dims[i];
		fits = i < 2 ? dims[i] == inferred->dim[i] : dims[i] >= inferred->dim[i];
	}
	shape->rank = inferred->rank;
	if (!fits)
		return npl_fail(err, NPL_EINPUT, "the output_shape does not hold the %s that the window gives",
				OP_TEXT(inferred));
	return 0;
}

OP_SHAPE(op_maxunpool_shape)
{
	struct npl_shape inferred;
	if (op_inputs(in, n_in, 2, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (!op_is_number(in[0]->dtype) || in[1]->dtype != NPL_I64 || !npl_shape_equal(&in[0]->shape, &in[1]->shape))
		return npl_fail(err, NPL_EINPUT,
				"the indices are %s %s, expected int64 in the shape of the input %s %s",
				npl_dtype_name(in[1]->dtype), OP_TEXT(&in[1]->shape), npl_dtype_name(in[0]->dtype),
				OP_TEXT(&in[0]->shape));
	if (inferred_shape(&attrs->pool.window, &in[0]->shape, &inferred, err))
		return NPL_EINPUT;
	out->dtype = in[0]->dtype;
	out->shape = inferred;
	if (n_in > 2 && in[2] && read_output_shape(in[2], &inferred, &out->shape, err))
		return NPL_EINPUT;
	return op_output_fits(&out->shape, 1, err);
}

/* Returns the element of `outer` that element `index` of `inner` becomes when inner is put into its first corner. */
static int64_t embed_index(const struct npl_shape *inner, const struct npl_shape *outer, int64_t index)
{
	int64_t to = 0, step = 1;
	for (int d = inner->rank - 1; d >= 0; d--) {
		to += index % inner->dim[d] * step;
		index /= inner->dim[d];
		step *= outer->dim[d];
	}
	return to;
}

OP_RUN(op_maxunpool_run)
{
	struct npl_window window = attrs->pool.window;
	struct npl_shape inferred;
	if (inferred_shape(&window, &in[0]->shape, &inferred, err))
		return NPL_EINPUT;
	const int64_t *index = in[1]->data;
	int64_t count = npl_tensor_count(in[0]), n_elements = npl_shape_count(&inferred);
	size_t element = npl_dtype_size(out->dtype), bytes = npl_tensor_bytes(out);
	const unsigned char *from = in[0]->data;
	if (bytes)
		memset(out->data, 0, bytes);
	for (int64_t i = 0; i < count; i++, from += element) {
		if (index[i] < 0 || index[i] >= n_elements)
			return npl_fail(err, NPL_EINPUT, "index %lld is none of the %lld elements of %s",
					(long long)index[i], (long long)n_elements, OP_TEXT(&inferred));
		int64_t at = embed_index(&inferred, &out->shape, index[i]);
		memcpy((unsigned char *)out->data + (size_t)at * element, from, element);
	}
	return 0;
}
