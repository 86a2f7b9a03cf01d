/* SPDX-License-Identifier: MIT
 *
 * The kernels of kernels.h that multiply bytes: vpdpbusd multiplies four unsigned by four signed bytes and adds
 * the products to a 32-bit sum, in one step that wraps and never saturates (vpdpbusds, and vpmaddubsw of AVX2, do
 * saturate). Twice the products per instruction of the 16-bit kernels. */
#include "kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

#include "npulab/cpu_features.h"

#define AVX512VNNI target("avx512f,avx512bw,avx512vnni")
#define AVXVNNI    target("avx2,avxvnni")

/* Group i of a, for every lane. */
static inline int32_t group_of(const uint8_t *a, int i)
{
	int32_t group;
	memcpy(&group, a + 4 * i, sizeof group);
	return group;
}

bool npl_int8_has_avx512vnni(void)
{
	/* avx2: of pack_8.c */
	return npl_cpu_has(NPL_CPU_AVX2 | NPL_CPU_AVX512F | NPL_CPU_AVX512BW | NPL_CPU_AVX512VNNI);
}

enum { ROWS = NPL_INT8_AVX512VNNI_ROWS, VECTORS = NPL_INT8_AVX512VNNI_COLUMNS / 16 };

/* 8 x 48 results in 24 of the 32 registers. What is const is a constant at each call: that is what keeps the sums in
 * registers. */
__attribute__((AVX512VNNI, always_inline)) static inline void tile_of(const struct npl_int8_tile *t, const int rows,
								      const int vectors, const bool scattered)
{
	const uint8_t *a = t->a, *b = t->b;
	__m512i sum[ROWS][VECTORS];
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < vectors; j++)
			_mm_prefetch((const char *)(t->c + i * t->c_stride + 16 * j), _MM_HINT_T0);
#pragma GCC unroll 8
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
		for (int j = 0; j < vectors; j++)
			sum[i][j] = _mm512_add_epi32(_mm512_set1_epi32(t->row_start[i]),
						     _mm512_loadu_si512(t->column_start + 16 * j));
	for (int64_t g = 0; g < t->groups; g++, a += 4 * ROWS) {
		const uint8_t *from = scattered ? b + (int64_t)4 * t->b_at[g] : b + g * 64 * VECTORS;
		__m512i column[VECTORS];
#pragma GCC unroll 3
		for (int j = 0; j < vectors; j++)
			column[j] = _mm512_loadu_si512(from + 64 * j);
#pragma GCC unroll 8
		for (int i = 0; i < rows; i++) {
			__m512i row = _mm512_set1_epi32(group_of(a, i));
#pragma GCC unroll 3
			for (int j = 0; j < vectors; j++)
				sum[i][j] = _mm512_dpbusd_epi32(sum[i][j], column[j], row);
		}
	}
#pragma GCC unroll 8
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
		for (int j = 0; j < vectors; j++) {
			int32_t *c = t->c + i * t->c_stride + 16 * j;
			if (t->add)
				sum[i][j] = _mm512_add_epi32(sum[i][j], _mm512_loadu_si512(c));
			_mm512_storeu_si512(c, sum[i][j]);
		}
}

#define VARIANT(rows, vectors)                                                                                         \
	__attribute__((AVX512VNNI)) static void tile_##rows##_##vectors(const struct npl_int8_tile *t)                 \
	{                                                                                                              \
		if (t->b_at)                                                                                           \
			tile_of(t, rows, vectors, true);                                                               \
		else                                                                                                   \
			tile_of(t, rows, vectors, false);                                                              \
	}
VARIANT(1, 1)
VARIANT(1, 2)
VARIANT(1, 3)
VARIANT(4, 1)
VARIANT(4, 2)
VARIANT(4, 3)
VARIANT(8, 1)
VARIANT(8, 2)
VARIANT(8, 3)

void npl_int8_run_avx512vnni(const struct npl_int8_tile *t)
{
	static void (*const run[3][VECTORS])(const struct npl_int8_tile *) = {
		{tile_1_1, tile_1_2, tile_1_3}, {tile_4_1, tile_4_2, tile_4_3}, {tile_8_1, tile_8_2, tile_8_3}};
	run[t->rows > 4 ? 2 : t->rows > 1][(t->columns - 1) / 16](t);
}

bool npl_int8_has_avxvnni(void)
{
	return npl_cpu_has(NPL_CPU_AVX2 | NPL_CPU_AVXVNNI);
}

/* Leaf 7, EDX bits 24 and 25: matrix registers, and products of bytes in them. */
bool npl_int8_has_amx(void)
{
	unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx >> 24 & 3) == 3;
}

enum { Y_ROWS = NPL_INT8_AVXVNNI_ROWS, Y_VECTORS = NPL_INT8_AVXVNNI_COLUMNS / 8 };

/* 4 x 24 results in 12 of the 16 registers. */
__attribute__((AVXVNNI, always_inline)) static inline void y_tile_of(const struct npl_int8_tile *t,
								     const bool scattered)
{
	const uint8_t *a = t->a, *b = t->b;
	__m256i sum[Y_ROWS][Y_VECTORS];
#pragma GCC unroll 4
	for (int i = 0; i < Y_ROWS; i++)
#pragma GCC unroll 3
		for (int j = 0; j < Y_VECTORS; j++)
			sum[i][j] = _mm256_add_epi32(
				_mm256_set1_epi32(t->row_start[i]),
				_mm256_loadu_si256((const __m256i *)(const void *)(t->column_start + 8 * j)));
	for (int64_t g = 0; g < t->groups; g++, a += 4 * Y_ROWS) {
		const uint8_t *from = scattered ? b + (int64_t)4 * t->b_at[g] : b + g * 32 * Y_VECTORS;
		__m256i column[Y_VECTORS];
#pragma GCC unroll 3
		for (int j = 0; j < Y_VECTORS; j++)
			column[j] = _mm256_loadu_si256((const __m256i *)(const void *)(from + 32 * j));
#pragma GCC unroll 4
		for (int i = 0; i < Y_ROWS; i++) {
			__m256i row = _mm256_set1_epi32(group_of(a, i));
#pragma GCC unroll 3
			for (int j = 0; j < Y_VECTORS; j++)
				sum[i][j] = _mm256_dpbusd_avx_epi32(sum[i][j], column[j], row);
		}
	}
#pragma GCC unroll 4
	for (int i = 0; i < Y_ROWS; i++)
#pragma GCC unroll 3
		for (int j = 0; j < Y_VECTORS; j++) {
			__m256i *c = (__m256i *)(void *)(t->c + i * t->c_stride + 8 * j);
			if (t->add)
				sum[i][j] = _mm256_add_epi32(sum[i][j], _mm256_loadu_si256(c));
			_mm256_storeu_si256(c, sum[i][j]);
		}
}

__attribute__((AVXVNNI)) void npl_int8_run_avxvnni(const struct npl_int8_tile *t)
{
	if (t->b_at)
		y_tile_of(t, true);
	else
		y_tile_of(t, false);
}
#else
bool npl_int8_has_amx(void)
{
	return false;
}
#endif
