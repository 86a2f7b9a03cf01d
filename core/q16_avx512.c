/* SPDX-License-Identifier: MIT
 *
 * The tile of npl_q16_gemm in AVX512BW instructions (Skylake servers, Zen 4 and later). */
#include <immintrin.h>

#define VEC       __m512i
#define V(name)   _mm512_##name
#define TARGET    __attribute__((target("avx512f,avx512bw")))
#define TILE_ROWS 4
#include "q16_tile.h"

static bool usable(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

const struct npl_q16_kernel npl_q16_avx512 = {
	.name = "avx512bw",
	.tile_rows = TILE_ROWS,
	.usable = usable,
	.tile = tile,
};
