/* SPDX-License-Identifier: MIT
 *
 * Col2Im: columns, each the elements of a window over an image, are added at the places that they came from. This
 * inverts the step that makes a convolution a product. x (N, C * elements of the window, positions) -> y (N, C, image).
 * Sums are in double. */
#include <stdlib.h>

#include "cast.h"
#include "ops.h"

/* Reads a list of `n` values, one for each dimension of the image, or uses `fallback` for all; *n is -1 when it is
 * absent. */
static int read_list(struct npl_attr_list *list, const char *name, int64_t fallback, int64_t *value, int *n,
		     struct npl_err *err)
{
	if (op_attr_ints(list, name, NPL_MAX_RANK, value, n, err))
		return NPL_EINPUT;
	for (int i = 0; *n < 0 && i < NPL_MAX_RANK; i++)
		value[i] = fallback;
	return 0;
}

OP_ATTRS(op_col2im_attrs)
{
	struct npl_col2im_attrs *b = &out->col2im;
	struct npl_attr *pads;
	int strides, dilations;
	if (read_list(list, "strides", 1, b->stride, &strides, err) ||
	    read_list(list, "dilations", 1, b->dilation, &dilations, err) ||
	    op_attr_find(list, "pads", NPL_ATTR_INTS, &pads, err))
		return NPL_EINPUT;
	b->rank = strides >= 0 ? strides : dilations >= 0 ? dilations : pads ? (int)(pads->n / 2) : 0;
	if ((strides >= 0 && strides != b->rank) || (dilations >= 0 && dilations != b->rank) ||
	    (pads && (pads->n != 2 * (int64_t)b->rank || pads->n > 2 * NPL_MAX_RANK)))
		return npl_fail(err, NPL_EINPUT, "strides, dilations and pads are of different numbers of dimensions");
	for (int d = 0; d < NPL_MAX_RANK; d++) {
		b->pad_begin[d] = pads && d < b->rank ? pads->ints[d] : 0;
		b->pad_end[d] = pads && d < b->rank ? pads->ints[b->rank + d] : 0;
	}
	return 0;
}

/* Returns the number of windows along a dimension; 0: its numbers are invalid. */
static int64_t positions_along(const struct npl_col2im_attrs *b, int d)
{
	const int64_t limit = (int64_t)1 << 40;
	if (b->image[d] < 1 || b->kernel[d] < 1 || b->stride[d] < 1 || b->dilation[d] < 1 || b->pad_begin[d] < 0 ||
	    b->pad_end[d] < 0 || b->image[d] > limit || b->kernel[d] > limit || b->dilation[d] > limit ||
	    b->pad_begin[d] > limit || b->pad_end[d] > limit)
		return 0;
	int64_t reach;
	if (__builtin_mul_overflow(b->dilation[d], b->kernel[d] - 1, &reach) || reach > limit)
		return 0;
	const int64_t free_positions = b->image[d] + b->pad_begin[d] + b->pad_end[d] - reach - 1;
	return free_positions < 0 ? 0 : free_positions / b->stride[d] + 1;
}

OP_SHAPE(op_col2im_shape)
{
	struct npl_col2im_attrs *b = &attrs->col2im;
	int n, m;
	if (op_inputs(in, n_in, 3, NPL_DTYPES, err) || op_input_dims(in[1], "image_shape", b->image, &n, err) ||
	    op_input_dims(in[2], "block_shape", b->kernel, &m, err))
		return NPL_EINPUT;
	if (in[0]->dtype != NPL_F32 && in[0]->dtype != NPL_F64)
		return npl_fail(err, NPL_EINPUT, "the input is %s, expected floats", npl_dtype_name(in[0]->dtype));
	if (n != m || n < 1 || n > NPL_MAX_RANK - 2 || (b->rank && b->rank != n))
		return npl_fail(err, NPL_EINPUT,
				"image_shape and block_shape have %d and %d dimensions, the attributes %d", n, m,
				b->rank);
	b->rank = n;
	struct npl_shape kernel = {.rank = n}, windows = {.rank = n}, *y = &out->shape;
	*y = (struct npl_shape){.rank = n + 2};
	for (int d = 0; d < n; d++) {
		kernel.dim[d] = b->kernel[d];
		windows.dim[d] = positions_along(b, d);
		y->dim[d + 2] = b->image[d];
		if (!windows.dim[d])
			return npl_fail(err, NPL_EINPUT, "the window does not fit into dimension %d of the image", d);
	}
	const struct npl_shape *x = &in[0]->shape;
	const int64_t elements = npl_shape_count(&kernel), positions = npl_shape_count(&windows);
	if (x->rank != 3 || elements < 1 || x->dim[1] % elements || x->dim[2] != positions)
		return npl_fail(err, NPL_EINPUT, "the input is %s, expected batch x %lld times channels x %lld",
				OP_TEXT(x), (long long)elements, (long long)positions);
	y->dim[0] = x->dim[0];
	y->dim[1] = x->dim[1] / elements;
	out->dtype = in[0]->dtype;
	return op_output_fits(y, 1, err);
}

/* Finds the position in the image of element `tap` of a window; false: it is in the padding. */
static bool find_element(const struct npl_col2im_attrs *b, int64_t window, int64_t tap, int64_t *index)
{
	int64_t step = 1;
	*index = 0;
	for (int d = b->rank - 1; d >= 0; d--) {
		const int64_t positions = positions_along(b, d);
		if (!positions)
			return false;
		const int64_t i = window % positions * b->stride[d] - b->pad_begin[d] +
				  tap % b->kernel[d] * b->dilation[d];
		if (!op_inside(i, b->image[d]))
			return false;
		*index += i * step;
		step *= b->image[d];
		window /= positions;
		tap /= b->kernel[d];
	}
	return true;
}

OP_RUN(op_col2im_run)
{
	const struct npl_col2im_attrs *b = &attrs->col2im;
	const int64_t image = op_count(b->image, b->rank), elements = op_count(b->kernel, b->rank);
	const int64_t positions = in[0]->shape.dim[2], planes = out->shape.dim[0] * out->shape.dim[1];
	double *sum = calloc((size_t)image + 1, sizeof *sum);
	if (!sum)
		return npl_fail(err, NPL_ENOMEM, "out of memory for an image of %lld elements", (long long)image);
	for (int64_t plane = 0; plane < planes; plane++) {
		for (int64_t i = 0; i < image; i++)
			sum[i] = 0;
		for (int64_t tap = 0; tap < elements; tap++)
			for (int64_t window = 0; window < positions; window++) {
				int64_t index;
				if (find_element(b, window, tap, &index))
					sum[index] += npl_tensor_real(in[0],
								      (plane * elements + tap) * positions + window);
			}
		for (int64_t i = 0; i < image; i++)
			op_store_real(out, plane * image + i, sum[i]);
	}
	free(sum);
	return 0;
}
