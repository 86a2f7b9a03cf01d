/* SPDX-License-Identifier: MIT
 *
 * Normalisations by statistics of the values themselves: LayerNormalization and RMSNormalization (without the mean)
 * over the last dimensions, InstanceNormalization over a channel of a sample, GroupNormalization over some channels,
 * MeanVarianceNormalization over any dimensions, LpNormalization by a norm along one. Means, variances and norms are in
 * double; float32 and float64 alike, so a float result is rounded once or twice. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"

static int float_inputs(const struct npl_tensor *const *in, int n_in, int required, struct npl_err *err)
{
	if (op_inputs(in, n_in, required, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (in[0]->dtype != NPL_F32 && in[0]->dtype != NPL_F64)
		return npl_fail(err, NPL_EINPUT, "input 0 is %s, expected float32 or float64",
				npl_dtype_name(in[0]->dtype));
	return op_inputs(in, n_in, required, in[0]->dtype, err);
}

struct moments {
	double mean, variance;
};

/* Defines the kernels over n values side by side, for both types. */
#define DEFINE_KERNELS(type)                                                                                           \
	static struct moments moments_##type(const type *x, int64_t n)                                                 \
	{                                                                                                              \
		struct moments m = {0, 0};                                                                             \
		for (int64_t i = 0; i < n; i++)                                                                        \
			m.mean += (double)x[i];                                                                        \
		m.mean /= n ? (double)n : 1;                                                                           \
		for (int64_t i = 0; i < n; i++)                                                                        \
			m.variance += ((double)x[i] - m.mean) * ((double)x[i] - m.mean);                               \
		m.variance /= n ? (double)n : 1;                                                                       \
		return m;                                                                                              \
	}                                                                                                              \
	static void scale_##type(const type *x, int64_t n, double centre, double factor, double offset, type *y)       \
	{                                                                                                              \
		for (int64_t i = 0; i < n; i++)                                                                        \
			y[i] = (type)(((double)x[i] - centre) * factor + offset);                                      \
	}                                                                                                              \
	static double norm_##type(const type *x, int64_t n, int64_t stride, int64_t p)                                 \
	{                                                                                                              \
		double sum = 0;                                                                                        \
		for (int64_t i = 0; i < n; i++)                                                                        \
			sum += p == 1 ? fabs((double)x[i * stride]) : (double)x[i * stride] * (double)x[i * stride];   \
		return p == 1 ? sum : sqrt(sum);                                                                       \
	}                                                                                                              \
	static void divide_##type(const type *x, int64_t n, int64_t stride, double norm, type *y)                      \
	{                                                                                                              \
		for (int64_t i = 0; i < n; i++) /* a vector of zeros has no direction and stays one of zeros */        \
			y[i * stride] = norm == 0 ? 0 : (type)((double)x[i * stride] / norm);                          \
	}                                                                                                              \
	static void affine_##type(const struct op_walk *walk, const type *scale, const type *bias, type *y)            \
	{                                                                                                              \
		int64_t index[NPL_MAX_RANK] = {0}, s = 0, b = 0, last = walk->rank - 1;                                \
		do {                                                                                                   \
			for (int64_t i = 0; i < walk->dim[last]; i++, y++) {                                           \
				type product = *y * scale[s + i * walk->a[last]];                                      \
				*y = bias ? product + bias[b + i * walk->b[last]] : product;                           \
			}                                                                                              \
		} while (op_walk_next(walk, 1, index, &s, &b));                                                        \
	}
