/* SPDX-License-Identifier: MIT
 *
 * float16 and bfloat16 (half.h). */
#include "half.h"

#include <math.h>
#include <string.h>

#include "npulab/cpu_features.h"

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

/* The bits, in float32, of the numbers at which the conversions change rules. */
#define F32_INFINITY     0x7f800000u
#define F16_MIN          0x38800000u  /* 2^-14, the least normal one of float16 */
#define F16_MAX          0x477fefffu  /* below half a step above 65504, which becomes infinity */
#define F16_EXPONENTS    (112u << 23) /* the difference between the exponents of the two formats */
#define ALL_IF(question) (0u - (uint32_t)(question))

/* Has no branches, so that loops are vectorised: every case is computed, and the right one selected. */
static inline __attribute__((always_inline)) uint16_t f16_of_float(float x)
{
	uint32_t bits = bits_of(x), size = bits & 0x7fffffffu;
	/* The last place of 0.5 is 2^-24, the least float16: the addition rounds to it, half to even. */
	uint32_t small = bits_of(float_of(size) + 0.5f) - 0x3f000000u;
	uint32_t normal = (size + 0xfffu + (size >> 13 & 1u) - F16_EXPONENTS) >> 13;
	uint32_t half = (small & ALL_IF(size < F16_MIN)) | (normal & ALL_IF(size >= F16_MIN));
	half = (half & ALL_IF(size <= F16_MAX)) | (0x7c00u & ALL_IF(size > F16_MAX));
	return (uint16_t)((bits >> 16 & 0x8000u) | half | (0x0200u & ALL_IF(size > F32_INFINITY)));
}

static inline __attribute__((always_inline)) float f16_to_float(uint16_t half)
{
	uint32_t size = half & 0x7fffu, sign = (uint32_t)(half & 0x8000u) << 16;
	uint32_t normal = (size << 13) + F16_EXPONENTS + (F16_EXPONENTS & ALL_IF(size >= 0x7c00u));
	uint32_t small = bits_of((float)(int32_t)size * 0x1p-24f); /* zero, or subnormal: exact in float32 */
	return float_of(sign | (normal & ALL_IF(size >= 0x0400u)) | (small & ALL_IF(size < 0x0400u)));
}

float npl_f16_to_float(uint16_t bits)
{
	return f16_to_float(bits);
}

uint16_t npl_f16_of_float(float x)
{
	return f16_of_float(x);
}

static inline __attribute__((always_inline)) float bf16_to_float(uint16_t half)
{
	return float_of((uint32_t)half << 16);
}

static inline __attribute__((always_inline)) uint16_t bf16_of_float(float x)
{
	uint32_t bits = bits_of(x), is_nan = ALL_IF((bits & 0x7fffffffu) > F32_INFINITY);
	uint32_t quiet_nan = bits >> 16 | 0x40, rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
	return (uint16_t)((quiet_nan & is_nan) | (rounded & ~is_nan)); /* a NaN is not cut down to an infinity */
}

float npl_bf16_to_float(uint16_t bits)
{
	return bf16_to_float(bits);
}

uint16_t npl_bf16_of_float(float x)
{
	return bf16_of_float(x);
}

#define LOOP(name, function, from_type, to_type, ...)                                                                  \
	__VA_ARGS__ static void name(const from_type *from, int64_t n, to_type *to)                                    \
	{                                                                                                              \
		for (int64_t i = 0; i < n; i++)                                                                        \
			to[i] = function(from[i]);                                                                     \
	}
#define LOOPS(isa, ...)                                                                                                \
	LOOP(f16_widen_##isa, f16_to_float, uint16_t, float, __VA_ARGS__)                                              \
	LOOP(f16_narrow_##isa, f16_of_float, float, uint16_t, __VA_ARGS__)                                             \
	LOOP(bf16_widen_##isa, bf16_to_float, uint16_t, float, __VA_ARGS__)                                            \
	LOOP(bf16_narrow_##isa, bf16_of_float, float, uint16_t, __VA_ARGS__)
LOOPS(plain, )
LOOPS(avx2, __attribute__((target("avx2"))))

void npl_half_widen(enum npl_dtype dtype, const void *from, int64_t n, float *to)
{
	if (npl_cpu_has(NPL_CPU_AVX2))
		(dtype == NPL_F16 ? f16_widen_avx2 : bf16_widen_avx2)(from, n, to);
	else
		(dtype == NPL_F16 ? f16_widen_plain : bf16_widen_plain)(from, n, to);
}

void npl_half_narrow(enum npl_dtype dtype, const float *from, int64_t n, void *to)
{
	if (npl_cpu_has(NPL_CPU_AVX2))
		(dtype == NPL_F16 ? f16_narrow_avx2 : bf16_narrow_avx2)(from, n, to);
	else
		(dtype == NPL_F16 ? f16_narrow_plain : bf16_narrow_plain)(from, n, to);
}
