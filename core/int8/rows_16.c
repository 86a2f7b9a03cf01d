/* SPDX-License-Identifier: MIT
 *
 * Kernels of rows.h for processors that do not multiply bytes exactly: of each four bytes, numbers 0 and 2 and
 * numbers 1 and 3 become pairs of 16-bit values, and pmaddwd multiplies and adds a pair. No such sum of two wraps. Where registers are
 * few (AVX2), rows are widened once for all columns of the panel, a depth at a time. */
#include "rows_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

static inline int32_t four_of(const uint8_t *a)
{
	int32_t four;
	memcpy(&four, a, sizeof four);
	return four;
}

static inline int32_t start_of(const struct npl_int8_rows_tile *t, int64_t i)
{
	return t->row_start ? t->row_start[i] : 0;
}

#define AVX512BW target("avx512f,avx512bw")
#define AVX2     target("avx2")

__attribute__((AVX512BW, always_inline)) static inline __m512i z_even(__m512i v, const bool is_signed)
{
	return is_signed ? _mm512_srai_epi16(_mm512_slli_epi16(v, 8), 8) : _mm512_and_si512(v, _mm512_set1_epi16(0xff));
}

__attribute__((AVX512BW, always_inline)) static inline __m512i z_odd(__m512i v, const bool is_signed)
{
	return is_signed ? _mm512_srai_epi16(v, 8) : _mm512_srli_epi16(v, 8);
}

/* `rows` x 32 results. */
__attribute__((AVX512BW, always_inline)) static inline void z_tile(const struct npl_int8_rows_tile *t, int64_t row,
								   int64_t first, const int rows, const bool a_signed)
{
	__m512i sum[6][2];
#pragma GCC unroll 6
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
		for (int j = 0; j < 2; j++)
			sum[i][j] = _mm512_add_epi32(_mm512_set1_epi32(start_of(t, row + i)),
						     _mm512_loadu_si512(t->column_start + first + 16 * j));
	const uint8_t *panel = t->panel + 4 * first;
	for (int64_t k = 0; k < t->k; k += 4, panel += 4 * NPL_INT8_PANEL) {
		__m512i even[2], odd[2];
#pragma GCC unroll 2
		for (int j = 0; j < 2; j++) {
			__m512i column = _mm512_loadu_si512(panel + 64 * j);
			even[j] = z_even(column, !a_signed);
			odd[j] = z_odd(column, !a_signed);
		}
#pragma GCC unroll 6
		for (int i = 0; i < rows; i++) {
			__m512i four = _mm512_set1_epi32(four_of(t->a[row + i] + k));
			__m512i a_even = z_even(four, a_signed), a_odd = z_odd(four, a_signed);
#pragma GCC unroll 2
			for (int j = 0; j < 2; j++)
				sum[i][j] = _mm512_add_epi32(sum[i][j],
							     _mm512_add_epi32(_mm512_madd_epi16(a_even, even[j]),
									      _mm512_madd_epi16(a_odd, odd[j])));
		}
	}
#pragma GCC unroll 6
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
		for (int j = 0; j < 2; j++) {
			int32_t *c = t->c + (row + i) * t->c_stride + first + 16 * j;
			if (first + 16 * j >= t->columns)
				continue;
			if (t->add)
				sum[i][j] = _mm512_add_epi32(sum[i][j], _mm512_loadu_si512(c));
			_mm512_storeu_si512(c, sum[i][j]);
		}
}

__attribute__((AVX512BW)) void npl_int8_rows_avx512bw(const struct npl_int8_rows_tile *t)
{
	for (int64_t first = 0; first < t->columns; first += 32)
		if (t->rows == 6 && t->a_signed)
			z_tile(t, 0, first, 6, true);
		else if (t->rows == 6)
			z_tile(t, 0, first, 6, false);
		else
			for (int64_t row = 0; row < t->rows; row++)
				if (t->a_signed)
					z_tile(t, row, first, 1, true);
				else
					z_tile(t, row, first, 1, false);
}

