/* SPDX-License-Identifier: MIT
 *
 * The inner kernels of npl_int8_gemm, private to core/. A kernel multiplies a panel of `rows` vectors by a panel
 * of `columns` vectors. Values are 16 bits wide, zero point already subtracted (so within -255..255), and lie in
 * pairs along k, because every multiply-add instruction used here takes two neighbours at a time:
 *
 *     panel[(pair * width + vector) * 2 + (k & 1)]      pair = k / 2, an odd k is padded with a zero
 */
#ifndef NPULAB_CORE_INT8_KERNELS_H
#define NPULAB_CORE_INT8_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

struct npl_int8_kernel {
	const char *name;
	int rows, columns; /* width of the panels of a and b; multiples of 4 */
	bool (*usable)(void);
	/* tile[row * columns + column] = the products of `pairs` pairs, summed with wrapping */
	void (*run)(int64_t pairs, const int16_t *a, const int16_t *b, int32_t *tile);
};
#define NPL_INT8_MAX_TILE (16 * 64) /* rows * columns of any kernel */

extern const struct npl_int8_kernel npl_int8_kernel_list[]; /* fastest first; the last runs everywhere */

#endif
