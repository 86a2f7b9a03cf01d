/* SPDX-License-Identifier: MIT
 *
 * The kernels of npl_q16_gemm in SSE2 instructions (every x86-64 has them). */
#include <immintrin.h>

#define VEC                    __m128i
#define V(name)                _mm_##name
#define TARGET                 __attribute__((target("sse2")))
#define SET1_64(x)             _mm_set1_epi64x(x)
#define ADD_PAIRS(sum, v)      V(add_epi32)(sum, V(madd_epi16)(v, V(set1_epi16)(1)))
#define COUNT_GREATER(n, a, b) V(sub_epi16)(n, V(cmpgt_epi16)(a, b))
#include "tile.h"

const struct npl_q16_kernel npl_q16_sse2 = {
	.name = "sse2",
	.tile = tile,
	.limits = limits,
	.count = count,
};
