/* SPDX-License-Identifier: MIT
 *
 * Operands of npl_int8_gemm into the 8-bit panels of kernels.h, for the processors that have kernels for those:
 * they have AVX2. Vectors that are contiguous along k are transposed four at a time, a stretch of each before the
 * next four, so that a panel is written line by line; vectors that lie side by side are interleaved, all panels
 * together, so that the operand is read in the order it lies. */
#include "kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#define AVX2    target("avx2")
#define STRETCH 256 /* values of a vector packed before the next */

/* What a pack shares. */
struct packing {
	const struct npl_int8_matrix *x;
	uint8_t flip;   /* changes a byte into the type wanted */
	uint8_t unsign; /* changes a byte of that type into an unsigned one, 128 greater if the type is signed */
	int64_t first, count, k0, length;
	int width;
	uint8_t *out;
	int64_t panel_bytes;
	int32_t *sum; /* of the vectors' unsigned bytes, or NULL */
};

static inline __m128i load_4(const uint8_t *bytes)
{
	int32_t four;
	memcpy(&four, bytes, sizeof four);
	return _mm_cvtsi32_si128(four);
}

static inline __m128i load_8(const uint8_t *bytes)
{
	return _mm_loadl_epi64((const __m128i *)(const void *)bytes);
}

__attribute__((AVX2)) static inline __m256i load_32(const uint8_t *bytes)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)bytes);
}

static inline void store_16(uint8_t *to, __m128i value)
{
	_mm_store_si128((__m128i *)(void *)to, value);
}

/* The halves of a vector to two places. */
__attribute__((AVX2)) static inline void store_halves(uint8_t *low, uint8_t *high, __m256i value)
{
	store_16(low, _mm256_castsi256_si128(value));
	store_16(high, _mm256_extracti128_si256(value, 1));
}

/* Four vectors' 32 values each become 8 groups of the four, `step` bytes apart. */
__attribute__((AVX2)) static inline void store_transposed(const __m256i r[4], int64_t step, uint8_t *out)
{
	__m256i low01 = _mm256_unpacklo_epi32(r[0], r[1]), low23 = _mm256_unpacklo_epi32(r[2], r[3]);
	__m256i high01 = _mm256_unpackhi_epi32(r[0], r[1]), high23 = _mm256_unpackhi_epi32(r[2], r[3]);
	store_halves(out, out + 4 * step, _mm256_unpacklo_epi64(low01, low23));
	store_halves(out + step, out + 5 * step, _mm256_unpackhi_epi64(low01, low23));
	store_halves(out + 2 * step, out + 6 * step, _mm256_unpacklo_epi64(high01, high23));
	store_halves(out + 3 * step, out + 7 * step, _mm256_unpackhi_epi64(high01, high23));
}

/* The sum of four 64-bit integers below 2^31. */
__attribute__((AVX2)) static inline int32_t sum_of(__m256i v)
{
	__m128i half = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
	return _mm_cvtsi128_si32(_mm_add_epi64(half, _mm_srli_si128(half, 8)));
}

