/* SPDX-License-Identifier: MIT
 *
 * Dot products of a few rows of a with vectors of b that are read where they are stored, the kernels of
 * npl_int8_few_rows, written once for vectors of any width. They take four vectors of b at a time, so that one load of
 * a serves four. A file that has included tile.h defines
 *     DOTS                   the function's name
 *     DOT_ROWS               rows of a whose sums fit registers with four vectors of b
 *     values_at(d, j, k)     a vector of d->b[j]'s values from k on, flipped, in the form of a; beyond d->k they may be
 *                            anything
 * and includes this file. */
#ifndef NPULAB_CORE_INT8_DOTS_H
#define NPULAB_CORE_INT8_DOTS_H

#include "tile.h"

INLINE void dots_of(struct npl_int8_dots *d, int first, const int rows)
{
	VEC sum[NPL_INT8_DOT_ROWS][4];
#pragma GCC unroll 5
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			sum[i][j] = V(set1_epi32)(0);
	const uint8_t *a = d->a + first * d->a_pitch;
	for (int64_t k = 0; k < d->k; k += (int)sizeof(VEC) / VALUE_BYTES, a += sizeof(VEC)) {
		operand b[4];
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			b[j] = operand_of(values_at(d, j, k));
#pragma GCC unroll 5
		for (int i = 0; i < rows; i++) {
			const operand row = operand_of(load(a + i * d->a_pitch));
#pragma GCC unroll 4
			for (int j = 0; j < 4; j++)
				sum[i][j] = plus_product(sum[i][j], row, b[j], PANELS);
		}
	}
#pragma GCC unroll 5
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			d->sum[first + i][j] = sum_of_lanes(sum[i][j]);
}

/* Each branch is compiled for a number of rows of its own; with some instruction sets two of the numbers are equal. */
/* NOLINTBEGIN(bugprone-branch-clone) */
TARGET void DOTS(struct npl_int8_dots *d)
{
	for (int first = 0; first < d->rows; first += DOT_ROWS) {
		const int rows_left = d->rows - first;
		if (rows_left >= DOT_ROWS)
			dots_of(d, first, DOT_ROWS);
		else if (rows_left == 1)
			dots_of(d, first, 1);
		else if (rows_left == 2)
			dots_of(d, first, 2);
		else if (rows_left == 3)
			dots_of(d, first, 3);
		else
			dots_of(d, first, 4);
	}
}
/* NOLINTEND(bugprone-branch-clone) */

#endif
