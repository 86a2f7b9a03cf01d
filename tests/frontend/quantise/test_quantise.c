/* SPDX-License-Identifier: MIT
 *
 * What quantise.h promises: ranges include zero and zero maps exactly to the zero point, rounding is half to even and
 * then saturates, a value inside the range comes back within half a step, int8 weights use their whole range channel by
 * channel, and a Q6.10 scale is the power of two that keeps the greatest magnitude below 16 (activations) or 2
 * (weights). docs/quantisation.md lists the formats. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "frontend/quantise/quantise.h"
#include "tests/kit/page.h"
#include "tests/kit/support.h"

#define SEED 0x51ab5eedull

/* A float anywhere between 1e-25 and 1e25, of either sign. */
static float wide_float(uint64_t *rng)
{
	double exponent = (double)test_range(rng, -2500, 2500) / 100;
	return (float)((test_rng(rng) >> 63 ? -1 : 1) * pow(10, exponent));
}

static struct npl_tensor floats(float *data, int64_t n)
{
	return (struct npl_tensor){.name = "x", .dtype = NPL_F32, .shape = npl_shape_of(1, n), .data = data};
}

static struct npl_tensor quantise(float *data, int64_t n, enum npl_format format, struct npl_quant quant)
{
	struct npl_tensor in = floats(data, n), out;
	struct npl_err err;
	uint64_t saturations = 0;
	cr_assert_eq(npl_quantise_counting(&in, format, quant, &out, &saturations, &err), 0, "%s", err.msg);
	cr_assert_eq(out.dtype, npl_format_dtype(format));
	cr_assert(npl_shape_equal(&out.shape, &in.shape));
	return out;
}

static int32_t value_at(const struct npl_tensor *t, int64_t i)
{
	return t->dtype == NPL_U8   ? ((uint8_t *)t->data)[i]
	       : t->dtype == NPL_I8 ? ((int8_t *)t->data)[i]
				    : ((int16_t *)t->data)[i];
}

Test(quantise, ranges_include_zero)
{
	static const struct {
		struct npl_range range;
		float low, high; /* the range that counts: with zero */
	} cases[] = {{{.low = -1, .high = 1}, -1, 1},
		     {{.low = 2, .high = 5}, 0, 5},
		     {{.low = -5, .high = -2}, -5, 0},
		     {{.low = 0, .high = 255}, 0, 255},
		     {{.low = -128, .high = 127}, -128, 127}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_quant q = npl_quant_of_range(NPL_FORMAT_INT8, cases[i].range);
		cr_assert_float_eq(q.scale, (cases[i].high - cases[i].low) / 255, 1e-6f * q.scale, "case %zu", i);
		cr_assert_eq(q.zero_point, (int)rintf(-cases[i].low / q.scale), "case %zu: %d", i, q.zero_point);
	}
	cr_assert_eq(npl_quant_of_range(NPL_FORMAT_INT8, (struct npl_range){.low = 2, .high = 5}).zero_point, 0);
	cr_assert_eq(npl_quant_of_range(NPL_FORMAT_INT8, (struct npl_range){.low = -5, .high = -2}).zero_point, 255);
	cr_assert_eq(npl_quant_of_range(NPL_FORMAT_INT8, (struct npl_range){.low = 0, .high = 255}).scale, 1);
	struct npl_range nothing[] = {NPL_RANGE_EMPTY, {.low = 0}, {.low = -1e-38f, .high = 1e-38f}};
	for (size_t i = 0; i < 3; i++) {
		struct npl_quant q = npl_quant_of_range(NPL_FORMAT_INT8, nothing[i]);
		cr_assert(q.scale == 1 && q.zero_point == 0, "range %zu: scale %g", i, (double)q.scale);
	}
	struct npl_quant widest = npl_quant_of_range(NPL_FORMAT_INT8,
						     (struct npl_range){.low = -FLT_MAX, .high = FLT_MAX});
	cr_assert(isfinite(widest.scale) && widest.zero_point == 128, "%g %d", (double)widest.scale, widest.zero_point);
	struct npl_quant f32 = npl_quant_of_range(NPL_FORMAT_F32, (struct npl_range){.low = -1, .high = 1});
	cr_assert(f32.scale == 0 && f32.zero_point == 0, "float32 has no scale");
}