__attribute__((AVX2, always_inline)) static inline __m256i y_even(__m256i v, const bool is_signed)
{
	return is_signed ? _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8) : _mm256_and_si256(v, _mm256_set1_epi16(0xff));
}

__attribute__((AVX2, always_inline)) static inline __m256i y_odd(__m256i v, const bool is_signed)
{
	return is_signed ? _mm256_srai_epi16(v, 8) : _mm256_srli_epi16(v, 8);
}

__attribute__((AVX2, always_inline)) static inline __m256i y_load(const void *from)
{
	return _mm256_loadu_si256((const __m256i *)from);
}

#define DEPTH 512 /* of k that is widened at once: 6 rows of it take 12 KiB */

/* Rows as pairs: of the four bytes from k on, pair[k / 2] has numbers 0 and 2, pair[k / 2 + 1] numbers 1 and 3. */
struct wide {
	_Alignas(64) int32_t pair[NPL_INT8_TILE_ROWS][DEPTH / 2];
};

/* The tile's sums over at most DEPTH of k, from `first` on: the first ones start, the others add. */
static inline struct npl_int8_rows_tile part_of(const struct npl_int8_rows_tile *t, int64_t first)
{
	static const int32_t zeros[NPL_INT8_PANEL];
	struct npl_int8_rows_tile part = *t;
	part.k = t->k - first < DEPTH ? t->k - first : DEPTH;
	part.panel = t->panel + first * NPL_INT8_PANEL;
	if (first) {
		part.row_start = NULL;
		part.column_start = zeros;
		part.add = true;
	}
	return part;
}

/* k a multiple of 4; a row may be read up to there. */
__attribute__((AVX2)) static void y_widen(const struct npl_int8_rows_tile *t, int64_t first, struct wide *wide)
{
	for (int i = 0; i < t->rows; i++)
		for (int64_t k = 0; k < t->k; k += 32) {
			_Alignas(32) uint8_t last[32] = {0};
			const uint8_t *from = t->a[i] + first + k;
			if (t->k - k < 32)
				from = memcpy(last, from, (size_t)(t->k - k));
			const __m256i bytes = y_load(from), even = y_even(bytes, t->a_signed),
				      odd = y_odd(bytes, t->a_signed);
			const __m256i low = _mm256_unpacklo_epi32(even, odd), high = _mm256_unpackhi_epi32(even, odd);
			__m256i *to = (__m256i *)(void *)(wide->pair[i] + k / 2);
			_mm256_store_si256(to, _mm256_permute2x128_si256(low, high, 0x20));
			_mm256_store_si256(to + 1, _mm256_permute2x128_si256(low, high, 0x31));
		}
}

/* `rows` x 16 results. */
__attribute__((AVX2, always_inline)) static inline void y_tile(const struct npl_int8_rows_tile *t,
							       const struct wide *wide, int64_t row, int64_t first,
							       const int rows, const bool a_signed)
{
	__m256i sum[3][2];
#pragma GCC unroll 3
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
		for (int j = 0; j < 2; j++)
			sum[i][j] = _mm256_add_epi32(_mm256_set1_epi32(start_of(t, row + i)),
						     y_load(t->column_start + first + 8 * j));
	const uint8_t *panel = t->panel + 4 * first;
	for (int64_t k = 0; k < t->k; k += 4, panel += 4 * NPL_INT8_PANEL) {
		__m256i even[2], odd[2];
#pragma GCC unroll 2
		for (int j = 0; j < 2; j++) {
			__m256i column = y_load(panel + 32 * j);
			even[j] = y_even(column, !a_signed);
			odd[j] = y_odd(column, !a_signed);
		}
#pragma GCC unroll 3
		for (int i = 0; i < rows; i++) {
			const int32_t *pair = wide->pair[row + i] + k / 2;
			__m256i a_even = _mm256_set1_epi32(pair[0]), a_odd = _mm256_set1_epi32(pair[1]);
#pragma GCC unroll 2
			for (int j = 0; j < 2; j++)
				sum[i][j] = _mm256_add_epi32(sum[i][j],
							     _mm256_add_epi32(_mm256_madd_epi16(a_even, even[j]),
									      _mm256_madd_epi16(a_odd, odd[j])));
		}
	}
#pragma GCC unroll 3
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
		for (int j = 0; j < 2; j++) {
			__m256i *c = (__m256i *)(void *)(t->c + (row + i) * t->c_stride + first + 8 * j);
			if (t->add)
				sum[i][j] = _mm256_add_epi32(sum[i][j], _mm256_loadu_si256(c));
			_mm256_storeu_si256(c, sum[i][j]);
		}
}

