/* SPDX-License-Identifier: MIT
 *
 * Exact 8-bit products of rows, which may be anywhere in memory, with weights that were packed once: for machines whose
 * weights stay while inputs pass by. Unlike npl_int8_gemm it copies nothing of the left operand, and sums may be
 * accumulated over blocks of k one by one. Sums wrap modulo 2^32; every kernel gives the same bits.
 *
 * Bytes are multiplied as they are, one side unsigned and the other signed. The caller handles zero points by the
 * values from which sums start: sum (a - za)(w - zw) = sum a w - zw sum a - za sum w + k za zw. */
#ifndef NPULAB_CORE_INT8_ROWS_H
#define NPULAB_CORE_INT8_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_INT8_PANEL 64 /* columns packed together: panel[k / 4][column][k mod 4] */

/* Returns the bytes of a panel of k rows. */
static inline int64_t npl_int8_panel_bytes(int64_t k)
{
	return (k + 3) / 4 * 4 * NPL_INT8_PANEL;
}

/* Packs k rows of `columns` (at most NPL_INT8_PANEL) bytes each, `stride` apart, with the bits `flip` of each byte
 * inverted; missing bytes are 0 after that. `out` is 64-byte aligned. */
void npl_int8_pack_panel(const uint8_t *w, int64_t k, int64_t columns, int64_t stride, uint8_t flip, uint8_t *out);

/* Adds the packed bytes of column j of the panel to sum[j]. */
void npl_int8_panel_sums(const uint8_t *panel, int64_t k, bool is_signed, int32_t sum[NPL_INT8_PANEL]);

/* The product c[i * c_stride + j] = row_start[i] + column_start[j] + sum over k of a[i][k] * panel(k,j), for i < m, j <
 * columns; with `add`, it is added to what c holds. Rows of c have room for `columns` rounded up to 16. */
struct npl_int8_rows_product {
	int64_t m, k, columns;
	const uint8_t *const *a; /* m rows, each readable up to k rounded up to 4 */
	bool a_signed;           /* the panel has the other sign: unsigned if a is signed */
	const uint8_t *panel;
	const int32_t *row_start, *column_start; /* NULL: 0; column_start has NPL_INT8_PANEL entries */
	bool add;
	int32_t *c;
	int64_t c_stride;
	int kernel; /* 0: the fastest; for tests 1 to npl_int8_kernels() */
};
void npl_int8_rows(const struct npl_int8_rows_product *product);

/* Sets sum[i] to the sum of the k bytes of a[i]. */
void npl_int8_row_sums(const uint8_t *const *a, int64_t m, int64_t k, bool is_signed, int32_t *sum);

#ifdef __cplusplus
}
#endif

#endif
