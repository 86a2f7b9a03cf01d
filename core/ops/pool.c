/* SPDX-License-Identifier: MIT
 *
 * MaxPool, AveragePool and GlobalAveragePool over one or two spatial dimensions. Maxima pass NaN on and ignore padding;
 * a window of padding only (possible with dilation) gives the lowest value of the type. Averages are summed in
 * double, so they are a float's rounding away from exact. Not here: MaxPool's second output, the indices. */
#include <math.h>

#include "ops.h"

static int pool_shape(struct npl_window *window, const struct npl_tensor *x, struct npl_tensor *out,
		      struct npl_err *err)
{
	int64_t output[NPL_SPATIAL];
	if (op_window_complete(window, &x->shape, NULL, output, err))
		return NPL_EINPUT;
	for (int d = 0; d < NPL_SPATIAL; d++) {
		int64_t extent = npl_window_extent(window, d);
		if (window->pad_begin[d] >= extent || window->pad_end[d] >= extent)
			return npl_fail(err, NPL_EINPUT,
					"pads of %lld and %lld must be smaller than the %lld positions a "
					"pooling window spans",
					(long long)window->pad_begin[d], (long long)window->pad_end[d],
					(long long)extent);
	}
	out->dtype = x->dtype;
	out->shape = op_window_shape(window, x->shape.dim[0], x->shape.dim[1], output);
	return op_output_fits(&out->shape, 1, err);
}

/* Positions of one window between two bounds: first, first + dilation, ... below end. */
struct reach {
	int64_t first, end, count;
};

static struct reach window_reach(const struct npl_window *window, int d, int64_t output, int64_t low, int64_t high)
{
	int64_t step = window->dilation[d];
	int64_t first = output * window->stride[d] - window->pad_begin[d];
	int64_t end = first + npl_window_extent(window, d);
	if (first < low)
		first += (low - first + step - 1) / step * step;
	if (end > high)
		end = high;
	return (struct reach){first, end, first < end ? (end - first + step - 1) / step : 0};
}

/* Maxima of several channels, for each type; BETTER_(v, m) says that v replaces the maximum so far. Tap by tap, so that
 * the bounds, which take divisions, are worked out once a tap for all the channels and the row loop has none. Constant
 * strides let the compiler load whole vectors. */
#define MAX_ROW(stride_)                                                                                               \
	for (int64_t ox = first[1]; ox < end[1]; ox++)                                                                 \
	to_row[ox] = BETTER_(from_row[ox * (stride_)], to_row[ox]) ? from_row[ox * (stride_)] : to_row[ox]
#define MAX_PLANES(name, type, lowest)                                                                                 \
	static void name##_tap(const struct npl_window *window, const int64_t in[NPL_SPATIAL],                         \
			       const int64_t out[NPL_SPATIAL], int64_t planes, const int64_t tap[NPL_SPATIAL],         \
			       const type *restrict x, type *restrict y)                                               \
	{                                                                                                              \
		int64_t first[NPL_SPATIAL], end[NPL_SPATIAL], stride = window->stride[1];                              \
		for (int d = 0; d < NPL_SPATIAL; d++)                                                                  \
			npl_window_range(window, d, tap[d], in[d], out[d], &first[d], &end[d]);                        \
		for (int64_t i = 0; i < planes; i++, x += in[0] * in[1], y += out[0] * out[1])                         \
			for (int64_t oy = first[0]; oy < end[0]; oy++) {                                               \
				int64_t iy = oy * window->stride[0] + tap[0] * window->dilation[0] -                   \
					     window->pad_begin[0];                                                     \
				const type *from_row = x + (iy * in[1] + tap[1] * window->dilation[1] -                \
							    window->pad_begin[1]);                                     \
				type *to_row = y + oy * out[1];                                                        \
				if (stride == 1)                                                                       \
					MAX_ROW(1);                                                                    \
				else if (stride == 2)                                                                  \
					MAX_ROW(2);                                                                    \
				else                                                                                   \
					MAX_ROW(stride);                                                               \
			}                                                                                              \
	}                                                                                                              \
	static void name(const struct npl_window *window, const int64_t in[NPL_SPATIAL],                               \
			 const int64_t out[NPL_SPATIAL], int64_t planes, const void *from, void *to)                   \
	{                                                                                                              \
		type *y = to;                                                                                          \
		for (int64_t i = 0; i < planes * out[0] * out[1]; i++)                                                 \
			y[i] = lowest;                                                                                 \
		for (int64_t ky = 0; ky < window->kernel[0]; ky++)                                                     \
			for (int64_t kx = 0; kx < window->kernel[1]; kx++)                                             \
				name##_tap(window, in, out, planes, (const int64_t[]){ky, kx}, from, y);               \
	}
