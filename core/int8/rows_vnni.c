/* SPDX-License-Identifier: MIT
 *
 * Kernels of rows.h that multiply bytes (vpdpbusd, see vnni.c). A row's four bytes are broadcast straight from
 * where they lie: a load, which leaves the two units that multiply alone. */
#include "rows_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#define AVX512VNNI target("avx512f,avx512bw,avx512vnni")
#define AVXVNNI    target("avx2,avxvnni")

static inline int32_t four_of(const uint8_t *a)
{
	int32_t four;
	memcpy(&four, a, sizeof four);
	return four;
}

/* Up to 6 x 64 results in 24 of the 32 registers. What is const is a constant at each call: that is what keeps the sums
 * in registers. */
__attribute__((AVX512VNNI, always_inline)) static inline void
tile_of(const struct npl_int8_rows_tile *t, const int rows, const int vectors, const bool a_signed)
{
	__m512i sum[6][4];
	const uint8_t *a[6];
#pragma GCC unroll 6
	for (int i = 0; i < rows; i++) {
		a[i] = t->a[i];
		const int32_t start = t->row_start ? t->row_start[i] : 0;
#pragma GCC unroll 4
		for (int j = 0; j < vectors; j++)
			sum[i][j] = _mm512_add_epi32(_mm512_set1_epi32(start),
						     _mm512_loadu_si512(t->column_start + 16 * j));
	}
	const uint8_t *panel = t->panel;
	for (int64_t k = 0; k < t->k; k += 4, panel += 4 * NPL_INT8_PANEL) {
		__m512i column[4];
#pragma GCC unroll 4
		for (int j = 0; j < vectors; j++)
			column[j] = _mm512_loadu_si512(panel + 64 * j);
#pragma GCC unroll 6
		for (int i = 0; i < rows; i++) {
			__m512i row = _mm512_set1_epi32(four_of(a[i] + k));
#pragma GCC unroll 4
			for (int j = 0; j < vectors; j++)
				sum[i][j] = a_signed ? _mm512_dpbusd_epi32(sum[i][j], column[j], row)
						     : _mm512_dpbusd_epi32(sum[i][j], row, column[j]);
		}
	}
#pragma GCC unroll 6
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < vectors; j++) {
			int32_t *c = t->c + i * t->c_stride + 16 * j;
			if (t->add)
				sum[i][j] = _mm512_add_epi32(sum[i][j], _mm512_loadu_si512(c));
			_mm512_storeu_si512(c, sum[i][j]);
		}
}

#define VARIANT(rows, vectors)                                                                                         \
	__attribute__((AVX512VNNI)) static void tile_##rows##_##vectors(const struct npl_int8_rows_tile *t)            \
	{                                                                                                              \
		if (t->a_signed)                                                                                       \
			tile_of(t, rows, vectors, true);                                                               \
		else                                                                                                   \
			tile_of(t, rows, vectors, false);                                                              \
	}
#define VARIANTS(rows) VARIANT(rows, 1) VARIANT(rows, 2) VARIANT(rows, 3) VARIANT(rows, 4)
VARIANTS(1)
VARIANTS(2)
VARIANTS(3)
VARIANTS(4)
VARIANTS(5)
VARIANTS(6)

void npl_int8_rows_avx512vnni(const struct npl_int8_rows_tile *t)
{
#define OF_ROWS(rows)                                                                                                  \
	{                                                                                                              \
		tile_##rows##_1, tile_##rows##_2, tile_##rows##_3, tile_##rows##_4                                     \
	}
	static void (*const run[6][4])(const struct npl_int8_rows_tile *) = {OF_ROWS(1), OF_ROWS(2), OF_ROWS(3),
									     OF_ROWS(4), OF_ROWS(5), OF_ROWS(6)};
	run[t->rows - 1][(t->columns - 1) / 16](t);
}

/* 6 x 16 results in 12 of the 16 registers. */
__attribute__((AVXVNNI, always_inline)) static inline void y_tile_of(const struct npl_int8_rows_tile *t, int64_t first,
								     const int rows, const bool a_signed)
{
	__m256i sum[6][2];
	const uint8_t *a[6];
#pragma GCC unroll 6
	for (int i = 0; i < rows; i++) {
		a[i] = t->a[i];
		const int32_t start = t->row_start ? t->row_start[i] : 0;
#pragma GCC unroll 2
		for (int j = 0; j < 2; j++)
			sum[i][j] = _mm256_add_epi32(
				_mm256_set1_epi32(start),
				_mm256_loadu_si256((const __m256i *)(const void *)(t->column_start + first + 8 * j)));
	}
	const uint8_t *panel = t->panel + 4 * first;
	for (int64_t k = 0; k < t->k; k += 4, panel += 4 * NPL_INT8_PANEL) {
		__m256i column[2];
#pragma GCC unroll 2
		for (int j = 0; j < 2; j++)
			column[j] = _mm256_loadu_si256((const __m256i *)(const void *)(panel + 32 * j));
#pragma GCC unroll 6
		for (int i = 0; i < rows; i++) {
			__m256i row = _mm256_set1_epi32(four_of(a[i] + k));
#pragma GCC unroll 2
			for (int j = 0; j < 2; j++)
				sum[i][j] = a_signed ? _mm256_dpbusd_avx_epi32(sum[i][j], column[j], row)
						     : _mm256_dpbusd_avx_epi32(sum[i][j], row, column[j]);
		}
	}
#pragma GCC unroll 6
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
		for (int j = 0; j < 2; j++) {
			__m256i *c = (__m256i *)(void *)(t->c + i * t->c_stride + first + 8 * j);
			if (t->add)
				sum[i][j] = _mm256_add_epi32(sum[i][j], _mm256_loadu_si256(c));
			_mm256_storeu_si256(c, sum[i][j]);
		}
}

#define Y_VARIANT(rows)                                                                                                \
	__attribute__((AVXVNNI)) static void y_tile_##rows(const struct npl_int8_rows_tile *t)                         \
	{                                                                                                              \
		for (int64_t first = 0; first < t->columns; first += 16)                                               \
			if (t->a_signed)                                                                               \
				y_tile_of(t, first, rows, true);                                                       \
			else                                                                                           \
				y_tile_of(t, first, rows, false);                                                      \
	}
Y_VARIANT(1)
Y_VARIANT(2)
Y_VARIANT(3)
Y_VARIANT(4)
Y_VARIANT(5)
Y_VARIANT(6)

void npl_int8_rows_avxvnni(const struct npl_int8_rows_tile *t)
{
	static void (*const run[6])(const struct npl_int8_rows_tile *) = {y_tile_1, y_tile_2, y_tile_3,
									  y_tile_4, y_tile_5, y_tile_6};
	run[t->rows - 1](t);
}
#endif
