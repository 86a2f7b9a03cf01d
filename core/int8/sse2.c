/* SPDX-License-Identifier: MIT
 *
 * The kernel of int8 products in SSE2 instructions (every x86-64 has them). */
#include <immintrin.h>

#define VEC          __m128i
#define V(name)      _mm_##name
#define TARGET       __attribute__((target("sse2")))
#define ROWS         4
#define VECTORS      2
#define PART_ROWS    2
#define PART_VECTORS 4
#include "tile.h"

#define FLOATS __m128
#define FINISH npl_int8_finish_sse2
INLINE VEC load_partial(const void *from, int64_t n)
{
	int32_t value[LANES] = {0};
	if (n >= LANES)
		return load(from);
	for (int64_t i = 0; i < n; i++)
		value[i] = ((const int32_t *)from)[i];
	return load(value);
}

INLINE void store_bytes(uint8_t *out, VEC words, int64_t n)
{
	const VEC bytes = _mm_packus_epi16(words & _mm_set1_epi16(0xff), words);
	memcpy(out, &bytes, n < 2 * LANES ? (size_t)n : 2 * LANES);
}

#include "finish.h"

INLINE void store_lanes(uint8_t *out, int64_t pitch, VEC v)
{
	(void)pitch;
	memcpy(out, &v, sizeof v);
}

#include "pack.h"

static TARGET void pack_words(const struct npl_int8_packing *p)
{
	pack(p, true);
}

static TARGET void pack_bytes(const struct npl_int8_packing *p)
{
	pack(p, false);
}

const struct npl_int8_kernel npl_int8_sse2 = {
	.name = "sse2",
	.pack = pack_words,
	.pack_bytes = pack_bytes,
	TILES,
	.finish = npl_int8_finish_sse2,
};
