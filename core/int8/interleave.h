/* SPDX-License-Identifier: MIT
 *
 * Bytes of four channels side by side, for windows.c. Private to this folder.
 */
#ifndef NPULAB_CORE_INT8_INTERLEAVE_H
#define NPULAB_CORE_INT8_INTERLEAVE_H

#include <stdint.h>

struct npl_int8_rows {
	const uint8_t *row[4];
	int n;        /* how many of them there are; the others' bytes become 0 */
	uint8_t flip; /* changes each byte */
};
/* out[4 * i + c] = row[c][i] ^ flip, for i < n. Reads and writes no more than that. */
void npl_int8_interleave(const struct npl_int8_rows *rows, int64_t n, uint8_t *out);

/* Weights (filters, channels, taps). */
struct npl_int8_weights {
	const uint8_t *data;
	int64_t bytes; /* of all */
	int64_t channels, taps;
	uint8_t flip;
};
/* One filter's weights in the order (fours of channels, taps, channel), channels that are missing 0. out has room for
 * npl_int8_reorder_pitch(fours * taps) bytes. */
void npl_int8_reorder(const struct npl_int8_weights *weights, int64_t filter, uint8_t *out);
int64_t npl_int8_reorder_pitch(int64_t groups);

#endif
