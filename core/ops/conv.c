/* SPDX-License-Identifier: MIT
 *
 * Conv in one to three dimensions, with groups, strides, dilations and padding. Each image and group is a product of
 * its filters (M,K) by the patches (K, output positions), K running over channel, kernel slice, row and column; a few
 * patches at a time are packed for the product, and the whole matrix is never built. With very few filters per group
 * (depthwise) packing costs more than the sums, so these are computed row by row. Private kernels, which no two outputs
 * share, are computed output by output. Either way an output is its bias plus its products in the order of K. */
#include <stdatomic.h>
#include <string.h>

#include "core/base/parallel.h"
#include "ops.h"

#define FEW_FILTERS   4     /* per group: fewer are computed row by row */
#define ALONE_RESULTS 16384 /* fewer results are done before another thread has woken up */

OP_ATTRS(op_conv_attrs)
{
	if (op_attr_int(list, "group", 1, &out->conv.groups, err))
		return NPL_EINPUT;
	return op_window_attrs(list, &out->conv.window, err);
}

/* Finds the number of filters of a position, where each position has its own: the rows of w over the positions.
 * NPL_EINPUT: these do not divide. */
static int private_filters(struct npl_attrs *attrs, const struct npl_shape *x, const struct npl_shape *w,
			   int64_t *filters, struct npl_err *err)
{
	int64_t output[NPL_VOLUME], positions;
	if (op_window_complete(&attrs->conv.window, x, w, output, err))
		return NPL_EINPUT;
	if (attrs->conv.window.rank > NPL_SPATIAL || __builtin_mul_overflow(output[0], output[1], &positions) ||
	    w->dim[0] % positions)
		return npl_fail(
			err, NPL_EINPUT,
			"private kernels: the %lld rows of the weights %s are not as many for each of %lldx%lld "
			"output positions",
			(long long)w->dim[0], OP_TEXT(w), (long long)output[0], (long long)output[1]);
	*filters = w->dim[0] / positions;
	return 0;
}

int op_conv_result(struct npl_attrs *attrs, const struct npl_shape *x, const struct npl_shape *w,
		   const struct npl_tensor *bias, struct npl_shape *y, struct npl_err *err)
{
	int64_t output[NPL_VOLUME], groups = attrs->conv.groups;
	if (x->rank < 3 || w->rank != x->rank)
		return npl_fail(err, NPL_EINPUT,
				"the input %s and the weights %s must both be (batch or filters) x channels x "
				"one to three spatial dimensions",
				OP_TEXT(x), OP_TEXT(w));
	int64_t filters = w->dim[0];
	if (attrs->conv.private_kernels && private_filters(attrs, x, w, &filters, err))
		return NPL_EINPUT;
	if (groups < 1 || x->dim[1] % groups || filters % groups || filters == 0)
		return npl_fail(err, NPL_EINPUT,
				"the channels of the input %s and the filters of the weights %s must divide by "
				"group = %lld",
				OP_TEXT(x), OP_TEXT(w), (long long)groups);
	if (w->dim[1] != x->dim[1] / groups)
		return npl_fail(err, NPL_EINPUT,
				"the weights %s take %lld channels per group, the input %s in %lld groups has "
				"%lld",
				OP_TEXT(w), (long long)w->dim[1], OP_TEXT(x), (long long)groups,
				(long long)(x->dim[1] / groups));
	if (bias && (bias->shape.rank != 1 || bias->shape.dim[0] != filters))
		return npl_fail(err, NPL_EINPUT, "the bias is %s, expected %lld values, one per filter",
				OP_TEXT(&bias->shape), (long long)filters);
	if (op_window_complete(&attrs->conv.window, x, w, output, err))
		return NPL_EINPUT;
	*y = op_window_shape(&attrs->conv.window, x->dim[0], filters, output);
	return op_output_fits(y, op_count(&w->dim[1], w->rank - 1), err);
}

OP_SHAPE(op_conv_shape)
{
	if (op_inputs(in, n_in, 2, NPL_F32, err))
		return NPL_EINPUT;
	out->dtype = NPL_F32;
	return op_conv_result(attrs, &in[0]->shape, &in[1]->shape, n_in > 2 ? in[2] : NULL, &out->shape, err);
}

OP_MACS(op_conv_macs)
{
	const struct npl_shape *w = &in[1]->shape;
	return (uint64_t)npl_tensor_count(out) * (uint64_t)op_count(&w->dim[1], w->rank - 1);
}

/* The channels of one group of one image, as the matrix (channel x kernel slice, row, column; output position). */
struct patches {
	struct npl_window window;
	const float *x;
	int64_t in[NPL_VOLUME], out[NPL_VOLUME];
};

/* Output positions of a panel that are in one output row: they read one input row per kernel element. */
struct run {
	int64_t z, y, x;  /* input position that the kernel's first element reads */
	int first, count; /* columns of the panel */
};

