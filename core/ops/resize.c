/* SPDX-License-Identifier: MIT
 *
 * Resize and Upsample (opset 7 and 9; 6 with its own attributes). Along each dimension an output position has a
 * position in the input. The result is the nearest element there, or a weighted sum of 2 or 4 neighbours. Positions are
 * computed in double. Elements of any type are taken by the nearest position; only floats are weighted.
 *
 * Before opset 11 a position is i / scale. Resize of opset 10 rounds positions up when it shrinks a dimension, and down
 * when it enlarges one. If scales are given, the length by which align_corners and similar transformations divide is
 * the input's length times the scale, not cut to an integer. ONNX's own cases do it so, though the standard's text can
 * be read differently.
 *
 * Opset 18 added three things: axes, the dimensions that the other inputs are about; sizes that keep the aspect ratio;
 * and antialias, which stretches the filter by 1 / scale along a dimension that shrinks, so that every element counts.
 * Opset 19 added half_pixel_symmetric, which is half_pixel about the middle of the input. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cast.h"
#include "core/base/message.h"
#include "elements.h"
#include "ops.h"

static int upsample_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	struct npl_resize_attrs *r = &out->resize;
	const float *scales;
	int64_t n;
	float height, width;
	r->nearest = NPL_RESIZE_FLOOR;
	if (op_before(out, 7)) {
		if (op_attr_float(list, "height_scale", 0, &height, err) ||
		    op_attr_float(list, "width_scale", 0, &width, err))
			return NPL_EINPUT;
		r->n_scales = 4;
		r->scale[0] = r->scale[1] = 1;
		r->scale[2] = (double)height;
		r->scale[3] = (double)width;
		return 0;
	}
	if (!op_before(out, 9))
		return 0;
	if (op_attr_floats(list, "scales", &scales, &n, err))
		return NPL_EINPUT;
	if (n < 0 || n > NPL_MAX_RANK)
		return npl_fail(err, NPL_EINPUT, "the attribute scales must have one value per dimension");
	r->n_scales = (int)n;
	for (int d = 0; d < n; d++)
		r->scale[d] = (double)scales[d];
	return 0;
}

/* Reads the attributes that opset 18 added. */
static int attrs_18(struct npl_attr_list *list, struct npl_resize_attrs *r, struct npl_err *err)
{
	static const char *const policies[] = {[NPL_RESIZE_STRETCH] = "stretch",
					       [NPL_RESIZE_NOT_LARGER] = "not_larger",
					       [NPL_RESIZE_NOT_SMALLER] = "not_smaller",
					       NULL};
	if (op_attr_ints(list, "axes", NPL_MAX_RANK, r->axes, &r->n_axes, err) ||
	    op_attr_choice(list, "keep_aspect_ratio_policy", policies, NPL_RESIZE_STRETCH, &r->policy, err))
		return NPL_EINPUT;
	return op_attr_flag(list, "antialias", false, &r->antialias, err);
}

