/* SPDX-License-Identifier: MIT
 *
 * The integer rules (docs/integers.md) for 8 and 16 bits, operator by operator, as they stand there: loops over
 * every element, no tiles, no kernels. What programs of the systolic machines are compared with. */
#ifndef NPULAB_TESTS_KIT_LAYER_RULE_H
#define NPULAB_TESTS_KIT_LAYER_RULE_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "core/ops/window.h"
#include "npulab/layer.h"

static inline int64_t rule_get(const struct npl_tensor *t, int64_t i)
{
	switch (t->dtype) {
	case NPL_I8:
		return ((const int8_t *)t->data)[i];
	case NPL_U8:
		return ((const uint8_t *)t->data)[i];
	case NPL_I16:
		return ((const int16_t *)t->data)[i];
	default:
		return ((const int32_t *)t->data)[i];
	}
}

static inline int64_t rule_saturate(enum npl_dtype dtype, double q)
{
	double low = dtype == NPL_I8   ? -128
		     : dtype == NPL_U8 ? 0
				       : -32768,
	       high = dtype == NPL_I8   ? 127
		      : dtype == NPL_U8 ? 255
					: 32767;
	return (int64_t)(q < low ? low : q > high ? high : q);
}

static inline void rule_set(struct npl_tensor *t, int64_t i, int64_t v)
{
	switch (t->dtype) {
	case NPL_I8:
		((int8_t *)t->data)[i] = (int8_t)v;
		break;
	case NPL_U8:
		((uint8_t *)t->data)[i] = (uint8_t)v;
		break;
	case NPL_I16:
		((int16_t *)t->data)[i] = (int16_t)v;
		break;
	default:
		((int32_t *)t->data)[i] = (int32_t)v;
		break;
	}
}

static inline int64_t rule_table(bool tanh, int64_t i)
{
	long double x = (long double)(i - 128) / 16, f = tanh ? tanhl(x) : 1 / (1 + expl(-x));
	long long q = llrintl(f * 32768);
	return q > 32767 ? 32767 : q;
}

/* Sigmoid or Tanh of q in Q4.12. */
static inline int64_t rule_of_q12(const struct npl_tensor *y, bool tanh, int64_t q)
{
	int64_t i = (q + 32768) / 256, r = (q + 32768) % 256;
	double f = floor((double)(rule_table(tanh, i) * (256 - r) + rule_table(tanh, i + 1) * r + 128) / 256);
	return rule_saturate(y->dtype, (double)rintf((float)f * (1.0f / 32768 / y->quant.scale)) + y->quant.zero_point);
}

/* Rounds, adds the zero point, saturates. */
static inline int64_t rule_round(const struct npl_tensor *y, float f)
{
	return rule_saturate(y->dtype, (double)rintf(f) + y->quant.zero_point);
}

/* What a fused activation is to the rules: nothing, limits of the result, or the table of a function. */
enum rule_fused { RULE_NOTHING, RULE_LIMITS, RULE_TABLE };
static inline enum rule_fused rule_fused_of(const struct npl_layer *l)
{
	switch (l->activation) {
	case NPL_ACT_NONE:
		return RULE_NOTHING;
	case NPL_ACT_RELU:
	case NPL_ACT_RELU6:
		return RULE_LIMITS;
	case NPL_ACT_SIGMOID:
	case NPL_ACT_TANH:
		return RULE_TABLE;
	}
	cr_assert_fail("no rule for the activation %d", (int)l->activation);
	return RULE_NOTHING;
}

static inline int64_t rule_at(const struct npl_tensor *t, const struct npl_image *image, int64_t n, int64_t c,
			      int64_t y, int64_t x)
{
	return rule_get(t, ((n * image->channels + c) * image->size[0] + y) * image->size[1] + x);
}

static inline int64_t rule_requantise(const struct npl_layer *l, int64_t m, int64_t sum)
{
	const struct npl_tensor *x = l->in[0], *w = l->in[1], *bias = l->n_in > 2 ? l->in[2] : NULL;
	int32_t acc = (int32_t)(uint32_t)(sum + (bias ? rule_get(bias, m) : 0));
	if (l->out->dtype == NPL_I32)
		return acc;
	float w_scale = w->quant.channel_scale ? w->quant.channel_scale[m] : w->quant.scale;
	if (rule_fused_of(l) == RULE_TABLE)
		return rule_of_q12(l->out, l->activation == NPL_ACT_TANH,
				   rule_saturate(NPL_I16, rintf((float)acc * (x->quant.scale * w_scale * 4096))));
	return rule_round(l->out, (float)acc * (x->quant.scale * w_scale / l->out->quant.scale));
}

