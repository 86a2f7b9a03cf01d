/* SPDX-License-Identifier: MIT
 *
 * Every operator that has an integer rule, as simple loops (core/integer.h). Sums are made in 64 bits. They
 * are cut to 32 at the end, which is what wrapping additions give in any order, except products of two computed
 * tensors of which one has 16 bits: those keep 64. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "core/ops/window.h"
#include "integer_impl.h"

static bool is_integer(const struct npl_tensor *t)
{
	return t->dtype == NPL_U8 || t->dtype == NPL_I8 || t->dtype == NPL_I16;
}

/* Says whether a tensor may be an activation: 8 or 16 bits, one scale, and a zero point that the type holds (0 for 16
 * bits). */
static bool is_activation(const struct npl_tensor *t)
{
	int32_t zero = t->quant.zero_point;
	return is_integer(t) && t->quant.scale > 0 && !t->quant.channel_scale && zero >= npl_dtype_min(t->dtype) &&
	       zero <= npl_dtype_max(t->dtype) && (t->dtype != NPL_I16 || !zero);
}

/* Says whether integer_finish applies the activation. */
static bool has_rule(enum npl_activation activation)
{
	switch (activation) {
	case NPL_ACT_NONE:
	case NPL_ACT_RELU:
	case NPL_ACT_RELU6:
	case NPL_ACT_SIGMOID:
	case NPL_ACT_TANH:
		return true;
	}
	return false;
}

static bool product_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const struct npl_tensor *w = layer->n_in > 1 ? layer->in[1] : NULL,
				*bias = layer->n_in > 2 ? layer->in[2] : NULL, *y = layer->out;
	bool raw = y->dtype == NPL_I32;
	if (!w || !is_integer(w) || w->quant.zero_point < npl_dtype_min(w->dtype) ||
	    w->quant.zero_point > npl_dtype_max(w->dtype))
		return npl_refuse(reason, reason_bytes, "its weights are not integers of 8 or 16 bits");
	if (bias && (bias->dtype != NPL_I32 || npl_tensor_count(bias) != w->shape.dim[0]))
		return npl_refuse(reason, reason_bytes, "its bias is not one 32-bit integer per output channel");
	if (!raw && !is_activation(y))
		return npl_refuse(reason, reason_bytes, "its output is not a quantised tensor");
	if (raw && layer->activation > NPL_ACT_RELU)
		return npl_refuse(reason, reason_bytes, "no activation follows raw sums");
	return true;
}

bool npl_integer_layer_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const struct npl_tensor *x = layer->n_in > 0 ? layer->in[0] : NULL;
	const struct npl_window *window = npl_op_window(layer->op, layer->attrs);
	const bool converts = layer->op == NPL_OP_SIGMOID || layer->op == NPL_OP_TANH || layer->op == NPL_OP_CONCAT;
	if (!x || !is_integer(x) || x->quant.zero_point < npl_dtype_min(x->dtype) ||
	    x->quant.zero_point > npl_dtype_max(x->dtype))
		return npl_refuse(reason, reason_bytes, "its input is not an integer tensor of 8 or 16 bits");
	if (window && window->rank > NPL_SPATIAL)
		return npl_refuse(reason, reason_bytes, "windows of integers have one or two dimensions");
	if (!has_rule(layer->activation))
		return npl_refuse(reason, reason_bytes, "there is no rule for %s on integers",
				  npl_activation_name(layer->activation));
	if (converts && layer->activation != NPL_ACT_NONE)
		return npl_refuse(reason, reason_bytes, "no activation follows %s on integers",
				  npl_op_defs[layer->op].name);
	switch (layer->op) {
	case NPL_OP_CONV:
	case NPL_OP_GEMM:
		return product_ok(layer, reason, reason_bytes);
	case NPL_OP_MATMUL:
		if (layer->n_in != 2 || !layer->in[1] || !is_activation(x) || !is_activation(layer->in[1]))
			return npl_refuse(reason, reason_bytes, "it does not multiply two quantised tensors");
		return is_activation(layer->out) ||
		       npl_refuse(reason, reason_bytes, "its output is not a quantised tensor");
	case NPL_OP_ADD:
	case NPL_OP_MUL:
	case NPL_OP_CONCAT:
		for (int i = 0; i < layer->n_in; i++)
			if (!layer->in[i] || !is_activation(layer->in[i]))
				return npl_refuse(reason, reason_bytes, "an input is not a quantised tensor");
		if (layer->op != NPL_OP_CONCAT && layer->n_in != 2)
			return npl_refuse(reason, reason_bytes, "it has %d inputs, expected 2", layer->n_in);
		return is_activation(layer->out) ||
		       npl_refuse(reason, reason_bytes, "its output is not a quantised tensor");
	case NPL_OP_SIGMOID:
	case NPL_OP_TANH:
		return (is_activation(x) && is_activation(layer->out)) ||
		       npl_refuse(reason, reason_bytes, "it takes and gives quantised tensors");
	case NPL_OP_RELU:
	case NPL_OP_CLIP:
	case NPL_OP_MAXPOOL:
	case NPL_OP_AVERAGEPOOL:
	case NPL_OP_GLOBALAVERAGEPOOL:
	case NPL_OP_SLICE:
	case NPL_OP_TRANSPOSE:
		if (layer->activation != NPL_ACT_NONE && layer->activation != NPL_ACT_RELU)
			return npl_refuse(reason, reason_bytes, "no function follows it in the same pass");
		return npl_tensor_quant_equal(x, layer->out) ||
		       npl_refuse(reason, reason_bytes, "input and output differ in type, scale or zero point");
	default:
		return npl_refuse(reason, reason_bytes, "there is no rule for %s on integers",
				  npl_op_defs[layer->op].name);
	}
}

