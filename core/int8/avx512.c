/* SPDX-License-Identifier: MIT
 *
 * The kernel of int8 products in AVX512BW instructions (Skylake servers and later). */
#include <immintrin.h>

#define VEC          __m512i
#define V(name)      _mm512_##name
#define TARGET       __attribute__((target("avx512f,avx512bw")))
#define ROWS         12
#define VECTORS      2
#define PART_ROWS    6
#define PART_VECTORS 2
#include "npulab/cpu_features.h"
#include "tile.h"

#define FLOATS __m512
#define FINISH npl_int8_finish_avx512
INLINE VEC load_partial(const void *from, int64_t n)
{
	return _mm512_maskz_loadu_epi32(n < LANES ? (__mmask16)((1u << (n > 0 ? n : 0)) - 1) : 0xffff, from);
}

/* Stores the low bytes of n words. The pack instruction works within each 128-bit quarter, so a permutation then puts
 * the bytes into their order. */
INLINE void store_bytes(uint8_t *out, VEC words, int64_t n)
{
	const VEC bytes = _mm512_packus_epi16(words & _mm512_set1_epi16(0xff), words),
		  order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0);
	_mm512_mask_storeu_epi8(out, n < 2 * LANES ? (1u << n) - 1 : 0xffffffff,
				_mm512_permutexvar_epi32(order, bytes));
}

#include "finish.h"

const struct npl_int8_kernel npl_int8_avx512 = {
	.name = "avx512bw",
	.required_features = NPL_CPU_AVX2 | NPL_CPU_AVX512F |
			     NPL_CPU_AVX512BW, /* the kernel's pack and dots need AVX2 */
	.pack = npl_int8_pack_words_avx2,
	.pack_bytes = npl_int8_pack_bytes_avx2,
	TILES,
	.dots = npl_int8_dots_avx2,
	.dot_bytes = VALUE_BYTES,
	.finish = npl_int8_finish_avx512,
};
