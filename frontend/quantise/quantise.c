/* SPDX-License-Identifier: MIT
 *
 * Quantisation (quantise.h). The rounding is that of ONNX QuantizeLinear: half to even, then saturate. Threads share
 * the values. */
#include "quantise.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/parallel.h"

#define Q16_ACTIVATION_LIMIT 16.0f
#define Q16_WEIGHT_LIMIT     2.0f

bool npl_quant_of_function(enum npl_format format, enum npl_op op, struct npl_quant *quant)
{
	if (!npl_format_per_channel(format) || (op != NPL_OP_SIGMOID && op != NPL_OP_TANH))
		return false;
	if (format == NPL_FORMAT_INT8X16)
		*quant = (struct npl_quant){.scale = 0x1p-15f};
	else if (op == NPL_OP_SIGMOID)
		*quant = (struct npl_quant){.scale = 0x1p-8f};
	else
		*quant = (struct npl_quant){.scale = 0x1p-7f, .zero_point = 128};
	return true;
}

/* Returns 2^(e - 10) with the least e that keeps magnitude below limit * 2^e. */
static float power_of_two_scale(float magnitude, float limit)
{
	int e = 0;
	if (magnitude > 0) {
		frexpf(magnitude / limit, &e); /* magnitude / limit = m * 2^e with 0.5 <= m < 1 */
		e = e < -100 ? -100 : e;
	}
	return ldexpf(1.0f, e - NPL_Q16_FRACTION_BITS);
}

struct npl_quant npl_quant_of_range(enum npl_format format, struct npl_range range)
{
	bool empty = range.low > range.high;
	float low = empty || range.low > 0 ? 0 : range.low;
	float high = empty || range.high < 0 ? 0 : range.high;
	if (format == NPL_FORMAT_F32)
		return (struct npl_quant){0};
	if (format == NPL_FORMAT_Q16)
		return (struct npl_quant){.scale = power_of_two_scale(fmaxf(-low, high), Q16_ACTIVATION_LIMIT)};
	if (format == NPL_FORMAT_INT8X16) {
		float step = fmaxf(-low, high) / 32767.0f;
		return (struct npl_quant){.scale = step >= 1e-30f ? step : 1.0f};
	}
	/* Each end is divided first, since high - low may overflow a float. */
	float scale = (high / 255.0f) - (low / 255.0f);
	if (!(scale >= 1e-30f)) /* a constant zero, or so small that its reciprocal would overflow */
		return (struct npl_quant){.scale = 1.0f};
	float zero = rintf(-low / scale);
	return (struct npl_quant){.scale = scale, .zero_point = zero < 0 ? 0 : zero > 255 ? 255 : (int32_t)zero};
}

#define PIECE 65536 /* elements; fewer are done before another thread has woken up, at about a nanosecond each */

/* What all values of a call share. The rule is q = saturate(round_half_even(x / scale) + zero), of type dtype. */
struct rule {
	enum npl_dtype dtype;
	float scale;
	int32_t zero, low, high;
};

/* Defines a loop that rounds values to integers, written so that the compiler vectorises it. Values are clamped to one
 * beyond low..high, which still shows that they were outside. Adding 1.5 * 2^23 then leaves a float of less than 2^22
 * no fraction bits. */
#define DEFINE_ROUND(name, type)                                                                                       \
	static uint64_t name(const struct rule *rule, const float *restrict x, int64_t n, type *restrict q)            \
	{                                                                                                              \
		const float least = (float)(rule->low - rule->zero - 1),                                               \
			    greatest = (float)(rule->high - rule->zero + 1);                                           \
		const float scale = rule->scale, big = 12582912.0f;                                                    \
		const int32_t low = rule->low, high = rule->high, zero = rule->zero;                                   \
		int64_t n_saturated = 0;                                                                               \
		for (int64_t first = 0; first < n; first += PIECE) {                                                   \
			const int64_t end = n - first < PIECE ? n : first + PIECE;                                     \
			int32_t some = 0;                                                                              \
			for (int64_t i = first; i < end; i++) {                                                        \
				float value = x[i] / scale;                                                            \
				value = value > least ? value : least;                                                 \
				value = value < greatest ? value : greatest;                                           \
				const float shifted = value + big;                                                     \
				const int32_t rounded = (int32_t)(shifted - big) + zero;                               \
				int32_t inside = rounded < low ? low : rounded;                                        \
				inside = inside > high ? high : inside;                                                \
				some += inside != rounded;                                                             \
				q[i] = (type)inside;                                                                   \
			}                                                                                              \
			n_saturated += some;                                                                           \
		}                                                                                                      \
		return (uint64_t)n_saturated;                                                                          \
	}
DEFINE_ROUND(round_u8, uint8_t)
DEFINE_ROUND(round_i8, int8_t)
DEFINE_ROUND(round_i16, int16_t)

