/* SPDX-License-Identifier: MIT
 *
 * The kernels of npl_q16_gemm in AVX2 instructions (Haswell, Zen and later). */
#include <immintrin.h>

#define VEC                    __m256i
#define V(name)                _mm256_##name
#define TARGET                 __attribute__((target("avx2")))
#define SET1_64(x)             _mm256_set1_epi64x(x)
#define ADD_PAIRS(sum, v)      V(add_epi32)(sum, V(madd_epi16)(v, V(set1_epi16)(1)))
#define COUNT_GREATER(n, a, b) V(sub_epi16)(n, V(cmpgt_epi16)(a, b))
#include "npulab/cpu_features.h"
#include "tile.h"

const struct npl_q16_kernel npl_q16_avx2 = {
	.name = "avx2",
	.required_features = NPL_CPU_AVX2,
	.tile = tile,
	.limits = limits,
	.count = count,
};
