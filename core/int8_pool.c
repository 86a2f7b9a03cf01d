/* SPDX-License-Identifier: MIT
 *
 * Relu and pooling on 8-bit tensors (npulab/int8_layer.h), in integers, so that every machine that follows the rule
 * gives the same bits. Averages are here; maxima and Relu are the operators' own kernels' (core/ops/pool.c, relu.c),
 * which are exact on integers. */
#include "npulab/int8_layer.h"
#include "npulab/window.h"

/* The taps of one window along a dimension: input positions first, first + dilation, ... below end. */
struct taps {
	int64_t first, end, counted; /* counted: those that the divisor counts */
};

/* The divisor counts taps on the image, or on the padded image. A last window of ceil_mode may reach beyond both. */
static struct taps taps_of(const struct npl_window *w, int d, int64_t at, int64_t size)
{
	struct taps t = {.first = size, .end = 0};
	int64_t low = w->count_include_pad ? -w->pad_begin[d] : 0,
		high = w->count_include_pad ? size + w->pad_end[d] : size;
	for (int64_t k = 0; k < w->kernel[d]; k++) {
		int64_t p = at * w->stride[d] - w->pad_begin[d] + k * w->dilation[d];
		t.counted += p >= low && p < high;
		if (p < 0 || p >= size)
			continue;
		t.first = p < t.first ? p : t.first;
		t.end = p + 1;
	}
	return t;
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

/* Sum of the bytes of one window, read as unsigned after the flip, and how many they are. */
static int64_t sum_window(const uint8_t *x, int64_t width, const struct npl_window *w, const struct taps *rows,
			  const struct taps *columns, uint8_t flip, int64_t *n)
{
	int64_t sum = 0;
	for (int64_t y = rows->first; y < rows->end; y += w->dilation[0])
		for (int64_t i = columns->first; i < columns->end; i += w->dilation[1]) {
			sum += x[y * width + i] ^ flip;
			++*n;
		}
	return sum;
}

static void average(const struct npl_layer *layer, const struct npl_tensor *out)
{
	const struct npl_tensor *in = layer->in[0];
	const struct npl_window *w = &layer->attrs->window;
	struct npl_image from = npl_image_of(&in->shape), to = npl_image_of(&out->shape);
	uint8_t flip = in->dtype == NPL_I8 ? 0x80 : 0, *y = out->data;
	int32_t zero = in->quant.zero_point + (in->dtype == NPL_I8 ? 128 : 0);
	int64_t plane = from.size[0] * from.size[1], planes = from.images * from.channels;
	for (int64_t oh = 0; oh < to.size[0]; oh++) {
		struct taps rows = taps_of(w, 0, oh, from.size[0]);
		for (int64_t ow = 0; ow < to.size[1]; ow++) {
			struct taps columns = taps_of(w, 1, ow, from.size[1]);
			int64_t counted = rows.counted * columns.counted, at = oh * to.size[1] + ow;
			const uint8_t *x = in->data;
			for (int64_t i = 0; i < planes; i++, x += plane, at += to.size[0] * to.size[1]) {
				int64_t n = 0, sum = sum_window(x, from.size[1], w, &rows, &columns, flip, &n);
				int32_t q = counted ? divide_half_even(sum - n * zero, counted) : 0;
				y[at] = (uint8_t)(q + in->quant.zero_point);
			}
		}
	}
}

int npl_int8_run_unary(const struct npl_layer *layer, struct npl_tensor *out, struct npl_err *err)
{
	const struct npl_tensor *result = out;
	int rc = 0;
	if (layer->op == NPL_OP_AVERAGEPOOL || layer->op == NPL_OP_GLOBALAVERAGEPOOL)
		average(layer, out);
	else
		rc = npl_op_run(layer->op, layer->attrs, layer->in, layer->n_in, out, 1, err);
	if (!rc && layer->fused == NPL_ACT_RELU)
		rc = npl_op_run(NPL_OP_RELU, NULL, &result, 1, out, 1, err);
	return rc;
}
