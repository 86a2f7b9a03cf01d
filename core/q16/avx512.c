/* SPDX-License-Identifier: MIT
 *
 * The kernels of npl_q16_gemm in AVX512BW instructions (Skylake servers and later). */
#include <immintrin.h>

#define VEC                    __m512i
#define V(name)                _mm512_##name
#define TARGET                 __attribute__((target("avx512f,avx512bw")))
#define SET1_64(x)             _mm512_set1_epi64(x)
#define ADD_PAIRS(sum, v)      V(add_epi32)(sum, V(madd_epi16)(v, V(set1_epi16)(1)))
#define COUNT_GREATER(n, a, b) _mm512_mask_add_epi16(n, _mm512_cmpgt_epi16_mask(a, b), n, _mm512_set1_epi16(1))
#include "npulab/cpu_features.h"
#include "tile.h"

const struct npl_q16_kernel npl_q16_avx512 = {
	.name = "avx512bw",
	.required_features = NPL_CPU_AVX512F | NPL_CPU_AVX512BW,
	.tile = tile,
	.limits = limits,
	.count = count,
};