/* Any range: zero is exact, the ends are inside half a step, and what lies between comes back within half a step. */
Test(quantise, values_come_back_within_half_a_step)
{
	uint64_t rng = SEED;
	enum { VALUES = 64 };
	for (int i = 0; i < 4000; i++) {
		enum npl_format format = i & 1 ? NPL_FORMAT_INT8 : NPL_FORMAT_Q16;
		float a = wide_float(&rng), b = i % 3 ? a * (float)test_range(&rng, -300, 300) / 100 : wide_float(&rng),
		      x[VALUES];
		struct npl_range range = {.low = fminf(a, b), .high = fmaxf(a, b)};
		struct npl_quant q = npl_quant_of_range(format, range);
		double low = fmin(range.low, 0), high = fmax(range.high, 0);
		cr_assert(q.scale > 0 && q.zero_point >= 0 && q.zero_point <= (format == NPL_FORMAT_INT8 ? 255 : 0),
			  "seed %llx, range %d", SEED, i);
		for (int k = 0; k < VALUES; k++)
			x[k] = (float)(low + (high - low) * (double)test_range(&rng, 0, 1 << 20) / (1 << 20));
		x[0] = 0;
		x[1] = range.low;
		x[2] = range.high;
		struct npl_tensor quantised = quantise(x, VALUES, format, q), restored;
		struct npl_err err;
		cr_assert_eq(npl_dequantise(&quantised, &restored, &err), 0, "%s", err.msg);
		cr_assert_eq(value_at(&quantised, 0), q.zero_point, "seed %llx, range %d: zero", SEED, i);
		cr_assert_eq(((float *)restored.data)[0], 0, "seed %llx, range %d: zero", SEED, i);
		for (int k = 0; k < VALUES; k++) {
			double error = fabs((double)((float *)restored.data)[k] - (double)x[k]);
			cr_assert(error <= 0.5 * (double)q.scale * (1 + 1e-4),
				  "seed %llx, range %d: %g became %g, scale %g", SEED, i, (double)x[k],
				  (double)((float *)restored.data)[k], (double)q.scale);
		}
		npl_tensor_free(&quantised);
		npl_tensor_free(&restored);
	}
}

Test(quantise, half_to_even_and_saturation)
{
	struct {
		float x;
		int32_t u8, q16; /* at scale 1; the zero point of u8 is 10 */
	} cases[] = {{0.5f, 10, 0},          {1.5f, 12, 2},          {2.5f, 12, 2},          {-0.5f, 10, 0},
		     {-1.5f, 8, -2},         {-2.5f, 8, -2},         {244.4f, 254, 244},     {245, 255, 245},
		     {245.5f, 255, 246},     {300, 255, 300},        {-10, 0, -10},          {-10.5f, 0, -10},
		     {-11, 0, -11},          {32767, 255, 32767},    {32767.5f, 255, 32767}, {40000, 255, 32767},
		     {-32768, 0, -32768},    {-40000, 0, -32768},    {FLT_MAX, 255, 32767},  {-FLT_MAX, 0, -32768},
		     {INFINITY, 255, 32767}, {-INFINITY, 0, -32768}, {0x1p30f, 255, 32767},  {0x1p-149f, 10, 0}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_tensor u8 = quantise(&cases[i].x, 1, NPL_FORMAT_INT8,
						(struct npl_quant){.scale = 1, .zero_point = 10});
		struct npl_tensor q16 = quantise(&cases[i].x, 1, NPL_FORMAT_Q16, (struct npl_quant){.scale = 1});
		cr_assert_eq(value_at(&u8, 0), cases[i].u8, "%g became %d", (double)cases[i].x, value_at(&u8, 0));
		cr_assert_eq(value_at(&q16, 0), cases[i].q16, "%g became %d", (double)cases[i].x, value_at(&q16, 0));
		npl_tensor_free(&u8);
		npl_tensor_free(&q16);
	}
}