OP_ATTRS(op_resize_attrs)
{
	static const char *const modes[] = {[NPL_RESIZE_NEAREST] = "nearest",
					    [NPL_RESIZE_LINEAR] = "linear",
					    [NPL_RESIZE_CUBIC] = "cubic",
					    "bilinear",
					    NULL};
	static const char *const transforms[] = {[NPL_RESIZE_HALF_PIXEL] = "half_pixel",
						 [NPL_RESIZE_ASYMMETRIC] = "asymmetric",
						 [NPL_RESIZE_ALIGN_CORNERS] = "align_corners",
						 [NPL_RESIZE_PYTORCH_HALF_PIXEL] = "pytorch_half_pixel",
						 [NPL_RESIZE_TF_HALF_PIXEL_FOR_NN] = "tf_half_pixel_for_nn",
						 [NPL_RESIZE_TF_CROP_AND_RESIZE] = "tf_crop_and_resize",
						 [NPL_RESIZE_HALF_PIXEL_SYMMETRIC] = "half_pixel_symmetric",
						 NULL};
	static const char *const nearests[] = {[NPL_RESIZE_ROUND_PREFER_FLOOR] = "round_prefer_floor",
					       [NPL_RESIZE_ROUND_PREFER_CEIL] = "round_prefer_ceil",
					       [NPL_RESIZE_FLOOR] = "floor",
					       [NPL_RESIZE_CEIL] = "ceil",
					       NULL};
	struct npl_resize_attrs *r = &out->resize;
	bool upsample = out->op == NPL_OP_UPSAMPLE;
	*r = (struct npl_resize_attrs){.transform = NPL_RESIZE_ASYMMETRIC, .nearest = NPL_RESIZE_BEFORE_11};
	if (op_attr_choice(list, "mode", modes, NPL_RESIZE_NEAREST, &r->mode, err))
		return NPL_EINPUT;
	if (r->mode > NPL_RESIZE_CUBIC) /* bilinear, Upsample's word before opset 7 */
		r->mode = NPL_RESIZE_LINEAR;
	if (r->mode == NPL_RESIZE_CUBIC && (upsample || op_before(out, 11)))
		return npl_fail(err, NPL_EINPUT, "cubic came with Resize of opset 11");
	if (upsample)
		return upsample_attrs(list, out, err);
	if (op_before(out, 11))
		return 0;
	if (op_attr_choice(list, "coordinate_transformation_mode", transforms, NPL_RESIZE_HALF_PIXEL, &r->transform,
			   err) ||
	    op_attr_choice(list, "nearest_mode", nearests, NPL_RESIZE_ROUND_PREFER_FLOOR, &r->nearest, err) ||
	    op_attr_float(list, "cubic_coeff_a", -0.75f, &r->cubic_a, err) ||
	    op_attr_float(list, "extrapolation_value", 0, &r->extrapolation_value, err))
		return NPL_EINPUT;
	if (r->transform == NPL_RESIZE_HALF_PIXEL_SYMMETRIC && op_before(out, 19))
		return npl_fail(err, NPL_EINPUT, "half_pixel_symmetric came with Resize of opset 19");
	if (op_attr_flag(list, "exclude_outside", false, &r->exclude_outside, err))
		return NPL_EINPUT;
	return op_before(out, 18) ? 0 : attrs_18(list, r, err);
}

/* Reads n constant floats of input k; absent, or empty: *is_given is false. */
static int read_floats(const struct npl_tensor *const *in, int n_in, int k, const char *input_name, int n,
		       double *values, bool *is_given, struct npl_err *err)
{
	*is_given = k < n_in && in[k] && npl_tensor_count(in[k]);
	if (!*is_given)
		return 0;
	if ((in[k]->dtype != NPL_F32 && in[k]->dtype != NPL_F64) || in[k]->shape.rank != 1 || in[k]->shape.dim[0] != n)
		return npl_fail(err, NPL_EINPUT, "the %s are %s %s, expected %d floats", input_name,
				npl_dtype_name(in[k]->dtype), OP_TEXT(&in[k]->shape), n);
	if (!in[k]->data)
		return op_refuse_not_constant(input_name, err);
	for (int i = 0; i < n; i++) {
		values[i] = npl_tensor_real(in[k], i);
		if (!isfinite(values[i]))
			return npl_fail(err, NPL_EINPUT, "one of the %s is not finite", input_name);
	}
	return 0;
}

/* Gives the dimensions that roi, scales and sizes have values for: those of the attribute axes, else all. */
static int read_axes(struct npl_attrs *attrs, int rank, int64_t axes[NPL_MAX_RANK], struct npl_err *err)
{
	struct npl_resize_attrs *r = &attrs->resize;
	for (int d = 0; d < rank; d++)
		axes[d] = d;
	if (r->n_axes <= 0)
		return rank;
	memcpy(axes, r->axes, (size_t)r->n_axes * sizeof *axes);
	return op_axes(axes, r->n_axes, rank, err) ? NPL_EINPUT : r->n_axes;
}

