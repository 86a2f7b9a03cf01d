/* SPDX-License-Identifier: MIT
 *
 * The kernels of kernels.h that multiply 16-bit values: one per instruction set, all exact. A product of two
 * values in -255..255 and the sum of two of them fit in 32 bits with room (130,050), so pmaddwd never wraps and the
 * additions wrap as unsigned do. The sums of a tile stay in registers; unrolling by the fixed widths is what puts them
 * there. */
#include "kernels.h"

#include <string.h>

#include "npulab/cpu_features.h"

static bool always(void)
{
	return true;
}

enum { PLAIN_ROWS = 4, PLAIN_COLUMNS = 8 };

static void run_plain(const struct npl_int8_tile *t)
{
	const int16_t *a = t->a, *b = t->b;
	uint32_t sum[PLAIN_ROWS][PLAIN_COLUMNS] = {{0}};
	for (int64_t g = 0; g < t->groups; g++, a += 2 * PLAIN_ROWS, b += 2 * PLAIN_COLUMNS)
		for (int i = 0; i < PLAIN_ROWS; i++)
			for (int j = 0; j < PLAIN_COLUMNS; j++)
				sum[i][j] += (uint32_t)(a[2 * i] * b[2 * j] + a[2 * i + 1] * b[2 * j + 1]);
	for (int i = 0; i < PLAIN_ROWS; i++)
		for (int j = 0; j < PLAIN_COLUMNS; j++) {
			int32_t *c = t->c + i * t->c_stride + j;
			*c = (int32_t)(sum[i][j] + (t->add ? (uint32_t)*c : 0));
		}
}

#if defined(__x86_64__)
#include <immintrin.h>

enum { SSE2_ROWS = 4, SSE2_COLUMNS = 8, AVX2_ROWS = 4, AVX2_COLUMNS = 16, AVX512_ROWS = 12, AVX512_COLUMNS = 32 };

/* The pair of row i, for every lane. */
static int32_t pair_of(const int16_t *a, int i)
{
	int32_t pair;
	memcpy(&pair, a + 2 * i, sizeof pair);
	return pair;
}

static void run_sse2(const struct npl_int8_tile *t)
{
	enum { VECTORS = SSE2_COLUMNS / 4 };
	const int16_t *a = t->a, *b = t->b;
	__m128i sum[SSE2_ROWS][VECTORS];
#pragma GCC unroll 4
	for (int i = 0; i < SSE2_ROWS; i++)
#pragma GCC unroll 2
		for (int j = 0; j < VECTORS; j++)
			sum[i][j] = _mm_setzero_si128();
	for (int64_t g = 0; g < t->groups; g++, a += 2 * SSE2_ROWS, b += 2 * SSE2_COLUMNS) {
		__m128i column[VECTORS];
#pragma GCC unroll 2
		for (int j = 0; j < VECTORS; j++)
			column[j] = _mm_load_si128((const __m128i *)b + j);
#pragma GCC unroll 4
		for (int i = 0; i < SSE2_ROWS; i++) {
			__m128i row = _mm_set1_epi32(pair_of(a, i));
#pragma GCC unroll 2
			for (int j = 0; j < VECTORS; j++)
				sum[i][j] = _mm_add_epi32(sum[i][j], _mm_madd_epi16(row, column[j]));
		}
	}
#pragma GCC unroll 4
	for (int i = 0; i < SSE2_ROWS; i++)
#pragma GCC unroll 2
		for (int j = 0; j < VECTORS; j++) {
			__m128i *c = (__m128i *)(t->c + i * t->c_stride) + j;
			if (t->add)
				sum[i][j] = _mm_add_epi32(sum[i][j], _mm_loadu_si128(c));
			_mm_storeu_si128(c, sum[i][j]);
		}
}

static bool has_avx2(void)
{
	return npl_cpu_has(NPL_CPU_AVX2);
}

