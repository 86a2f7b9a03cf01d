/* SPDX-License-Identifier: MIT
 *
 * Interleaves the bytes of four channels, for windows.c. Private to this folder.
 */
#ifndef NPULAB_CORE_INT8_INTERLEAVE_H
#define NPULAB_CORE_INT8_INTERLEAVE_H

#include <stdint.h>

struct npl_int8_rows {
	const uint8_t *row[4];
	int n;        /* how many rows exist; the bytes of the others become 0 */
	uint8_t flip; /* bits to invert in each byte */
};
/* Computes out[4 * i + c] = row[c][i] ^ flip for i < n. Reads n bytes of each row and writes 4 * n bytes. */
void npl_int8_interleave(const struct npl_int8_rows *rows, int64_t n, uint8_t *out);

/* Weights (filters, channels, taps). */
struct npl_int8_weights {
	const uint8_t *data;
	int64_t bytes; /* the bytes of all weights */
	int64_t channels, taps;
	uint8_t flip;
};
/* Writes one filter's weights in the order (fours of channels, taps, channel); missing channels are 0. out has room for
 * npl_int8_reorder_pitch(fours * taps) bytes. */
void npl_int8_reorder(const struct npl_int8_weights *weights, int64_t filter, uint8_t *out);
int64_t npl_int8_reorder_pitch(int64_t groups);

#endif