/* Computes the output dimensions from scales. */
static int apply_scales(struct npl_attrs *attrs, const struct npl_shape *x, struct npl_shape *y, struct npl_err *err)
{
	struct npl_resize_attrs *r = &attrs->resize;
	for (int d = 0; d < x->rank; d++) {
		double share = r->transform == NPL_RESIZE_TF_CROP_AND_RESIZE ? r->to[d] - r->from[d] : 1.0;
		/* The size is computed in float, as ONNX infers shapes: 10 * 0.7f is 7, which in double is a little
		 * less. */
		double size = floor((double)((float)x->dim[d] * (float)share * (float)r->scale[d]));
		if (!(r->scale[d] > 0) || !(size >= 0) || size > (double)NPL_MAX_ELEMENTS)
			return npl_fail(err, NPL_EINPUT, "dimension %d of %s does not resize by %g", d, OP_TEXT(x),
					r->scale[d]);
		y->dim[d] = (int64_t)size;
		r->length[d] = r->transform == NPL_RESIZE_TF_CROP_AND_RESIZE ? size : (double)x->dim[d] * r->scale[d];
	}
	return 0;
}

/* Uses one scale for all axes, the least or the greatest of theirs; sizes follow from it, halves rounded up. */
static void keep_aspect(struct npl_resize_attrs *r, const struct npl_shape *x, const int64_t *axes, int n,
			struct npl_shape *y)
{
	double scale = n ? r->scale[axes[0]] : 1;
	for (int i = 1; i < n; i++)
		scale = r->policy == NPL_RESIZE_NOT_LARGER ? fmin(scale, r->scale[axes[i]])
							   : fmax(scale, r->scale[axes[i]]);
	for (int i = 0; i < n; i++) {
		const int64_t d = axes[i];
		r->scale[d] = scale;
		r->length[d] = (double)x->dim[d] * scale;
		y->dim[d] = (int64_t)floor(r->length[d] + 0.5);
	}
}

static int apply_sizes(struct npl_attrs *attrs, const struct npl_shape *x, const struct npl_tensor *sizes,
		       const int64_t *axes, int n_axes, struct npl_shape *y, struct npl_err *err)
{
	struct npl_resize_attrs *r = &attrs->resize;
	int64_t size[NPL_MAX_RANK];
	int n;
	if (op_input_dims(sizes, "sizes", size, &n, err))
		return NPL_EINPUT;
	if (n != n_axes)
		return npl_fail(err, NPL_EINPUT, "%d size%s for the %d dimension%s of %s", n, npl_plural(n), n_axes,
				npl_plural(n_axes), OP_TEXT(x));
	for (int d = 0; d < x->rank; d++) {
		r->scale[d] = 1;
		r->length[d] = (double)x->dim[d];
	}
	for (int i = 0; i < n; i++) {
		const int64_t d = axes[i];
		if (size[i] < 0 || size[i] > NPL_MAX_ELEMENTS || (size[i] > 0 && !x->dim[d]))
			return npl_fail(err, NPL_EINPUT, "dimension %d of %s does not resize to %lld", (int)d,
					OP_TEXT(x), (long long)size[i]);
		y->dim[d] = size[i];
		r->scale[d] = x->dim[d] ? (double)size[i] / (double)x->dim[d] : 1;
		r->length[d] = (double)size[i];
	}
	if (r->policy != NPL_RESIZE_STRETCH)
		keep_aspect(r, x, axes, n, y);
	return 0;
}

/* Says whether a dimension stays as it is, whatever the transformation. */
static bool is_unresized(const struct npl_attrs *attrs, int d)
{
	const struct npl_resize_attrs *r = &attrs->resize;
	return r->scale[d] == 1 &&
	       (r->transform != NPL_RESIZE_TF_CROP_AND_RESIZE || (r->from[d] == 0 && r->to[d] == 1));
}