DEFINE_KERNELS(float)
DEFINE_KERNELS(double)
/* Calls the kernel of x's type on its elements from `at` on. */
#define BY_TYPE(kernel, x, at, ...)                                                                                    \
	((x)->dtype == NPL_F64 ? kernel##_double((const double *)(x)->data + (at), __VA_ARGS__)                        \
			       : kernel##_float((const float *)(x)->data + (at), __VA_ARGS__))
#define BY_TYPE_TO(kernel, x, y, at, ...)                                                                              \
	((x)->dtype == NPL_F64                                                                                         \
		 ? kernel##_double((const double *)(x)->data + (at), __VA_ARGS__, (double *)(y)->data + (at))          \
		 : kernel##_float((const float *)(x)->data + (at), __VA_ARGS__, (float *)(y)->data + (at)))

static double parameter(const struct npl_tensor *tensor, int64_t i)
{
	return tensor->dtype == NPL_F64 ? ((const double *)tensor->data)[i] : (double)((const float *)tensor->data)[i];
}

static int stash_type(struct npl_attr_list *list, struct npl_err *err)
{
	int64_t stash;
	if (op_attr_int(list, "stash_type", 1, &stash, err))
		return NPL_EINPUT;
	if (stash != 1)
		return npl_fail(err, NPL_EINPUT, "stash_type=%lld is not supported: mean and deviation are float32",
				(long long)stash);
	return 0;
}

OP_ATTRS(op_layernorm_attrs)
{
	if (op_attr_int(list, "axis", -1, &out->norm.axis, err) ||
	    op_attr_float(list, "epsilon", 1e-5f, &out->norm.epsilon, err))
		return NPL_EINPUT;
	return stash_type(list, err);
}

OP_SHAPE(op_layernorm_shape)
{
	if (float_inputs(in, n_in, 2, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	if (op_axis(&attrs->norm.axis, x->rank, x->rank - 1, err))
		return NPL_EINPUT;
	for (int i = 1; i < n_in; i++) {
		struct npl_shape common;
		if (in[i] && (op_broadcast_shape(x, &in[i]->shape, &common, NULL) || !npl_shape_equal(&common, x)))
			return npl_fail(err, NPL_EINPUT, "the %s %s does not broadcast to the input %s",
					i == 1 ? "scale" : "bias", OP_TEXT(&in[i]->shape), OP_TEXT(x));
	}
	out[0].dtype = in[0]->dtype;
	out[0].shape = *x;
	for (int k = 1; k < n_out; k++) {
		out[k].dtype = NPL_F32;
		out[k].shape = *x;
		for (int d = (int)attrs->norm.axis; d < x->rank; d++)
			out[k].shape.dim[d] = 1;
	}
	return 0;
}

/* Computes y = y * scale + bias for the elements of y from `index` on that have this shape; both broadcast, bias may be
 * NULL. */
static void apply_affine(const struct npl_shape *shape, const struct npl_tensor *scale_tensor,
			 const struct npl_tensor *bias, struct npl_tensor *y, int64_t index)
{
	struct op_walk walk;
	op_walk_init(&walk, shape, &scale_tensor->shape, bias ? &bias->shape : &scale_tensor->shape);
	if (y->dtype == NPL_F64)
		affine_double(&walk, scale_tensor->data, bias ? bias->data : NULL, (double *)y->data + index);
	else
		affine_float(&walk, scale_tensor->data, bias ? bias->data : NULL, (float *)y->data + index);
}

/* Returns the shape that scale and bias are applied to at once. It is that of the values normalised together, while
 * they are in the cache, where scale and bias are the same for each such part; else the whole. */
static struct npl_shape affine_shape(const struct npl_shape *x, int axis, const struct npl_tensor *scale_tensor,
				     const struct npl_tensor *bias)
{
	struct npl_shape row = {.rank = x->rank - axis};
	if (scale_tensor->shape.rank > row.rank || (bias && bias->shape.rank > row.rank))
		return *x;
	memcpy(row.dim, x->dim + axis, (size_t)row.rank * sizeof *row.dim);
	return row;
}

OP_RUN(op_layernorm_run)
{
	const struct npl_tensor *x = in[0], *bias = n_in > 2 ? in[2] : NULL;
	int axis = (int)attrs->norm.axis;
	int64_t rows = op_count(x->shape.dim, axis), n = op_count(x->shape.dim + axis, x->shape.rank - axis);
	const struct npl_shape affine = affine_shape(&x->shape, axis, in[1], bias);
	const bool row_by_row = affine.rank < x->shape.rank;
	if (!npl_tensor_count(x))
		n = 0;
	for (int64_t row = 0; row < rows; row++) {
		struct moments m = BY_TYPE(moments, x, row * n, n);
		double factor = 1 / sqrt(m.variance + (double)attrs->norm.epsilon);
		BY_TYPE_TO(scale, x, &out[0], row * n, n, m.mean, factor, 0.0);
		if (row_by_row && n)
			apply_affine(&affine, in[1], bias, &out[0], row * n);
		if (n_out > 1 && out[1].data)
			((float *)out[1].data)[row] = (float)m.mean;
		if (n_out > 2 && out[2].data)
			((float *)out[2].data)[row] = (float)factor;
	}
	if (!row_by_row && n)
		apply_affine(&affine, in[1], bias, &out[0], 0);
	return 0;
}

OP_ATTRS(op_rmsnorm_attrs)
{
	return op_layernorm_attrs(list, out, err);
}

OP_SHAPE(op_rmsnorm_shape)
{
	return op_layernorm_shape(attrs, in, n_in, out, n_out, err);
}

OP_RUN(op_rmsnorm_run)
{
	const struct npl_tensor *x = in[0];
	int axis = (int)attrs->norm.axis;
	int64_t rows = op_count(x->shape.dim, axis), n = op_count(x->shape.dim + axis, x->shape.rank - axis);
	for (int64_t row = 0; row < rows; row++) {
		double norm = BY_TYPE(norm, x, row * n, n, 1, 2);
		double factor = 1 / sqrt(norm * norm / (double)n + (double)attrs->norm.epsilon);
		BY_TYPE_TO(scale, x, &out[0], row * n, n, 0.0, factor, 0.0);
	}
	if (npl_tensor_count(x))
		apply_affine(&x->shape, in[1], NULL, &out[0], 0);
	return 0;
}

OP_ATTRS(op_groupnorm_attrs)
{
	if (op_attr_int(list, "num_groups", 0, &out->norm.groups, err) ||
	    op_attr_float(list, "epsilon", 1e-5f, &out->norm.epsilon, err))
		return NPL_EINPUT;
	if (out->norm.groups < 1)
		return npl_fail(err, NPL_EINPUT, "attribute num_groups must be given and be at least 1");
	return op_before(out, 21) ? 0 : stash_type(list, err);
}

/* Scale and bias belong to each group before opset 21, and to each channel from then on. */
OP_SHAPE(op_groupnorm_shape)
{
	if (float_inputs(in, n_in, 3, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	if (x->rank < 2 || x->dim[1] % attrs->norm.groups)
		return npl_fail(err, NPL_EINPUT, "the channels of the input %s cannot be split into %lld groups",
				OP_TEXT(x), (long long)attrs->norm.groups);
	const int64_t values = op_before(attrs, 21) ? attrs->norm.groups : x->dim[1];
	for (int i = 1; i < 3; i++)
		if (in[i]->shape.rank != 1 || in[i]->shape.dim[0] != values)
			return npl_fail(err, NPL_EINPUT, "the %s is %s, expected %lld values, one for each %s",
					i == 1 ? "scale" : "bias", OP_TEXT(&in[i]->shape), (long long)values,
					op_before(attrs, 21) ? "group" : "channel");
	out->dtype = in[0]->dtype;
	out->shape = *x;
	return 0;
}

OP_RUN(op_groupnorm_run)
{
	const struct npl_tensor *x = in[0];
	const int64_t channels = x->shape.dim[1] / attrs->norm.groups,
		      plane = op_count(x->shape.dim + 2, x->shape.rank - 2);
	for (int64_t i = 0; i < x->shape.dim[0] * attrs->norm.groups; i++) {
		struct moments m = BY_TYPE(moments, x, i * channels * plane, channels * plane);
		for (int64_t c = 0; c < channels; c++) {
			const int64_t group = i % attrs->norm.groups, index = (i * channels + c) * plane;
			const int64_t k = op_before(attrs, 21) ? group : group * channels + c;
			double factor = parameter(in[1], k) / sqrt(m.variance + (double)attrs->norm.epsilon);
			BY_TYPE_TO(scale, x, out, index, plane, m.mean, factor, parameter(in[2], k));
		}
	}
	return 0;
}

OP_ATTRS(op_instancenorm_attrs)
{
	op_attr_accept(list, "consumed_inputs");
	return op_attr_float(list, "epsilon", 1e-5f, &out->norm.epsilon, err);
}

OP_SHAPE(op_instancenorm_shape)
{
	if (float_inputs(in, n_in, 3, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	if (x->rank < 3)
		return npl_fail(err, NPL_EINPUT, "the input %s must be batch x channels x positions", OP_TEXT(x));
	for (int i = 1; i < 3; i++)
		if (in[i]->shape.rank != 1 || in[i]->shape.dim[0] != x->dim[1])
			return npl_fail(err, NPL_EINPUT, "the %s is %s, expected %lld values for the input %s",
					i == 1 ? "scale" : "bias", OP_TEXT(&in[i]->shape), (long long)x->dim[1],
					OP_TEXT(x));
	out->dtype = in[0]->dtype;
	out->shape = *x;
	return 0;
}

OP_RUN(op_instancenorm_run)
{
	const struct npl_tensor *x = in[0];
	int64_t channels = x->shape.dim[1], n = op_count(x->shape.dim + 2, x->shape.rank - 2);
	for (int64_t i = 0; i < x->shape.dim[0] * channels; i++) {
		struct moments m = BY_TYPE(moments, x, i * n, n);
		double factor = parameter(in[1], i % channels) / sqrt(m.variance + (double)attrs->norm.epsilon);
		BY_TYPE_TO(scale, x, out, i * n, n, m.mean, factor, parameter(in[2], i % channels));
	}
	return 0;
}

OP_ATTRS(op_meanvariance_attrs)
{
	if (op_attr_ints(list, "axes", NPL_MAX_RANK, out->norm.axes, &out->norm.n_axes, err))
		return NPL_EINPUT;
	if (out->norm.n_axes < 0) {
		const int64_t fallback[] = {0, 2, 3};
		for (out->norm.n_axes = 0; out->norm.n_axes < 3; out->norm.n_axes++)
			out->norm.axes[out->norm.n_axes] = fallback[out->norm.n_axes];
	}
	return 0;
}

OP_SHAPE(op_meanvariance_shape)
{
	unsigned named_axes = 0;
	if (float_inputs(in, n_in, 1, err))
		return NPL_EINPUT;
	for (int i = 0; i < attrs->norm.n_axes; i++) {
		if (op_axis(&attrs->norm.axes[i], in[0]->shape.rank, in[0]->shape.rank - 1, err))
			return NPL_EINPUT;
		if (named_axes & 1u << attrs->norm.axes[i])
			return npl_fail(err, NPL_EINPUT, "the axis %lld is named twice",
					(long long)attrs->norm.axes[i]);
		named_axes |= 1u << attrs->norm.axes[i];
	}
	out->dtype = in[0]->dtype;
	out->shape = in[0]->shape;
	return 0;
}

/* The group of each element: elements that differ along the axes alone share one. */
struct groups {
	const struct npl_shape *shape;
	int64_t stride[NPL_MAX_RANK], count;
};

static struct groups groups_of(const struct npl_attrs *attrs, const struct npl_shape *shape)
{
	struct groups g = {.shape = shape, .count = 1};
	for (int d = shape->rank - 1; d >= 0; d--) {
		bool reduced = false;
		for (int i = 0; i < attrs->norm.n_axes; i++)
			reduced |= attrs->norm.axes[i] == d;
		g.stride[d] = reduced ? 0 : g.count;
		g.count *= reduced ? 1 : shape->dim[d];
	}
	return g;
}

static int64_t group_at(const struct groups *g, int64_t i)
{
	int64_t index = 0;
	for (int d = g->shape->rank - 1; d >= 0; d--) {
		index += i % g->shape->dim[d] * g->stride[d];
		i /= g->shape->dim[d];
	}
	return index;
}

OP_RUN(op_meanvariance_run)
{
	const struct npl_tensor *x = in[0];
	const struct groups g = groups_of(attrs, &x->shape);
	int64_t count = npl_tensor_count(x);
	if (!count)
		return 0;
	double *mean = calloc((size_t)g.count, 2 * sizeof *mean);
	int64_t group_size = count / g.count;
	double members = (double)group_size;
	if (!mean)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld means", (long long)g.count);
	double *deviation = mean + g.count;
	for (int64_t i = 0; i < count; i++)
		mean[group_at(&g, i)] += parameter(x, i) / members;
	for (int64_t i = 0; i < count; i++) {
		double difference = parameter(x, i) - mean[group_at(&g, i)];
		deviation[group_at(&g, i)] += difference * difference / members;
	}
	for (int64_t i = 0; i < g.count; i++)
		deviation[i] = sqrt(deviation[i]) + 1e-9; /* as ONNX's definition has it */
	for (int64_t i = 0; i < count; i++) {
		int64_t index = group_at(&g, i);
		BY_TYPE_TO(scale, x, out, i, 1, mean[index], 1 / deviation[index], 0.0);
	}
	free(mean);
	return 0;
}

OP_ATTRS(op_lpnorm_attrs)
{
	if (op_attr_int(list, "axis", -1, &out->norm.axis, err) || op_attr_int(list, "p", 2, &out->norm.p, err))
		return NPL_EINPUT;
	if (out->norm.p != 1 && out->norm.p != 2)
		return npl_fail(err, NPL_EINPUT, "attribute p must be 1 or 2, got %lld", (long long)out->norm.p);
	return 0;
}

OP_SHAPE(op_lpnorm_shape)
{
	if (float_inputs(in, n_in, 1, err) || op_axis(&attrs->norm.axis, in[0]->shape.rank, in[0]->shape.rank - 1, err))
		return NPL_EINPUT;
	out->dtype = in[0]->dtype;
	out->shape = in[0]->shape;
	return 0;
}

OP_RUN(op_lpnorm_run)
{
	const struct npl_shape *shape = &in[0]->shape;
	int axis = (int)attrs->norm.axis;
	int64_t n = shape->dim[axis], inner = op_count(shape->dim + axis + 1, shape->rank - axis - 1);
	for (int64_t o = 0; o < op_count(shape->dim, axis); o++)
		for (int64_t i = 0; i < inner; i++) {
			double norm = BY_TYPE(norm, in[0], o * n * inner + i, n, inner, attrs->norm.p);
			BY_TYPE_TO(divide, in[0], out, o * n * inner + i, n, inner, norm);
		}
	return 0;
}
