/* SPDX-License-Identifier: MIT
 *
 * Dot products of a few rows with vectors where they lie: the kernels of npl_int8_few_rows. Four vectors of b at a
 * time, so that one load of a serves four. */
#include "kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#define AVX2       target("avx2")
#define AVX512VNNI target("avx512f,avx512bw,avx512vnni")

/* The sum of the lanes, wrapping. _mm512_reduce_add_epi32 adds in C, where an overflow is undefined. */
__attribute__((AVX2)) static inline int32_t sum_256(__m256i v)
{
	__m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
	__m128i two = _mm_add_epi32(four, _mm_srli_si128(four, 8));
	return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_srli_si128(two, 4)));
}

__attribute__((AVX512VNNI)) static inline int32_t sum_512(__m512i v)
{
	return sum_256(_mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1)));
}

__attribute__((AVX512VNNI, always_inline)) static inline void dots_512(struct npl_int8_dots *d, const int rows)
{
	__m512i sum[NPL_INT8_DOT_ROWS][4], flip = _mm512_set1_epi8((char)d->b_flip);
#pragma GCC unroll 5
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			sum[i][j] = _mm512_setzero_si512();
	for (int64_t k = 0; k < d->k; k += 64) {
		__mmask64 there = d->k - k < 64 ? ((__mmask64)1 << (d->k - k)) - 1 : ~(__mmask64)0;
		__m512i b[4];
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			b[j] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(there, d->b[j] + k), flip);
#pragma GCC unroll 5
		for (int i = 0; i < rows; i++) {
			__m512i a = _mm512_load_si512(d->a + i * d->a_pitch + k);
#pragma GCC unroll 4
			for (int j = 0; j < 4; j++)
				sum[i][j] = _mm512_dpbusd_epi32(sum[i][j], b[j], a);
		}
	}
#pragma GCC unroll 5
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			d->sum[i][j] = sum_512(sum[i][j]);
}

__attribute__((AVX512VNNI)) void npl_int8_dots_avx512vnni(struct npl_int8_dots *d)
{
	switch (d->rows) {
	case 1:
		dots_512(d, 1);
		return;
	case 2:
		dots_512(d, 2);
		return;
	case 3:
		dots_512(d, 3);
		return;
	case 4:
		dots_512(d, 4);
		return;
	default:
		dots_512(d, 5);
	}
}

/* 16 bytes of each vector of b at k, widened; beyond d->k they may be anything, as a is zero there. */
__attribute__((AVX2)) static inline __m256i widen(const struct npl_int8_dots *d, int j, int64_t k)
{
	uint8_t end[16] = {0};
	const uint8_t *from = d->b[j] + k;
	if (d->k - k < 16)
		from = memcpy(end, from, (size_t)(d->k - k));
	__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
	return _mm256_cvtepu8_epi16(_mm_xor_si128(bytes, _mm_set1_epi8((char)d->b_flip)));
}

/* One or two rows: eight sums and four vectors of b in sixteen registers. */
__attribute__((AVX2, always_inline)) static inline void dots_256(struct npl_int8_dots *d, int first, const int rows)
{
	__m256i sum[2][4];
#pragma GCC unroll 2
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			sum[i][j] = _mm256_setzero_si256();
	const uint8_t *a = d->a + first * d->a_pitch;
	for (int64_t k = 0; k < d->k; k += 16, a += 32) {
		__m256i b[4];
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			b[j] = widen(d, j, k);
#pragma GCC unroll 2
		for (int i = 0; i < rows; i++) {
			__m256i row = _mm256_load_si256((const __m256i *)(const void *)(a + i * d->a_pitch));
#pragma GCC unroll 4
			for (int j = 0; j < 4; j++)
				sum[i][j] = _mm256_add_epi32(sum[i][j], _mm256_madd_epi16(b[j], row));
		}
	}
#pragma GCC unroll 2
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			d->sum[first + i][j] = sum_256(sum[i][j]);
}

__attribute__((AVX2)) void npl_int8_dots_avx2(struct npl_int8_dots *d)
{
	int i = 0;
	for (; i + 2 <= d->rows; i += 2)
		dots_256(d, i, 2);
	if (i < d->rows)
		dots_256(d, i, 1);
}
#endif
