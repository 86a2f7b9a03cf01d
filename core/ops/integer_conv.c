/* SPDX-License-Identifier: MIT
 *
 * ConvInteger and QLinearConv: Conv's shapes on 8-bit operands. Padding has the value of the input's zero point, so it
 * adds nothing; the filters may have a scale and a zero point each. */
#include <stdlib.h>

#include "elements.h"
#include "integer_operand.h"

OP_ATTRS(op_integerconv_attrs)
{
	return op_conv_attrs(list, out, err);
}

OP_SHAPE(op_integerconv_shape)
{
	const struct npl_integer_inputs *integer_inputs = npl_integer_inputs_of(attrs->op);
	if (op_inputs(in, n_in, integer_inputs->y_zero >= 0 ? integer_inputs->y_zero + 1 : 2, NPL_DTYPES, err))
		return NPL_EINPUT;
	const struct npl_tensor *w = in[integer_inputs->b];
	if (op_conv_result(attrs, &in[integer_inputs->a]->shape, &w->shape,
			   op_integer_input(in, n_in, integer_inputs->bias), &out->shape, err) ||
	    op_integer_check(attrs, in, n_in, 1, w->shape.dim[0], err))
		return NPL_EINPUT;
	out->dtype = integer_inputs->y_zero >= 0 ? in[integer_inputs->y_zero]->dtype : NPL_I32;
	return 0;
}

OP_MACS(op_integerconv_macs)
{
	const struct npl_shape *w = &in[npl_integer_inputs_of(attrs->op)->b]->shape;
	return (uint64_t)npl_tensor_count(out) * (uint64_t)op_count(&w->dim[1], w->rank - 1);
}

/* Returns the elements less their zero point, or less that of each part of dimension 0 where there are several. */
static int16_t *elements(const struct npl_tensor *x, const struct npl_tensor *zero, int64_t parts)
{
	int64_t count = npl_tensor_count(x), part_size = parts && count ? count / parts : 1;
	int16_t *copy = malloc((size_t)count * sizeof *copy + 1);
	for (int64_t i = 0; copy && i < count; i++)
		copy[i] = (int16_t)(op_whole(x, i) - op_integer_zero(zero, i / part_size));
	return copy;
}

struct integer_conv {
	struct npl_window window;
	struct npl_image in, out;
	int64_t channels, filters, taps; /* channels and filters of a group */
	const int16_t *x, *w;
	int16_t *patch; /* channels x taps under one output position */
};

/* Gathers the patch of the group's channels, which begin at x, under output position p. */
static void gather(const struct integer_conv *c, const int16_t *x, int64_t p)
{
	const struct npl_window *w = &c->window;
	const int64_t *in = c->in.size, *out = c->out.size, ox = p % out[1], oy = p / out[1] % out[0];
	int16_t *to = c->patch;
	for (int64_t channel = 0; channel < c->channels; channel++, x += op_volume(in))
		for (int64_t t = 0; t < c->taps; t++) {
			int64_t row = t / w->kernel[1], column = op_window_reads(w, 1, ox, t % w->kernel[1]);
			int64_t y = op_window_reads(w, 0, oy, row % w->kernel[0]);
			int64_t z = op_window_reads(w, NPL_DEPTH, p / out[1] / out[0], row / w->kernel[0]);
			bool inside = op_inside(z, in[NPL_DEPTH]) && op_inside(y, in[0]) && op_inside(column, in[1]);
			*to++ = inside ? x[op_row(in, z, y) + column] : (int16_t)0;
		}
}

static void convolve(const struct integer_conv *c, const struct npl_attrs *attrs, const struct npl_tensor *const *in,
		     int n_in, struct npl_tensor *out)
{
	const struct npl_integer_inputs *integer_inputs = npl_integer_inputs_of(attrs->op);
	const struct npl_tensor *bias = op_integer_input(in, n_in, integer_inputs->bias),
				*w_scale = op_integer_input(in, n_in, integer_inputs->b_scale);
	float x_scale = op_integer_scale(op_integer_input(in, n_in, integer_inputs->a_scale), 0),
	      y_scale = op_integer_scale(op_integer_input(in, n_in, integer_inputs->y_scale), 0);
	int32_t y_zero = op_integer_zero(op_integer_input(in, n_in, integer_inputs->y_zero), 0);
	int64_t plane = op_volume(c->in.size), pixels = op_volume(c->out.size), depth = c->channels * c->taps;
	for (int64_t i = 0; i < c->in.images * attrs->conv.groups; i++)
		for (int64_t p = 0; p < pixels; p++) {
			gather(c, c->x + i * c->channels * plane, p);
			for (int64_t m = 0; m < c->filters; m++) {
				int64_t filter = i % attrs->conv.groups * c->filters + m;
				int32_t sum = op_integer_dot(c->patch, c->w + filter * depth, depth);
				if (bias)
					sum = (int32_t)((uint32_t)sum + (uint32_t)op_whole(bias, filter));
				op_integer_store(out, (i * c->filters + m) * pixels + p, sum,
						 x_scale * op_integer_scale(w_scale, filter) / y_scale, y_zero);
			}
		}
}

OP_RUN(op_integerconv_run)
{
	const struct npl_integer_inputs *integer_inputs = npl_integer_inputs_of(attrs->op);
	const struct npl_tensor *x = in[integer_inputs->a], *w = in[integer_inputs->b];
	if (!npl_tensor_count(out))
		return 0;
	struct integer_conv c = {.window = op_window_volume(&attrs->conv.window),
				 .in = npl_image_of(&x->shape),
				 .out = npl_image_of(&out->shape)};
	c.channels = w->shape.dim[1];
	c.filters = w->shape.dim[0] / attrs->conv.groups;
	c.taps = op_volume(c.window.kernel);
	int16_t *a = elements(x, op_integer_input(in, n_in, integer_inputs->a_zero), 1),
		*b = elements(w, op_integer_input(in, n_in, integer_inputs->b_zero), w->shape.dim[0]);
	c.patch = malloc((size_t)(c.channels * c.taps) * sizeof *c.patch + 1);
	c.x = a;
	c.w = b;
	int rc = a && b && c.patch ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for the operands");
	if (!rc)
		convolve(&c, attrs, in, n_in, out);
	free(a);
	free(b);
	free(c.patch);
	return rc;
}
