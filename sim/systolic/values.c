/* SPDX-License-Identifier: MIT
 *
 * Output of Conv and Gemm on the systolic machines, bit-exact to the format (layer.h), by the fast integer kernels
 * of core/. A convolution is a product of weights (output channels x K) and pixels (K x pixels); pixels are gathered
 * for a chunk at a time. Wrapping addition is associative, so the order of K only matters where additions that wrap
 * are counted: then it is the array's (taps, then channels), else the weights are used as they lie. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npulab/int8.h"
#include "tpu.h"

#define CHUNK_BYTES ((int64_t)1 << 20) /* of gathered pixels, about half of a second-level cache */
#define CHUNK_LEAST 256                /* pixels or rows, so that packing the weights again is a small part */

/* Turns sums into results: bias, ReLU, scale. */
struct finish {
	const struct npl_layer *layer;
	const int32_t *bias; /* per output channel, or NULL */
	float *scale;        /* per output channel */
	struct npl_result *result;
};

static uint8_t raw_byte(const struct npl_tensor *t)
{
	return (uint8_t)t->quant.zero_point;
}

static struct npl_int8_matrix matrix_of(const struct npl_tensor *t, const void *data, int64_t stride, int64_t k_stride)
{
	return (struct npl_int8_matrix){data, t->dtype, t->quant.zero_point, stride, k_stride};
}

/* 0 is fine: a channel of weights around 1e-28 beside another of 1e20 comes to nothing, each result the zero point. */
static bool usable_scale(float scale)
{
	return isfinite(scale) && scale >= 0;
}

static int set_scales(struct finish *f, struct npl_err *err)
{
	const struct npl_tensor *x = f->layer->in[0], *w = f->layer->in[1], *y = f->layer->out;
	int64_t channels = w->shape.dim[0];
	f->scale = calloc((size_t)channels, sizeof *f->scale);
	if (!f->scale)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld scales", (long long)channels);
	for (int64_t i = 0; i < channels && y->dtype != NPL_I32; i++) {
		float w_scale = w->quant.channel_scale ? w->quant.channel_scale[i] : w->quant.scale;
		f->scale[i] = npl_int8_scale(x->quant.scale, w_scale, y->quant.scale);
		if (!usable_scale(x->quant.scale) || !usable_scale(w_scale) || !usable_scale(y->quant.scale) ||
		    !usable_scale(f->scale[i]))
			return npl_fail(err, NPL_EINPUT,
					"output channel %lld is scaled by %g * %g / %g = %g (input, weight, output), "
					"expected finite numbers from 0",
					(long long)i, (double)x->quant.scale, (double)w_scale, (double)y->quant.scale,
					(double)f->scale[i]);
	}
	return 0;
}

/* Results of channel, channel + step, ... to element `at` of the output onwards. acc may be the output itself. */
static void finish_row(const struct finish *f, int32_t *acc, int64_t count, int64_t channel, int step, int64_t at)
{
	const struct npl_tensor *y = f->layer->out;
	if (f->bias)
		f->result->overflows += npl_int8_add_bias(acc, count, f->bias + channel, step);
	if (f->layer->fused == NPL_ACT_RELU)
		for (int64_t i = 0; i < count; i++)
			acc[i] = acc[i] > 0 ? acc[i] : 0;
	if (y->dtype != NPL_I32)
		f->result->saturations += npl_int8_requantise(acc, count, f->scale + channel, step, y->quant.zero_point,
							      y->dtype, (uint8_t *)y->data + at);
}

static int64_t chunk_of(int64_t bytes_each, int64_t all)
{
	int64_t chunk = CHUNK_BYTES / bytes_each;
	chunk = chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk;
	return chunk < all ? chunk : all;
}

static int gemm_values(const struct tpu_config *config, const struct tpu_plan *plan, const struct finish *f,
		       struct npl_err *err)
{
	const struct npl_tensor *x = f->layer->in[0], *w = f->layer->in[1], *y = f->layer->out;
	int64_t rows = x->shape.dim[0], chunk = plan->raw ? rows : chunk_of(plan->n * (int64_t)sizeof(int32_t), rows);
	int32_t *acc = plan->raw ? y->data : malloc((size_t)(chunk * plan->n) * sizeof *acc);
	int rc = acc ? 0
		     : npl_fail(err, NPL_ENOMEM, "out of memory for %lld accumulators", (long long)(chunk * plan->n));
	for (int64_t row = 0; !rc && row < rows; row += chunk) {
		struct npl_int8_product product = {
			.m = rows - row < chunk ? rows - row : chunk,
			.n = plan->n,
			.k = plan->k,
			.a = matrix_of(x, (const uint8_t *)x->data + row * plan->k, plan->k, 1),
			.b = matrix_of(w, w->data, plan->k, 1),
			.c = acc,
			.c_stride = plan->n,
			.k_segment = plan->segment,
			.k_block = config->rows,
		};
		rc = npl_int8_gemm(&product, &f->result->overflows, err);
		for (int64_t i = 0; !rc && i < product.m; i++)
			finish_row(f, acc + i * plan->n, plan->n, 0, 1, (row + i) * plan->n);
	}
	if (!plan->raw)
		free(acc);
	return rc;
}