/* Rounds x[first..end - 1] to q, a tensor of the rule's type. Returns how many values lay outside. */
static uint64_t round_values(const struct rule *rule, const float *x, int64_t first, int64_t end, void *q)
{
	if (rule->dtype == NPL_U8)
		return round_u8(rule, x + first, end - first, (uint8_t *)q + first);
	if (rule->dtype == NPL_I8)
		return round_i8(rule, x + first, end - first, (int8_t *)q + first);
	return round_i16(rule, x + first, end - first, (int16_t *)q + first);
}

/* The bits of an infinity. Without the sign, the bits of NaNs are greater; those of finite numbers are lesser, and in
 * the order of the numbers. */
#define INFINITE 0x7f800000

static int32_t bits_of(float x)
{
	int32_t bits;
	memcpy(&bits, &x, sizeof bits);
	return bits & INT32_MAX;
}

/* Returns the bits of the greatest magnitude; NaNs count as above infinity. */
static int32_t greatest_bits(const float *x, int64_t n)
{
	int32_t greatest = 0;
	for (int64_t i = 0; i < n; i++)
		greatest = bits_of(x[i]) > greatest ? bits_of(x[i]) : greatest;
	return greatest;
}

static int32_t load(const struct npl_tensor *tensor, int64_t i)
{
	switch (tensor->dtype) {
	case NPL_U8:
		return ((const uint8_t *)tensor->data)[i];
	case NPL_I8:
		return ((const int8_t *)tensor->data)[i];
	case NPL_I16:
		return ((const int16_t *)tensor->data)[i];
	default:
		return ((const int32_t *)tensor->data)[i];
	}
}

int npl_quantise_counting(const struct npl_tensor *in, enum npl_format format, struct npl_quant quant,
			  struct npl_tensor *out, uint64_t *saturations, struct npl_err *err)
{
	return npl_quantise_to(in, npl_format_dtype(format), quant, out, saturations, err);
}

struct rounding {
	struct rule rule;
	const float *x;
	void *q;
	atomic_uint_fast64_t n_saturated;
	atomic_bool nan;
};

static void round_piece(void *context, int64_t first, int64_t end)
{
	struct rounding *r = context;
	atomic_fetch_add(&r->n_saturated, round_values(&r->rule, r->x, first, end, r->q));
	if (greatest_bits(r->x + first, end - first) > INFINITE)
		atomic_store(&r->nan, true);
}

int npl_quantise_to(const struct npl_tensor *in, enum npl_dtype dtype, struct npl_quant quant, struct npl_tensor *out,
		    uint64_t *saturations, struct npl_err *err)
{
	*out = (struct npl_tensor){.name = in->name, .dtype = dtype, .shape = in->shape, .quant = quant};
	if (npl_tensor_alloc(out, err))
		return err->code;
	struct rounding r = {.rule = {.dtype = dtype,
				      .scale = quant.scale,
				      .zero = quant.zero_point,
				      .low = npl_dtype_min(dtype),
				      .high = npl_dtype_max(dtype)},
			     .x = in->data,
			     .q = out->data};
	npl_parallel_pieces(npl_tensor_count(in), PIECE, round_piece, &r);
	*saturations += r.n_saturated;
	if (!r.nan)
		return 0;
	npl_tensor_free(out);
	return npl_fail(err, NPL_EINPUT, "'%s' holds a NaN, which %s cannot hold", in->name ? in->name : "a value",
			npl_dtype_name(dtype));
}

int npl_dequantise(const struct npl_tensor *in, struct npl_tensor *out, struct npl_err *err)
{
	*out = (struct npl_tensor){.name = in->name, .dtype = NPL_F32, .shape = in->shape};
	if (npl_tensor_alloc(out, err))
		return err->code;
	float *y = out->data;
	int64_t n = npl_tensor_count(in);
	for (int64_t i = 0; i < n; i++)
		y[i] = (float)(load(in, i) - in->quant.zero_point) * in->quant.scale;
	return 0;
}

struct finding {
	const float *x;
	atomic_bool infinite; /* or NaN */
};

static void find_infinite(void *context, int64_t first, int64_t end)
{
	struct finding *finding = context;
	if (greatest_bits(finding->x + first, end - first) >= INFINITE)
		atomic_store(&finding->infinite, true);
}

/* Refuses a weight or bias that holds a NaN or an infinity, which no integer format holds and which is a fault of the
 * model: NPL_EINPUT. */
static int check_finite(const struct npl_tensor *w, enum npl_format format, struct npl_err *err)
{
	const float *x = w->data;
	const int64_t n = npl_tensor_count(w);
	struct finding finding = {.x = x};
	npl_parallel_pieces(n, 4 * PIECE, find_infinite, &finding);
	for (int64_t i = 0; i < n && finding.infinite; i++)
		if (!isfinite(x[i]))
			return npl_fail(err, NPL_EINPUT, "weight '%s' holds %s, which %s cannot hold",
					w->name ? w->name : "?", isnan(x[i]) ? "a NaN" : "an infinity",
					npl_format_name(format));
	return 0;
}

