/* SPDX-License-Identifier: MIT
 *
 * The inner tile of npl_q16_gemm, written once for vectors of any width. Each q16_WIDTH.c defines
 *     VEC, V(name), TARGET    the vector type, its intrinsics' prefix, the target attribute
 *     TILE_ROWS               rows of x whose sums fit the registers
 * and includes this file. A tile is some rows of x times one block of 16 outputs: the packed weights hold, for
 * each pair of k, the two weights of each output side by side, so that a broadcast pair of x meets them and
 * `madd` adds a pair's two products into one 32-bit lane. No shuffles, no horizontal sums.
 */
#ifndef NPULAB_CORE_Q16_TILE_H
#define NPULAB_CORE_Q16_TILE_H

#include <string.h>

#include "q16_kernel.h"

#define VECTORS ((int)(4 * NPL_Q16_BLOCK / sizeof(VEC))) /* per block: 16 lanes of 32 bits */
#define INLINE  static inline __attribute__((always_inline)) TARGET

/* What rows are summed into; adds to the 64-bit sums at the end of each stretch of k. */
INLINE void add_up(int rows, VEC acc[][VECTORS], int64_t scale, int64_t *sums)
{
	for (int r = 0; r < rows; r++) {
		_Alignas(64) int32_t lane[NPL_Q16_BLOCK];
		memcpy(lane, acc[r], sizeof lane);
		for (int j = 0; j < NPL_Q16_BLOCK; j++)
			sums[r * NPL_Q16_BLOCK + j] += scale * lane[j];
	}
}

INLINE VEC broadcast_pair(const int16_t *x)
{
	int32_t pair;
	memcpy(&pair, x, sizeof pair);
	return V(set1_epi32)(pair);
}

/* saturate16((x * w + 512) >> 10) per lane, from the two halves hi:lo of the product. The average gives
 * (lo + 512) >> 1 with its carry, so low = (lo + 512) >> 10 lies in 0..64 and the result is 64 * hi + low. */
INLINE VEC rounded_product(VEC x, VEC w, bool counted, VEC *saturated)
{
	VEC hi = V(mulhi_epi16)(x, w);
	VEC low = V(srli_epi16)(V(avg_epu16)(V(mullo_epi16)(x, w), V(set1_epi16)(511)), 9);
	if (!counted)
		return V(add_epi16)(V(slli_epi16)(hi, 6), low);
	/* 64 * hi + low leaves 16 bits when hi, with the carry of low, is outside -512..511. */
	VEC carried = V(add_epi16)(hi, V(srli_epi16)(low, 6));
	VEC outside = V(srli_epi16)(V(add_epi16)(carried, V(set1_epi16)(512)), 10);
	*saturated = V(add_epi16)(*saturated, V(min_epi16)(outside, V(set1_epi16)(1)));
	/* One step beyond the range on either side is kept, for the saturating additions to clip. */
	VEC half = V(slli_epi16)(V(max_epi16)(V(min_epi16)(hi, V(set1_epi16)(512)), V(set1_epi16)(-513)), 5);
	return V(adds_epi16)(V(adds_epi16)(half, low), half);
}

/* Pairs of k after which the registers are emptied: a 16-bit lane counts at most one saturated product per pair, row
 * and vector (8 of these at most), a 32-bit lane has room for 2^15 pairs of products. */
#define ROUNDED_STRETCH 2048

INLINE uint64_t rounded_tile(int rows, bool counted, int64_t pairs, const int16_t *x, int64_t stride, const int16_t *w,
			     int64_t *sums)
{
	const VEC ones = V(set1_epi16)(1);
	uint64_t total = 0;
	for (int64_t start = 0; start < pairs; start += ROUNDED_STRETCH) {
		int64_t end = start + ROUNDED_STRETCH < pairs ? start + ROUNDED_STRETCH : pairs;
		VEC acc[TILE_ROWS][VECTORS], saturated = V(set1_epi16)(0);
		for (int r = 0; r < rows; r++)
			for (int v = 0; v < VECTORS; v++)
				acc[r][v] = V(set1_epi32)(0);
		for (int64_t p = start; p < end; p++) {
			const VEC *weight = (const VEC *)(w + 2 * NPL_Q16_BLOCK * p);
#pragma GCC unroll 4
			for (int r = 0; r < rows; r++) {
				VEC pair = broadcast_pair(x + r * stride + 2 * p);
#pragma GCC unroll 4
				for (int v = 0; v < VECTORS; v++) {
					VEC product = rounded_product(pair, weight[v], counted, &saturated);
					acc[r][v] = V(add_epi32)(acc[r][v], V(madd_epi16)(product, ones));
				}
			}
		}
		add_up(rows, acc, 1, sums);
		_Alignas(64) int16_t lane[sizeof(VEC) / 2];
		memcpy(lane, &saturated, sizeof lane);
		for (size_t i = 0; counted && i < sizeof(VEC) / 2; i++)
			total += (uint64_t)lane[i];
	}
	return total;
}

/* x = 256 * upper + lower, so that a lane can add 2^7 pairs (|upper * w| <= 2^22, |lower * w| < 2^23). */
#define FULL_STRETCH 128

INLINE void full_tile(int rows, int64_t pairs, const int16_t *x, int64_t stride, const int16_t *w, int64_t *sums)
{
	for (int64_t start = 0; start < pairs; start += FULL_STRETCH) {
		int64_t end = start + FULL_STRETCH < pairs ? start + FULL_STRETCH : pairs;
		VEC upper[TILE_ROWS][VECTORS], lower[TILE_ROWS][VECTORS];
		for (int r = 0; r < rows; r++)
			for (int v = 0; v < VECTORS; v++)
				upper[r][v] = lower[r][v] = V(set1_epi32)(0);
		for (int64_t p = start; p < end; p++) {
			const VEC *weight = (const VEC *)(w + 2 * NPL_Q16_BLOCK * p);
#pragma GCC unroll 4
			for (int r = 0; r < rows; r++) {
				VEC pair = broadcast_pair(x + r * stride + 2 * p);
				VEC high = V(srai_epi16)(pair, 8), low = V(srli_epi16)(V(slli_epi16)(pair, 8), 8);
#pragma GCC unroll 4
				for (int v = 0; v < VECTORS; v++) {
					upper[r][v] = V(add_epi32)(upper[r][v], V(madd_epi16)(high, weight[v]));
					lower[r][v] = V(add_epi32)(lower[r][v], V(madd_epi16)(low, weight[v]));
				}
			}
		}
		add_up(rows, upper, 256, sums);
		add_up(rows, lower, 1, sums);
	}
}

/* The constants 1 and TILE_ROWS make the row loops above unroll. */
static TARGET uint64_t tile(enum npl_q16_mode mode, int rows, int64_t pairs, const int16_t *x, int64_t stride,
			    const int16_t *w, int64_t *sums)
{
	if (mode == NPL_Q16_SUM_FULL) {
		if (rows == TILE_ROWS)
			full_tile(TILE_ROWS, pairs, x, stride, w, sums);
		else
			full_tile(1, pairs, x, stride, w, sums);
		return 0;
	}
	if (mode == NPL_Q16_SUM_ROUNDED_COUNTED)
		return rows == TILE_ROWS ? rounded_tile(TILE_ROWS, true, pairs, x, stride, w, sums)
					 : rounded_tile(1, true, pairs, x, stride, w, sums);
	return rows == TILE_ROWS ? rounded_tile(TILE_ROWS, false, pairs, x, stride, w, sums)
				 : rounded_tile(1, false, pairs, x, stride, w, sums);
}

#endif
