/* SPDX-License-Identifier: MIT
 *
 * SHA-256's compression function (FIPS 180-4, 6.2.2) by the x86 SHA extensions: about ten times libmd's speed, which on
 * files of weights would be most of the time that their import takes. sha256rnds2 does two rounds on the state in two
 * registers, (A,B,E,F) and (C,D,G,H), highest word first; sha256msg1 and sha256msg2 make four words of the schedule. */
#include "sha256_instructions.h"

#include <immintrin.h>

#include "npulab/cpu_features.h"

static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

bool npl_sha256_has_instructions(void)
{
	return npl_cpu_has(NPL_CPU_SHA);
}

__attribute__((target("sha,sse4.1"))) void npl_sha256_blocks(uint32_t state[8], const unsigned char *data,
							     size_t blocks)
{
	const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i dcba = _mm_loadu_si128((const __m128i *)(const void *)state);
	__m128i hgfe = _mm_loadu_si128((const __m128i *)(const void *)(state + 4));
	__m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
	__m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
	for (; blocks; blocks--, data += 64) {
		const __m128i abef_before = abef, cdgh_before = cdgh;
		__m128i w[4];
		for (int i = 0; i < 4; i++)
			w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(data + 16 * i)),
						big_endian);
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) { /* four rounds each */
			const __m128i k = _mm_loadu_si128((const __m128i *)(const void *)(constants + 4 * i));
			const __m128i sum = _mm_add_epi32(w[i % 4], k);
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
			if (i < 12) { /* words 4 (i + 4)..4 (i + 4) + 3 take the place of these */
				const __m128i last = w[(i + 3) % 4];
				const __m128i part = _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]),
								   _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
				w[i % 4] = _mm_sha256msg2_epu32(part, last);
			}
		}
		abef = _mm_add_epi32(abef, abef_before);
		cdgh = _mm_add_epi32(cdgh, cdgh_before);
	}
	const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
	_mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