/* Returns the greatest magnitude of values that are all finite. */
static float magnitude(const float *x, int64_t n)
{
	const int32_t bits = greatest_bits(x, n);
	float greatest;
	memcpy(&greatest, &bits, sizeof greatest);
	return greatest;
}

float npl_quantise_bias_scale(float bias, const struct npl_quant *x)
{
	return (float)(fabs((double)bias) / ((double)x->scale * 1073741824.0));
}

struct weighing {
	struct rule rule; /* except the scale */
	const float *x;
	void *q;
	int64_t per_channel;
	float scale;              /* the scale of all channels, if channel_scale is NULL */
	float *channel_scale;     /* gets the scale of each channel; NULL: all have `scale` */
	const float *least_scale; /* per channel: the least scale that it may get; NULL: any */
};

static void weigh_channels(void *context, int64_t first, int64_t end)
{
	const struct weighing *w = context;
	for (int64_t c = first; c < end; c++) {
		struct rule rule = w->rule;
		rule.scale = w->scale;
		if (w->channel_scale) {
			const float greatest = magnitude(w->x + c * w->per_channel, w->per_channel);
			rule.scale = greatest > 1e-30f ? greatest / 127.0f : 1.0f;
			if (w->least_scale && rule.scale < w->least_scale[c])
				rule.scale = w->least_scale[c];
			w->channel_scale[c] = rule.scale;
		}
		round_values(&rule, w->x, c * w->per_channel, (c + 1) * w->per_channel, w->q);
	}
}

int npl_quantise_weight(const struct npl_tensor *w, enum npl_format format, const float *least_scale,
			float *channel_scale, struct npl_tensor *out, struct npl_err *err)
{
	int64_t channels = w->shape.dim[0], count = npl_tensor_count(w), per_channel = channels ? count / channels : 0;
	const float *x = w->data;
	*out = (struct npl_tensor){.name = w->name, .dtype = npl_format_weight_dtype(format), .shape = w->shape};
	if (check_finite(w, format, err) || npl_tensor_alloc(out, err))
		return err->code;
	bool has_scales = npl_format_per_channel(format);
	if (has_scales)
		out->quant.channel_scale = channel_scale;
	else
		out->quant.scale = power_of_two_scale(magnitude(x, count), Q16_WEIGHT_LIMIT);
	for (int64_t c = 0; c < channels && least_scale && !has_scales; c++)
		while (out->quant.scale < least_scale[c])
			out->quant.scale *= 2;
	struct weighing weighing = {.rule = {.dtype = out->dtype,
					     .low = has_scales ? -127 : npl_dtype_min(out->dtype),
					     .high = npl_dtype_max(out->dtype)},
				    .x = w->data,
				    .q = out->data,
				    .per_channel = per_channel,
				    .scale = out->quant.scale,
				    .channel_scale = has_scales ? channel_scale : NULL,
				    .least_scale = least_scale};
	npl_parallel_pieces(channels, PIECE / (per_channel + 1) + 1, weigh_channels, &weighing);
	return 0;
}

int npl_quantise_weight_plain(const struct npl_tensor *w, struct npl_tensor *out, uint64_t *saturations,
			      struct npl_err *err)
{
	if (check_finite(w, NPL_FORMAT_Q16, err))
		return err->code;
	return npl_quantise_counting(w, NPL_FORMAT_Q16, NPL_Q16_PLAIN, out, saturations, err);
}

int npl_quantise_bias(const struct npl_tensor *bias, const struct npl_quant *x, const struct npl_quant *w,
		      struct npl_tensor *out, uint64_t *saturations, struct npl_err *err)
{
	*out = (struct npl_tensor){.name = bias->name, .dtype = NPL_I32, .shape = bias->shape};
	if (check_finite(bias, w->channel_scale ? NPL_FORMAT_INT8 : NPL_FORMAT_Q16, err) || npl_tensor_alloc(out, err))
		return err->code;
	const float *b = bias->data;
	int32_t *q = out->data;
	int64_t n = npl_tensor_count(bias);
	for (int64_t c = 0; c < n; c++) {
		double scale = (double)x->scale * (double)(w->channel_scale ? w->channel_scale[c] : w->scale);
		double value = rint((double)b[c] / scale);
		*saturations += !(value >= -2147483648.0 && value <= 2147483647.0);
		q[c] = !(value > -2147483648.0) ? INT32_MIN : value >= 2147483647.0 ? INT32_MAX : (int32_t)value;
	}
	return 0;
}