#define BETTER_(v, m) ((v) > (m) || (v) != (v)) /* the second part is for NaN */
MAX_PLANES(max_planes_f32, float, -INFINITY)
#undef BETTER_
#define BETTER_(v, m) ((v) > (m))
MAX_PLANES(max_planes_i8, int8_t, INT8_MIN)
MAX_PLANES(max_planes_u8, uint8_t, 0)
MAX_PLANES(max_planes_i16, int16_t, INT16_MIN)
#undef BETTER_

static void average_plane(const struct npl_window *window, const int64_t in[NPL_SPATIAL],
			  const int64_t out[NPL_SPATIAL], const float *x, float *y)
{
	int64_t low[NPL_SPATIAL] = {0}, high[NPL_SPATIAL]; /* bounds of what the divisor counts */
	for (int d = 0; d < NPL_SPATIAL; d++) {
		low[d] = window->count_include_pad ? -window->pad_begin[d] : 0;
		high[d] = window->count_include_pad ? in[d] + window->pad_end[d] : in[d];
	}
	for (int64_t oy = 0; oy < out[0]; oy++) {
		struct reach rows = window_reach(window, 0, oy, 0, in[0]);
		int64_t counted_rows = window_reach(window, 0, oy, low[0], high[0]).count;
		for (int64_t ox = 0; ox < out[1]; ox++) {
			struct reach columns = window_reach(window, 1, ox, 0, in[1]);
			double sum = 0;
			for (int64_t iy = rows.first; iy < rows.end; iy += window->dilation[0])
				for (int64_t ix = columns.first; ix < columns.end; ix += window->dilation[1])
					sum += (double)x[iy * in[1] + ix];
			int64_t counted = counted_rows * window_reach(window, 1, ox, low[1], high[1]).count;
			y[oy * out[1] + ox] = counted ? (float)(sum / (double)counted) : 0.0f;
		}
	}
}

static void average_planes(const struct npl_window *window, const int64_t in[NPL_SPATIAL],
			   const int64_t out[NPL_SPATIAL], int64_t planes, const void *from, void *to)
{
	for (int64_t i = 0; i < planes; i++)
		average_plane(window, in, out, (const float *)from + i * in[0] * in[1],
			      (float *)to + i * out[0] * out[1]);
}

/* Runs the kernel over all images and channels, as many at a time as stay in a first-level cache together. */
static void each_plane(void (*kernel)(const struct npl_window *window, const int64_t in[NPL_SPATIAL],
				      const int64_t out[NPL_SPATIAL], int64_t planes, const void *from, void *to),
		       const struct npl_window *window, const struct npl_tensor *x, struct npl_tensor *y)
{
	enum { CACHE_BYTES = 32768 };
	struct npl_image from = npl_image_of(&x->shape), to = npl_image_of(&y->shape);
	size_t element = npl_dtype_size(x->dtype);
	size_t x_bytes = (size_t)(from.size[0] * from.size[1]) * element;
	size_t y_bytes = (size_t)(to.size[0] * to.size[1]) * element;
	int64_t planes = from.images * from.channels, at_once = 1 + (int64_t)(CACHE_BYTES / (x_bytes + y_bytes + 1));
	for (int64_t i = 0; i < planes; i += at_once)
		kernel(window, from.size, to.size, planes - i < at_once ? planes - i : at_once,
		       (const char *)x->data + (size_t)i * x_bytes, (char *)y->data + (size_t)i * y_bytes);
}

