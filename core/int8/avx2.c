/* SPDX-License-Identifier: MIT
 *
 * The kernel of int8 products in AVX2 instructions (Haswell, Zen and later). */
#include <immintrin.h>

#define VEC          __m256i
#define V(name)      _mm256_##name
#define TARGET       __attribute__((target("avx2")))
#define ROWS         4
#define VECTORS      2
#define PART_ROWS    3
#define PART_VECTORS 2
#include "npulab/cpu_features.h"
#include "tile.h"

#define DOTS     npl_int8_dots_avx2
#define DOT_ROWS 2 /* eight sums and four vectors of b in sixteen registers */
INLINE VEC values_at(const struct npl_int8_dots *d, int j, int64_t k)
{
	uint8_t end[16] = {0};
	const uint8_t *from = d->b[j] + k;
	if (d->k - k < 16)
		from = memcpy(end, from, (size_t)(d->k - k));
	const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
	return _mm256_cvtepu8_epi16(bytes ^ _mm_set1_epi8((char)d->b_flip));
}

#include "dots.h"

#define FLOATS __m256
#define FINISH npl_int8_finish_avx2
INLINE VEC load_partial(const void *from, int64_t n)
{
	if (n >= LANES)
		return load(from);
	const VEC mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
	return _mm256_maskload_epi32(from, mask);
}

/* Stores the low bytes of n words. The pack instruction works within each 128-bit half, so that fours 0 and 2 are in
 * the lower half and 1 and 3 in the upper one. A permutation puts them into their order. */
INLINE void store_bytes(uint8_t *out, VEC words, int64_t n)
{
	const VEC bytes = _mm256_packus_epi16(words & _mm256_set1_epi16(0xff), words),
		  ordered = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5));
	memcpy(out, &ordered, n < 2 * LANES ? (size_t)n : 2 * LANES);
}

#include "finish.h"

INLINE void store_lanes(uint8_t *out, int64_t pitch, VEC v)
{
	_mm_store_si128((__m128i *)(void *)out, _mm256_castsi256_si128(v));
	_mm_store_si128((__m128i *)(void *)(out + pitch), _mm256_extracti128_si256(v, 1));
}

#include "pack.h"

TARGET void npl_int8_pack_words_avx2(const struct npl_int8_packing *p)
{
	pack(p, true);
}

TARGET void npl_int8_pack_bytes_avx2(const struct npl_int8_packing *p)
{
	pack(p, false);
}

const struct npl_int8_kernel npl_int8_avx2 = {
	.name = "avx2",
	.required_features = NPL_CPU_AVX2,
	.pack = npl_int8_pack_words_avx2,
	.pack_bytes = npl_int8_pack_bytes_avx2,
	TILES,
	.dots = npl_int8_dots_avx2,
	.dot_bytes = VALUE_BYTES,
	.finish = npl_int8_finish_avx2,
};
