/* SPDX-License-Identifier: MIT
 *
 * The tile of npl_q16_gemm in AVX2 instructions (Haswell, Zen and later). */
#include <immintrin.h>

#define VEC       __m256i
#define V(name)   _mm256_##name
#define TARGET    __attribute__((target("avx2")))
#define TILE_ROWS 2
#include "q16_tile.h"

static bool usable(void)
{
	return __builtin_cpu_supports("avx2");
}

const struct npl_q16_kernel npl_q16_avx2 = {
	.name = "avx2",
	.tile_rows = TILE_ROWS,
	.usable = usable,
	.tile = tile,
};