static int split_into_runs(const struct patches *p, int64_t n0, int cols, struct run *run)
{
	int n_runs = 0;
	for (int first = 0; first < cols; n_runs++) {
		int64_t row = (n0 + first) / p->out[1], ox = (n0 + first) % p->out[1];
		int64_t row_left = p->out[1] - ox;
		int count = row_left < cols - first ? (int)row_left : cols - first;
		run[n_runs] = (struct run){.z = op_window_reads(&p->window, NPL_DEPTH, row / p->out[0], 0),
					   .y = op_window_reads(&p->window, 0, row % p->out[0], 0),
					   .x = op_window_reads(&p->window, 1, ox, 0),
					   .first = first,
					   .count = count};
		first += count;
	}
	return n_runs;
}

/* Packs count values of an input row from position x on, with zeros outside it. */
static void pack_run(const float *row, int64_t width, int64_t x, int64_t stride, int count, float *to)
{
	if (stride == 1 && x >= 0 && x + count <= width) {
		memcpy(to, row + x, (size_t)count * sizeof *to);
		return;
	}
	for (int i = 0; i < count; i++, x += stride)
		to[i] = x >= 0 && x < width ? row[x] : 0.0f;
}

static void pack_patches(const void *b, int64_t k0, int64_t depth, int64_t n0, int cols, float *panel, int width)
{
	const struct patches *p = b;
	const struct npl_window *w = &p->window;
	struct run run[OP_MAX_WIDTH]; /* at most one run per column */
	int n_runs = split_into_runs(p, n0, cols, run);
	int64_t kx = k0 % w->kernel[1], ky = k0 / w->kernel[1] % w->kernel[0];
	int64_t kz = k0 / w->kernel[1] / w->kernel[0] % w->kernel[NPL_DEPTH];
	const float *channel = p->x + k0 / op_volume(w->kernel) * op_volume(p->in);
	for (int64_t k = 0; k < depth; k++, panel += width) {
		for (int r = 0; r < n_runs; r++) {
			int64_t z = run[r].z + kz * w->dilation[NPL_DEPTH], y = run[r].y + ky * w->dilation[0];
			int64_t x = run[r].x + kx * w->dilation[1];
			if (op_inside(z, p->in[NPL_DEPTH]) && op_inside(y, p->in[0]))
				pack_run(channel + op_row(p->in, z, y), p->in[1], x, w->stride[1], run[r].count,
					 panel + run[r].first);
			else
				memset(panel + run[r].first, 0, (size_t)run[r].count * sizeof *panel);
		}
		if (++kx == w->kernel[1]) {
			kx = 0;
			if (++ky == w->kernel[0]) {
				ky = 0;
				if (++kz == w->kernel[NPL_DEPTH]) {
					kz = 0;
					channel += op_volume(p->in);
				}
			}
		}
	}
}

/* Adds one kernel element times the part of an input volume that it meets to the output volume. */
static void add_tap(const struct patches *p, int64_t tap, const float *x, float weight, float *y)
{
	const struct npl_window *w = &p->window;
	const int64_t tap_index[NPL_VOLUME] = {tap / w->kernel[1] % w->kernel[0], tap % w->kernel[1],
					       tap / w->kernel[1] / w->kernel[0]};
	int64_t first[NPL_VOLUME], end[NPL_VOLUME], stride = w->stride[1],
						    shift = op_window_reads(w, 1, 0, tap_index[1]);
	for (int d = 0; d < NPL_VOLUME; d++)
		npl_window_range(w, d, tap_index[d], p->in[d], p->out[d], &first[d], &end[d]);
	for (int64_t oz = first[NPL_DEPTH]; oz < end[NPL_DEPTH]; oz++)
		for (int64_t oy = first[0]; oy < end[0]; oy++) {
			const float *from = x + op_row(p->in, op_window_reads(w, NPL_DEPTH, oz, tap_index[NPL_DEPTH]),
						       op_window_reads(w, 0, oy, tap_index[0]));
			float *restrict to = y + op_row(p->out, oz, oy);
			if (stride == 1)
				for (int64_t ox = first[1]; ox < end[1]; ox++)
					to[ox] += weight * from[ox + shift];
			else
				for (int64_t ox = first[1]; ox < end[1]; ox++)
					to[ox] += weight * from[ox * stride + shift];
		}
}

static bool is_pointwise(const struct npl_window *w)
{
	for (int d = 0; d < NPL_VOLUME; d++)
		if (w->kernel[d] != 1 || w->stride[d] != 1 || w->pad_begin[d] || w->pad_end[d])
			return false;
	return true;
}

