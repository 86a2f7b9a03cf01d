/* SPDX-License-Identifier: MIT
 *
 * MaxPool and GlobalMaxPool over one to three spatial dimensions. Maxima pass NaN on and ignore padding; a window of
 * padding only (possible with dilation) gives the lowest value of the type, and the index -1. The second output, the
 * indices, is computed in a pass of its own: networks for inference seldom use it. */
#include <math.h>

#include "elements.h"
#include "pool.h"

/* These macros define the maxima of several channels for each type. BETTER_(v, m) says that v replaces the maximum so
 * far. The order is tap by tap, so that the bounds, which take divisions, are computed once per tap for all channels,
 * and the row loop has none. Constant strides let the compiler load whole vectors. */
#define MAX_ROW(stride_)                                                                                               \
	for (int64_t ox = first[1]; ox < end[1]; ox++)                                                                 \
	to_row[ox] = BETTER_(from_row[ox * (stride_)], to_row[ox]) ? from_row[ox * (stride_)] : to_row[ox]
#define MAX_PLANES(name, type, lowest)                                                                                 \
	static void name##_tap(const struct npl_window *window, const int64_t in[NPL_VOLUME],                          \
			       const int64_t out[NPL_VOLUME], int64_t planes, const int64_t tap[NPL_VOLUME],           \
			       const type *restrict x, type *restrict y)                                               \
	{                                                                                                              \
		int64_t first[NPL_VOLUME], end[NPL_VOLUME], stride = window->stride[1];                                \
		int64_t shift = op_window_reads(window, 1, 0, tap[1]);                                                 \
		for (int d = 0; d < NPL_VOLUME; d++)                                                                   \
			npl_window_range(window, d, tap[d], in[d], out[d], &first[d], &end[d]);                        \
		for (int64_t i = 0; i < planes; i++, x += op_volume(in), y += op_volume(out))                          \
			for (int64_t oz = first[NPL_DEPTH]; oz < end[NPL_DEPTH]; oz++)                                 \
				for (int64_t oy = first[0]; oy < end[0]; oy++) {                                       \
					const type *from_row = x +                                                     \
							       op_row(in,                                              \
								      op_window_reads(window, NPL_DEPTH, oz,           \
										      tap[NPL_DEPTH]),                 \
								      op_window_reads(window, 0, oy, tap[0])) +        \
							       shift;                                                  \
					type *to_row = y + op_row(out, oz, oy);                                        \
					if (stride == 1)                                                               \
						MAX_ROW(1);                                                            \
					else if (stride == 2)                                                          \
						MAX_ROW(2);                                                            \
					else                                                                           \
						MAX_ROW(stride);                                                       \
				}                                                                                      \
	}                                                                                                              \
	static void name(const struct npl_window *window, const int64_t in[NPL_VOLUME], const int64_t out[NPL_VOLUME], \
			 int64_t planes, const void *from, void *to)                                                   \
	{                                                                                                              \
		type *y = to;                                                                                          \
		int64_t taps = op_volume(window->kernel), tap[NPL_VOLUME];                                             \
		for (int64_t i = 0; i < planes * op_volume(out); i++)                                                  \
			y[i] = lowest;                                                                                 \
		for (int64_t t = 0; t < taps; t++) {                                                                   \
			tap[1] = t % window->kernel[1];                                                                \
			tap[0] = t / window->kernel[1] % window->kernel[0];                                            \
			tap[NPL_DEPTH] = t / window->kernel[1] / window->kernel[0];                                    \
			name##_tap(window, in, out, planes, tap, from, y);                                             \
		}                                                                                                      \
	}
#define BETTER_(v, m) ((v) > (m) || (v) != (v)) /* the second part is for NaN */
MAX_PLANES(max_planes_f32, float, -INFINITY)
MAX_PLANES(max_planes_f64, double, -INFINITY)
#undef BETTER_
#define BETTER_(v, m) ((v) > (m))
MAX_PLANES(max_planes_i8, int8_t, INT8_MIN)
MAX_PLANES(max_planes_u8, uint8_t, 0)
MAX_PLANES(max_planes_i16, int16_t, INT16_MIN)
#undef BETTER_

/* Says whether there is one window, over all of a plane, as in GlobalMaxPool. */
static bool is_global(const struct npl_window *window, const int64_t in[NPL_VOLUME], const int64_t out[NPL_VOLUME])
{
	bool whole = op_volume(out) == 1;
	for (int d = 0; d < NPL_VOLUME; d++)
		whole = whole && window->kernel[d] == in[d] && window->dilation[d] == 1 && !window->pad_begin[d];
	return whole;
}

/* Finds the maximum of many at a time: it does not matter which of equal integers is found. */
#define MAX_WHOLE(name, type, lowest)                                                                                  \
	static void name##_or_whole(const struct npl_window *window, const int64_t in[NPL_VOLUME],                     \
				    const int64_t out[NPL_VOLUME], int64_t planes, const void *from, void *to)         \
	{                                                                                                              \
		enum { LANES = 32 };                                                                                   \
		const int64_t n = op_volume(in);                                                                       \
		const type *x = from;                                                                                  \
		type *y = to;                                                                                          \
		if (!is_global(window, in, out)) {                                                                     \
			name(window, in, out, planes, from, to);                                                       \
			return;                                                                                        \
		}                                                                                                      \
		for (int64_t i = 0; i < planes; i++, x += n) {                                                         \
			type lane[LANES], most = lowest;                                                               \
			int64_t k = 0;                                                                                 \
			for (int l = 0; l < LANES; l++)                                                                \
				lane[l] = lowest;                                                                      \
			for (; k + LANES <= n; k += LANES)                                                             \
				for (int l = 0; l < LANES; l++)                                                        \
					lane[l] = x[k + l] > lane[l] ? x[k + l] : lane[l];                             \
			for (; k < n; k++)                                                                             \
				most = x[k] > most ? x[k] : most;                                                      \
			for (int l = 0; l < LANES; l++)                                                                \
				most = lane[l] > most ? lane[l] : most;                                                \
			y[i] = most;                                                                                   \
		}                                                                                                      \
	}
