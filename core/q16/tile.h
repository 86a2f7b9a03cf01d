/* SPDX-License-Identifier: MIT
 *
 * The kernels of npl_q16_gemm, written once for vectors of any width. Each file for one width, such as avx2.c, defines
 *     VEC, V(name), TARGET      the vector type, its intrinsics' prefix, the target attribute
 *     SET1_64(x)                a 64-bit value in all lanes
 *     ADD_PAIRS(sum, v)         adds neighbouring 16-bit values of v to the 32-bit lanes of sum
 *     COUNT_GREATER(n, a, b)    n + 1 in the 16-bit lanes where a > b
 * and includes this file.
 *
 * A tile is some rows of x times one block of 16 outputs. Rounded products are computed from pairs (x, 1) * (w, 512):
 * The instruction pmaddwd gives x * w + 512 in a 32-bit lane, then a shift and a packing with saturation give
 * saturate16((x * w + 512) >> 10). The weights are ordered so that packing two vectors puts an output's products of k
 * and k + 1 side by side, and the outputs into their order. */
#ifndef NPULAB_CORE_Q16_TILE_H
#define NPULAB_CORE_Q16_TILE_H

#include <string.h>

#include "kernel.h"

#define VECTORS ((int)(4 * NPL_Q16_BLOCK / sizeof(VEC))) /* per block: 16 lanes of 32 bits */
#define INLINE  static inline __attribute__((always_inline)) TARGET

INLINE void add_sums(const struct npl_q16_tile *t, int rows, VEC acc[][VECTORS], int64_t scale)
{
	for (int r = 0; r < rows; r++) {
		_Alignas(64) int32_t lane[NPL_Q16_BLOCK];
		int64_t *sums = t->sums + r * t->stride;
		memcpy(lane, acc[r], sizeof lane);
		if (t->outputs == NPL_Q16_BLOCK) /* a constant number, so that the compiler vectorises the loop */
			for (int j = 0; j < NPL_Q16_BLOCK; j++)
				sums[j] += scale * lane[j];
		else
			for (int j = 0; j < t->outputs; j++)
				sums[j] += scale * lane[j];
	}
}

INLINE void clear(int rows, VEC acc[][VECTORS])
{
	for (int r = 0; r < rows; r++)
		for (int v = 0; v < VECTORS; v++)
			acc[r][v] = V(set1_epi32)(0);
}

INLINE void rounded_tile(const struct npl_q16_tile *t, int rows)
{
	VEC acc[NPL_Q16_TILE_ROWS][VECTORS];
	clear(rows, acc);
	for (int64_t p = 0; p < t->pairs; p++) {
		const VEC *w = (const VEC *)(t->w + 4 * NPL_Q16_BLOCK * p);
#pragma GCC unroll 4
		for (int r = 0; r < rows; r++) {
			int64_t pair;
			memcpy(&pair, t->x + r * NPL_Q16_STRETCH + 2 * p, sizeof pair);
			VEC x = SET1_64(pair);
#pragma GCC unroll 4
			for (int v = 0; v < VECTORS; v++) {
				VEC low = V(srai_epi32)(V(madd_epi16)(x, w[v]), NPL_Q16_FRACTION_BITS);
				VEC high = V(srai_epi32)(V(madd_epi16)(x, w[VECTORS + v]), NPL_Q16_FRACTION_BITS);
				acc[r][v] = ADD_PAIRS(acc[r][v], V(packs_epi32)(low, high));
			}
		}
	}
	add_sums(t, rows, acc, 1);
}

/* Computes a tile of full products. |upper * w| <= 2^22 and |lower * w| < 2^23, so a lane has room for NPL_Q16_STRETCH
 * / 2 = 2^7 pairs of them. */