/* One convolution: what the chunks share. */
struct conv {
	const struct tpu_config *config;
	const struct tpu_plan *plan;
	const struct finish *finish;
	struct tpu_windows windows;
	const uint8_t *weights; /* (output channels, K) in the order of K in use */
	bool taps_first;        /* K runs over taps, then channels; else over channels, then taps as in the model */
	bool direct;            /* 1x1, stride 1, no padding: the pixels are the input as it lies */
	int64_t pixels, chunk;
	uint8_t *gathered; /* (K, chunk) */
	int32_t *acc;      /* (output channels of a group, chunk) */
};

/* Output positions ow0 <= ow < ow1 of one row, for one tap; input columns outside the image are the zero point. */
static void gather_span(const struct conv *c, const uint8_t *line, int64_t kw, int64_t ow0, int64_t ow1, uint8_t zero,
			uint8_t *out)
{
	const struct npl_window *w = c->windows.window;
	int64_t stride = w->stride[1],
		shift = kw * w->dilation[1] - w->pad_begin[1]; /* input column = ow * stride + shift */
	int64_t low, high;
	npl_window_range(w, 1, kw, c->windows.in.size[1], c->windows.out.size[1], &low, &high);
	low = low < ow0 ? ow0 : low > ow1 ? ow1 : low;
	high = high > ow1 ? ow1 : high < low ? low : high;
	memset(out, zero, (size_t)(low - ow0));
	if (stride == 1 && high > low)
		memcpy(out + low - ow0, line + low + shift, (size_t)(high - low));
	else
		for (int64_t ow = low; ow < high; ow++)
			out[ow - ow0] = line[ow * stride + shift];
	memset(out + high - ow0, zero, (size_t)(ow1 - high));
}

/* One value of K for the pixels first .. first+count-1 of an image. */
static void gather_tap(const struct conv *c, const uint8_t *plane, int64_t kh, int64_t kw, int64_t first, int64_t count,
		       uint8_t zero, uint8_t *out)
{
	const struct npl_window *w = c->windows.window;
	int64_t width = c->windows.out.size[1];
	for (int64_t pixel = first; pixel < first + count;) {
		int64_t oh = pixel / width, ow = pixel % width, span = width - ow, left = first + count - pixel;
		span = span < left ? span : left;
		int64_t ih = oh * w->stride[0] + kh * w->dilation[0] - w->pad_begin[0];
		if (ih < 0 || ih >= c->windows.in.size[0])
			memset(out, zero, (size_t)span);
		else
			gather_span(c, plane + ih * c->windows.in.size[1], kw, ow, ow + span, zero, out);
		pixel += span;
		out += span;
	}
}

static void gather(const struct conv *c, const uint8_t *planes, int64_t first, int64_t count)
{
	int64_t taps = c->plan->taps, channels = c->plan->channels, kernel_width = c->windows.window->kernel[1];
	uint8_t zero = raw_byte(c->finish->layer->in[0]);
	for (int64_t k = 0; k < c->plan->k; k++) {
		int64_t channel = c->taps_first ? k % channels : k / taps,
			tap = c->taps_first ? k / channels : k % taps;
		gather_tap(c, planes + channel * c->windows.in.size[0] * c->windows.in.size[1], tap / kernel_width,
			   tap % kernel_width, first, count, zero, c->gathered + k * count);
	}
}

