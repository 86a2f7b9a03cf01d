/* SPDX-License-Identifier: MIT
 *
 * The kernels of npl_int8_rows, private to this folder. */
#ifndef NPULAB_CORE_INT8_ROWS_KERNELS_H
#define NPULAB_CORE_INT8_ROWS_KERNELS_H

#include "rows.h"

#define NPL_INT8_TILE_ROWS 6

/* A part of a product: at most NPL_INT8_TILE_ROWS rows by one panel. A kernel may compute and write columns rounded up to
 * 16. */
struct npl_int8_rows_tile {
	int64_t k; /* a multiple of 4 */
	const uint8_t *const *a;
	bool a_signed;
	const uint8_t *panel;
	const int32_t *row_start; /* NULL: 0 */
	const int32_t *column_start;
	int rows, columns;
	bool add;
	int32_t *c;
	int64_t c_stride;
};

struct npl_int8_rows_kernel {
	const char *name;
	bool (*usable)(void);
	void (*run)(const struct npl_int8_rows_tile *tile);
};
extern const struct npl_int8_rows_kernel npl_int8_rows_kernel_list[]; /* fastest first; the last runs everywhere; {0} */

#if defined(__x86_64__)
/* rows_vnni.c: bytes in one instruction. */
void npl_int8_rows_avx512vnni(const struct npl_int8_rows_tile *tile);
void npl_int8_rows_avxvnni(const struct npl_int8_rows_tile *tile);
/* rows_16.c: bytes widened to 16 bits. */
void npl_int8_rows_avx512bw(const struct npl_int8_rows_tile *tile);
void npl_int8_rows_avx2(const struct npl_int8_rows_tile *tile);
void npl_int8_rows_sse2(const struct npl_int8_rows_tile *tile);
#endif

#endif