INLINE void full_tile(const struct npl_q16_tile *t, int rows)
{
	VEC upper[NPL_Q16_TILE_ROWS][VECTORS], lower[NPL_Q16_TILE_ROWS][VECTORS];
	clear(rows, upper);
	clear(rows, lower);
	for (int64_t p = 0; p < t->pairs; p++) {
		const VEC *w = (const VEC *)(t->w + 2 * NPL_Q16_BLOCK * p);
#pragma GCC unroll 4
		for (int r = 0; r < rows; r++) {
			const int32_t *x = t->x + r * NPL_Q16_STRETCH + 2 * p;
			VEC high = V(set1_epi32)(x[0]), low = V(set1_epi32)(x[1]);
#pragma GCC unroll 4
			for (int v = 0; v < VECTORS; v++) {
				upper[r][v] = V(add_epi32)(upper[r][v], V(madd_epi16)(high, w[v]));
				lower[r][v] = V(add_epi32)(lower[r][v], V(madd_epi16)(low, w[v]));
			}
		}
	}
	add_sums(t, rows, upper, 256);
	add_sums(t, rows, lower, 1);
}

/* Computes a tile. The constant numbers of rows make the row loops above unroll. */
static TARGET void tile(const struct npl_q16_tile *t)
{
	const bool full = t->product == NPL_Q16_FULL;
	switch (t->rows) {
	case 1:
		full ? full_tile(t, 1) : rounded_tile(t, 1);
		break;
	case 2:
		full ? full_tile(t, 2) : rounded_tile(t, 2);
		break;
	case 3:
		full ? full_tile(t, 3) : rounded_tile(t, 3);
		break;
	default:
		full ? full_tile(t, 4) : rounded_tile(t, 4);
		break;
	}
}

/* Returns the least |x| with |x| * weight >= product: the quotient rounded up, which doubles compute exactly. */
INLINE int32_t first_magnitude(int32_t product, int32_t weight)
{
	return (int32_t)((double)(product + weight - 1) / (double)weight);
}

INLINE int16_t clip(int32_t limit)
{
	return (int16_t)(limit < INT16_MAX ? limit : INT16_MAX); /* no magnitude of x is greater */
}

/* Finds the limits of a pair of rows of weights. It is written so that compilers vectorise it: two divisions per weight
 * are most of the work. */
static TARGET void limits(const int16_t *w, int16_t limits[2][2 * NPL_Q16_BLOCK])
{
	int32_t word[2 * NPL_Q16_BLOCK];
	memcpy(word, w, sizeof word);
	for (int i = 0; i < 2 * NPL_Q16_BLOCK; i++) {
		const int32_t v = (int16_t)word[i], absolute = v < 0 ? -v : v;
		/* 1023 is the greatest weight whose products with 16-bit x never saturate. Smaller ones are taken as
		 * 1023 too, so that nothing is divided by 0. */
		const int32_t weight = absolute > 1023 ? absolute : 1023;
		const int32_t same = first_magnitude(NPL_Q16_SATURATES, weight);
		const int32_t other = first_magnitude(NPL_Q16_SATURATES + 1025, weight);
		limits[0][i] = clip((v < 0 ? other : same) - 1);
		limits[1][i] = clip((v < 0 ? same : other) - 2);
	}
}

static TARGET uint64_t count(const struct npl_q16_count *c)
{
	const VEC ones = V(set1_epi16)(1);
	const int64_t vectors = c->outputs * 2 / (int64_t)sizeof(VEC);
	VEC all = V(set1_epi32)(0);
	for (int64_t k = 0; k < c->k; k++) {
		VEC some = V(set1_epi16)(0);
		for (int64_t r = 0; r < c->rows; r++) {
			const int16_t x = c->x[r * c->x_stride + k];
			const int64_t sign = 2 * k + (x < 0);
			const int16_t magnitude = x < 0 ? ~x : x;
			if (magnitude <= c->least_limits[sign])
				continue;
			const VEC *limit = (const VEC *)(c->limits + sign * c->stride), m = V(set1_epi16)(magnitude);
#pragma GCC unroll 4
			for (int64_t v = 0; v < vectors; v++)
				some = COUNT_GREATER(some, m, limit[v]);
		}
		all = V(add_epi32)(all, V(madd_epi16)(some, ones));
	}
	_Alignas(64) int32_t lane[sizeof(VEC) / 4];
	uint64_t total = 0;
	memcpy(lane, &all, sizeof lane);
	for (size_t i = 0; i < sizeof lane / sizeof *lane; i++)
		total += (uint64_t)lane[i];
	return total;
}

#endif