/* How the sums of a product become results. */
struct sums {
	const struct npl_layer *layer;
	struct npl_tensor *out;
	bool keep_64_bits; /* two full-scale products of 16 x 16 bits fill 32 bits already */
	struct integer_finish finish;
};

static int sums_init(struct sums *s, const struct npl_layer *layer, struct npl_tensor *out,
		     struct npl_integer_counts *counts, struct npl_err *err)
{
	const struct npl_quant *w = &layer->in[1]->quant;
	*s = (struct sums){.layer = layer, .out = out};
	s->keep_64_bits = layer->op == NPL_OP_MATMUL &&
			  (layer->in[0]->dtype == NPL_I16 || layer->in[1]->dtype == NPL_I16);
	if (out->dtype == NPL_I32) {
		s->finish.counts = counts;
		return 0;
	}
	integer_finish_init(&s->finish, layer->activation, out, counts);
	for (int64_t c = 0; c < layer->in[1]->shape.dim[0]; c++) {
		float scale = layer->in[0]->quant.scale * (w->channel_scale ? w->channel_scale[c] : w->scale) /
			      s->finish.scale;
		if (!isfinite(scale) || scale < 0)
			return npl_fail(err, NPL_EINPUT,
					"the scale of output channel %lld is %g, expected a finite number from 0",
					(long long)c, (double)scale);
	}
	return 0;
}

/* Stores result `index`, of output channel c. */
static void put_sum(struct sums *s, int64_t index, int64_t c, int64_t sum)
{
	const struct npl_layer *layer = s->layer;
	const struct npl_quant *w = &layer->in[1]->quant;
	if (layer->n_in > 2 && layer->in[2])
		sum += integer_at(layer->in[2], c);
	int64_t acc = s->keep_64_bits ? sum : (int32_t)(uint32_t)(uint64_t)sum;
	s->finish.counts->overflows += acc != sum;
	if (s->out->dtype == NPL_I32) {
		integer_put(s->out, index, layer->activation == NPL_ACT_RELU && acc < 0 ? 0 : (int32_t)acc);
		return;
	}
	float scale = layer->in[0]->quant.scale * (w->channel_scale ? w->channel_scale[c] : w->scale) / s->finish.scale;
	integer_put(s->out, index, integer_finish(&s->finish, (float)acc * scale));
}

static void gemm(struct sums *s, const int32_t *x, const int32_t *w)
{
	int64_t rows = s->out->shape.dim[0], columns = s->out->shape.dim[1], k = s->layer->in[1]->shape.dim[1];
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < columns; j++) {
			int64_t sum = 0;
			for (int64_t l = 0; l < k; l++)
				sum += (int64_t)x[i * k + l] * w[j * k + l];
			put_sum(s, i * columns + j, j, sum);
		}
}

