/* SPDX-License-Identifier: MIT
 *
 * Operands of npl_int8_gemm into the 16-bit panels of kernels.h. Vectors that are contiguous along k are
 * transposed four at a time; vectors that lie side by side are interleaved. Both use SSE2, which every x86-64 has: at
 * 16 bytes per load they keep up with the second-level cache. */
#include <string.h>

#include "kernels.h"

/* i8 and u8 are read alike: flipping the sign bit of an i8 adds 128 to the value and to the zero point. */
struct widening {
	uint8_t flip;
	int16_t zero;
};

static struct widening widening_of(const struct npl_int8_matrix *x)
{
	if (x->dtype == NPL_I8)
		return (struct widening){0x80, (int16_t)(x->zero_point + 128)};
	return (struct widening){0, (int16_t)x->zero_point};
}

static int16_t widen(uint8_t value, struct widening w)
{
	return (int16_t)((value ^ w.flip) - w.zero);
}

/* Value k of vector i. */
static uint8_t byte_of(const struct npl_int8_matrix *x, int64_t i, int64_t k)
{
	return ((const uint8_t *)x->data)[i * x->stride + k * x->k_stride];
}

/* Any layout, one value at a time. */
static void plain_16(const struct npl_int8_matrix *x, int64_t first, int valid, int width, int64_t k0, int64_t length,
		     int16_t *panel)
{
	struct widening w = widening_of(x);
	for (int64_t k = 0; k < (length + 1) / 2 * 2; k++)
		for (int i = 0; i < width; i++)
			panel[(k / 2 * width + i) * 2 + (k & 1)] = i < valid && k < length
									   ? widen(byte_of(x, first + i, k0 + k), w)
									   : 0;
}

#if defined(__x86_64__)
#include <emmintrin.h>

static __m128i load_16(const uint8_t *bytes)
{
	return _mm_loadu_si128((const __m128i *)(const void *)bytes);
}

static __m128i load_8(const uint8_t *bytes)
{
	return _mm_loadl_epi64((const __m128i *)(const void *)bytes);
}

static void store_16(void *to, __m128i value)
{
	_mm_store_si128(to, value);
}

static __m128i widen_low(__m128i bytes, __m128i zero)
{
	return _mm_sub_epi16(_mm_unpacklo_epi8(bytes, _mm_setzero_si128()), zero);
}

static __m128i widen_high(__m128i bytes, __m128i zero)
{
	return _mm_sub_epi16(_mm_unpackhi_epi8(bytes, _mm_setzero_si128()), zero);
}

/* Four vectors of 4 groups each become 4 groups of the 4 vectors, `step` bytes apart. */
static void store_transposed(__m128i r0, __m128i r1, __m128i r2, __m128i r3, int step, uint8_t *out)
{
	__m128i low01 = _mm_unpacklo_epi32(r0, r1), low23 = _mm_unpacklo_epi32(r2, r3);
	__m128i high01 = _mm_unpackhi_epi32(r0, r1), high23 = _mm_unpackhi_epi32(r2, r3);
	store_16(out, _mm_unpacklo_epi64(low01, low23));
	store_16(out + step, _mm_unpackhi_epi64(low01, low23));
	store_16(out + 2 * step, _mm_unpacklo_epi64(high01, high23));
	store_16(out + 3 * step, _mm_unpackhi_epi64(high01, high23));
}

/* Vectors contiguous along k, 16 values at a time; returns how many of `length` it did. A vector that is missing is
 * the zero point throughout. */
static int64_t along_k_16(const struct npl_int8_matrix *x, int64_t first, int valid, int width, int64_t k0,
			  int64_t length, int16_t *panel)
{
	struct widening w = widening_of(x);
	__m128i flip = _mm_set1_epi8((char)w.flip), zero = _mm_set1_epi16(w.zero),
		missing = _mm_set1_epi8((char)w.zero);
	int64_t done = length / 16 * 16;
	for (int i = 0; i < width; i += 4) {
		const uint8_t *row = (const uint8_t *)x->data + (first + i) * x->stride + k0;
		for (int64_t k = 0; k < done; k += 16) {
			__m128i r[4];
			for (int j = 0; j < 4; j++)
				r[j] = i + j < valid ? _mm_xor_si128(load_16(row + j * x->stride + k), flip) : missing;
			uint8_t *out = (uint8_t *)(panel + (k / 2 * width + i) * 2);
			store_transposed(widen_low(r[0], zero), widen_low(r[1], zero), widen_low(r[2], zero),
					 widen_low(r[3], zero), 4 * width, out);
			store_transposed(widen_high(r[0], zero), widen_high(r[1], zero), widen_high(r[2], zero),
					 widen_high(r[3], zero), 4 * width, out + 16 * width);
		}
	}
	return done;
}

/* Vectors that lie side by side (k_stride apart along k), two values of 8 vectors at a time. */
static int64_t across_k_16(const struct npl_int8_matrix *x, int64_t first, int valid, int width, int64_t k0,
			   int64_t length, int16_t *panel)
{
	struct widening w = widening_of(x);
	__m128i flip = _mm_set1_epi8((char)w.flip), zero = _mm_set1_epi16(w.zero);
	uint8_t padded[2][NPL_INT8_MAX_WIDTH]; /* a panel that is not full, filled up with the zero point */
	memset(padded, (uint8_t)w.zero ^ w.flip, sizeof padded);
	int64_t done = length / 2 * 2;
	for (int64_t k = 0; k < done; k += 2) {
		const uint8_t *even = (const uint8_t *)x->data + first + (k0 + k) * x->k_stride,
			      *odd = even + x->k_stride;
		if (valid < width) {
			memcpy(padded[0], even, (size_t)valid);
			memcpy(padded[1], odd, (size_t)valid);
			even = padded[0];
			odd = padded[1];
		}
		for (int i = 0; i < width; i += 8, panel += 16) {
			__m128i pairs = _mm_xor_si128(_mm_unpacklo_epi8(load_8(even + i), load_8(odd + i)), flip);
			store_16(panel, widen_low(pairs, zero));
			store_16(panel + 8, widen_high(pairs, zero));
		}
	}
	return done;
}
#endif

static void panel_16(const struct npl_int8_matrix *x, int64_t first, int valid, int width, int64_t k0, int64_t length,
		     int16_t *panel)
{
	int64_t done = 0;
#if defined(__x86_64__)
	if (x->k_stride == 1)
		done = along_k_16(x, first, valid, width, k0, length, panel);
	else if (width % 8 == 0)
		done = across_k_16(x, first, valid, width, k0, length, panel);
#endif
	if (done < length)
		plain_16(x, first, valid, width, k0 + done, length - done, panel + done * width);
}

void npl_int8_pack_16(const struct npl_int8_matrix *x, int64_t first, int64_t count, int width, int64_t k0,
		      int64_t length, int16_t *out)
{
	int64_t panel = (length + 1) / 2 * 2 * width;
	for (int64_t i = 0; i < count; i += width, out += panel)
		panel_16(x, first + i, count - i < width ? (int)(count - i) : width, width, k0, length, out);
}
