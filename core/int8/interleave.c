/* SPDX-License-Identifier: MIT
 *
 * Interleaves the bytes of four channels (interleave.h), 16 positions at a time with SSE2. */
#include "interleave.h"

#include <emmintrin.h>

int64_t npl_int8_reorder_pitch(int64_t groups)
{
	return (groups * 4 + 64 + 63) / 64 * 64; /* vectors of 64 bytes may be written past the end */
}

static void interleave_singly(const struct npl_int8_rows *rows, int64_t first, int64_t n, uint8_t *out)
{
	for (int64_t i = first; i < n; i++)
		for (int c = 0; c < 4; c++)
			out[4 * i + c] = c < rows->n ? rows->row[c][i] ^ rows->flip : 0;
}

static inline __m128i load(const uint8_t *from, __m128i flip)
{
	return _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)from), flip);
}

/* Interleaves positions `index` to index + 15. */
static inline void interleave_sixteen(const struct npl_int8_rows *rows, int n_present, int64_t index, __m128i flip,
				      uint8_t *out)
{
	__m128i r[4], *to = (__m128i *)(void *)(out + 4 * index);
	for (int c = 0; c < 4; c++)
		r[c] = c < n_present ? load(rows->row[c] + index, flip) : _mm_setzero_si128();
	__m128i low01 = _mm_unpacklo_epi8(r[0], r[1]), high01 = _mm_unpackhi_epi8(r[0], r[1]);
	__m128i low23 = _mm_unpacklo_epi8(r[2], r[3]), high23 = _mm_unpackhi_epi8(r[2], r[3]);
	_mm_storeu_si128(to, _mm_unpacklo_epi16(low01, low23));
	_mm_storeu_si128(to + 1, _mm_unpackhi_epi16(low01, low23));
	_mm_storeu_si128(to + 2, _mm_unpacklo_epi16(high01, high23));
	_mm_storeu_si128(to + 3, _mm_unpackhi_epi16(high01, high23));
}

static inline void interleave(const struct npl_int8_rows *rows, int n_present, int64_t n, uint8_t *out)
{
	__m128i flip = _mm_set1_epi8((char)rows->flip);
	int64_t i = 0;
	for (; i + 16 <= n; i += 16)
		interleave_sixteen(rows, n_present, i, flip, out);
	if (i < n && n >= 16)
		interleave_sixteen(rows, n_present, n - 16, flip, out); /* the last 16, some of them a second time */
	else
		interleave_singly(rows, i, n, out);
}

void npl_int8_interleave(const struct npl_int8_rows *rows, int64_t n, uint8_t *out)
{
	if (rows->n == 4)
		interleave(rows, 4, n, out);
	else
		interleave(rows, rows->n, n, out);
}

/* Interleaves four consecutive rows of at most 16 taps, `quads` times; vectors of 16 are read and written, and the last
 * ones pass the ends. */
static inline void reorder_short(const uint8_t *from, int64_t quads, int64_t taps, __m128i flip, uint8_t *out)
{
	for (; quads > 0; quads--, from += 4 * taps, out += 4 * taps) {
		__m128i r[4];
		for (int c = 0; c < 4; c++)
			r[c] = load(from + c * taps, flip);
		__m128i low01 = _mm_unpacklo_epi8(r[0], r[1]), low23 = _mm_unpacklo_epi8(r[2], r[3]);
		__m128i *to = (__m128i *)(void *)out;
		_mm_storeu_si128(to, _mm_unpacklo_epi16(low01, low23));
		_mm_storeu_si128(to + 1, _mm_unpackhi_epi16(low01, low23));
		if (taps <= 8)
			continue;
		__m128i high01 = _mm_unpackhi_epi8(r[0], r[1]), high23 = _mm_unpackhi_epi8(r[2], r[3]);
		_mm_storeu_si128(to + 2, _mm_unpacklo_epi16(high01, high23));
		if (taps > 12)
			_mm_storeu_si128(to + 3, _mm_unpackhi_epi16(high01, high23));
	}
}

/* Interleaves as many fours of a filter's channels as reorder_short may; returns how many. */
static int64_t reorder_first(const struct npl_int8_weights *weights, int64_t index, uint8_t *out)
{
	int64_t taps = weights->taps, quads = weights->channels / 4;
	int64_t spare_bytes = weights->bytes - index - 3 * taps - 16; /* bytes after those that the first four read */
	if (taps > 16 || spare_bytes < 0)
		return 0;
	quads = quads < spare_bytes / (4 * taps) + 1 ? quads : spare_bytes / (4 * taps) + 1;
	__m128i flip = _mm_set1_epi8((char)weights->flip);
	if (taps == 9)
		reorder_short(weights->data + index, quads, 9, flip, out);
	else
		reorder_short(weights->data + index, quads, taps, flip, out);
	return quads;
}
void npl_int8_reorder(const struct npl_int8_weights *weights, int64_t filter, uint8_t *out)
{
	int64_t taps = weights->taps, index = filter * weights->channels * taps;
	for (int64_t c = 4 * reorder_first(weights, index, out); c < weights->channels; c += 4) {
		int64_t channels_left = weights->channels - c;
		struct npl_int8_rows rows = {.n = channels_left < 4 ? (int)channels_left : 4, .flip = weights->flip};
		for (int i = 0; i < rows.n; i++)
			rows.row[i] = weights->data + index + (c + i) * taps;
		npl_int8_interleave(&rows, taps, out + c * taps);
	}
}
