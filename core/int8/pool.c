/* SPDX-License-Identifier: MIT
 *
 * Relu and pooling on 8-bit tensors (core/int8/layer.h), in integers, so that every machine that follows the rule gives
 * the same bits. This file computes averages; for maxima and Relu the operators' own kernels (core/ops/pool.c, relu.c)
 * are exact on integers. */
#include <stdlib.h>
#include <string.h>

#include "core/ops/window.h"
#include "layer.h"

/* The taps of one window along a dimension: input positions first, first + dilation, ... below end. */
struct taps {
	int64_t first, end, divisor_taps; /* divisor_taps: how many taps the divisor counts */
};

/* Returns a window's taps. The divisor counts taps on the image, or on the padded image; a last window of ceil_mode may
 * extend beyond both. */
static struct taps taps_of(const struct npl_window *w, int d, int64_t index, int64_t size)
{
	struct taps t = {.first = size};
	int64_t low = w->count_include_pad ? -w->pad_begin[d] : 0,
		high = w->count_include_pad ? size + w->pad_end[d] : size;
	for (int64_t k = 0; k < w->kernel[d]; k++) {
		int64_t p = index * w->stride[d] - w->pad_begin[d] + k * w->dilation[d];
		t.divisor_taps += p >= low && p < high;
		if (p < 0 || p >= size)
			continue;
		t.first = p < t.first ? p : t.first;
		t.end = p + 1;
	}
	return t;
}

static int32_t divide_half_even(int64_t sum, int64_t count)
{
	int64_t quotient = sum / count, remainder = sum % count;
	if (remainder < 0) {
		quotient--;
		remainder += count;
	}
	if (2 * remainder > count || (2 * remainder == count && (quotient & 1)))
		quotient++;
	return (int32_t)quotient;
}

/* A row of results: how many taps of each window are on the image, how many its divisor counts, and sums of the image's
 * columns and of windows. */
struct row {
	int64_t width; /* number of results */
	int32_t *on_image, *divisor_taps, *column, *sum;
};

static int open_row(const struct npl_window *w, int64_t in, int64_t out, struct row *row, struct npl_err *err)
{
	int32_t *memory = calloc((size_t)(3 * out + in) + 1, sizeof *memory);
	if (!memory)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a row of %lld sums", (long long)in);
	*row = (struct row){out, memory, memory + out, memory + 3 * out, memory + 2 * out};
	for (int64_t i = 0; i < out; i++) {
		const struct taps t = taps_of(w, 1, i, in);
		row->on_image[i] = t.end > t.first ? (int32_t)((t.end - t.first + w->dilation[1] - 1) / w->dilation[1])
						   : 0;
		row->divisor_taps[i] = (int32_t)t.divisor_taps;
	}
	return 0;
}

/* Computes the sums of the windows of one row of results, from bytes made unsigned by the flip; returns how many taps
 * of each column are on the image. */
static int64_t sum_row(const struct npl_window *w, const uint8_t *x, int64_t width, const struct taps *rows,
		       uint8_t flip, struct row *row)
{
	int64_t n = 0, low, high;
	memset(row->column, 0, (size_t)width * sizeof *row->column);
	memset(row->sum, 0, (size_t)row->width * sizeof *row->sum);
	for (int64_t y = rows->first; y < rows->end; y += w->dilation[0], n++)
		for (int64_t i = 0; i < width; i++)
			row->column[i] += (uint8_t)(x[y * width + i] ^ flip);
	for (int64_t k = 0; k < w->kernel[1]; k++) {
		const int64_t shift = k * w->dilation[1] - w->pad_begin[1], stride = w->stride[1];
		npl_window_range(w, 1, k, width, row->width, &low, &high);
		for (int64_t i = low; i < high; i++)
			row->sum[i] += row->column[i * stride + shift];
	}
	return n;
}

/* Converts the quotients of a row to bytes. Sums of up to 2^15 bytes and their divisors are exact in float32, and a
 * quotient that is no tie is never rounded to one. */
static void divide_row(const struct row *row, int64_t n, int64_t divisor_taps, int32_t zero, int32_t zero_point,
		       uint8_t *y)
{
	const float rounder = 12582912.0f; /* 1.5 * 2^23: rounds to even */
	for (int64_t i = 0; i < row->width; i++) {
		const float divisor = (float)(divisor_taps * row->divisor_taps[i]);
		const float value = (float)(row->sum[i] - (int32_t)n * row->on_image[i] * zero) /
				    (divisor > 0 ? divisor : 1);
		y[i] = (uint8_t)((int32_t)((value + rounder) - rounder) + zero_point);
	}
}

/* Converts the quotients of a row to bytes, for windows of any size. */
static void divide_large(const struct row *row, int64_t n, int64_t divisor_taps, int32_t zero, int32_t zero_point,
			 uint8_t *y)
{
	for (int64_t i = 0; i < row->width; i++) {
		const int64_t divisor = divisor_taps * row->divisor_taps[i];
		const int64_t sum = row->sum[i] - n * row->on_image[i] * zero;
		y[i] = (uint8_t)((divisor ? divide_half_even(sum, divisor) : 0) + zero_point);
	}
}

static int average(const struct npl_layer *layer, const struct npl_tensor *out, struct npl_err *err)
{
	const struct npl_tensor *in = layer->in[0];
	const struct npl_window *w = &layer->attrs->pool.window;
	const struct npl_image from = npl_image_of(&in->shape), to = npl_image_of(&out->shape);
	const uint8_t flip = in->dtype == NPL_I8 ? 0x80 : 0, *x = in->data;
	const int32_t zero = in->quant.zero_point + (in->dtype == NPL_I8 ? 128 : 0);
	const int64_t width = from.size[1];
	const bool large = (double)w->kernel[0] * (double)w->kernel[1] > 32768;
	uint8_t *y = out->data;
	struct row row;
	if (open_row(w, width, to.size[1], &row, err))
		return err->code;
	for (int64_t plane = 0; plane < from.images * from.channels; plane++, x += from.size[0] * width)
		for (int64_t oh = 0; oh < to.size[0]; oh++, y += to.size[1]) {
			const struct taps rows = taps_of(w, 0, oh, from.size[0]);
			const int64_t n = sum_row(w, x, width, &rows, flip, &row);
			(large ? divide_large : divide_row)(&row, n, rows.divisor_taps, zero, in->quant.zero_point, y);
		}
	free(row.on_image);
	return 0;
}

int npl_int8_run_unary(const struct npl_layer *layer, struct npl_tensor *out, struct npl_err *err)
{
	const struct npl_tensor *result = out;
	int rc = 0;
	if (layer->op == NPL_OP_AVERAGEPOOL || layer->op == NPL_OP_GLOBALAVERAGEPOOL)
		rc = average(layer, out, err);
	else
		rc = npl_op_run(layer->op, layer->attrs, layer->in, layer->n_in, out, 1, err);
	if (!rc && layer->activation == NPL_ACT_RELU)
		rc = npl_op_run(NPL_OP_RELU, NULL, &result, 1, out, 1, err);
	return rc;
}
