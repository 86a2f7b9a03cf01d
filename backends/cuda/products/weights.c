/* SPDX-License-Identifier: MIT
 *
 * Brings weights into the form that a product needs on the GPU (layer.h). Floats: rows of `ld` elements, the last ones
 * zeros, in the type that the device computes in, then the bias in the same type. Integers: cuBLASLt multiplies signed
 * 8-bit numbers only. A weight less its zero point is in -255..255, so the matrix is split into as many signed matrices
 * as sum to it, and the part of a sum that the input's zero point makes is in the bias:
 *
 * 	sum of (x - x_zero) * (w - w_zero) = sum of x8 * w' - x8_zero * sum of w'
 *
 * with w' = w - w_zero and x8 = x, less 128 if x is unsigned. All additions wrap in 32 bits, so their order does not
 * matter. */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/load/alignment.h"
#include "channels_last.h"
#include "core/base/arith.h"
#include "core/base/half.h"

enum { LEAST = -128, MOST = 127 }; /* limits of a part's elements */

static bool in_integers(const struct cu_layer *layer)
{
	return layer->precision == CU_INT8;
}

static int64_t element(const struct npl_tensor *t, int64_t i)
{
	return t->dtype == NPL_U8 ? ((const uint8_t *)t->data)[i] : ((const int8_t *)t->data)[i];
}

static int parts_for(int64_t value, int64_t limit)
{
	return (int)((value + limit + (limit > 0 ? -1 : 1)) / limit);
}

/* Returns how many signed 8-bit matrices are needed for w less its zero point. */
static int parts_of(const struct npl_tensor *w)
{
	int64_t smallest = LEAST, largest = MOST, count = npl_tensor_count(w);
	for (int64_t i = 0; i < count; i++) {
		int64_t value = element(w, i) - w->quant.zero_point;
		smallest = value < smallest ? value : smallest;
		largest = value > largest ? value : largest;
	}
	const int parts_below = parts_for(smallest, LEAST), parts_above = parts_for(largest, MOST);
	return parts_below > parts_above ? parts_below : parts_above;
}

int cu_weights_plan(struct cu_layer *layer, const bool *resident, int64_t rows, int64_t columns, int64_t ld,
		    int64_t padded_rows, struct npl_err *err)
{
	const struct npl_layer *request = layer->layer;
	struct cu_weights *w = &layer->weights;
	*w = (struct cu_weights){.matrix = resident[1],
				 .bias = resident[2],
				 .parts = 1,
				 .rows = rows,
				 .columns = columns,
				 .padded_rows = padded_rows,
				 .ld = ld,
				 .taps = 1,
				 .row_step = ld,
				 .channel_step = 1};
	bool integers = in_integers(layer);
	if (integers && (!w->matrix || (request->n_in > 2 && request->in[2] && !w->bias)))
		return npl_fail(err, NPL_EINTERNAL, "the weights have no data");
	if (integers)
		w->parts = parts_of(request->in[1]);
	size_t unit = npl_dtype_size(integers ? NPL_I8 : cu_layer_type(layer)), bytes;
	if (!npl_mul_size((size_t)padded_rows, (size_t)ld, &bytes) || !npl_mul_size(bytes, unit * 4, &bytes))
		return npl_fail(err, NPL_ENOMEM, "out of memory for weights");
	w->part_bytes = w->matrix ? cu_aligned(bytes / 4) : 0;
	w->bias_at = w->part_bytes * (size_t)w->parts;
	w->scale_at = w->bias_at;
	if (integers)
		w->scale_at += cu_aligned((size_t)rows * sizeof(int32_t));
	w->bytes = w->scale_at;
	if (integers)
		w->bytes += cu_aligned((size_t)rows * sizeof(float));
	else if (w->bias)
		w->bytes += cu_aligned((size_t)rows * unit);
	return 0;
}

/* Writes n elements of a tensor of floats, from element `index` on, in a type. */
static void write_floats(enum npl_dtype type, const struct npl_tensor *from, int64_t index, int64_t n, char *to)
{
	const char *data = (const char *)from->data + (size_t)index * npl_dtype_size(from->dtype);
	if (type == from->dtype)
		memcpy(to, data, (size_t)n * npl_dtype_size(type));
	else
		npl_half_narrow(type, (const float *)(const void *)data, n, to);
}

