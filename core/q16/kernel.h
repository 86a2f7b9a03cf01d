/* SPDX-License-Identifier: MIT
 *
 * The functions that q16.c needs of a kernel: sums of a tile (some rows of x by one block of outputs over a stretch of
 * k), and the count of products of some rows that saturate. */
#ifndef NPULAB_CORE_Q16_KERNEL_H
#define NPULAB_CORE_Q16_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "npulab/layer.h" /* NPL_Q16_FRACTION_BITS */
#include "q16.h"

#define NPL_Q16_BLOCK      16  /* outputs per block: one 512-bit vector of 32-bit sums */
#define NPL_Q16_STRETCH    256 /* values of k whose sums fit registers of 32 bits, whatever the products */
#define NPL_Q16_TILE_ROWS  4   /* the most rows of a tile */
#define NPL_Q16_COUNT_ROWS 16  /* the most rows that are counted at a time */
/* The greatest number of outputs that are counted at a time: 16-bit lanes count 16 rows of them in vectors of 8. */
#define NPL_Q16_COUNT_MAX 4096
#define NPL_Q16_LANES     32 /* outputs with limits are a multiple of this */

/* Rows of x as the kernels read them, NPL_Q16_STRETCH words apart, two words for each pair of k. Rounded products: a
 * word has x in its lower half and 1 in its upper half, which is multiplied by the weights' 512. Full products: x = 256
 * * upper + lower; a word has the pair's upper parts, the next its lower ones. */
struct npl_q16_tile {
	enum npl_q16_product product;
	int rows; /* 1..NPL_Q16_TILE_ROWS */
	int64_t pairs;
	const int32_t *x;
	const int16_t *w; /* the block's weights (npl_q16_pack) */
	int64_t *sums;    /* sums are added here: `outputs` in each row, rows `stride` apart */
	int64_t stride;
	int outputs;
};

/* The least |x w| at which a positive product saturates; a negative one saturates from NPL_Q16_SATURATES + 1025 on. */
#define NPL_Q16_SATURATES ((1 << 25) - 512)

/* A count of saturated products. The magnitude of x is x or, if x is negative, ~x. A product saturates if the magnitude
 * is greater than a limit, which each weight has for each sign of x. */
struct npl_q16_count {
	int64_t rows, k;
	const int16_t *x; /* rows x_stride apart */
	int64_t x_stride;
	const int16_t *limits; /* (k, 2 signs, outputs), signs `stride` apart */
	int64_t outputs;       /* a multiple of NPL_Q16_LANES, NPL_Q16_COUNT_MAX at most */
	int64_t stride;
	const int16_t *least_limits; /* (k, 2): the least limit of all outputs */
};

struct npl_q16_kernel {
	const char *name;
	unsigned required_features; /* the processor's features (npl_cpu_has) */
	void (*tile)(const struct npl_q16_tile *tile);
	/* Writes the limits of a block's packed weights for a pair of k: for x >= 0 and for x < 0. */
	void (*limits)(const int16_t *w, int16_t limits[2][2 * NPL_Q16_BLOCK]);
	uint64_t (*count)(const struct npl_q16_count *count);
};

extern const struct npl_q16_kernel npl_q16_sse2, npl_q16_avx2, npl_q16_avx512, npl_q16_avx512_vnni;

#endif
