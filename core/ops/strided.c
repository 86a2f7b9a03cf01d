/* SPDX-License-Identifier: MIT
 *
 * Copies with a step for each dimension (strided.h). Where no line of the source is in order, squares are copied that
 * use whole cache lines on both sides: transposing a matrix of 4096 x 1024 floats takes three quarters of the time that
 * single columns take. */
#include "strided.h"

#include <string.h>

#include "ops.h"

#define SQUARE 16 /* elements: of float32 a cache line of 64 bytes */

struct op_strided op_strided_make(size_t element, int rank, const int64_t *dim, const int64_t *step, int64_t first)
{
	struct op_strided c = {.element = element, .rank = 1, .dim = {1}, .step = {1}, .first = first};
	for (int i = 0, last = 0; i < rank; i++) {
		if (dim[i] == 1)
			continue;
		if (c.dim[last] == 1)
			c.dim[last] = dim[i];
		else if (c.step[last] == step[i] * dim[i])
			c.dim[last] *= dim[i];
		else
			c.dim[++last] = dim[i];
		c.step[last] = step[i];
		c.rank = last + 1;
	}
	return c;
}

struct op_strided op_strided_permute(size_t element, int rank, const int64_t *dim, const int64_t *perm)
{
	int64_t to[NPL_MAX_RANK], step[NPL_MAX_RANK];
	for (int i = 0; i < rank; i++) {
		to[i] = dim[perm[i]];
		step[i] = op_count(dim + perm[i] + 1, rank - 1 - (int)perm[i]);
	}
	return op_strided_make(element, rank, to, step, 0);
}

/* Returns the dimension with the smallest step in the source, for which copying in squares pays; -1: it is the last
 * one. */
static int smallest_step_dimension(const struct op_strided *c)
{
	int best = c->rank - 1;
	for (int d = 0; d < c->rank; d++) {
		const int64_t step = c->step[d] < 0 ? -c->step[d] : c->step[d],
			      least = c->step[best] < 0 ? -c->step[best] : c->step[best];
		if (step < least && c->dim[d] > 1)
			best = d;
	}
	return best == c->rank - 1 ? -1 : best;
}

/* Defines transpose_TYPE, which computes y[i * across + j] = x[i * near + j * far] square by square. */
#define DEFINE_TRANSPOSE(type)                                                                                         \
	static void transpose_##type(const type *x, int64_t rows, int64_t near, int64_t cols, int64_t far, type *y,    \
				     int64_t result_pitch)                                                             \
	{                                                                                                              \
		for (int64_t r = 0; r < rows; r += SQUARE)                                                             \
			for (int64_t c = 0; c < cols; c += SQUARE) {                                                   \
				const int64_t r_end = rows - r < SQUARE ? rows : r + SQUARE,                           \
					      c_end = cols - c < SQUARE ? cols : c + SQUARE;                           \
				for (int64_t i = r; i < r_end; i++)                                                    \
					for (int64_t j = c; j < c_end; j++)                                            \
						y[i * result_pitch + j] = x[i * near + j * far];                       \
			}                                                                                              \
	}
DEFINE_TRANSPOSE(uint8_t)
DEFINE_TRANSPOSE(uint16_t)
DEFINE_TRANSPOSE(uint32_t)
DEFINE_TRANSPOSE(uint64_t)

/* Turns a matrix of the two dimensions, which begins at the element x of the source. */
static void turn(size_t element, const char *x, int64_t rows, int64_t near, int64_t cols, int64_t far, char *y,
		 int64_t result_pitch)
{
	switch (element) {
	case 1:
		transpose_uint8_t((const uint8_t *)x, rows, near, cols, far, (uint8_t *)y, result_pitch);
		break;
	case 2:
		transpose_uint16_t((const uint16_t *)x, rows, near, cols, far, (uint16_t *)y, result_pitch);
		break;
	case 4:
		transpose_uint32_t((const uint32_t *)x, rows, near, cols, far, (uint32_t *)y, result_pitch);
		break;
	default:
		transpose_uint64_t((const uint64_t *)x, rows, near, cols, far, (uint64_t *)y, result_pitch);
		break;
	}
}

void op_strided_copy(const struct op_strided *c, const void *x, void *y)
{
	const int last = c->rank - 1, row = smallest_step_dimension(c);
	const int64_t cols = c->dim[last], rows = row < 0 ? 1 : c->dim[row];
	const int64_t result_pitch = row < 0 ? 0 : op_count(c->dim + row + 1, last - row);
	int64_t index[NPL_MAX_RANK] = {0}, from = c->first, to = 0;
	if (!op_count(c->dim, c->rank))
		return;
	for (;;) {
		const char *source = (const char *)x + from * (int64_t)c->element;
		char *result = (char *)y + to * (int64_t)c->element;
		if (row < 0 && c->step[last] == 1)
			memcpy(result, source, (size_t)cols * c->element);
		else
			turn(c->element, source, rows, row < 0 ? 0 : c->step[row], cols, c->step[last], result,
			     result_pitch);
		int d = last - 1;
		int64_t block = cols; /* elements of the result that one index of d takes */
		for (; d >= 0; block *= c->dim[d--]) {
			if (d == row)
				continue;
			from += c->step[d];
			to += block;
			if (++index[d] < c->dim[d])
				break;
			from -= c->step[d] * c->dim[d];
			to -= block * c->dim[d];
			index[d] = 0;
		}
		if (d < 0)
			return;
	}
}

void op_strided_copy_part(const struct op_strided *c, int dims, int64_t begin, int64_t end, const void *x, void *y)
{
	const int split_dim = dims - 1;
	const int64_t block = op_count(c->dim + dims, c->rank - dims);
	struct op_strided part = {.element = c->element, .rank = c->rank - split_dim};
	memcpy(part.dim, c->dim + split_dim, (size_t)part.rank * sizeof *part.dim);
	memcpy(part.step, c->step + split_dim, (size_t)part.rank * sizeof *part.step);
	for (int64_t i = begin, outer; i < end; i += part.dim[0]) {
		const int64_t index = i % c->dim[split_dim], block_left = c->dim[split_dim] - index;
		part.dim[0] = end - i < block_left ? end - i : block_left;
		part.first = c->first + index * c->step[split_dim];
		outer = i / c->dim[split_dim];
		for (int d = split_dim - 1; d >= 0; outer /= c->dim[d--])
			part.first += outer % c->dim[d] * c->step[d];
		op_strided_copy(&part, x, (char *)y + i * block * (int64_t)c->element);
	}
}

void op_permute(size_t element, int rank, const int64_t *dim, const int64_t *perm, const void *x, void *y)
{
	const struct op_strided copy = op_strided_permute(element, rank, dim, perm);
	op_strided_copy(&copy, x, y);
}

void op_turn_matrix(const float *from, int64_t rows, int64_t cols, float *to)
{
	op_permute(sizeof *from, 2, (int64_t[]){rows, cols}, (int64_t[]){1, 0}, from, to);
}