/* The scale of the greatest magnitude: activations stay below 16 * 2^e, weights below 2 * 2^e, and no lower e would
 * do. */
Test(quantise, q16_powers_of_two)
{
	static const struct {
		float magnitude, scale;
	} activation[] = {{16, 0x1p-9f},          {15.999999f, 0x1p-10f}, {16.000002f, 0x1p-9f}, {8, 0x1p-10f},
			  {7.9999995f, 0x1p-11f}, {1, 0x1p-13f},          {255, 0x1p-6f},        {256, 0x1p-5f},
			  {0, 0x1p-10f},          {FLT_MAX, 0x1p114f}};
	for (size_t i = 0; i < sizeof activation / sizeof *activation; i++)
		for (int side = 0; side < 2; side++) {
			float m = activation[i].magnitude;
			struct npl_range range = side ? (struct npl_range){.low = -m, .high = 0}
						      : (struct npl_range){.low = -m / 2, .high = m};
			struct npl_quant q = npl_quant_of_range(NPL_FORMAT_Q16, range);
			cr_assert(q.scale == activation[i].scale && q.zero_point == 0, "%g has scale %a, expected %a",
				  (double)m, (double)q.scale, (double)activation[i].scale);
		}
	uint64_t rng = SEED;
	for (int i = 0; i < 20000; i++) {
		float m = fabsf(wide_float(&rng)), *data = &m;
		struct npl_tensor w = {.name = "w", .dtype = NPL_F32, .shape = npl_shape_of(2, 1, 1), .data = data},
				  out;
		struct npl_err err;
		struct npl_quant q = npl_quant_of_range(NPL_FORMAT_Q16, (struct npl_range){.low = 0, .high = m});
		int e;
		cr_assert_eq(frexpf(q.scale, &e), 0.5f, "seed %llx: %a is no power of two", SEED, (double)q.scale);
		cr_assert(m < 16 * 1024 * q.scale && m >= 8 * 1024 * q.scale, "seed %llx: %g has scale %a", SEED,
			  (double)m, (double)q.scale);
		cr_assert_eq(npl_quantise_weight(&w, NPL_FORMAT_Q16, NULL, NULL, &out, &err), 0, "%s", err.msg);
		cr_assert_eq(frexpf(out.quant.scale, &e), 0.5f);
		cr_assert(m < 2 * 1024 * out.quant.scale && m >= 1024 * out.quant.scale,
			  "seed %llx: weight %g has scale %a", SEED, (double)m, (double)out.quant.scale);
		cr_assert(!out.quant.channel_scale && out.dtype == NPL_I16);
		npl_tensor_free(&out);
	}
}

Test(quantise, int8_weights_by_channel)
{
	uint64_t rng = SEED;
	for (int i = 0; i < 300; i++) {
		int64_t channels = test_range(&rng, 1, 12), depth = test_range(&rng, 1, 40);
		float *data = calloc((size_t)(channels * depth), sizeof *data), scales[12];
		struct npl_tensor w = {.name = "w",
				       .dtype = NPL_F32,
				       .shape = npl_shape_of(3, channels, depth, 1),
				       .data = data},
				  out;
		struct npl_err err;
		int64_t zero = test_range(&rng, 0, channels); /* one channel of zeros, or none */
		for (int64_t c = 0; c < channels; c++) {
			float size = fabsf(wide_float(&rng));
			for (int64_t k = 0; k < depth && c != zero; k++)
				data[c * depth + k] = size * (float)test_range(&rng, -1000000, 1000000) / 1000000;
		}
		cr_assert_eq(npl_quantise_weight(&w, NPL_FORMAT_INT8, NULL, scales, &out, &err), 0, "%s", err.msg);
		cr_assert(out.dtype == NPL_I8 && out.quant.channel_scale == scales &&
			  npl_shape_equal(&out.shape, &w.shape));
		for (int64_t c = 0; c < channels; c++) {
			float most = 0;
			for (int64_t k = 0; k < depth; k++)
				most = fmaxf(most, fabsf(data[c * depth + k]));
			if (most == 0)
				cr_assert_eq(scales[c], 1, "seed %llx: a channel of zeros has scale %g", SEED,
					     (double)scales[c]);
			for (int64_t k = 0; k < depth; k++) {
				float x = data[c * depth + k];
				int32_t q = value_at(&out, c * depth + k);
				cr_assert(fabsf((float)q * scales[c] - x) <= 0.5001f * scales[c],
					  "seed %llx, weights %d: %g became %d at %g", SEED, i, (double)x, q,
					  (double)scales[c]);
				cr_assert(q >= -127 && q <= 127, "symmetric: -128 is not used");
				cr_assert(fabsf(x) < most || most == 0 || abs(q) == 127,
					  "seed %llx: the greatest became %d", SEED, q);
			}
		}
		npl_tensor_free(&out);
		free(data);
	}
}

