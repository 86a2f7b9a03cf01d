/* SPDX-License-Identifier: MIT
 *
 * The multiplications of the matrix unit along one diagonal, chosen at run time; all give the same bits. The cells of a
 * cycle are in the second-level cache (about 0.8 MB at 256 x 256), whose bandwidth is the limit, so only wide loads
 * gain anything. A multiply-add instruction takes 16-bit values in pairs: with 0 in the upper half of each 32-bit lane
 * it is a multiplication of 16-bit by 16-bit values to 32 bits. */
#include <immintrin.h>

#include "matrix_unit.h"
#include "npulab/cpu_features.h"

enum { LANES = TPU_MATRIX_LANES };

__attribute__((target("avx512f,avx512bw"))) static void multiply_avx512bw(int32_t *sum, const int16_t *input,
									  const int16_t *weight, int64_t blocks)
{
	for (; blocks > 0; blocks--, sum += LANES, input += LANES, weight += LANES) {
		__m512i x = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i_u *)(const void *)input));
		__m512i w = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i_u *)(const void *)weight));
		_mm512_storeu_si512(sum, _mm512_add_epi32(_mm512_loadu_si512(sum), _mm512_madd_epi16(x, w)));
	}
}

__attribute__((target("avx2"))) static void multiply_avx2(int32_t *sum, const int16_t *input, const int16_t *weight,
							  int64_t blocks)
{
	for (int64_t i = 0; i < blocks * LANES; i += 8) {
		__m256i x = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i_u *)(const void *)(input + i)));
		__m256i w = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i_u *)(const void *)(weight + i)));
		__m256i_u *s = (__m256i_u *)(void *)(sum + i);
		_mm256_storeu_si256(s, _mm256_add_epi32(_mm256_loadu_si256(s), _mm256_madd_epi16(x, w)));
	}
}

static void multiply_plain(int32_t *restrict sum, const int16_t *restrict input, const int16_t *restrict weight,
			   int64_t blocks)
{
	for (int64_t i = 0; i < blocks * LANES; i++)
		sum[i] += (int32_t)input[i] * weight[i];
}

const struct tpu_matrix_kernel tpu_matrix_kernel_list[] = {
	{"avx512bw", NPL_CPU_AVX512F | NPL_CPU_AVX512BW, multiply_avx512bw},
	{"avx2", NPL_CPU_AVX2, multiply_avx2},
	{"plain", 0, multiply_plain},
	{0},
};
