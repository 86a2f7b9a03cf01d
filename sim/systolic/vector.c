/* SPDX-License-Identifier: MIT
 *
 * The activation unit on its own: Relu and pooling of quantised tensors in the unified buffer. The unit is
 * `columns` lanes wide: it takes one pixel's block of channels per cycle, reads every input pixel that a window
 * covers once (its registers hold the windows that are under way, as in the pooling circuits of US Patent
 * 10,192,162) and writes one row per result; reading and writing overlap, so the longer of the two is the time.
 *
 * Values are exact integers. An average is round_half_even(sum(q - zero_point) / count) + zero_point.
 *
 * Not modelled: pooling fused into the Activate of a convolution, normalisation, sigmoid and tanh. */
#include <stdio.h>

#include "npulab/int8.h"
#include "tpu.h"

static bool is_pooling(const struct npl_layer *layer)
{
	return layer->op == NPL_OP_MAXPOOL || layer->op == NPL_OP_AVERAGEPOOL || layer->op == NPL_OP_GLOBALAVERAGEPOOL;
}

static bool no(char *why, size_t n, const char *reason)
{
	snprintf(why, n, "%s", reason);
	return false;
}

static bool shapes_fit(const struct npl_layer *layer)
{
	const struct npl_shape *x = &layer->in[0]->shape, *y = &layer->out->shape;
	if (npl_shape_count(x) <= 0 || npl_shape_count(y) <= 0)
		return false;
	return is_pooling(layer) ? tpu_windows_ok(layer) && x->dim[0] == y->dim[0] && x->dim[1] == y->dim[1]
				 : npl_shape_equal(x, y);
}

bool tpu_vector_supports(const struct tpu_config *config, const struct npl_layer *layer, char *why, size_t n)
{
	if (layer->n_in < 1 || !layer->in[0] || !shapes_fit(layer))
		return no(why, n,
			  "the activation unit takes Relu, and pooling over one or two dimensions, none of them empty");
	const struct npl_tensor *x = layer->in[0], *y = layer->out;
	if ((x->dtype != NPL_U8 && x->dtype != NPL_I8) || y->dtype != x->dtype)
		return no(why, n, "the activation unit keeps activations as 8-bit integers of one type");
	if (x->quant.scale < y->quant.scale || x->quant.scale > y->quant.scale ||
	    x->quant.zero_point != y->quant.zero_point || x->quant.zero_point < npl_int8_min(x->dtype) ||
	    x->quant.zero_point > npl_int8_max(x->dtype))
		return no(why, n,
			  "the activation unit does not change scale and zero point here: input and output differ");
	if (tpu_images_at_once(config, layer) == 0) {
		tpu_say_too_large(config, layer, why, n);
		return false;
	}
	return true;
}

/* Rows of one block of channels per pixel; `pixels` of each image are used. */
static uint64_t lane_rows(const struct tpu_config *config, const struct npl_shape *shape, int64_t pixels)
{
	int64_t images = shape->rank > 1 ? shape->dim[0] : 1,
		channels = shape->rank > 1 ? shape->dim[1] : npl_shape_count(shape);
	return (uint64_t)(images * pixels * ((channels + config->columns - 1) / config->columns));
}

static int64_t pixels_of(const struct npl_shape *shape)
{
	int64_t pixels = 1;
	for (int i = 2; i < shape->rank; i++)
		pixels *= shape->dim[i];
	return pixels;
}

uint64_t tpu_vector_cycles(const struct tpu_config *config, const struct npl_layer *layer, struct tpu_stats *stats)
{
	const struct npl_shape *x = &layer->in[0]->shape, *y = &layer->out->shape;
	int64_t read_pixels = pixels_of(x);
	if (is_pooling(layer)) {
		struct tpu_windows windows = tpu_windows_of(layer);
		read_pixels = tpu_touched_pixels(&windows);
	}
	uint64_t read = lane_rows(config, x, read_pixels), written = lane_rows(config, y, pixels_of(y));
	uint64_t busy = (read > written ? read : written) * (uint64_t)config->activate_cycles_per_row;
	uint64_t cycles = busy + (uint64_t)config->activate_registers;
	stats->ub_rows_read += read;
	stats->ub_rows_written += written;
	stats->activate_cycles += busy;
	stats->non_matrix += cycles;
	return cycles;
}

/* One plane of a pooling layer. Values are read and written as bytes, in the type's range. */
struct plane {
	const struct tpu_windows *windows;
	bool average, is_signed;
	int32_t zero_point;
};