/* Sums of vectors longer than 2^31 / 255 wrap, as what they are part of does. */
static inline int32_t plus(int32_t a, int64_t b)
{
	return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* Four vectors of `length` values (a multiple of 32) each to `out`, `step` bytes from group to group; sum, if there is
 * one, of each. */
__attribute__((AVX2, always_inline)) static inline void transpose(const uint8_t *const row[4], int64_t length,
								  const struct packing *p, uint8_t *out, int64_t step,
								  int32_t *sum)
{
	const __m256i flip = _mm256_set1_epi8((char)p->flip), unsign = _mm256_set1_epi8((char)p->unsign),
		      zero = _mm256_setzero_si256();
	__m256i total[4] = {zero, zero, zero, zero};
	for (int64_t k = 0; k < length; k += 32, out += 8 * step) {
		__m256i r[4];
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			r[j] = _mm256_xor_si256(load_32(row[j] + k), flip);
		store_transposed(r, step, out);
#pragma GCC unroll 4
		for (int j = 0; sum && j < 4; j++)
			total[j] = _mm256_add_epi64(total[j], _mm256_sad_epu8(_mm256_xor_si256(r[j], unsign), zero));
	}
	for (int j = 0; sum && j < 4; j++)
		sum[j] = plus(sum[j], sum_of(total[j]));
}

/* Vectors i to i + 3, values k to k + length - 1, of which the last may be fewer than 32; vectors beyond count and
 * values beyond length are zero. */
__attribute__((AVX2)) static void pack_four(const struct packing *p, int64_t i, int64_t k, int64_t length, uint8_t *out)
{
	const struct npl_int8_matrix *x = p->x;
	uint8_t nothing[STRETCH], rest[4][32];
	_Alignas(16) uint8_t groups[128];
	const uint8_t *row[4], *ends[4] = {rest[0], rest[1], rest[2], rest[3]};
	int64_t step = 4 * p->width, whole = length / 32 * 32, left = length - whole, there = p->count - i;
	int32_t aside[4] = {0}, *sum = p->sum && there >= 4 ? p->sum + i : p->sum ? aside : NULL;
	if (there <= 0) {
		for (int64_t g = 0; g < (length + 3) / 4; g++)
			store_16(out + g * step, _mm_setzero_si128());
		return;
	}
	if (there < 4)
		memset(nothing, p->flip, sizeof nothing);
	for (int j = 0; j < 4; j++)
		row[j] = j < there ? (const uint8_t *)x->data + (p->first + i + j) * x->stride + p->k0 + k : nothing;
	if (sum)
		transpose(row, whole, p, out, step, sum);
	else
		transpose(row, whole, p, out, step, NULL);
	if (left) {
		memset(rest, p->flip, sizeof rest);
		for (int j = 0; j < 4; j++)
			memcpy(rest[j], row[j] + whole, (size_t)left);
		transpose(ends, 32, p, groups, 16, sum);
		out += whole / 4 * step;
		for (int64_t g = 0; g < (left + 3) / 4; g++)
			memcpy(out + g * step, groups + 16 * g, 16);
	}
	for (int j = 0; sum == aside && j < there; j++)
		p->sum[i + j] = plus(p->sum[i + j], aside[j]);
}

/* Vectors contiguous along k. */
static void pack_along_k(const struct packing *p)
{
	uint8_t *panel = p->out;
	for (int64_t first = 0; first < p->count; first += p->width, panel += p->panel_bytes)
		for (int64_t k = 0; k < p->length; k += STRETCH)
			for (int i = 0; i < p->width; i += 4) {
				int64_t left = p->length - k;
				pack_four(p, first + i, k, left < STRETCH ? left : STRETCH,
					  panel + k * p->width + 4 * i);
			}
	/* 128 was added to each value of a signed type, and to those that fill up the last 32. */
	for (int64_t i = 0; p->sum && p->unsign && i < p->count; i++)
		p->sum[i] = plus(p->sum[i], -128 * ((p->length + 31) / 32 * 32));
}

/* Four rows of 32 values, of 8 or of 4, to one group of as many vectors. */
__attribute__((AVX2)) static inline void interleave_32(const uint8_t *const r[4], int i, __m256i flip, uint8_t *out)
{
	__m256i a = load_32(r[0] + i), b = load_32(r[1] + i), c = load_32(r[2] + i), d = load_32(r[3] + i);
	__m256i low01 = _mm256_unpacklo_epi8(a, b), high01 = _mm256_unpackhi_epi8(a, b);
	__m256i low23 = _mm256_unpacklo_epi8(c, d), high23 = _mm256_unpackhi_epi8(c, d);
	store_halves(out, out + 64, _mm256_xor_si256(_mm256_unpacklo_epi16(low01, low23), flip));
	store_halves(out + 16, out + 80, _mm256_xor_si256(_mm256_unpackhi_epi16(low01, low23), flip));
	store_halves(out + 32, out + 96, _mm256_xor_si256(_mm256_unpacklo_epi16(high01, high23), flip));
	store_halves(out + 48, out + 112, _mm256_xor_si256(_mm256_unpackhi_epi16(high01, high23), flip));
}

__attribute__((AVX2)) static inline void interleave_8(const uint8_t *const r[4], int i, __m128i flip, uint8_t *out)
{
	__m128i low = _mm_unpacklo_epi8(load_8(r[0] + i), load_8(r[1] + i));
	__m128i high = _mm_unpacklo_epi8(load_8(r[2] + i), load_8(r[3] + i));
	store_16(out, _mm_xor_si128(_mm_unpacklo_epi16(low, high), flip));
	store_16(out + 16, _mm_xor_si128(_mm_unpackhi_epi16(low, high), flip));
}

__attribute__((AVX2)) static inline void interleave_4(const uint8_t *const r[4], int i, __m128i flip, uint8_t *out)
{
	__m128i low = _mm_unpacklo_epi8(load_4(r[0] + i), load_4(r[1] + i));
	__m128i high = _mm_unpacklo_epi8(load_4(r[2] + i), load_4(r[3] + i));
	store_16(out, _mm_xor_si128(_mm_unpacklo_epi16(low, high), flip));
}

/* Vectors that lie side by side. */
__attribute__((AVX2)) static void pack_across_k(const struct packing *p)
{
	const struct npl_int8_matrix *x = p->x;
	const __m256i flip = _mm256_set1_epi8((char)p->flip);
	uint8_t nothing[NPL_INT8_MAX_WIDTH], padded[4][NPL_INT8_MAX_WIDTH];
	memset(nothing, p->flip, sizeof nothing);
	memset(padded, p->flip, sizeof padded);
	for (int64_t k = 0; k < p->length; k += 4) {
		const uint8_t *row = (const uint8_t *)x->data + p->first + (p->k0 + k) * x->k_stride;
		uint8_t *out = p->out + k * p->width;
		int64_t rows = p->length - k;
		for (int64_t at = 0; at < p->count; at += p->width, out += p->panel_bytes) {
			int64_t there = p->count - at;
			const uint8_t *r[4];
			int i = 0;
			for (int j = 0; j < 4; j++) {
				r[j] = j < rows ? row + j * x->k_stride + at : nothing;
				if (there < p->width && j < rows)
					r[j] = memcpy(padded[j], r[j], (size_t)there);
			}
			for (; i + 32 <= p->width; i += 32)
				interleave_32(r, i, flip, out + 4 * i);
			for (; i + 8 <= p->width; i += 8)
				interleave_8(r, i, _mm256_castsi256_si128(flip), out + 4 * i);
			if (i < p->width)
				interleave_4(r, i, _mm256_castsi256_si128(flip), out + 4 * i);
		}
	}
}

static void sum_across_k(const struct packing *p)
{
	const struct npl_int8_matrix *x = p->x;
	const uint8_t *row = (const uint8_t *)x->data + p->first + p->k0 * x->k_stride, flip = p->flip ^ p->unsign;
	for (int64_t k = 0; k < p->length; k++, row += x->k_stride)
		for (int64_t i = 0; i < p->count; i++)
			p->sum[i] = plus(p->sum[i], row[i] ^ flip);
	for (int64_t i = 0; p->unsign && i < p->count; i++)
		p->sum[i] = plus(p->sum[i], -128 * p->length);
}

void npl_int8_pack_8(const struct npl_int8_matrix *x, enum npl_dtype as, int64_t first, int64_t count, int width,
		     int64_t k0, int64_t length, uint8_t *out, int32_t *sum)
{
	const struct packing p = {.x = x,
				  .flip = x->dtype == as ? 0 : 0x80,
				  .unsign = as == NPL_I8 ? 0x80 : 0,
				  .first = first,
				  .count = count,
				  .k0 = k0,
				  .length = length,
				  .width = width,
				  .out = out,
				  .panel_bytes = (length + 3) / 4 * 4 * width,
				  .sum = sum};
	if (sum)
		memset(sum, 0, (size_t)count * sizeof *sum);
	if (x->k_stride == 1) {
		pack_along_k(&p);
		return;
	}
	pack_across_k(&p);
	if (sum)
		sum_across_k(&p);
}
#endif
