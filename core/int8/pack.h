/* SPDX-License-Identifier: MIT
 *
 * Packs operands of npl_int8_gemm into the panels of kernels.h, written once for vectors of any width and for values of
 * 8 and of 16 bits. Vectors that are contiguous along k are transposed four at a time, a stretch of each before the
 * next four, so that a panel is written line by line. Vectors stored side by side are interleaved, all panels together,
 * so that the operand is read in the order of memory. A file that has included tile.h defines
 *     store_lanes(out, apart, v)    stores the 128-bit lanes of v, `apart` bytes from one to the next
 * and includes this file. */
#ifndef NPULAB_CORE_INT8_PACK_H
#define NPULAB_CORE_INT8_PACK_H

#include "tile.h"

#define CHUNK   ((int)sizeof(VEC)) /* values of a vector that are loaded at once */
#define STRETCH 256                /* values of a vector packed before the next */

/* Stores groups that have one value of each of the four vectors, `step` bytes apart and `lane` bytes from lane to
 * lane. */
INLINE void store_transposed(const VEC r[4], int64_t step, int64_t lane, uint8_t *out)
{
	const VEC low01 = V(unpacklo_epi32)(r[0], r[1]), low23 = V(unpacklo_epi32)(r[2], r[3]);
	const VEC high01 = V(unpackhi_epi32)(r[0], r[1]), high23 = V(unpackhi_epi32)(r[2], r[3]);
	store_lanes(out, lane, V(unpacklo_epi64)(low01, low23));
	store_lanes(out + step, lane, V(unpackhi_epi64)(low01, low23));
	store_lanes(out + 2 * step, lane, V(unpacklo_epi64)(high01, high23));
	store_lanes(out + 3 * step, lane, V(unpackhi_epi64)(high01, high23));
}

/* Stores unsigned bytes of four vectors as 16-bit values without their zero point. */
INLINE void store_words(const VEC r[4], int16_t zero_point, int64_t step, uint8_t *out)
{
	const VEC nothing = V(set1_epi32)(0), zero = V(set1_epi16)(zero_point);
	VEC low[4], high[4];
#pragma GCC unroll 4
	for (int j = 0; j < 4; j++) {
		low[j] = V(sub_epi16)(V(unpacklo_epi8)(r[j], nothing), zero);
		high[j] = V(sub_epi16)(V(unpackhi_epi8)(r[j], nothing), zero);
	}
	store_transposed(low, step, 8 * step, out);
	store_transposed(high, step, 8 * step, out + 4 * step);
}

/* Packs four vectors of `length` values, a multiple of CHUNK, to `out`, `step` bytes from group to group. The sum of
 * each vector's values is added to sum, unless that is NULL. */
INLINE void transpose(const struct npl_int8_packing *p, const bool words, const uint8_t *const row[4], int64_t length,
		      int64_t step, uint8_t *out, int32_t *sum)
{
	const VEC flip = V(set1_epi8)((char)p->flip), unsign = V(set1_epi8)((char)p->unsign),
		  nothing = V(set1_epi32)(0);
	VEC total[4] = {nothing, nothing, nothing, nothing};
	for (int64_t k = 0; k < length; k += CHUNK, out += (words ? CHUNK / 2 : CHUNK / 4) * step) {
		VEC r[4];
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			r[j] = load(row[j] + k) ^ flip;
		if (words)
			store_words(r, p->zero, step, out);
		else
			store_transposed(r, step, 4 * step, out);
#pragma GCC unroll 4
		for (int j = 0; sum && j < 4; j++)
			total[j] = V(add_epi32)(total[j], V(sad_epu8)(r[j] ^ unsign, nothing));
	}
	for (int j = 0; sum && j < 4; j++)
		sum[j] += sum_of_lanes(total[j]) - (int32_t)length * p->unsign;
}

/* Packs values k to k + length - 1 of vectors i to i + 3, where length need be no multiple of CHUNK. Vectors beyond
 * count and values beyond length become zero. */
INLINE void pack_four(const struct npl_int8_packing *p, const bool words, int64_t i, int64_t k, int64_t length,
		      uint8_t *out)
{
	uint8_t filler_row[STRETCH], tail[4][CHUNK];
	_Alignas(16) uint8_t groups[8 * CHUNK];
	const uint8_t *row[4], *ends[4] = {tail[0], tail[1], tail[2], tail[3]};
	const int64_t step = 4 * p->width, whole_length = length / CHUNK * CHUNK, tail_length = length - whole_length,
		      n_vectors = p->count - i;
	const int per_group = words ? 2 : 4;
	int32_t sum[4] = {0};
	for (int64_t g = 0; n_vectors <= 0 && per_group * g < length; g++)
		memset(out + g * step, 0, 16);
	if (n_vectors <= 0)
		return;
	if (n_vectors < 4)
		memset(filler_row, p->filler, sizeof filler_row);
	for (int j = 0; j < 4; j++)
		row[j] = j < n_vectors ? p->data + (i + j) * p->stride + k : filler_row;
	if (p->sum)
		transpose(p, words, row, whole_length, step, out, sum);
	else
		transpose(p, words, row, whole_length, step, out, NULL);
	if (tail_length) {
		memset(tail, p->filler, sizeof tail);
		for (int j = 0; j < 4; j++)
			memcpy(tail[j], row[j] + whole_length, (size_t)tail_length);
		transpose(p, words, ends, CHUNK, 16, groups, sum);
		out += whole_length / per_group * step;
		for (int64_t g = 0; per_group * g < tail_length; g++)
			memcpy(out + g * step, groups + 16 * g, 16);
	}
	for (int j = 0; p->sum && j < 4 && j < n_vectors; j++)
		p->sum[i + j] = (int32_t)((uint32_t)p->sum[i + j] + (uint32_t)sum[j]);
}