/* Adds filters(m,k) times the patches of one group of one image to y(m, output positions). */
static int convolve_group(const struct patches *p, int64_t filters, int64_t channels, const float *weight, float *y,
			  struct npl_err *err)
{
	int64_t taps = op_volume(p->window.kernel), plane = op_volume(p->out);
	if (filters < FEW_FILTERS) {
		for (int64_t m = 0; m < filters; m++, y += plane)
			for (int64_t k = 0; k < channels * taps; k++)
				add_tap(p, k % taps, p->x + k / taps * op_volume(p->in), *weight++, y);
		return 0;
	}
	struct op_product product = {.rows = filters,
				     .cols = plane,
				     .depth = channels * taps,
				     .a = weight,
				     .a_stride = channels * taps,
				     .pack = pack_patches,
				     .b = p,
				     .y = y,
				     .y_stride = plane};
	if (is_pointwise(&p->window))
		return op_product_matrix(&product, &(struct op_matrix){.data = p->x, .stride = plane}, err);
	return op_product(&product, err);
}

/* Returns one output whose kernel is its own: `sum` plus its products. */
static float private_at(const struct patches *p, int64_t channels, int64_t oy, int64_t ox, const float *weight,
			float sum)
{
	const struct npl_window *w = &p->window;
	for (int64_t c = 0; c < channels; c++)
		for (int64_t ky = 0; ky < w->kernel[0]; ky++)
			for (int64_t kx = 0; kx < w->kernel[1]; kx++, weight++) {
				int64_t y = op_window_reads(w, 0, oy, ky), x = op_window_reads(w, 1, ox, kx);
				if (op_inside(y, p->in[0]) && op_inside(x, p->in[1]))
					sum += *weight * p->x[(c * p->in[0] + y) * p->in[1] + x];
			}
	return sum;
}

/* Adds the products of one group of one image to y(m, output positions). weight is that of its first filter at the
 * first position; the next position's is `next` floats further. */
static void convolve_private(const struct patches *p, int64_t filters, int64_t channels, const float *weight,
			     int64_t next, float *y)
{
	int64_t k = channels * p->window.kernel[0] * p->window.kernel[1], plane = p->out[0] * p->out[1];
	for (int64_t m = 0; m < filters; m++, weight += k, y += plane)
		for (int64_t i = 0; i < plane; i++)
			y[i] = private_at(p, channels, i / p->out[1], i % p->out[1], weight + i * next, y[i]);
}

/* A convolution as groups of images, which are independent. */
struct groups {
	const struct npl_attrs *attrs;
	const struct npl_tensor *const *in;
	const float *bias; /* NULL: none */
	struct patches patches;
	int64_t channels, filters, plane; /* channels and filters of a group; positions of an output map */
	float *out;
	atomic_bool failed;
};

static void convolve(void *context, int64_t i, int worker)
{
	struct groups *groups = context;
	struct patches p = groups->patches;
	const int64_t g = i % groups->attrs->conv.groups, filters = groups->filters, plane = groups->plane;
	const int64_t k = groups->channels * op_volume(p.window.kernel);
	const float *weight = (const float *)groups->in[1]->data + g * filters * k;
	float *to = groups->out + i * filters * plane;
	(void)worker;
	p.x += i * groups->channels * op_volume(p.in);
	for (int64_t m = 0; m < filters; m++)
		for (int64_t index = 0; index < plane; index++)
			to[m * plane + index] = groups->bias ? groups->bias[g * filters + m] : 0.0f;
	if (groups->attrs->conv.private_kernels)
		convolve_private(&p, filters, groups->channels, weight, groups->attrs->conv.groups * filters * k, to);
	else if (convolve_group(&p, filters, groups->channels, weight, to, NULL))
		atomic_store(&groups->failed, true);
}

OP_RUN(op_conv_run)
{
	const int workers = npl_parallel_workers();
	struct npl_image x = npl_image_of(&in[0]->shape), y = npl_image_of(&out->shape);
	struct groups groups = {.attrs = attrs,
				.in = in,
				.bias = n_in > 2 && in[2] ? in[2]->data : NULL,
				.patches = {.window = op_window_volume(&attrs->conv.window), .x = in[0]->data},
				.channels = x.channels / attrs->conv.groups,
				.filters = y.channels / attrs->conv.groups,
				.plane = op_volume(y.size),
				.out = out->data};
	memcpy(groups.patches.in, x.size, sizeof groups.patches.in);
	memcpy(groups.patches.out, y.size, sizeof groups.patches.out);
	const int64_t n = x.images * attrs->conv.groups;
	/* Where there are few groups, the product within each takes the threads. */
	npl_parallel(n < workers || npl_tensor_count(out) < ALONE_RESULTS ? 1 : workers, n, convolve, &groups);
	return groups.failed ? npl_fail(err, NPL_ENOMEM, "out of memory for a block of a matrix product") : 0;
}
