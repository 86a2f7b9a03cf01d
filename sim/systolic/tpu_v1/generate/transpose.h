/* SPDX-License-Identifier: MIT
 *
 * Transposes squares of 16 x 16 bytes in registers. Tensors keep each channel of an image apart, while the unified
 * buffer keeps channels side by side; filters keep their inputs side by side, a tile of weights its outputs. Moving one
 * byte at a time would take longer than the product for which the data is prepared. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_GENERATE_TRANSPOSE_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_GENERATE_TRANSPOSE_H

#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>

#define TPU_SQUARE 16

/* Does one round of a perfect shuffle. Four rounds bring byte (i, j) to (j, i). */
static inline void tpu_shuffle(const __m128i in[TPU_SQUARE], __m128i out[TPU_SQUARE])
{
	for (int i = 0; i < TPU_SQUARE / 2; i++) {
		out[2 * i] = _mm_unpacklo_epi8(in[i], in[i + TPU_SQUARE / 2]);
		out[2 * i + 1] = _mm_unpackhi_epi8(in[i], in[i + TPU_SQUARE / 2]);
	}
}

/* Loads row i of the square from address from + i * stride and sets row[j] to column j of the square. */
static inline void tpu_transpose(const uint8_t *from, ptrdiff_t stride, __m128i row[TPU_SQUARE])
{
	__m128i shuffled[TPU_SQUARE];
	for (int i = 0; i < TPU_SQUARE; i++)
		row[i] = _mm_loadu_si128((const __m128i *)(const void *)(from + i * stride));
	tpu_shuffle(row, shuffled);
	tpu_shuffle(shuffled, row);
	tpu_shuffle(row, shuffled);
	tpu_shuffle(shuffled, row);
}

static inline void tpu_store(uint8_t *to, __m128i row)
{
	_mm_storeu_si128((__m128i *)(void *)to, row);
}

#endif