/* A bias takes at most half of 32 bits, whatever the scales; a scale that has room for it stays. */
Test(quantise, weights_leave_room_for_the_bias)
{
	uint64_t rng = SEED;
	int raised = 0;
	for (int i = 0; i < 3000; i++) {
		struct npl_err err;
		float w = wide_float(&rng), b = wide_float(&rng), own, scale;
		const struct npl_quant x = {.scale = fabsf(wide_float(&rng)) + 1e-20f};
		const float least = npl_quantise_bias_scale(b, &x);
		struct npl_tensor weight = {.name = "w", .dtype = NPL_F32, .shape = npl_shape_of(2, 1, 1), .data = &w},
				  bias = {.name = "b", .dtype = NPL_F32, .shape = npl_shape_of(1, 1), .data = &b},
				  plain, out, quantised;
		uint64_t saturations = 0;
		cr_assert_eq(npl_quantise_weight(&weight, NPL_FORMAT_INT8, NULL, &own, &plain, &err), 0, "%s", err.msg);
		if (!isfinite(least) || least > 1e30f) {
			npl_tensor_free(&plain);
			continue;
		}
		cr_assert_eq(npl_quantise_weight(&weight, NPL_FORMAT_INT8, &least, &scale, &out, &err), 0, "%s",
			     err.msg);
		cr_assert_eq(scale, fmaxf(own, least));
		cr_assert_eq(npl_quantise_bias(&bias, &x, &out.quant, &quantised, &saturations, &err), 0, "%s",
			     err.msg);
		cr_assert_eq(saturations, 0);
		cr_assert_leq(llabs((int64_t) * (int32_t *)quantised.data), (1 << 30) + 128, "seed %llx, %d", SEED, i);
		raised += scale > own;
		npl_tensor_free(&plain);
		npl_tensor_free(&out);
		npl_tensor_free(&quantised);
	}
	cr_assert(raised > 300 && raised < 2700, "%d", raised);
}

/* What is no number has no place in an integer format: a NaN among the values, a NaN or an infinity among weights and
 * biases is refused by name, never turned into some integer. */
Test(quantise, what_is_no_number)
{
	static const float bad[] = {NAN, INFINITY, -INFINITY};
	static const enum npl_format formats[] = {NPL_FORMAT_INT8, NPL_FORMAT_Q16};
	struct npl_quant x = {.scale = 2}, w = {.scale = 0.5f};
	uint64_t saturations = 0;
	for (size_t f = 0; f < 2; f++)
		for (size_t i = 0; i < 3; i++) {
			float data[] = {1, -2, bad[i], 0.5f}, scales[1];
			struct npl_tensor weight = {
				.name = "w", .dtype = NPL_F32, .shape = npl_shape_of(2, 1, 4), .data = data};
			struct npl_tensor vector = floats(data, 4), out = {0};
			struct npl_err err;
			cr_assert_eq(npl_quantise_weight(&weight, formats[f], NULL, scales, &out, &err), NPL_EINPUT);
			cr_assert(strstr(err.msg, "weight 'w' holds"), "%s", err.msg);
			cr_assert_eq(npl_quantise_weight_plain(&weight, &out, &saturations, &err), NPL_EINPUT);
			cr_assert(strstr(err.msg, "weight 'w' holds"), "%s", err.msg);
			cr_assert_eq(npl_quantise_bias(&vector, &x, &w, &out, &saturations, &err), NPL_EINPUT);
			if (isnan(bad[i])) {
				cr_assert_eq(npl_quantise_counting(&vector, formats[f], x, &out, &saturations, &err),
					     NPL_EINPUT);
				cr_assert(strstr(err.msg, "'x' holds a NaN"), "%s", err.msg);
			}
		}
}

