/* SPDX-License-Identifier: MIT
 *
 * Writes the patches of a convolution as a matrix with a row for each output position of each image: the channels of
 * one group, the taps within each, and then `pad` up to the row's length. Positions outside the image are also `pad`,
 * the zero point. The bits `flip` are inverted: 0x80 makes unsigned 8-bit numbers signed. */
#include "common.cuh"

KERNEL(im2col, cu_im2col_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		const position row = divide(i, a.columns), column = i - row * (position)a.columns.by;
		const position pixel = row + (position)a.first;
		const position line = divide(pixel, a.out[1]), slice = divide(line, a.out[0]),
			       image = divide(slice, a.out[2]);
		const position tx = divide(column, a.taps[1]), ty = divide(tx, a.taps[0]),
			       channel = divide(ty, a.taps[2]);
		const long long x = (long long)(pixel - line * (position)a.out[1].by) * a.stride[1] - a.begin[1] +
				    (long long)(column - tx * (position)a.taps[1].by) * a.dilation[1];
		const long long y = (long long)(line - slice * (position)a.out[0].by) * a.stride[0] - a.begin[0] +
				    (long long)(tx - ty * (position)a.taps[0].by) * a.dilation[0];
		const long long z = (long long)(slice - image * (position)a.out[2].by) * a.stride[2] - a.begin[2] +
				    (long long)(ty - channel * (position)a.taps[2].by) * a.dilation[2];
		const int inside = column < (position)a.used && x >= 0 && x < a.in[1] && y >= 0 && y < a.in[0] &&
				   z >= 0 && z < a.in[2];
		const long long from = (long long)image * a.image + (long long)channel * a.plane +
				       (z * a.in[0] + y) * a.in[1] + x;
		TENSOR(X, a.z)[i] = inside ? (STORE(X))(INPUT(X, a.x)[from] ^ (STORE(X))a.flip) : (STORE(X))a.pad;
	}
}