MAX_WHOLE(max_planes_i8, int8_t, INT8_MIN)
MAX_WHOLE(max_planes_u8, uint8_t, 0)
MAX_WHOLE(max_planes_i16, int16_t, INT16_MIN)

/* Returns the kernel for values of a type; NULL where there is none. */
static op_pool_kernel *kernel_of(enum npl_dtype dtype)
{
	switch (dtype) {
	case NPL_F32:
		return max_planes_f32;
	case NPL_F64:
		return max_planes_f64;
	case NPL_I8:
		return max_planes_i8_or_whole;
	case NPL_U8:
		return max_planes_u8_or_whole;
	case NPL_I16:
		return max_planes_i16_or_whole;
	default:
		return NULL;
	}
}

OP_ATTRS(op_maxpool_attrs)
{
	int64_t order = 0;
	if (out->op == NPL_OP_GLOBALMAXPOOL)
		return 0;
	if (op_attr_int(list, "storage_order", 0, &order, err) || op_pool_attrs(list, &out->pool.window, err))
		return NPL_EINPUT;
	if (order != 0 && order != 1)
		return npl_fail(err, NPL_EINPUT, "attribute storage_order must be 0 or 1, got %lld", (long long)order);
	out->pool.column_major = order == 1;
	return 0;
}

OP_SHAPE(op_maxpool_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (!kernel_of(in[0]->dtype))
		return npl_fail(err, NPL_EINPUT, "input 0 is %s, expected float32, float64, int8, uint8 or int16",
				npl_dtype_name(in[0]->dtype));
	if (attrs->op == NPL_OP_GLOBALMAXPOOL)
		op_pool_global(&attrs->pool.window, &in[0]->shape);
	if (op_pool_shape(&attrs->pool.window, in[0], out, err))
		return NPL_EINPUT;
	if (n_out > 1) {
		out[1].dtype = NPL_I64;
		out[1].shape = out[0].shape;
	}
	return 0;
}

/* Returns the index, in its channel, of the greatest value of one window: the first of equals, the last NaN; -1: there
 * is none. */
static int64_t find_greatest(const struct npl_window *w, const struct npl_image *size, const struct npl_tensor *x,
			     int64_t channel, const struct op_reach reach[NPL_VOLUME])
{
	int64_t greatest_at = -1;
	double greatest = 0;
	for (int64_t z = reach[NPL_DEPTH].first; z < reach[NPL_DEPTH].end; z += w->dilation[NPL_DEPTH])
		for (int64_t r = reach[0].first; r < reach[0].end; r += w->dilation[0])
			for (int64_t c = reach[1].first; c < reach[1].end; c += w->dilation[1]) {
				int64_t index = op_row(size->size, z, r) + c;
				double value = npl_tensor_real(x, channel * op_volume(size->size) + index);
				if (greatest_at >= 0 && !(value > greatest) && value == value)
					continue;
				greatest_at = index;
				greatest = value;
			}
	return greatest_at;
}

/* Returns position `index` of a volume, counted with its first dimension the fastest. */
static int64_t column_major_index(const int64_t size[NPL_VOLUME], int64_t index)
{
	int64_t c = index % size[1], r = index / size[1] % size[0], z = index / size[1] / size[0];
	return z + size[NPL_DEPTH] * (r + size[0] * c);
}

static void find_indices(const struct npl_attrs *attrs, const struct npl_tensor *x, const struct npl_tensor *out)
{
	const struct npl_window window = op_window_volume(&attrs->pool.window);
	struct npl_image from = npl_image_of(&x->shape), to = npl_image_of(&out->shape);
	int64_t *index = out->data, volume = op_volume(from.size);
	for (int64_t channel = 0; channel < from.images * from.channels; channel++)
		for (int64_t o = 0; o < op_volume(to.size); o++) {
			const int64_t position[NPL_VOLUME] = {o / to.size[1] % to.size[0], o % to.size[1],
							      o / to.size[1] / to.size[0]};
			struct op_reach reach[NPL_VOLUME];
			for (int d = 0; d < NPL_VOLUME; d++)
				reach[d] = op_pool_reach(&window, d, position[d], 0, from.size[d]);
			int64_t at = find_greatest(&window, &from, x, channel, reach);
			if (at >= 0 && attrs->pool.column_major)
				at = column_major_index(from.size, at);
			*index++ = at < 0 ? -1 : channel * volume + at;
		}
}

OP_RUN(op_maxpool_run)
{
	op_pool_kernel *kernel = kernel_of(in[0]->dtype);
	if (!kernel)
		return npl_fail(err, NPL_EINTERNAL, "MaxPool has no kernel for %s", npl_dtype_name(in[0]->dtype));
	op_pool_each(kernel, &attrs->pool.window, in[0], &out[0]);
	if (n_out > 1 && out[1].data)
		find_indices(attrs, in[0], &out[1]);
	return 0;
}
