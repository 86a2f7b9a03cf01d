/* SPDX-License-Identifier: MIT
 *
 * Counts bits of rows (toggles.h), in plain loops and with AVX2. */
#include "toggles.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "npulab/cpu_features.h"

#define EACH __attribute__((always_inline)) static inline

EACH uint64_t word_at(const uint8_t *bytes, size_t n)
{
	uint64_t word = 0;
	memcpy(&word, bytes, n);
	return word;
}

EACH uint64_t each_count(const uint8_t *a, const uint8_t *b, size_t bytes)
{
	uint64_t bits = 0;
	size_t i = 0;
	for (; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t))
		bits += (uint64_t)__builtin_popcountll(word_at(a + i, sizeof(uint64_t)) ^
						       word_at(b + i, sizeof(uint64_t)));
	if (i < bytes)
		bits += (uint64_t)__builtin_popcountll(word_at(a + i, bytes - i) ^ word_at(b + i, bytes - i));
	return bits;
}

/* A byte is 0 where neither its highest bit is 1 nor the sum of the others and 127 carries into it. */
EACH struct sim_bits each_bits(const uint8_t *row, size_t bytes)
{
	const uint64_t lower = 0x7f7f7f7f7f7f7f7f;
	struct sim_bits bits = {.zeros = bytes};
	for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
		const size_t left = bytes - i;
		const uint64_t x = left < sizeof x ? word_at(row + i, left) : word_at(row + i, sizeof x);
		bits.ones += (uint64_t)__builtin_popcountll(x);
		bits.signs += (uint64_t)__builtin_popcountll(x & ~lower);
		bits.zeros -= (uint64_t)__builtin_popcountll((((x & lower) + lower) | x) & ~lower);
	}
	return bits;
}

EACH uint8_t ones(uint8_t x)
{
	x = (uint8_t)(x - (x >> 1 & 0x55));
	x = (uint8_t)((x & 0x33) + (x >> 2 & 0x33));
	return (uint8_t)((x + (x >> 4)) & 0x0f);
}

/* A number is negative where its byte is less than the zero point; `flip` turns signed order into that of bytes. */
EACH void each_follow(uint8_t *restrict low, uint8_t *restrict negative, uint8_t *restrict toggles,
		      uint8_t *restrict zeros, const uint8_t *restrict row, size_t n, uint8_t flip, uint8_t zero_point)
{
	const uint8_t least = zero_point ^ flip;
	for (size_t i = 0; i < n; i++) {
		const uint8_t now = (uint8_t)(row[i] - zero_point), below = (uint8_t)((row[i] ^ flip) < least);
		toggles[i] = (uint8_t)(toggles[i] + ones(now ^ low[i]) + (below ^ negative[i]));
		zeros[i] = (uint8_t)(zeros[i] + (now == 0));
		low[i] = now;
		negative[i] = below;
	}
}

#define LOOPS(isa, target_isa)                                                                                         \
	target_isa static void follow_##isa(const struct sim_lanes *lanes, const uint8_t *row, size_t n, uint8_t flip, \
					    uint8_t zero_point)                                                        \
	{                                                                                                              \
		each_follow(lanes->low, lanes->negative, lanes->toggles, lanes->zeros, row, n, flip, zero_point);      \
	}
LOOPS(plain, )

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,popcnt"))) /* every processor with AVX2 counts bits, too */
LOOPS(avx2, AVX2)

/* Adds the 1s of 32 bytes to four sums: a table has those of each half of a byte. */
AVX2 static inline __m256i add_ones(__m256i sum, __m256i bytes)
{
	const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3,
					       1, 2, 2, 3, 2, 3, 3, 4);
	const __m256i half = _mm256_set1_epi8(0x0f);
	const __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(bytes, half)),
		      high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half));
	return _mm256_add_epi64(sum, _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256()));
}

AVX2 static inline uint64_t sum_of_four(__m256i sums)
{
	uint64_t sum[4];
	memcpy(sum, &sums, sizeof sum);
	return sum[0] + sum[1] + sum[2] + sum[3];
}

AVX2 static inline __m256i load(const uint8_t *from)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

AVX2 static uint64_t count_avx2(const uint8_t *a, const uint8_t *b, size_t bytes)
{
	__m256i sums = _mm256_setzero_si256();
	size_t i = 0;
	for (; i + sizeof sums <= bytes; i += sizeof sums)
		sums = add_ones(sums, _mm256_xor_si256(load(a + i), load(b + i)));
	return sum_of_four(sums) + each_count(a + i, b + i, bytes - i);
}

AVX2 static struct sim_bits bits_avx2(const uint8_t *row, size_t bytes)
{
	__m256i sums = _mm256_setzero_si256();
	uint64_t signs = 0, zeros = 0;
	size_t i = 0;
	for (; i + sizeof sums <= bytes; i += sizeof sums) {
		const __m256i x = load(row + i), is_zero = _mm256_cmpeq_epi8(x, _mm256_setzero_si256());
		sums = add_ones(sums, x);
		signs += (uint64_t)__builtin_popcount((unsigned)_mm256_movemask_epi8(x));
		zeros += (uint64_t)__builtin_popcount((unsigned)_mm256_movemask_epi8(is_zero));
	}
	const struct sim_bits rest = each_bits(row + i, bytes - i);
	return (struct sim_bits){sum_of_four(sums) + rest.ones, signs + rest.signs, zeros + rest.zeros};
}
#else
#define count_avx2  each_count
#define bits_avx2   each_bits
#define follow_avx2 follow_plain
#endif

static uint64_t count(const uint8_t *a, const uint8_t *b, size_t bytes)
{
	return npl_cpu_has(NPL_CPU_AVX2) ? count_avx2(a, b, bytes) : each_count(a, b, bytes);
}

uint64_t sim_toggled_bits(const void *a, const void *b, size_t bytes)
{
	return count(a, b, bytes);
}

struct sim_bits sim_bits_of(const void *row, size_t bytes)
{
	return npl_cpu_has(NPL_CPU_AVX2) ? bits_avx2(row, bytes) : each_bits(row, bytes);
}

uint64_t sim_follow(void *last, const void *row, size_t bytes)
{
	const uint64_t bits = count(last, row, bytes);
	memcpy(last, row, bytes);
	return bits;
}

void sim_follow_lanes(const struct sim_lanes *lanes, const uint8_t *row, size_t n, bool is_signed, int zero_point)
{
	const uint8_t flip = is_signed ? 0x80 : 0;
	if (npl_cpu_has(NPL_CPU_AVX2))
		follow_avx2(lanes, row, n, flip, (uint8_t)zero_point);
	else
		follow_plain(lanes, row, n, flip, (uint8_t)zero_point);
}
