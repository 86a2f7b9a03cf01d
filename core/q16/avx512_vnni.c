/* SPDX-License-Identifier: MIT
 *
 * The kernels of npl_q16_gemm in AVX512-VNNI instructions (Cascade Lake, Zen 4 and later). */
#include <immintrin.h>

#define VEC                    __m512i
#define V(name)                _mm512_##name
#define TARGET                 __attribute__((target("avx512f,avx512bw,avx512vnni")))
#define SET1_64(x)             _mm512_set1_epi64(x)
#define ADD_PAIRS(sum, v)      _mm512_dpwssd_epi32(sum, v, _mm512_set1_epi16(1))
#define COUNT_GREATER(n, a, b) _mm512_mask_add_epi16(n, _mm512_cmpgt_epi16_mask(a, b), n, _mm512_set1_epi16(1))
#include "npulab/cpu_features.h"
#include "tile.h"

const struct npl_q16_kernel npl_q16_avx512_vnni = {
	.name = "avx512vnni",
	.required_features = NPL_CPU_AVX512BW | NPL_CPU_AVX512VNNI,
	.tile = tile,
	.limits = limits,
	.count = count,
};
