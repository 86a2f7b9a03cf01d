/* SPDX-License-Identifier: MIT
 *
 * The kernel of int8 products in AVX512-VNNI instructions (Cascade Lake, Zen 4 and later). */
#include <immintrin.h>

#define VEC                       __m512i
#define V(name)                   _mm512_##name
#define TARGET                    __attribute__((target("avx512f,avx512bw,avx512vnni")))
#define ROWS                      8 /* 8 x 48 results in 24 of the 32 registers */
#define VECTORS                   3
#define PART_ROWS                 6 /* 6 x 64 results in 24 of the 32 registers */
#define PART_VECTORS              4
#define MULTIPLY_BYTES(sum, u, s) _mm512_dpbusd_epi32(sum, u, s)
#include "npulab/cpu_features.h"
#include "tile.h"

#define DOTS     npl_int8_dots_avx512_vnni
#define DOT_ROWS NPL_INT8_DOT_ROWS
INLINE VEC values_at(const struct npl_int8_dots *d, int j, int64_t k)
{
	const __mmask64 mask = d->k - k < 64 ? ((__mmask64)1 << (d->k - k)) - 1 : ~(__mmask64)0;
	return _mm512_maskz_loadu_epi8(mask, d->b[j] + k) ^ _mm512_set1_epi8((char)d->b_flip);
}

#include "dots.h"

const struct npl_int8_kernel npl_int8_avx512_vnni = {
	.name = "avx512-vnni",
	/* The kernel's pack needs AVX2. */
	.required_features = NPL_CPU_AVX2 | NPL_CPU_AVX512F | NPL_CPU_AVX512BW | NPL_CPU_AVX512VNNI,
	.narrow = true,
	.pack = npl_int8_pack_bytes_avx2,
	.pack_bytes = npl_int8_pack_bytes_avx2,
	TILES,
	.dots = npl_int8_dots_avx512_vnni,
	.dot_bytes = VALUE_BYTES,
	.finish = npl_int8_finish_avx512,
};