/* Packs vectors that are contiguous along k. */
INLINE void pack_along_k(const struct npl_int8_packing *p, const bool words)
{
	uint8_t *panel = p->out;
	for (int64_t first = 0; first < p->count; first += p->width, panel += p->panel_bytes)
		for (int64_t k = 0; k < p->length; k += STRETCH)
			for (int64_t i = 0; i < p->width; i += 4)
				pack_four(p, words, first + i, k, p->length - k < STRETCH ? p->length - k : STRETCH,
					  panel + k * p->width * (words ? 2 : 1) + 4 * i);
}

/* Makes a group of CHUNK vectors from one value of each in four rows. */
INLINE void interleave_chunk(const uint8_t *const r[4], int i, VEC flip, uint8_t *out)
{
	const VEC a = load(r[0] + i), b = load(r[1] + i), c = load(r[2] + i), d = load(r[3] + i);
	const VEC low01 = V(unpacklo_epi8)(a, b), high01 = V(unpackhi_epi8)(a, b);
	const VEC low23 = V(unpacklo_epi8)(c, d), high23 = V(unpackhi_epi8)(c, d);
	store_lanes(out, 64, V(unpacklo_epi16)(low01, low23) ^ flip);
	store_lanes(out + 16, 64, V(unpackhi_epi16)(low01, low23) ^ flip);
	store_lanes(out + 32, 64, V(unpacklo_epi16)(high01, high23) ^ flip);
	store_lanes(out + 48, 64, V(unpackhi_epi16)(high01, high23) ^ flip);
}

/* Makes a group of n vectors, 8 or 4, from one value of each in four rows, or in two where they become words. */
INLINE void interleave_few(const struct npl_int8_packing *p, const bool words, const uint8_t *const r[4], const int n,
			   uint8_t *out)
{
	const __m128i flip = _mm_set1_epi8((char)p->flip), zero = _mm_set1_epi16(p->zero),
		      nothing = _mm_setzero_si128();
	__m128i row[4], low, high;
	for (int j = 0; j < (words ? 2 : 4); j++)
		row[j] = n == 8 ? _mm_loadl_epi64((const __m128i *)(const void *)r[j])
				: _mm_cvtsi32_si128(npl_int8_four_bytes(r[j]));
	if (words) {
		const __m128i pairs = _mm_unpacklo_epi8(row[0], row[1]) ^ flip;
		low = _mm_sub_epi16(_mm_unpacklo_epi8(pairs, nothing), zero);
		high = _mm_sub_epi16(_mm_unpackhi_epi8(pairs, nothing), zero);
	} else {
		const __m128i first = _mm_unpacklo_epi8(row[0], row[1]) ^ flip,
			      last = _mm_unpacklo_epi8(row[2], row[3]) ^ flip;
		low = _mm_unpacklo_epi16(first, last);
		high = _mm_unpackhi_epi16(first, last);
	}
	_mm_store_si128((__m128i *)(void *)out, low);
	if (n == 8)
		_mm_store_si128((__m128i *)(void *)(out + 16), high);
}

/* Writes one group of a panel. */
INLINE void interleave(const struct npl_int8_packing *p, const bool words, const uint8_t *const r[4], uint8_t *out)
{
	int i = 0;
	for (; !words && i + CHUNK <= p->width; i += CHUNK)
		interleave_chunk(r, i, V(set1_epi8)((char)p->flip), out + 4 * i);
	for (; i < p->width; i += 8) {
		const uint8_t *row[4] = {r[0] + i, r[1] + i, r[2] + i, r[3] + i};
		if (i + 8 <= p->width)
			interleave_few(p, words, row, 8, out + 4 * i);
		else
			interleave_few(p, words, row, 4, out + 4 * i);
	}
}

/* Packs vectors that are stored side by side. */
INLINE void pack_across_k(const struct npl_int8_packing *p, const bool words)
{
	const int per_group = words ? 2 : 4;
	uint8_t filler_row[NPL_INT8_MAX_WIDTH], padded[4][NPL_INT8_MAX_WIDTH];
	memset(filler_row, p->filler, sizeof filler_row);
	memset(padded, p->filler, sizeof padded);
	for (int64_t k = 0; k < p->length; k += per_group) {
		uint8_t *out = p->out + k / per_group * 4 * p->width;
		for (int64_t index = 0; index < p->count; index += p->width, out += p->panel_bytes) {
			const uint8_t *r[4] = {filler_row, filler_row, filler_row, filler_row};
			for (int j = 0; j < per_group && k + j < p->length; j++) {
				r[j] = p->data + (k + j) * p->k_stride + index;
				if (p->count - index < p->width)
					r[j] = memcpy(padded[j], r[j], (size_t)(p->count - index));
			}
			interleave(p, words, r, out);
		}
	}
}

INLINE void pack(const struct npl_int8_packing *p, const bool words)
{
	if (p->k_stride == 1)
		pack_along_k(p, words);
	else
		pack_across_k(p, words);
}

#endif