static int read_inputs(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_shape *y,
		       struct npl_err *err)
{
	const struct npl_shape *x = &in[0]->shape;
	struct npl_resize_attrs *r = &attrs->resize;
	bool upsample = attrs->op == NPL_OP_UPSAMPLE, has_scales = r->n_scales > 0, has_roi;
	bool roi_first = !upsample && !op_before(attrs, 11);
	double roi[2 * NPL_MAX_RANK] = {0}, scale[NPL_MAX_RANK] = {0};
	int64_t axes[NPL_MAX_RANK];
	const int n = read_axes(attrs, x->rank, axes, err);
	const struct npl_tensor *sizes = roi_first && n_in > 3 && in[3] && npl_tensor_count(in[3]) ? in[3] : NULL;
	if (n < 0)
		return NPL_EINPUT;
	if (has_scales && (n_in > 1 || r->n_scales != x->rank))
		return npl_fail(err, NPL_EINPUT, "%d scale%s for the %d dimension%s of %s", r->n_scales,
				npl_plural(r->n_scales), x->rank, npl_plural(x->rank), OP_TEXT(x));
	if (!has_scales) {
		if (read_floats(in, n_in, roi_first ? 2 : 1, "scales", n, scale, &has_scales, err))
			return NPL_EINPUT;
		for (int d = 0; d < x->rank; d++)
			r->scale[d] = 1;
		for (int i = 0; i < n && has_scales; i++)
			r->scale[axes[i]] = scale[i];
	}
	if (n && has_scales == !!sizes)
		return npl_fail(err, NPL_EINPUT, "expected either scales or sizes");
	if (r->policy != NPL_RESIZE_STRETCH && !sizes)
		return npl_fail(err, NPL_EINPUT, "keep_aspect_ratio_policy is about sizes, and there are scales");
	if (r->transform == NPL_RESIZE_TF_CROP_AND_RESIZE) {
		if (read_floats(in, n_in, 1, "roi", 2 * n, roi, &has_roi, err))
			return NPL_EINPUT;
		if (!has_roi)
			return npl_fail(err, NPL_EINPUT, "the roi is missing");
	}
	for (int d = 0; d < x->rank; d++) {
		r->from[d] = 0;
		r->to[d] = 1;
	}
	for (int i = 0; i < n && r->transform == NPL_RESIZE_TF_CROP_AND_RESIZE; i++) {
		r->from[axes[i]] = roi[i];
		r->to[axes[i]] = roi[n + i];
	}
	return sizes ? apply_sizes(attrs, x, sizes, axes, n, y, err) : apply_scales(attrs, x, y, err);
}

/* Returns the number of neighbours that are weighed along dimension d. A stretched filter reaches further. */
static int64_t neighbours(const struct npl_attrs *attrs, int d)
{
	const struct npl_resize_attrs *r = &attrs->resize;
	const double reach = r->mode == NPL_RESIZE_LINEAR ? 1 : 2, scale = r->scale[d];
	return 2 * (int64_t)ceil(r->antialias && scale < 1 ? reach / scale : reach);
}

/* Sets the shift and the number of neighbours of dimension d for the kernel. Refuses a dimension without elements to
 * take, and an antialias that needs too many neighbours. */
static int complete_dimension(struct npl_attrs *attrs, int d, int64_t from, int64_t to, struct npl_err *err)
{
	struct npl_resize_attrs *r = &attrs->resize;
	r->shift[d] = 0;
	if (to && !from)
		return npl_fail(err, NPL_EINPUT, "dimension %d has no element to take", d);
	if (r->transform == NPL_RESIZE_HALF_PIXEL_SYMMETRIC && from && r->scale[d] > 0)
		r->shift[d] = (double)from / 2 * (1 - (double)to / ((double)from * r->scale[d]));
	if (r->mode == NPL_RESIZE_NEAREST || is_unresized(attrs, d) || !to)
		return 0;
	const int64_t n = neighbours(attrs, d);
	if (n > 4 * (from + 2))
		return npl_fail(err, NPL_EINPUT, "antialias would weigh %lld neighbours along dimension %d of %lld",
				(long long)n, d, (long long)from);
	r->neighbours *= n;
	return 0;
}

OP_SHAPE(op_resize_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (attrs->resize.mode != NPL_RESIZE_NEAREST && in[0]->dtype != NPL_F32 && in[0]->dtype != NPL_F64)
		return npl_fail(err, NPL_EINPUT, "the input is %s, of which only the nearest element can be taken",
				npl_dtype_name(in[0]->dtype));
	struct npl_shape y = in[0]->shape;
	if (read_inputs(attrs, in, n_in, &y, err))
		return NPL_EINPUT;
	attrs->resize.neighbours = 1;
	for (int d = 0; d < y.rank; d++)
		if (complete_dimension(attrs, d, in[0]->shape.dim[d], y.dim[d], err))
			return NPL_EINPUT;
	out->dtype = in[0]->dtype;
	out->shape = y;
	return op_output_fits(&y, 1, err);
}