Test(quantise, a_bias_is_rounded_and_saturates)
{
	float data[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 100, 3e9f, -3e9f, 2147483648.0f, -2147483648.0f};
	static const int32_t expected[] = {0, 2, 2, 0, -2, 100, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN};
	enum { N = sizeof data / sizeof *data };
	struct npl_tensor b = floats(data, N), out;
	struct npl_quant x = {.scale = 2}, w = {.scale = 0.5f};
	struct npl_err err;
	uint64_t saturations = 0;
	cr_assert_eq(npl_quantise_bias(&b, &x, &w, &out, &saturations, &err), 0, "%s", err.msg);
	cr_assert_eq(out.dtype, NPL_I32);
	cr_assert_eq(saturations, 3, "-2^31 fits, 2^31 does not"); /* 3e9, -3e9, 2^31 */
	for (int i = 0; i < N; i++)
		cr_assert_eq(((int32_t *)out.data)[i], expected[i], "%g became %d", (double)data[i],
			     ((int32_t *)out.data)[i]);
	npl_tensor_free(&out);
	/* by channel: each bias at its own channel's scale, within half a step of the product of the scales */
	uint64_t rng = SEED;
	for (int i = 0; i < 500; i++) {
		float values[8], scales[8];
		for (int c = 0; c < 8; c++) {
			values[c] = (float)test_range(&rng, -100000, 100000) / 977;
			scales[c] = (float)test_range(&rng, 1, 1000) / 3000;
		}
		x.scale = (float)test_range(&rng, 1, 1000) / 7777;
		w = (struct npl_quant){.channel_scale = scales};
		b = floats(values, 8);
		cr_assert_eq(npl_quantise_bias(&b, &x, &w, &out, &saturations, &err), 0, "%s", err.msg);
		for (int c = 0; c < 8; c++) {
			double step = (double)x.scale * (double)scales[c], restored = ((int32_t *)out.data)[c] * step;
			cr_assert(fabs(restored - (double)values[c]) <= 0.5 * step * (1 + 1e-9),
				  "seed %llx: bias %g became %g", SEED, (double)values[c], restored);
		}
		npl_tensor_free(&out);
	}
}

/* The page's table has a row for each format of integers, with the bits of its activations. */
Test(quantise, the_page_lists_the_formats)
{
	char *section = page_section("docs/quantisation.md", "## The formats"), cell[40], bits[16];
	int rows = -1; /* without that of the headings */
	for (const char *row = section; (row = strstr(row, "\n| ")) != NULL; row++)
		rows++;
	cr_expect_eq(rows, NPL_FORMATS - 1, "docs/quantisation.md has %d formats, formats.def %d and float32", rows,
		     NPL_FORMATS - 1);
	for (enum npl_format format = NPL_FORMAT_F32 + 1; format < NPL_FORMATS; format++) {
		snprintf(cell, sizeof cell, "\n| %s | ", npl_format_name(format));
		snprintf(bits, sizeof bits, " | %zu bits", 8 * npl_dtype_size(npl_format_dtype(format)));
		const char *row = strstr(section, cell), *device = row ? row + strlen(cell) : NULL;
		const char *activations = device ? strstr(device, " | ") : NULL;
		cr_expect(activations && !strncmp(activations, bits, strlen(bits)),
			  "docs/quantisation.md does not say that %s has activations of %s", npl_format_name(format),
			  bits + 3);
	}
	free(section);
}