/* Adds one tap of one input channel to the sums of an output plane. */
static void add_tap(const struct npl_window *window, const struct npl_image *in, const struct npl_image *out,
		    const int32_t *plane, int64_t ky, int64_t kx, int64_t weight, int64_t *sum)
{
	int64_t first[2], end[2];
	npl_window_range(window, 0, ky, in->size[0], out->size[0], &first[0], &end[0]);
	npl_window_range(window, 1, kx, in->size[1], out->size[1], &first[1], &end[1]);
	for (int64_t oy = first[0]; oy < end[0]; oy++) {
		int64_t y = oy * window->stride[0] - window->pad_begin[0] + ky * window->dilation[0];
		for (int64_t ox = first[1]; ox < end[1]; ox++) {
			int64_t x = ox * window->stride[1] - window->pad_begin[1] + kx * window->dilation[1];
			sum[oy * out->size[1] + ox] += weight * plane[y * in->size[1] + x];
		}
	}
}

static int conv(struct sums *s, const int32_t *x, const int32_t *w, struct npl_err *err)
{
	const struct npl_window *window = &s->layer->attrs->conv.window;
	struct npl_image in = npl_image_of(&s->layer->in[0]->shape), out = npl_image_of(&s->out->shape);
	int64_t groups = s->layer->attrs->conv.groups, channels = in.channels / groups,
		per_group = out.channels / groups;
	int64_t pixels = out.size[0] * out.size[1], plane = in.size[0] * in.size[1],
		taps = window->kernel[0] * window->kernel[1];
	int64_t *sum = calloc((size_t)pixels + 1, sizeof *sum);
	if (!sum)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld sums", (long long)pixels);
	for (int64_t i = 0; i < out.images * out.channels; i++) {
		int64_t image = i / out.channels, m = i % out.channels, group = m / per_group;
		memset(sum, 0, (size_t)pixels * sizeof *sum);
		for (int64_t c = 0; c < channels; c++)
			for (int64_t t = 0; t < taps; t++)
				add_tap(window, &in, &out, x + (image * in.channels + group * channels + c) * plane,
					t / window->kernel[1], t % window->kernel[1], w[(m * channels + c) * taps + t],
					sum);
		for (int64_t p = 0; p < pixels; p++)
			put_sum(s, i * pixels + p, m, sum[p]);
	}
	free(sum);
	return 0;
}

/* Returns the element of an operand that broadcasts to the result's element i. */
static int64_t broadcast_index(const struct npl_shape *from, const struct npl_shape *to, int64_t i)
{
	int64_t index = 0, step = 1;
	for (int d = 1; d <= from->rank; d++) {
		int64_t size = to->dim[to->rank - d], extent = from->dim[from->rank - d];
		index += extent > 1 && size > 1 ? (i % size) * step : 0;
		step *= extent;
		i = size > 1 ? i / size : i;
	}
	return index;
}

/* Returns the dimensions before those of the matrices: the stack. */
static struct npl_shape stack_of(const struct npl_shape *shape, int matrix_dims)
{
	struct npl_shape stack = *shape;
	stack.rank = shape->rank > matrix_dims ? shape->rank - matrix_dims : 0;
	return stack;
}

/* Multiplies matrices. A vector is a matrix of one row on the left, of one column on the right, and the result lacks
 * that dimension. */
static void matmul(struct sums *s, const int32_t *x, const int32_t *w)
{
	const struct npl_shape *a = &s->layer->in[0]->shape, *b = &s->layer->in[1]->shape;
	const int64_t rows = a->rank > 1 ? a->dim[a->rank - 2] : 1, k = a->dim[a->rank - 1],
		      columns = b->rank > 1 ? b->dim[b->rank - 1] : 1;
	const struct npl_shape a_stack = stack_of(a, 2), b_stack = stack_of(b, 2),
			       y_stack = stack_of(&s->out->shape, (a->rank > 1) + (b->rank > 1));
	for (int64_t product = 0, count = npl_shape_count(&y_stack), index = 0; product < count; product++) {
		const int32_t *left = x + broadcast_index(&a_stack, &y_stack, product) * rows * k,
			      *right = w + broadcast_index(&b_stack, &y_stack, product) * k * columns;
		for (int64_t i = 0; i < rows; i++)
			for (int64_t j = 0; j < columns; j++) {
				int64_t sum = 0;
				for (int64_t l = 0; l < k; l++)
					sum += (int64_t)left[i * k + l] * right[l * columns + j];
				put_sum(s, index++, 0, sum);
			}
	}
}

