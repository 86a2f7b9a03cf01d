/* SPDX-License-Identifier: MIT
 *
 * The kernel of int8 products in AVX-VNNI instructions (Alder Lake, Sapphire Rapids, Zen 5 and later). */
#include <immintrin.h>

#define VEC                       __m256i
#define V(name)                   _mm256_##name
#define TARGET                    __attribute__((target("avx2,avxvnni")))
#define ROWS                      4 /* 4 x 24 results in 12 of the 16 registers */
#define VECTORS                   3
#define PART_ROWS                 6
#define PART_VECTORS              2
#define MULTIPLY_BYTES(sum, u, s) _mm256_dpbusd_avx_epi32(sum, u, s)
#include "npulab/cpu_features.h"
#include "tile.h"

const struct npl_int8_kernel npl_int8_avx_vnni = {
	.name = "avx-vnni",
	.required_features = NPL_CPU_AVX2 | NPL_CPU_AVXVNNI,
	.pack = npl_int8_pack_bytes_avx2,
	.pack_bytes = npl_int8_pack_bytes_avx2,
	TILES,
	.dots = npl_int8_dots_avx2,
	.dot_bytes = 2,
	.finish = npl_int8_finish_avx2,
};
