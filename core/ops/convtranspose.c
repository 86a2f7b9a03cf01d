/* SPDX-License-Identifier: MIT
 *
 * ConvTranspose in one to three dimensions: the convolution that goes the other way, each input position adding its
 * value times the kernel to the output. Each image and group is a product of the kernels (M*K, C) by the input (C,
 * positions), some filters and lines of positions at a time, whose results are then scattered: element (m, tap,
 * position) goes to the place that the convolution's tap would read. An output is its bias plus these sums over C. */
#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "ops.h"

#define BUFFER_FLOATS 262144 /* 1 MiB of products before they are scattered: they stay in the L2 cache */

OP_ATTRS(op_convtranspose_attrs)
{
	if (op_attr_int(list, "group", 1, &out->conv.groups, err) || op_window_attrs(list, &out->conv.window, err) ||
	    op_window_list(list, "output_padding", &out->conv.window.rank, out->conv.output_padding, err) ||
	    op_window_list(list, "output_shape", &out->conv.window.rank, out->conv.output_shape, err))
		return NPL_EINPUT;
	return 0;
}

/* Computes the pads that give the output the size that the model asks for. Where the output is longer than the input
 * reaches, the rest is padding at its end. */
static void pads_for(struct npl_window *w, int d, int64_t natural, int64_t output, int64_t *padding)
{
	int64_t total = natural > output ? natural - output : 0, less = total / 2;
	w->pad_begin[d] = w->auto_pad == NPL_PAD_SAME_UPPER ? less : total - less;
	w->pad_end[d] = total - w->pad_begin[d];
	*padding += output - (natural - total);
}

/* Completes one dimension: the pads for the model's request, and the output size. */
static int complete_dimension(struct npl_conv_attrs *conv, int d, int64_t input, int64_t *output, struct npl_err *err)
{
	struct npl_window *w = &conv->window;
	int64_t *padding = &conv->output_padding[d];
	const int64_t requested = conv->output_shape[d];
	if (*padding < 0 || *padding > INT32_MAX || requested < 0)
		return npl_fail(err, NPL_EINPUT,
				"output_padding and output_shape must not be negative, got %lld and %lld",
				(long long)*padding, (long long)requested);
	/* The output's size before pads are taken off. The window's extent plus the padding cannot overflow: kernel,
	 * dilation and padding are below 2^31. */
	int64_t natural;
	if (input < 1 || __builtin_mul_overflow(input - 1, w->stride[d], &natural) ||
	    __builtin_add_overflow(natural, npl_window_extent(w, d) + *padding, &natural))
		return npl_fail(err, NPL_EINPUT, "an input of %lld positions with stride %lld gives no output",
				(long long)input, (long long)w->stride[d]);
	if (requested)
		pads_for(w, d, natural, requested, padding);
	else if (w->auto_pad == NPL_PAD_SAME_UPPER || w->auto_pad == NPL_PAD_SAME_LOWER)
		pads_for(w, d, natural, input * w->stride[d], padding);
	else if (w->auto_pad == NPL_PAD_VALID)
		w->pad_begin[d] = w->pad_end[d] = 0;
	*output = (input - 1) * w->stride[d] + npl_window_extent(w, d) + *padding - w->pad_begin[d] - w->pad_end[d];
	if (*output < 1 || *output > NPL_MAX_ELEMENTS)
		return npl_fail(err, NPL_EINPUT, "an output of %lld positions is impossible", (long long)*output);
	return 0;
}