static int pool_attrs(struct npl_attr_list *list, struct npl_window *window, struct npl_err *err)
{
	if (op_window_attrs(list, window, err) || op_attr_flag(list, "ceil_mode", false, &window->ceil_mode, err))
		return NPL_EINPUT;
	if (!window->kernel[NPL_SPATIAL - 1])
		return npl_fail(err, NPL_EINPUT, "the attribute kernel_shape is missing or zero");
	return 0;
}

int op_maxpool_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	op_attr_accept(list, "storage_order"); /* of the indices, which are not supported */
	return pool_attrs(list, &out->window, err);
}

int op_maxpool_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		     int n_out, struct npl_err *err)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	enum npl_dtype dtype = in[0]->dtype;
	if (dtype != NPL_F32 && dtype != NPL_I8 && dtype != NPL_U8 && dtype != NPL_I16)
		return npl_fail(err, NPL_EINPUT, "input 0 is %s, expected float32, int8, uint8 or int16",
				npl_dtype_name(dtype));
	if (n_out > 1)
		return npl_fail(err, NPL_EINPUT, "the second output, Indices, is not supported");
	return pool_shape(&attrs->window, in[0], out, err);
}

int op_maxpool_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		   int n_out, struct npl_err *err)
{
	(void)n_in;
	(void)n_out;
	switch (in[0]->dtype) {
	case NPL_F32:
		each_plane(max_planes_f32, &attrs->window, in[0], out);
		return 0;
	case NPL_I8:
		each_plane(max_planes_i8, &attrs->window, in[0], out);
		return 0;
	case NPL_U8:
		each_plane(max_planes_u8, &attrs->window, in[0], out);
		return 0;
	case NPL_I16:
		each_plane(max_planes_i16, &attrs->window, in[0], out);
		return 0;
	default:
		return npl_fail(err, NPL_EINTERNAL, "MaxPool has no kernel for %s", npl_dtype_name(in[0]->dtype));
	}
}

int op_averagepool_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	if (pool_attrs(list, &out->window, err))
		return NPL_EINPUT;
	return op_attr_flag(list, "count_include_pad", false, &out->window.count_include_pad, err);
}

int op_averagepool_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
			 int n_out, struct npl_err *err)
{
	(void)n_out;
	if (op_inputs(in, n_in, 1, NPL_F32, err))
		return NPL_EINPUT;
	return pool_shape(&attrs->window, in[0], out, err);
}

int op_averagepool_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
		       struct npl_tensor *out, int n_out, struct npl_err *err)
{
	(void)n_in;
	(void)n_out;
	(void)err;
	each_plane(average_planes, &attrs->window, in[0], out);
	return 0;
}

int op_globalaveragepool_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	(void)list;
	(void)out;
	(void)err;
	return 0;
}

/* An average pool whose window is the whole plane. */
int op_globalaveragepool_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
			       struct npl_tensor *out, int n_out, struct npl_err *err)
{
	(void)n_out;
	if (op_inputs(in, n_in, 1, NPL_F32, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	attrs->window = (struct npl_window){.stride = {1, 1}, .dilation = {1, 1}};
	for (int i = 2, d = NPL_SPATIAL - (x->rank - 2); i < x->rank && x->rank <= 2 + NPL_SPATIAL; i++, d++)
		attrs->window.kernel[d] = x->dim[i];
	return pool_shape(&attrs->window, in[0], out, err);
}

int op_globalaveragepool_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
			     struct npl_tensor *out, int n_out, struct npl_err *err)
{
	return op_averagepool_run(attrs, in, n_in, out, n_out, err);
}