static inline void rule_gemm(const struct npl_layer *l)
{
	const struct npl_tensor *x = l->in[0], *w = l->in[1];
	int64_t rows = x->shape.dim[0], k = x->shape.dim[1], n = w->shape.dim[0];
	for (int64_t i = 0; i < rows; i++)
		for (int64_t m = 0; m < n; m++) {
			int64_t sum = 0;
			for (int64_t j = 0; j < k; j++)
				sum += (rule_get(x, i * k + j) - x->quant.zero_point) *
				       (rule_get(w, m * k + j) - w->quant.zero_point);
			rule_set(l->out, i * n + m, rule_requantise(l, m, sum));
		}
}

static inline int64_t rule_window(const struct npl_layer *l, int64_t n, int64_t m, int64_t oy, int64_t ox)
{
	const struct npl_tensor *x = l->in[0], *w = l->in[1];
	const struct npl_window *win = &l->attrs->conv.window;
	struct npl_image in = npl_image_of(&x->shape), kernel = npl_image_of(&w->shape);
	int64_t per_group = w->shape.dim[0] / l->attrs->conv.groups, first = m / per_group * kernel.channels, sum = 0;
	for (int64_t c = 0; c < kernel.channels; c++)
		for (int64_t ky = 0; ky < kernel.size[0]; ky++)
			for (int64_t kx = 0; kx < kernel.size[1]; kx++) {
				int64_t iy = oy * win->stride[0] + ky * win->dilation[0] - win->pad_begin[0];
				int64_t ix = ox * win->stride[1] + kx * win->dilation[1] - win->pad_begin[1];
				if (iy < 0 || iy >= in.size[0] || ix < 0 || ix >= in.size[1])
					continue;
				sum += (rule_at(x, &in, n, first + c, iy, ix) - x->quant.zero_point) *
				       (rule_at(w, &kernel, m, c, ky, kx) - w->quant.zero_point);
			}
	return sum;
}

static inline int64_t rule_pool_one(const struct npl_layer *l, int64_t n, int64_t c, int64_t oy, int64_t ox)
{
	const struct npl_tensor *x = l->in[0];
	const struct npl_window *win = &l->attrs->pool.window;
	struct npl_image in = npl_image_of(&x->shape);
	int64_t maximum = INT64_MIN, sum = 0, count = 0;
	for (int64_t ky = 0; ky < win->kernel[0]; ky++)
		for (int64_t kx = 0; kx < win->kernel[1]; kx++) {
			int64_t iy = oy * win->stride[0] + ky * win->dilation[0] - win->pad_begin[0];
			int64_t ix = ox * win->stride[1] + kx * win->dilation[1] - win->pad_begin[1];
			bool inside = iy >= 0 && iy < in.size[0] && ix >= 0 && ix < in.size[1];
			/* A last window of ceil_mode may reach beyond the padding. */
			bool padded = iy < in.size[0] + win->pad_end[0] && ix < in.size[1] + win->pad_end[1];
			count += inside || (win->count_include_pad && padded);
			if (!inside)
				continue;
			int64_t v = rule_at(x, &in, n, c, iy, ix);
			maximum = v > maximum ? v : maximum;
			sum += v - x->quant.zero_point;
		}
	return l->op == NPL_OP_MAXPOOL
		       ? maximum
		       : rule_saturate(x->dtype, rint((double)sum / (double)count) + x->quant.zero_point);
}

static inline void rule_slide(const struct npl_layer *l)
{
	struct npl_image out = npl_image_of(&l->out->shape);
	int64_t at = 0;
	for (int64_t n = 0; n < out.images; n++)
		for (int64_t c = 0; c < out.channels; c++)
			for (int64_t y = 0; y < out.size[0]; y++)
				for (int64_t x = 0; x < out.size[1]; x++)
					rule_set(l->out, at++,
						 l->op == NPL_OP_CONV
							 ? rule_requantise(l, c, rule_window(l, n, c, y, x))
							 : rule_pool_one(l, n, c, y, x));
}

