/* SPDX-License-Identifier: MIT
 *
 * float16 and bfloat16 (half.h). */
#include "npulab/half.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	return bits;
}

static float float_of(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

float npl_f16_to_float(uint16_t bits)
{
	uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, exponent = bits >> 10 & 31u, fraction = bits & 0x3ffu;
	if (exponent == 31)
		return float_of(sign | 0x7f800000u | fraction << 13);
	if (exponent == 0) { /* zero, or subnormal: fraction * 2^-24, exact in float32 */
		float size = (float)fraction * 0x1p-24f;
		return sign ? -size : size;
	}
	return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t npl_f16_of_double(double x)
{
	uint16_t sign = signbit(x) ? 0x8000 : 0;
	double size = fabs(x);
	if (isnan(x))
		return (uint16_t)(sign | 0x7e00);
	if (size >= 65520.0) /* half a step above the greatest, 65504 */
		return (uint16_t)(sign | 0x7c00);
	if (size < 0x1p-14)
		return (uint16_t)(sign | (uint16_t)rint(size * 0x1p24)); /* 0x0400, the least normal, included */
	int exponent;
	double fraction = frexp(size, &exponent);           /* 0.5 <= fraction < 1 */
	uint32_t steps = (uint32_t)rint(fraction * 2048.0); /* 1024..2048; 2048 carries into the exponent */
	return (uint16_t)(sign | (((uint32_t)(exponent + 14) << 10) + (steps - 1024)));
}

uint16_t npl_f16_of_float(float x)
{
	return npl_f16_of_double((double)x);
}

float npl_bf16_to_float(uint16_t bits)
{
	return float_of((uint32_t)bits << 16);
}

uint16_t npl_bf16_of_float(float x)
{
	uint32_t bits = bits_of(x);
	if (isnan(x))
		return (uint16_t)(bits >> 16 | 0x40); /* quiet, and not cut down to an infinity */
	return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

void npl_half_widen(enum npl_dtype dtype, const void *from, int64_t n, float *to)
{
	const uint16_t *bits = from;
	for (int64_t i = 0; i < n; i++)
		to[i] = dtype == NPL_F16 ? npl_f16_to_float(bits[i]) : npl_bf16_to_float(bits[i]);
}

void npl_half_narrow(enum npl_dtype dtype, const float *from, int64_t n, void *to)
{
	uint16_t *bits = to;
	for (int64_t i = 0; i < n; i++)
		bits[i] = dtype == NPL_F16 ? npl_f16_of_float(from[i]) : npl_bf16_of_float(from[i]);
}