/* One chunk of pixels of one group of one image. */
static int conv_chunk(const struct conv *c, int64_t image, int64_t group, int64_t first, int64_t count,
		      struct npl_err *err)
{
	const struct npl_tensor *x = c->finish->layer->in[0], *w = c->finish->layer->in[1], *y = c->finish->layer->out;
	const struct tpu_plan *plan = c->plan;
	int64_t plane = c->windows.in.size[0] * c->windows.in.size[1], out_channels = plan->groups * plan->n;
	const uint8_t *planes = (const uint8_t *)x->data + (image * plan->groups + group) * plan->channels * plane;
	int64_t at = (image * out_channels + group * plan->n) * c->pixels + first;
	if (!c->direct)
		gather(c, planes, first, count);
	struct npl_int8_product product = {
		.m = plan->n,
		.n = count,
		.k = plan->k,
		.a = matrix_of(w, c->weights + group * plan->n * plan->k, plan->k, 1),
		.b = c->direct ? matrix_of(x, planes + first, 1, plane) : matrix_of(x, c->gathered, 1, count),
		.c = plan->raw ? (int32_t *)y->data + at : c->acc,
		.c_stride = plan->raw ? c->pixels : count,
		.k_segment = plan->segment,
		.k_block = c->config->rows,
	};
	int rc = npl_int8_gemm(&product, &c->finish->result->overflows, err);
	for (int64_t i = 0; !rc && i < plan->n; i++)
		finish_row(c->finish, product.c + i * product.c_stride, count, group * plan->n + i, 0,
			   at + i * c->pixels);
	return rc;
}

/* Weights (channels, taps) to (taps, channels), for every output channel. */
static uint8_t *taps_first(const struct tpu_plan *plan, const uint8_t *weights)
{
	int64_t filters = plan->groups * plan->n;
	uint8_t *out = malloc((size_t)(filters * plan->k));
	for (int64_t m = 0; out && m < filters; m++)
		for (int64_t t = 0; t < plan->taps; t++)
			for (int64_t ch = 0; ch < plan->channels; ch++)
				out[m * plan->k + t * plan->channels + ch] = weights[m * plan->k + ch * plan->taps + t];
	return out;
}

static int conv_values(const struct tpu_config *config, const struct tpu_plan *plan, const struct finish *f,
		       struct npl_err *err)
{
	const struct npl_tensor *x = f->layer->in[0], *w = f->layer->in[1];
	struct conv c = {
		.config = config, .plan = plan, .finish = f, .windows = tpu_windows_of(f->layer), .weights = w->data};
	const struct npl_window *window = c.windows.window;
	struct npl_int8_product bound = {
		.k = plan->k, .a = matrix_of(w, NULL, plan->k, 1), .b = matrix_of(x, NULL, plan->k, 1)};
	uint8_t *ordered = NULL;
	int rc = 0;
	c.pixels = plan->rows_per_image;
	c.chunk = chunk_of(plan->k, c.pixels);
	c.taps_first = plan->taps > 1 && npl_int8_may_wrap(&bound);
	c.direct = plan->taps == 1 && window->stride[0] == 1 && window->stride[1] == 1 &&
		   c.windows.in.size[0] == c.windows.out.size[0] && c.windows.in.size[1] == c.windows.out.size[1] &&
		   window->pad_begin[0] == 0 && window->pad_begin[1] == 0;
	if (c.taps_first)
		c.weights = ordered = taps_first(plan, w->data);
	c.gathered = c.direct ? NULL : malloc((size_t)(plan->k * c.chunk));
	c.acc = plan->raw ? NULL : malloc((size_t)(plan->n * c.chunk) * sizeof *c.acc);
	if (!c.weights || (!c.gathered && !c.direct) || (!c.acc && !plan->raw))
		rc = npl_fail(err, NPL_ENOMEM, "out of memory for a convolution of %lld x %lld", (long long)plan->k,
			      (long long)c.chunk);
	for (int64_t image = 0; !rc && image < plan->images; image++)
		for (int64_t group = 0; !rc && group < plan->groups; group++)
			for (int64_t first = 0; !rc && first < c.pixels; first += c.chunk)
				rc = conv_chunk(&c, image, group, first,
						c.pixels - first < c.chunk ? c.pixels - first : c.chunk, err);
	free(ordered);
	free(c.gathered);
	free(c.acc);
	return rc;
}

int tpu_matrix_values(const struct tpu_config *config, const struct tpu_plan *plan, const struct npl_layer *layer,
		      struct npl_result *result, struct npl_err *err)
{
	const struct npl_tensor *bias = layer->n_in > 2 ? layer->in[2] : NULL;
	struct finish f = {.layer = layer, .bias = bias ? bias->data : NULL, .result = result};
	int rc = set_scales(&f, err);
	if (!rc)
		rc = plan->is_conv ? conv_values(config, plan, &f, err) : gemm_values(config, plan, &f, err);
	free(f.scale);
	return rc;
}