__attribute__((AVX2)) void npl_int8_rows_avx2(const struct npl_int8_rows_tile *tile)
{
	struct wide wide;
	for (int64_t k = 0; k < tile->k || !k; k += DEPTH) {
		const struct npl_int8_rows_tile t = part_of(tile, k);
		y_widen(&t, k, &wide);
		for (int64_t first = 0; first < t.columns; first += 16) {
			int64_t row = 0;
			for (; row + 3 <= t.rows; row += 3)
				if (t.a_signed)
					y_tile(&t, &wide, row, first, 3, true);
				else
					y_tile(&t, &wide, row, first, 3, false);
			for (; row < t.rows; row++)
				if (t.a_signed)
					y_tile(&t, &wide, row, first, 1, true);
				else
					y_tile(&t, &wide, row, first, 1, false);
		}
	}
}

static inline __m128i x_even(__m128i v, const bool is_signed)
{
	return is_signed ? _mm_srai_epi16(_mm_slli_epi16(v, 8), 8) : _mm_and_si128(v, _mm_set1_epi16(0xff));
}

static inline __m128i x_odd(__m128i v, const bool is_signed)
{
	return is_signed ? _mm_srai_epi16(v, 8) : _mm_srli_epi16(v, 8);
}

/* 1 x 16 results. */
__attribute__((always_inline)) static inline void x_tile(const struct npl_int8_rows_tile *t, int64_t row, int64_t first,
							 const bool a_signed)
{
	__m128i sum[4];
	__m128i *c = (__m128i *)(void *)(t->c + row * t->c_stride + first);
	const __m128i *start = (const __m128i *)(const void *)(t->column_start + first);
	for (int j = 0; j < 4; j++)
		sum[j] = _mm_add_epi32(_mm_set1_epi32(start_of(t, row)), _mm_loadu_si128(start + j));
	const uint8_t *panel = t->panel + 4 * first;
	for (int64_t k = 0; k < t->k; k += 4, panel += 4 * NPL_INT8_PANEL) {
		__m128i four = _mm_set1_epi32(four_of(t->a[row] + k));
		__m128i a_even = x_even(four, a_signed), a_odd = x_odd(four, a_signed);
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++) {
			__m128i column = _mm_loadu_si128((const __m128i *)(const void *)panel + j);
			sum[j] = _mm_add_epi32(sum[j], _mm_add_epi32(_mm_madd_epi16(a_even, x_even(column, !a_signed)),
								     _mm_madd_epi16(a_odd, x_odd(column, !a_signed))));
		}
	}
	for (int j = 0; j < 4; j++)
		_mm_storeu_si128(c + j, t->add ? _mm_add_epi32(sum[j], _mm_loadu_si128(c + j)) : sum[j]);
}

void npl_int8_rows_sse2(const struct npl_int8_rows_tile *t)
{
	for (int64_t row = 0; row < t->rows; row++)
		for (int64_t first = 0; first < t->columns; first += 16)
			if (t->a_signed)
				x_tile(t, row, first, true);
			else
				x_tile(t, row, first, false);
}
#endif