static int run_product(const struct npl_layer *layer, struct npl_tensor *out, struct npl_integer_counts *counts,
		       struct npl_err *err)
{
	struct sums s;
	int rc = sums_init(&s, layer, out, counts, err);
	int32_t *x = rc ? NULL : integer_elements(layer->in[0]), *w = rc ? NULL : integer_elements(layer->in[1]);
	if (!rc && (!x || !w))
		rc = npl_no_memory(err);
	if (!rc && layer->op == NPL_OP_GEMM)
		gemm(&s, x, w);
	else if (!rc && layer->op == NPL_OP_MATMUL)
		matmul(&s, x, w);
	else if (!rc)
		rc = conv(&s, x, w, err);
	free(x);
	free(w);
	return rc;
}

static void run_pair(const struct npl_layer *layer, struct npl_tensor *out, struct npl_integer_counts *counts)
{
	const struct npl_tensor *a = layer->in[0], *b = layer->in[1];
	struct integer_finish finish;
	integer_finish_init(&finish, layer->activation, out, counts);
	float y = finish.scale, a_scale = a->quant.scale, b_scale = b->quant.scale;
	int64_t count = npl_tensor_count(out);
	for (int64_t i = 0; i < count; i++) {
		int64_t p = integer_less_zero(a, broadcast_index(&a->shape, &out->shape, i)),
			q = integer_less_zero(b, broadcast_index(&b->shape, &out->shape, i));
		float value = layer->op == NPL_OP_ADD ? (float)p * (a_scale / y) + (float)q * (b_scale / y)
						      : (float)(p * q) * (a_scale * b_scale / y);
		integer_put(out, i, integer_finish(&finish, value));
	}
}

/* Converts x to the format of out, through the function if there is one. */
static void convert(const struct npl_tensor *x, enum npl_activation function, struct npl_tensor *out,
		    struct npl_integer_counts *counts)
{
	struct integer_finish finish;
	integer_finish_init(&finish, function, out, counts);
	float scale = x->quant.scale / finish.scale;
	int64_t count = npl_tensor_count(out);
	for (int64_t i = 0; i < count; i++)
		integer_put(out, i, integer_finish(&finish, (float)integer_less_zero(x, i) * scale));
}

static int run_concat(const struct npl_layer *layer, struct npl_tensor *out, struct npl_integer_counts *counts,
		      struct npl_err *err)
{
	struct npl_tensor requantised[NPL_LAYER_INPUTS] = {{0}};
	const struct npl_tensor *in[NPL_LAYER_INPUTS];
	int rc = 0;
	for (int i = 0; i < layer->n_in && !rc; i++) {
		in[i] = layer->in[i];
		if (npl_tensor_quant_equal(in[i], out))
			continue;
		requantised[i] = (struct npl_tensor){.dtype = out->dtype, .shape = in[i]->shape, .quant = out->quant};
		rc = npl_tensor_alloc(&requantised[i], err);
		if (!rc)
			convert(in[i], NPL_ACT_NONE, &requantised[i], counts);
		in[i] = &requantised[i];
	}
	if (!rc)
		rc = npl_op_run(NPL_OP_CONCAT, layer->attrs, in, layer->n_in, out, 1, err);
	for (int i = 0; i < layer->n_in; i++)
		npl_tensor_free(&requantised[i]);
	return rc;
}

static int64_t divide_half_even(int64_t sum, int64_t count)
{
	int64_t quotient = sum / count - (sum % count < 0), remainder = sum - quotient * count;
	return quotient + (2 * remainder > count || (2 * remainder == count && (quotient & 1)));
}

