/* SPDX-License-Identifier: MIT
 *
 * From 32-bit accumulators back to 8 bits (int8.h): bias, then the rule of ONNX QLinearConv. The scalar and the
 * vector form give the same bits: both convert, multiply and round once, in float32, to nearest even. */
#include "npulab/int8.h"

float npl_int8_scale(float x_scale, float w_scale, float y_scale)
{
	float product = x_scale * w_scale;
	return product / y_scale;
}

uint64_t npl_int8_add_bias(int32_t *acc, int64_t count, const int32_t *bias, int step)
{
	uint64_t wrapped = 0;
	for (int64_t i = 0; i < count; i++)
		wrapped += __builtin_add_overflow(acc[i], bias[i * step], &acc[i]);
	return wrapped;
}

/* Rounds |value| < 2^22 to the nearest integer, ties to even: adding 1.5 * 2^23 leaves no fraction bits. */
static int32_t round_half_even(float value)
{
	const float big = 12582912.0f;
	volatile float shifted = value + big; /* volatile: the addition must not be optimised away */
	return (int32_t)(shifted - big);
}

/* Results before the zero point lie in low..high. Clamping to one beyond keeps the conversion in range and still
 * shows that the value was outside. */
static int32_t requantise_one(int32_t acc, float scale, int32_t low, int32_t high, uint64_t *clipped)
{
	float value = (float)acc * scale;
	float least = (float)(low - 1), most = (float)(high + 1);
	value = value < least ? least : value > most ? most : value;
	int32_t q = round_half_even(value);
	*clipped += q < low || q > high;
	return q < low ? low : q > high ? high : q;
}

#if defined(__x86_64__)
#include <emmintrin.h>

/* Four results before the zero point, clamped to one beyond low..high. */
static __m128i requantise_four(const int32_t *acc, __m128 scale, __m128 least, __m128 most)
{
	__m128 value = _mm_mul_ps(_mm_cvtepi32_ps(_mm_loadu_si128((const __m128i *)(const void *)acc)), scale);
	return _mm_cvtps_epi32(_mm_min_ps(_mm_max_ps(value, least), most));
}

/* As many groups of 8 as there are; returns how many results it made. */
static int64_t requantise_eights(const int32_t *acc, int64_t count, const float *scale, int step, int32_t zero,
				 bool is_signed, int32_t low, int32_t high, uint8_t *out, uint64_t *clipped)
{
	__m128 least = _mm_set1_ps((float)(low - 1)), most = _mm_set1_ps((float)(high + 1)), s0 = _mm_set1_ps(*scale),
	       s1 = s0;
	__m128i lows = _mm_set1_epi16((short)low), highs = _mm_set1_epi16((short)high),
		zeros = _mm_set1_epi16((short)zero);
	int64_t i = 0;
	for (; i + 8 <= count; i += 8) {
		if (step) {
			s0 = _mm_loadu_ps(scale + i);
			s1 = _mm_loadu_ps(scale + i + 4);
		}
		__m128i q = _mm_packs_epi32(requantise_four(acc + i, s0, least, most),
					    requantise_four(acc + i + 4, s1, least, most));
		__m128i inside = _mm_min_epi16(_mm_max_epi16(q, lows), highs);
		int changed = ~_mm_movemask_epi8(_mm_cmpeq_epi16(q, inside)) & 0xffff;
		*clipped += (uint64_t)__builtin_popcount((unsigned)changed) / 2;
		inside = _mm_add_epi16(inside, zeros);
		inside = is_signed ? _mm_packs_epi16(inside, inside) : _mm_packus_epi16(inside, inside);
		_mm_storel_epi64((__m128i *)(void *)(out + i), inside);
	}
	return i;
}
#endif

uint64_t npl_int8_requantise(const int32_t *acc, int64_t count, const float *scale, int step, int32_t zero_point,
			     enum npl_dtype dtype, void *out)
{
	int32_t low = npl_int8_min(dtype) - zero_point, high = npl_int8_max(dtype) - zero_point;
	uint64_t clipped = 0;
	uint8_t *bytes = out;
	int64_t i = 0;
#if defined(__x86_64__)
	i = requantise_eights(acc, count, scale, step, zero_point, dtype == NPL_I8, low, high, bytes, &clipped);
#endif
	for (; i < count; i++)
		bytes[i] = (uint8_t)(requantise_one(acc[i], scale[i * step], low, high, &clipped) + zero_point);
	return clipped;
}