/* Taps of window number `at` along d that fall on input positions low <= p < high. */
static int64_t taps_in(const struct npl_window *w, int d, int64_t at, int64_t low, int64_t high)
{
	int64_t count = 0;
	for (int64_t k = 0; k < w->kernel[d]; k++) {
		int64_t p = at * w->stride[d] - w->pad_begin[d] + k * w->dilation[d];
		count += p >= low && p < high;
	}
	return count;
}

/* Taps that the average divides by: those on the image, or on the padded image. A last window of ceil_mode may reach
 * beyond both. */
static int64_t divisor(const struct tpu_windows *windows, int64_t oh, int64_t ow)
{
	const struct npl_window *w = windows->window;
	int64_t at[NPL_SPATIAL] = {oh, ow}, count = 1;
	for (int d = 0; d < NPL_SPATIAL; d++) {
		int64_t size = windows->in.size[d];
		count *= w->count_include_pad ? taps_in(w, d, at[d], -w->pad_begin[d], size + w->pad_end[d])
					      : taps_in(w, d, at[d], 0, size);
	}
	return count;
}

static int32_t divide_half_even(int64_t sum, int64_t count)
{
	int64_t quotient = sum / count, rest = sum % count;
	if (rest < 0) {
		quotient--;
		rest += count;
	}
	if (2 * rest > count || (2 * rest == count && (quotient & 1)))
		quotient++;
	return (int32_t)quotient;
}

static int32_t pool_one(const struct plane *p, const uint8_t *x, int64_t oh, int64_t ow)
{
	const struct npl_window *w = p->windows->window;
	int64_t height = p->windows->in.size[0], width = p->windows->in.size[1], sum = 0;
	int32_t most = npl_int8_min(p->is_signed ? NPL_I8 : NPL_U8); /* also what a window of padding alone gives */
	for (int64_t kh = 0; kh < w->kernel[0]; kh++) {
		int64_t ih = oh * w->stride[0] - w->pad_begin[0] + kh * w->dilation[0];
		if (ih < 0 || ih >= height)
			continue;
		for (int64_t kw = 0; kw < w->kernel[1]; kw++) {
			int64_t iw = ow * w->stride[1] - w->pad_begin[1] + kw * w->dilation[1];
			if (iw < 0 || iw >= width)
				continue;
			uint8_t byte = x[ih * width + iw];
			int32_t value = p->is_signed ? (int8_t)byte : byte;
			most = value > most ? value : most;
			sum += value - p->zero_point;
		}
	}
	if (!p->average)
		return most;
	int64_t count = divisor(p->windows, oh, ow);
	return (count ? divide_half_even(sum, count) : 0) + p->zero_point;
}

static void pool_values(const struct npl_layer *layer, int32_t least)
{
	const struct npl_tensor *in = layer->in[0];
	struct tpu_windows windows = tpu_windows_of(layer);
	struct plane p = {.windows = &windows,
			  .average = layer->op != NPL_OP_MAXPOOL,
			  .is_signed = in->dtype == NPL_I8,
			  .zero_point = in->quant.zero_point};
	int64_t in_plane = windows.in.size[0] * windows.in.size[1];
	const uint8_t *x = in->data;
	uint8_t *y = layer->out->data;
	for (int64_t i = 0; i < windows.in.images * windows.in.channels; i++, x += in_plane)
		for (int64_t oh = 0; oh < windows.out.size[0]; oh++)
			for (int64_t ow = 0; ow < windows.out.size[1]; ow++) {
				int32_t q = pool_one(&p, x, oh, ow);
				*y++ = (uint8_t)(q < least ? least : q);
			}
}

void tpu_vector_values(const struct npl_layer *layer)
{
	const struct npl_tensor *in = layer->in[0];
	bool is_signed = in->dtype == NPL_I8, relu = layer->op == NPL_OP_RELU || layer->fused == NPL_ACT_RELU;
	int32_t least = relu ? in->quant.zero_point : npl_int8_min(in->dtype);
	if (is_pooling(layer)) {
		pool_values(layer, least);
		return;
	}
	const uint8_t *x = in->data;
	uint8_t *y = layer->out->data;
	int64_t count = npl_tensor_count(in);
	for (int64_t i = 0; i < count; i++) {
		int32_t q = is_signed ? (int8_t)x[i] : x[i];
		y[i] = (uint8_t)(q < least ? least : q);
	}
}