/* Returns the average of one window: taps outside the image count in the divisor where the layer says so. */
static int64_t average_at(const struct npl_layer *layer, const struct npl_image *in, int64_t plane, int64_t oy,
			  int64_t ox)
{
	const struct npl_window *w = &layer->attrs->pool.window;
	int64_t sum = 0, count = 0;
	for (int64_t t = 0; t < w->kernel[0] * w->kernel[1]; t++) {
		int64_t y = oy * w->stride[0] - w->pad_begin[0] + t / w->kernel[1] * w->dilation[0],
			x = ox * w->stride[1] - w->pad_begin[1] + t % w->kernel[1] * w->dilation[1];
		bool inside = y >= 0 && y < in->size[0] && x >= 0 && x < in->size[1];
		if (inside)
			sum += integer_less_zero(layer->in[0], (plane * in->size[0] + y) * in->size[1] + x);
		/* A last window of ceil_mode may reach beyond the padding too. */
		count += inside ||
			 (w->count_include_pad && y < in->size[0] + w->pad_end[0] && x < in->size[1] + w->pad_end[1]);
	}
	return count ? divide_half_even(sum, count) : 0;
}

static void run_average(const struct npl_layer *layer, struct npl_tensor *out)
{
	struct npl_image in = npl_image_of(&layer->in[0]->shape), to = npl_image_of(&out->shape);
	int64_t count = npl_tensor_count(out), pixels = to.size[0] * to.size[1];
	for (int64_t i = 0; i < count; i++) {
		int64_t p = i % pixels;
		int64_t average = average_at(layer, &in, i / pixels, p / to.size[1], p % to.size[1]);
		integer_put(out, i, (int32_t)(average + out->quant.zero_point));
	}
}

static int32_t limit_of(float limit, const struct npl_tensor *t)
{
	float q = rintf(limit / t->quant.scale) + (float)t->quant.zero_point;
	int32_t low = npl_dtype_min(t->dtype), high = npl_dtype_max(t->dtype);
	return !(q > (float)low) ? low : q >= (float)high ? high : (int32_t)q;
}

static void run_clip(const struct npl_layer *layer, struct npl_tensor *out)
{
	int32_t low = limit_of(layer->attrs->clip.min, out), high = limit_of(layer->attrs->clip.max, out);
	int64_t count = npl_tensor_count(out);
	for (int64_t i = 0; i < count; i++) {
		int32_t q = integer_at(layer->in[0], i);
		q = q < low ? low : q;
		integer_put(out, i, q > high ? high : q);
	}
}

/* Runs operators that only pick integers, and Relu after any of them. */
static int run_pick(const struct npl_layer *layer, struct npl_tensor *out, struct npl_err *err)
{
	const struct npl_tensor *result = out;
	int rc = 0;
	if (layer->op == NPL_OP_AVERAGEPOOL || layer->op == NPL_OP_GLOBALAVERAGEPOOL)
		run_average(layer, out);
	else if (layer->op == NPL_OP_CLIP)
		run_clip(layer, out);
	else
		rc = npl_op_run(layer->op, layer->attrs, layer->in, layer->n_in, out, 1, err);
	if (!rc && layer->activation == NPL_ACT_RELU)
		rc = npl_op_run(NPL_OP_RELU, NULL, &result, 1, out, 1, err);
	return rc;
}

int npl_run_integer(const struct npl_layer *layer, struct npl_tensor *out, struct npl_integer_counts *counts,
		    struct npl_err *err)
{
	struct npl_integer_counts not_wanted = {0};
	counts = counts ? counts : &not_wanted;
	switch (layer->op) {
	case NPL_OP_CONV:
	case NPL_OP_GEMM:
	case NPL_OP_MATMUL:
		return run_product(layer, out, counts, err);
	case NPL_OP_ADD:
	case NPL_OP_MUL:
		run_pair(layer, out, counts);
		return 0;
	case NPL_OP_CONCAT:
		return run_concat(layer, out, counts, err);
	case NPL_OP_SIGMOID:
		convert(layer->in[0], NPL_ACT_SIGMOID, out, counts);
		return 0;
	case NPL_OP_TANH:
		convert(layer->in[0], NPL_ACT_TANH, out, counts);
		return 0;
	default:
		return run_pick(layer, out, err);
	}
}