static inline int64_t rule_function(const struct npl_layer *l, int64_t q)
{
	const struct npl_tensor *x = l->in[0], *y = l->out;
	if (l->op == NPL_OP_RELU)
		return q > y->quant.zero_point ? q : y->quant.zero_point;
	if (l->op == NPL_OP_CLIP) {
		int64_t limit = rule_round(y, l->attrs->clip.max / y->quant.scale);
		q = q > y->quant.zero_point ? q : y->quant.zero_point;
		return isinf(l->attrs->clip.max) || q < limit ? q : limit;
	}
	q = rule_saturate(NPL_I16, rintf((float)(q - x->quant.zero_point) * (x->quant.scale * 4096)));
	return rule_of_q12(y, l->op == NPL_OP_TANH, q);
}

static inline int64_t rule_element(const struct npl_layer *l, int64_t i)
{
	const struct npl_tensor *t[2] = {l->in[0], l->n_in > 1 ? l->in[1] : NULL}, *y = l->out;
	struct npl_tensor q12 = {.dtype = NPL_I16, .quant = {.scale = 1.0f / 4096}};
	bool table = rule_fused_of(l) == RULE_TABLE;
	int64_t a = rule_get(t[0], i);
	if (l->op != NPL_OP_ADD && l->op != NPL_OP_MUL && l->op != NPL_OP_SUM)
		return rule_function(l, a);
	y = table ? &q12 : y;
	a -= t[0]->quant.zero_point;
	float f = (float)a * (t[0]->quant.scale / y->quant.scale);
	if (t[1]) {
		int64_t b = rule_get(t[1], i) - t[1]->quant.zero_point;
		if (l->op == NPL_OP_MUL)
			f = (float)(a * b) * (t[0]->quant.scale * t[1]->quant.scale / y->quant.scale);
		else
			f += (float)b * (t[1]->quant.scale / y->quant.scale);
	}
	return table ? rule_of_q12(l->out, l->activation == NPL_ACT_TANH, rule_round(y, f)) : rule_round(y, f);
}

static inline void rule_concat(const struct npl_layer *l)
{
	int64_t images = l->out->shape.dim[0], inner = 1, base = 0;
	for (int d = 2; d < l->out->shape.rank; d++)
		inner *= l->out->shape.dim[d];
	for (int i = 0; i < l->n_in; i++) {
		const struct npl_tensor *x = l->in[i];
		int64_t size = x->shape.dim[1] * inner;
		for (int64_t e = 0; e < images * size; e++) {
			float f = (float)(rule_get(x, e) - x->quant.zero_point) *
				  (x->quant.scale / l->out->quant.scale);
			rule_set(l->out, e / size * l->out->shape.dim[1] * inner + base + e % size,
				 rule_round(l->out, f));
		}
		base += size;
	}
}

static inline void rule_slice(const struct npl_layer *l)
{
	const struct npl_shape *x = &l->in[0]->shape, *y = &l->out->shape;
	int64_t inner = 1, size;
	for (int d = 2; d < x->rank; d++)
		inner *= x->dim[d];
	size = y->dim[1] * inner;
	for (int64_t e = 0; e < x->dim[0] * size; e++)
		rule_set(
			l->out, e,
			rule_get(l->in[0], e / size * x->dim[1] * inner + l->attrs->slice.first[1] * inner + e % size));
}

/* Computes layer->out->data. */
static inline void rule_run(const struct npl_layer *l)
{
	int64_t count = npl_tensor_count(l->out);
	switch (l->op) {
	case NPL_OP_GEMM:
		rule_gemm(l);
		break;
	case NPL_OP_CONV:
	case NPL_OP_MAXPOOL:
	case NPL_OP_AVERAGEPOOL:
	case NPL_OP_GLOBALAVERAGEPOOL:
		rule_slide(l);
		break;
	case NPL_OP_CONCAT:
		rule_concat(l);
		break;
	case NPL_OP_SLICE:
		rule_slice(l);
		break;
	case NPL_OP_FLATTEN:
	case NPL_OP_RESHAPE:
		for (int64_t i = 0; i < count; i++)
			rule_set(l->out, i, rule_get(l->in[0], i));
		break;
	default:
		for (int64_t i = 0; i < count; i++)
			rule_set(l->out, i, rule_element(l, i));
		break;
	}
	if (rule_fused_of(l) != RULE_LIMITS)
		return;
	int64_t zero = l->out->quant.zero_point, six = rule_round(l->out, 6 / l->out->quant.scale);
	for (int64_t i = 0; i < count; i++) {
		int64_t q = rule_get(l->out, i) > zero ? rule_get(l->out, i) : zero;
		rule_set(l->out, i, l->activation == NPL_ACT_RELU6 && q > six ? six : q);
	}
}

#endif
