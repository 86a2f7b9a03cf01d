/* SPDX-License-Identifier: MIT
 *
 * What q16.c asks of a kernel: the sums of a tile, some rows of x by one block of outputs. */
#ifndef NPULAB_CORE_Q16_KERNEL_H
#define NPULAB_CORE_Q16_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#define NPL_Q16_BLOCK         16 /* outputs per block: one 512-bit vector of 32-bit sums */
#define NPL_Q16_MAX_TILE_ROWS 4

enum npl_q16_mode {
	NPL_Q16_SUM_ROUNDED, /* the caller knows that no product can saturate */
	NPL_Q16_SUM_ROUNDED_COUNTED,
	NPL_Q16_SUM_FULL,
};

struct npl_q16_kernel {
	const char *name;
	int tile_rows;
	bool (*usable)(void); /* on this computer */
	/* Adds to sums (rows,16) the products of `pairs` pairs of k; rows is 1 or tile_rows. Returns how many
	 * products saturated. */
	uint64_t (*tile)(enum npl_q16_mode mode, int rows, int64_t pairs, const int16_t *x, int64_t stride,
			 const int16_t *w, int64_t *sums);
};

extern const struct npl_q16_kernel npl_q16_sse2, npl_q16_avx2, npl_q16_avx512;

#endif