__attribute__((target("avx2"))) static void run_avx2(const struct npl_int8_tile *t)
{
	enum { VECTORS = AVX2_COLUMNS / 8 };
	const int16_t *a = t->a, *b = t->b;
	__m256i sum[AVX2_ROWS][VECTORS];
#pragma GCC unroll 4
	for (int i = 0; i < AVX2_ROWS; i++)
#pragma GCC unroll 2
		for (int j = 0; j < VECTORS; j++)
			sum[i][j] = _mm256_setzero_si256();
	for (int64_t g = 0; g < t->groups; g++, a += 2 * AVX2_ROWS, b += 2 * AVX2_COLUMNS) {
		__m256i column[VECTORS];
#pragma GCC unroll 2
		for (int j = 0; j < VECTORS; j++)
			column[j] = _mm256_load_si256((const __m256i *)b + j);
#pragma GCC unroll 4
		for (int i = 0; i < AVX2_ROWS; i++) {
			__m256i row = _mm256_set1_epi32(pair_of(a, i));
#pragma GCC unroll 2
			for (int j = 0; j < VECTORS; j++)
				sum[i][j] = _mm256_add_epi32(sum[i][j], _mm256_madd_epi16(row, column[j]));
		}
	}
#pragma GCC unroll 4
	for (int i = 0; i < AVX2_ROWS; i++)
#pragma GCC unroll 2
		for (int j = 0; j < VECTORS; j++) {
			__m256i *c = (__m256i *)(t->c + i * t->c_stride) + j;
			if (t->add)
				sum[i][j] = _mm256_add_epi32(sum[i][j], _mm256_loadu_si256(c));
			_mm256_storeu_si256(c, sum[i][j]);
		}
}

static bool has_avx512bw(void)
{
	return npl_cpu_has(NPL_CPU_AVX512F | NPL_CPU_AVX512BW);
}

__attribute__((target("avx512f,avx512bw"))) static void run_avx512bw(const struct npl_int8_tile *t)
{
	enum { VECTORS = AVX512_COLUMNS / 16 };
	const int16_t *a = t->a, *b = t->b;
	__m512i sum[AVX512_ROWS][VECTORS];
#pragma GCC unroll 12
	for (int i = 0; i < AVX512_ROWS; i++)
#pragma GCC unroll 2
		for (int j = 0; j < VECTORS; j++)
			sum[i][j] = _mm512_setzero_si512();
	for (int64_t g = 0; g < t->groups; g++, a += 2 * AVX512_ROWS, b += 2 * AVX512_COLUMNS) {
		__m512i column[VECTORS];
#pragma GCC unroll 2
		for (int j = 0; j < VECTORS; j++)
			column[j] = _mm512_load_si512((const __m512i *)b + j);
#pragma GCC unroll 12
		for (int i = 0; i < AVX512_ROWS; i++) {
			__m512i row = _mm512_set1_epi32(pair_of(a, i));
#pragma GCC unroll 2
			for (int j = 0; j < VECTORS; j++)
				sum[i][j] = _mm512_add_epi32(sum[i][j], _mm512_madd_epi16(row, column[j]));
		}
	}
#pragma GCC unroll 12
	for (int i = 0; i < AVX512_ROWS; i++)
#pragma GCC unroll 2
		for (int j = 0; j < VECTORS; j++) {
			__m512i *c = (__m512i *)(t->c + i * t->c_stride) + j;
			if (t->add)
				sum[i][j] = _mm512_add_epi32(sum[i][j], _mm512_loadu_si512(c));
			_mm512_storeu_si512(c, sum[i][j]);
		}
}
#endif

const struct npl_int8_kernel npl_int8_kernel_list[] = {
#if defined(__x86_64__)
	{"avx512-vnni", NPL_INT8_AVX512VNNI_ROWS, NPL_INT8_AVX512VNNI_COLUMNS, 1, npl_int8_has_avx512vnni,
	 npl_int8_run_avx512vnni, npl_int8_dots_avx512vnni, 1, true},
	{"avx-vnni", NPL_INT8_AVXVNNI_ROWS, NPL_INT8_AVXVNNI_COLUMNS, 1, npl_int8_has_avxvnni, npl_int8_run_avxvnni,
	 npl_int8_dots_avx2, 2, false},
	{"avx512bw", AVX512_ROWS, AVX512_COLUMNS, 2, has_avx512bw, run_avx512bw, npl_int8_dots_avx2, 2, false},
	{"avx2", AVX2_ROWS, AVX2_COLUMNS, 2, has_avx2, run_avx2, npl_int8_dots_avx2, 2, false},
	{"sse2", SSE2_ROWS, SSE2_COLUMNS, 2, always, run_sse2, NULL, 0, false},
#endif
	{"plain", PLAIN_ROWS, PLAIN_COLUMNS, 2, always, run_plain, NULL, 0, false},
	{0},
};