/* Returns the position in the input of output position i of dimension d. */
static double position(const struct npl_resize_attrs *r, int d, int64_t i, int64_t size)
{
	double x = (double)i, scale = r->scale[d], length = r->length[d], last_position = (double)(size - 1);
	bool is_single = length <= 1 && length >= 1;
	switch (r->transform) {
	case NPL_RESIZE_ASYMMETRIC:
		return x / scale;
	case NPL_RESIZE_ALIGN_CORNERS:
		return is_single ? 0.0 : x * last_position / (length - 1);
	case NPL_RESIZE_PYTORCH_HALF_PIXEL:
		return length > 1 ? (x + 0.5) / scale - 0.5 : 0.0;
	case NPL_RESIZE_TF_HALF_PIXEL_FOR_NN:
		return (x + 0.5) / scale;
	case NPL_RESIZE_TF_CROP_AND_RESIZE:
		return is_single ? 0.5 * (r->from[d] + r->to[d]) * last_position
				 : r->from[d] * last_position +
					   x * (r->to[d] - r->from[d]) * last_position / (length - 1);
	default:
		return r->shift[d] + (x + 0.5) / scale - 0.5;
	}
}

static int64_t within(double x, int64_t size)
{
	return !(x > 0) ? 0 : x > (double)(size - 1) ? size - 1 : (int64_t)x;
}

static int64_t nearest(const struct npl_resize_attrs *r, int d, double x, int64_t size)
{
	switch (r->nearest) {
	case NPL_RESIZE_ROUND_PREFER_FLOOR:
		return within(ceil(x - 0.5), size);
	case NPL_RESIZE_ROUND_PREFER_CEIL:
		return within(floor(x + 0.5), size);
	case NPL_RESIZE_CEIL:
		return within(ceil(x), size);
	case NPL_RESIZE_FLOOR:
		return within(floor(x), size);
	default:
		return within(r->scale[d] < 1 ? ceil(x) : floor(x), size);
	}
}

/* The neighbours of a position and their weights; n is 0 where none has a weight. */
struct taps {
	int64_t n;
	int64_t *index;
	double *weight;
};