static int fill_floats(const struct cu_layer *layer, char *image, struct npl_err *err)
{
	const struct cu_weights *w = &layer->weights;
	const enum npl_dtype type = cu_layer_type(layer);
	const size_t unit = npl_dtype_size(type);
	const struct npl_tensor *matrix = layer->layer->in[1];
	for (int64_t r = 0; w->matrix && r < w->rows; r++)
		write_floats(type, matrix, r * w->columns, w->columns, image + (size_t)(r * w->ld) * unit);
	if (w->bias)
		write_floats(type, layer->layer->in[2], 0, w->rows, image + w->bias_at);
	if (!w->matrix || !layer->channels_last)
		return 0;
	const size_t bytes = (size_t)(w->rows * w->ld) * unit; /* rows have no gaps, as cuDNN expects */
	void *plain = malloc(bytes + 1);
	if (!plain)
		return npl_fail(err, NPL_ENOMEM, "out of memory for weights");
	memcpy(plain, image, bytes);
	struct npl_shape shape = matrix->shape;
	if (layer->method == CU_METHOD_DEPTHWISE) { /* one channel of each filter: the filters are the channels */
		shape.dim[1] = shape.dim[0];
		shape.dim[0] = 1;
	}
	cu_layout_turn(&shape, unit, true, plain, image);
	free(plain);
	return 0;
}

/* Writes one row of the model's matrix in all its parts. Returns the sum of its elements. */
static int64_t fill_row(const struct cu_layer *layer, int64_t row, char *image)
{
	const struct cu_weights *w = &layer->weights;
	const struct npl_tensor *matrix = layer->layer->in[1];
	int64_t sum = 0, from = row * w->columns;
	for (int64_t c = 0; c < w->columns / w->taps; c++)
		for (int64_t tap = 0; tap < w->taps; tap++) {
			const int64_t to = row * w->row_step + c * w->channel_step + tap * w->tap_step;
			int64_t remainder = element(matrix, from++) - matrix->quant.zero_point;
			sum += remainder;
			for (int p = 0; p < w->parts; p++) {
				int64_t part = npl_clamp_i64(remainder, LEAST, MOST);
				((int8_t *)image)[(size_t)p * w->part_bytes + (size_t)to] = (int8_t)part;
				remainder -= part;
			}
		}
	return sum;
}

static void fill_integers(const struct cu_layer *layer, char *image)
{
	const struct cu_weights *w = &layer->weights;
	const struct npl_layer *request = layer->layer;
	const struct npl_tensor *x = request->in[0], *bias = request->n_in > 2 ? request->in[2] : NULL;
	const int64_t x_zero = x->quant.zero_point - (x->dtype == NPL_U8 ? 128 : 0);
	uint32_t *sums = (uint32_t *)(void *)(image + w->bias_at);
	float *scale = (float *)(void *)(image + w->scale_at);
	for (int64_t r = 0; r < w->rows; r++) {
		int64_t sum = -x_zero * fill_row(layer, r, image);
		sums[r] = (uint32_t)(uint64_t)sum + (bias ? (uint32_t)((const int32_t *)bias->data)[r] : 0);
		if (request->out->dtype != NPL_I32)
			scale[r] = cu_sums_scale(x, request->in[1], r, request->activation, request->out);
	}
}

int cu_layer_fill(const struct cu_layer *layer, char *image, struct npl_err *err)
{
	if (!layer->weights.bytes)
		return 0;
	memset(image, 0, layer->weights.bytes);
	if (!in_integers(layer))
		return fill_floats(layer, image, err);
	fill_integers(layer, image);
	return 0;
}

uint64_t cu_weights_matrix(const struct cu_layer *layer, const struct cu_value *in, int part)
{
	const struct cu_weights *w = &layer->weights;
	return w->matrix ? w->address + (size_t)part * w->part_bytes : in[1].address;
}

uint64_t cu_weights_bias(const struct cu_layer *layer, const struct cu_value *in)
{
	const struct cu_weights *w = &layer->weights;
	if (w->bias || in_integers(layer))
		return w->address + w->bias_at;
	return layer->layer->n_in > 2 && layer->layer->in[2] ? in[2].address : 0;
}
