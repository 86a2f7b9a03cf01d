/* SPDX-License-Identifier: MIT
 *
 * The tile of npl_q16_gemm in SSE2 instructions (every x86-64 has it). */
#include <immintrin.h>

#define VEC       __m128i
#define V(name)   _mm_##name
#define TARGET    __attribute__((target("sse2")))
#define TILE_ROWS 2
#include "q16_tile.h"

static bool usable(void)
{
	return true;
}

const struct npl_q16_kernel npl_q16_sse2 = {
	.name = "sse2",
	.tile_rows = TILE_ROWS,
	.usable = usable,
	.tile = tile,
};