OP_SHAPE(op_convtranspose_shape)
{
	if (op_inputs(in, n_in, 2, NPL_F32, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape, *w = &in[1]->shape;
	struct npl_image image = npl_image_of(x);
	int64_t output[NPL_VOLUME], groups = attrs->conv.groups, filters;
	if (x->rank < 3 || w->rank != x->rank)
		return npl_fail(
			err, NPL_EINPUT,
			"the input %s and the weights %s must both be (batch or channels) x (channels or filters) "
			"x one to three spatial dimensions",
			OP_TEXT(x), OP_TEXT(w));
	if (groups < 1 || w->dim[0] != x->dim[1] || x->dim[1] % groups || x->dim[1] == 0 || w->dim[1] == 0 ||
	    __builtin_mul_overflow(w->dim[1], groups, &filters))
		return npl_fail(err, NPL_EINPUT,
				"the weights %s must have a row for each channel of the input %s, which must divide by "
				"group = %lld",
				OP_TEXT(w), OP_TEXT(x), (long long)groups);
	if (n_in > 2 && in[2] && (in[2]->shape.rank != 1 || in[2]->shape.dim[0] != filters))
		return npl_fail(err, NPL_EINPUT, "the bias is %s, expected %lld values, one per filter",
				OP_TEXT(&in[2]->shape), (long long)filters);
	if (op_window_kernel(&attrs->conv.window, x, w, err))
		return NPL_EINPUT;
	for (int d = 0; d < NPL_VOLUME; d++)
		if (complete_dimension(&attrs->conv, d, image.size[d], &output[d], err))
			return NPL_EINPUT;
	attrs->conv.window.auto_pad = NPL_PAD_NOTSET;
	memset(attrs->conv.output_shape, 0, sizeof attrs->conv.output_shape);
	out->dtype = NPL_F32;
	out->shape = op_window_shape(&attrs->conv.window, x->dim[0], filters, output);
	if (op_output_fits(&out->shape, 1, err))
		return NPL_EINPUT;
	return op_output_fits(x, op_count(&w->dim[1], w->rank - 1), err);
}

/* Counts the pairs of an input position and a tap that meet inside the output, times the channels on both sides. */
OP_MACS(op_convtranspose_macs)
{
	const struct npl_window window = op_window_volume(&attrs->conv.window);
	struct npl_image x = npl_image_of(&in[0]->shape), y = npl_image_of(&out->shape);
	uint64_t macs = (uint64_t)x.images * (uint64_t)x.channels * (uint64_t)in[1]->shape.dim[1];
	for (int d = 0; d < NPL_VOLUME; d++) {
		uint64_t pairs = 0;
		for (int64_t tap = 0; tap < window.kernel[d]; tap++) {
			int64_t first, end;
			npl_window_range(&window, d, tap, y.size[d], x.size[d], &first, &end);
			pairs += (uint64_t)(end - first);
		}
		macs *= pairs;
	}
	return macs;
}

/* One group of one image. */
struct scatter {
	struct npl_window window;
	int64_t in[NPL_VOLUME], out[NPL_VOLUME];
	int64_t channels, filters;
	const float *kernels; /* (filters * taps, channels) */
	float *products;      /* the products of some filters by some lines of the input */
};

/* Adds the products of one filter and one tap with `lines` lines of the input, from `line` on, to its output volume. */
static void scatter_tap(const struct scatter *s, int64_t tap, int64_t line, int64_t lines, const float *products,
			float *y)
{
	const struct npl_window *w = &s->window;
	const int64_t tap_index[NPL_VOLUME] = {tap / w->kernel[1] % w->kernel[0], tap % w->kernel[1],
					       tap / w->kernel[1] / w->kernel[0]};
	int64_t first, end, stride = w->stride[1], shift = op_window_reads(w, 1, 0, tap_index[1]);
	npl_window_range(w, 1, tap_index[1], s->out[1], s->in[1], &first, &end);
	for (int64_t l = line; l < line + lines; l++, products += s->in[1]) {
		int64_t z = op_window_reads(w, NPL_DEPTH, l / s->in[0], tap_index[NPL_DEPTH]);
		int64_t row = op_window_reads(w, 0, l % s->in[0], tap_index[0]);
		if (!op_inside(z, s->out[NPL_DEPTH]) || !op_inside(row, s->out[0]))
			continue;
		float *to = y + op_row(s->out, z, row);
		if (stride == 1)
			for (int64_t i = first; i < end; i++)
				to[i + shift] += products[i];
		else
			for (int64_t i = first; i < end; i++)
				to[i * stride + shift] += products[i];
	}
}

/* Chooses how many lines of the input, and how many filters, fill the buffer. */
static void choose_block(const struct scatter *s, int64_t *lines, int64_t *filters)
{
	int64_t taps = op_volume(s->window.kernel), all = s->in[NPL_DEPTH] * s->in[0];
	*lines = BUFFER_FLOATS / taps / s->in[1];
	*lines = *lines < 1 ? 1 : *lines > all ? all : *lines;
	*filters = BUFFER_FLOATS / taps / (*lines * s->in[1]);
	*filters = *filters < 1 ? 1 : *filters > s->filters ? s->filters : *filters;
}

static int transpose_group(const struct scatter *s, const float *x, float *y, struct npl_err *err)
{
	int64_t taps = op_volume(s->window.kernel), plane = op_volume(s->in), all = s->in[NPL_DEPTH] * s->in[0];
	int64_t most_lines, most_filters;
	choose_block(s, &most_lines, &most_filters);
	for (int64_t line = 0; line < all; line += most_lines) {
		int64_t lines = all - line < most_lines ? all - line : most_lines, cols = lines * s->in[1];
		for (int64_t m = 0; m < s->filters; m += most_filters) {
			int64_t filters = s->filters - m < most_filters ? s->filters - m : most_filters;
			struct op_product product = {.rows = filters * taps,
						     .cols = cols,
						     .depth = s->channels,
						     .a = s->kernels + m * taps * s->channels,
						     .a_stride = s->channels,
						     .y = s->products,
						     .y_stride = cols};
			struct op_matrix b = {.data = x + line * s->in[1], .stride = plane};
			memset(s->products, 0, (size_t)(filters * taps * cols) * sizeof *s->products);
			if (op_product_matrix(&product, &b, err))
				return NPL_ENOMEM;
			for (int64_t k = 0; k < filters * taps; k++)
				scatter_tap(s, k % taps, line, lines, s->products + k * cols,
					    y + (m + k / taps) * op_volume(s->out));
		}
	}
	return 0;
}

static int run_images(struct scatter *s, const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
		      struct npl_tensor *out, struct npl_err *err)
{
	const float *bias = n_in > 2 && in[2] ? in[2]->data : NULL;
	int64_t images = in[0]->shape.dim[0], groups = attrs->conv.groups;
	int64_t from = s->channels * op_volume(s->in), to = s->filters * op_volume(s->out);
	int64_t weights = s->channels * s->filters * op_volume(s->window.kernel);
	float *y = out->data;
	for (int64_t i = 0; i < images * groups * to; i++)
		y[i] = bias ? bias[i / op_volume(s->out) % (s->filters * groups)] : 0.0f;
	for (int64_t g = 0; g < groups; g++) {
		op_turn_matrix((const float *)in[1]->data + g * weights, s->channels, weights / s->channels,
			       (float *)s->kernels);
		for (int64_t image = 0; image < images; image++) {
			int64_t index = image * groups + g;
			if (transpose_group(s, (const float *)in[0]->data + index * from, y + index * to, err))
				return NPL_ENOMEM;
		}
	}
	return 0;
}

OP_RUN(op_convtranspose_run)
{
	struct npl_image x = npl_image_of(&in[0]->shape), y = npl_image_of(&out->shape);
	struct scatter s = {.window = op_window_volume(&attrs->conv.window),
			    .channels = x.channels / attrs->conv.groups,
			    .filters = y.channels / attrs->conv.groups};
	memcpy(s.in, x.size, sizeof s.in);
	memcpy(s.out, y.size, sizeof s.out);
	int64_t taps = op_volume(s.window.kernel), lines, filters;
	choose_block(&s, &lines, &filters);
	float *kernels = malloc((size_t)(s.channels * s.filters * taps) * sizeof *kernels);
	s.kernels = kernels;
	size_t bytes;
	if (npl_mul_size((size_t)(filters * taps * lines), (size_t)s.in[1] * sizeof *s.products, &bytes))
		s.products = malloc(bytes);
	int rc = kernels && s.products ? run_images(&s, attrs, in, n_in, out, err)
				       : npl_fail(err, NPL_ENOMEM, "out of memory for the products of a ConvTranspose");
	free(kernels);
	free(s.products);
	return rc;
}