static double keys(double a, double x) /* Keys' cubic convolution at distance x */
{
	x = fabs(x);
	if (x >= 2)
		return 0;
	if (x <= 1)
		return ((a + 2) * x - (a + 3)) * x * x + 1;
	return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static void find_weights(const struct npl_attrs *attrs, int d, double x, int64_t size, struct taps *taps)
{
	const struct npl_resize_attrs *r = &attrs->resize;
	const bool stretched = r->antialias && r->scale[d] < 1, divided = r->antialias || r->exclude_outside;
	taps->n = neighbours(attrs, d);
	/* Further out all neighbours are the edge. */
	const double out = stretched ? (double)taps->n : 4;
	x = x < -out ? -out : x > (double)size + out ? (double)size + out : x;
	const int64_t below = taps->n / 2 - 1;
	double first = floor(x) - (double)below, sum = 0;
	for (int64_t k = 0; k < taps->n; k++) {
		const double at = first + (double)k, distance = stretched ? (x - at) * r->scale[d] : x - at;
		const bool is_beyond = at < 0 || at > (double)(size - 1);
		taps->index[k] = within(at, size);
		taps->weight[k] = r->mode == NPL_RESIZE_LINEAR ? fmax(1 - fabs(distance), 0)
							       : keys((double)r->cubic_a, distance);
		if (r->exclude_outside && is_beyond)
			taps->weight[k] = 0;
		sum += taps->weight[k];
	}
	for (int64_t k = 0; k < taps->n && divided && sum != 0; k++)
		taps->weight[k] /= sum;
}

static bool is_outside(const struct npl_resize_attrs *r, double x, int64_t size)
{
	return r->transform == NPL_RESIZE_TF_CROP_AND_RESIZE && (x < 0 || x > (double)(size - 1));
}

/* Weighing along one dimension after the other, a line of results (along the last dimension) at a time. A sum begins
 * with +0 and leaves out what has the weight 0, which may be infinite; so none is -0, and a dimension that stays
 * changes nothing. */
struct sampler {
	const struct npl_tensor *x;
	int64_t width;                        /* the elements of a line */
	int64_t stride[NPL_MAX_RANK];         /* the strides of x */
	struct taps *taps[NPL_MAX_RANK];      /* per dimension: the taps of each output position */
	int resized[NPL_MAX_RANK], n_resized; /* dimensions beside the last that do not stay */
	int64_t line_position[NPL_MAX_RANK];  /* the line's index in each dimension */
	double *sum[NPL_MAX_RANK];            /* a line for each of `resized` */
	/* lines of x resized along the last dimension alone, kept because several output lines need them */
	double *line[4];
	int64_t line_start[4]; /* for each of these, the index in x of the line that it was made from; -1: none yet */
};

#define DEFINE_LINE(type)                                                                                              \
	static void weigh_line_##type(const struct taps *taps, const type *x, int64_t width, double *y)                \
	{                                                                                                              \
		for (int64_t i = 0; i < width; i++) {                                                                  \
			double sum = 0;                                                                                \
			for (int64_t k = 0; k < taps[i].n; k++)                                                        \
				if (taps[i].weight[k] != 0)                                                            \
					sum += taps[i].weight[k] * (double)x[taps[i].index[k]];                        \
			y[i] = sum;                                                                                    \
		}                                                                                                      \
	}
DEFINE_LINE(float)
DEFINE_LINE(double)

/* Returns the line of x from `index` on. Lines that are needed at the same time have different neighbours, which choose
 * the place in the cache. */
static const double *line_from(struct sampler *s, int64_t index, int64_t neighbour)
{
	const int last = s->x->shape.rank - 1, slot = (int)(neighbour & 3);
	if (s->line_start[slot] != index) {
		if (s->x->dtype == NPL_F32)
			weigh_line_float(s->taps[last], (const float *)s->x->data + index, s->width, s->line[slot]);
		else
			weigh_line_double(s->taps[last], (const double *)s->x->data + index, s->width, s->line[slot]);
		s->line_start[slot] = index;
	}
	return s->line[slot];
}

/* Returns a line weighed along the dimensions from the r-th resized one on. */
static const double *sample_line(struct sampler *s, int r, int64_t index, int64_t neighbour)
{
	if (r == s->n_resized)
		return line_from(s, index, neighbour);
	const int d = s->resized[r];
	const struct taps *taps = &s->taps[d][s->line_position[d]];
	double *sum = s->sum[r];
	memset(sum, 0, (size_t)s->width * sizeof *sum);
	for (int64_t k = 0; k < taps->n; k++) {
		const double weight = taps->weight[k];
		if (weight == 0)
			continue;
		const double *line = sample_line(s, r + 1, index + taps->index[k] * s->stride[d], taps->index[k]);
		for (int64_t i = 0; i < s->width; i++)
			sum[i] += weight * line[i];
	}
	return sum;
}

static void write_line(struct sampler *s, double outside, struct npl_tensor *out, int64_t first)
{
	const int last = s->x->shape.rank - 1;
	const struct taps *taps = s->taps[last];
	bool is_all_outside = false;
	int64_t index = 0;
	for (int d = 0; d < last; d++) {
		const struct taps *t = &s->taps[d][s->line_position[d]];
		is_all_outside |= !t->n;
		index += t->n == 1 ? t->index[0] * s->stride[d] : 0;
	}
	const double *line = is_all_outside ? NULL : sample_line(s, 0, index, 0);
	for (int64_t i = 0; i < s->width; i++) {
		const double value = is_all_outside || !taps[i].n ? outside : line[i];
		if (out->dtype == NPL_F32)
			((float *)out->data)[first + i] = (float)value;
		else
			((double *)out->data)[first + i] = value;
	}
}

/* Computes the weights of all positions, and allocates the lines. memory is to be freed, whatever is returned. */
static int open_sampler(const struct npl_attrs *attrs, const struct npl_tensor *x, const struct npl_shape *y,
			struct sampler *s, void **memory, struct npl_err *err)
{
	int64_t positions = 0, n_weights = 0;
	*s = (struct sampler){.x = x, .width = y->dim[y->rank - 1], .line_start = {-1, -1, -1, -1}};
	for (int d = 0; d < y->rank; d++) {
		positions += y->dim[d];
		n_weights += y->dim[d] * (is_unresized(attrs, d) ? 1 : neighbours(attrs, d));
	}
	const size_t taps_bytes = (size_t)positions * sizeof(struct taps),
		     line_bytes = (size_t)s->width * sizeof(double);
	*memory = calloc(1, taps_bytes + (size_t)n_weights * (sizeof(int64_t) + sizeof(double)) +
				    (4 + NPL_MAX_RANK) * line_bytes + 1);
	if (!*memory)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the weights of %s", OP_TEXT(y));
	struct taps *taps = *memory;
	double *lines = (double *)(void *)((char *)*memory + taps_bytes),
	       *weight = lines + (4 + NPL_MAX_RANK) * s->width;
	int64_t *index = (int64_t *)(void *)(weight + n_weights);
	op_strides(&x->shape, s->stride);
	for (int d = 0; d < y->rank; taps += y->dim[d++]) {
		const int64_t n_neighbours = is_unresized(attrs, d) ? 1 : neighbours(attrs, d);
		s->taps[d] = taps;
		if (d < y->rank - 1 && !is_unresized(attrs, d))
			s->resized[s->n_resized++] = d;
		for (int64_t i = 0; i < y->dim[d]; i++, index += n_neighbours, weight += n_neighbours) {
			double at = position(&attrs->resize, d, i, x->shape.dim[d]);
			taps[i] = (struct taps){0, index, weight};
			if (is_unresized(attrs, d)) {
				taps[i].n = 1;
				*index = i;
				*weight = 1;
			} else if (!is_outside(&attrs->resize, at, x->shape.dim[d])) {
				find_weights(attrs, d, at, x->shape.dim[d], &taps[i]);
			}
		}
	}
	for (int k = 0; k < 4; k++)
		s->line[k] = lines + k * s->width;
	for (int d = 0; d < NPL_MAX_RANK; d++)
		s->sum[d] = lines + (4 + d) * s->width;
	return 0;
}

static int interpolate(const struct npl_attrs *attrs, const struct npl_tensor *x, struct npl_tensor *out,
		       struct npl_err *err)
{
	const struct npl_shape *y = &out->shape;
	const int64_t count = npl_tensor_count(out);
	struct sampler s;
	void *memory;
	if (!y->rank) {
		op_store_real(out, 0, npl_tensor_real(x, 0));
		return 0;
	}
	int rc = open_sampler(attrs, x, y, &s, &memory, err);
	for (int64_t first = 0; first < count && !rc; first += s.width) {
		write_line(&s, (double)attrs->resize.extrapolation_value, out, first);
		for (int d = y->rank - 2; d >= 0 && ++s.line_position[d] == y->dim[d]; d--)
			s.line_position[d] = 0;
	}
	free(memory);
	return rc;
}

OP_RUN(op_resize_run)
{
	const struct npl_resize_attrs *r = &attrs->resize;
	struct op_index_map map = {{NULL}};
	uint64_t element[1];
	struct npl_tensor fill = {.dtype = out->dtype, .data = element};
	if (attrs->resize.mode != NPL_RESIZE_NEAREST)
		return interpolate(attrs, in[0], out, err);
	op_store_real(&fill, 0, (double)r->extrapolation_value);
	if (op_index_map_alloc(&map, &out->shape, err))
		return NPL_ENOMEM;
	for (int d = 0; d < out->shape.rank; d++)
		for (int64_t i = 0; i < out->shape.dim[d]; i++) {
			int64_t size = in[0]->shape.dim[d];
			double x = position(r, d, i, size);
			map.from[d][i] = is_unresized(attrs, d)   ? i
					 : is_outside(r, x, size) ? -1
								  : nearest(r, d, x, size);
		}
	op_index_map_copy(&map, in[0], fill.data, out);
	op_index_map_free(&map);
	return 0;
}
