/* SPDX-License-Identifier: MIT
 *
 * The patch matrix of a convolution (Chellapilla, Puri, Simard, IWFHR 2006): one row per weight of a filter, one
 * column per output position, so that the convolution becomes one matrix product. */
#include <string.h>

#include "cpu.h"

/* Gives the outputs [*begin, *end) within [0, n) whose input position o * stride + offset lies in [0, size). */
static void valid_range(int64_t n, int64_t stride, int64_t offset, int64_t size, int64_t *begin, int64_t *end)
{
	int64_t first = offset < 0 ? (-offset + stride - 1) / stride : 0;
	int64_t last = size - offset > 0 ? (size - offset + stride - 1) / stride : 0;
	*end = last < n ? last : n;
	*begin = first < *end ? first : *end;
}

/* Copies `count` floats, every stride-th of `from`. Short rows are copied in a loop, since a call of memcpy costs as
 * much as ten floats. */
static void copy_strided(float *to, const float *from, int64_t count, int64_t stride)
{
	if (stride == 1 && count >= 16) {
		memcpy(to, from, (size_t)count * sizeof *to);
		return;
	}
	for (int64_t i = 0; i < count; i++) {
		to[i] = from[i * stride];
		__asm__ volatile("" ::: "memory"); /* keeps the compiler from making this loop a call of memcpy */
	}
}

/* Writes one row of the matrix: the input plane as seen through the weight at (ky, kx). */
static void fill_row(const struct cpu_conv *conv, const float *plane, int64_t ky, int64_t kx, int64_t first,
		     int64_t count, float *row)
{
	int64_t offset_x = kx * conv->dilation_w - conv->pad_left, begin, end;
	valid_range(conv->out_w, conv->stride_w, offset_x, conv->width, &begin, &end);
	int64_t oy = first / conv->out_w, ox = first % conv->out_w;
	for (int64_t filled = 0; filled < count; oy++, ox = 0) {
		int64_t stop = conv->out_w - ox < count - filled ? conv->out_w : ox + count - filled;
		int64_t iy = oy * conv->stride_h + ky * conv->dilation_h - conv->pad_top;
		int64_t from = begin > ox ? begin : ox, to = end < stop ? end : stop;
		float *out = row + filled - ox; /* indexed by output column */
		if (iy < 0 || iy >= conv->height || from >= to)
			from = to = stop;
		for (int64_t i = ox; i < from; i++)
			out[i] = 0;
		if (from < to)
			copy_strided(out + from, plane + iy * conv->width + from * conv->stride_w + offset_x, to - from,
				     conv->stride_w);
		for (int64_t i = to; i < stop; i++)
			out[i] = 0;
		filled += stop - ox;
	}
}

void cpu_im2col(const struct cpu_conv *conv, const float *x, int64_t channels, int64_t first, int64_t count,
		float *cols)
{
	for (int64_t c = 0; c < channels; c++)
		for (int64_t ky = 0; ky < conv->kernel_h; ky++)
			for (int64_t kx = 0; kx < conv->kernel_w; kx++, cols += count)
				fill_row(conv, x + c * conv->height * conv->width, ky, kx, first, count, cols);
}
