/* SPDX-License-Identifier: MIT
 *
 * Writes the patches of a convolution as a matrix with a row for each output position of each image: the channels of
 * one group, the taps within each, and then `pad` up to the row's length. Positions outside the image are also `pad`,
 * the zero point. The bits `flip` are inverted: 0x80 makes unsigned 8-bit numbers signed. A thread writes N neighbours
 * of a row: it divides once for all of them and counts the taps on. */
#include "common.cuh"

PACK(pack_z, X);

KERNEL(im2col, cu_im2col_args)
{
	const position packs = (position)a.count;
	for (position i = THREAD; i < packs; i += THREADS) {
		const position row = divide(i, a.packs), column = (i - row * (position)a.packs.by) * N;
		const position pixel = row + (position)a.first;
		const position line = divide(pixel, a.window.out[1]), slice = divide(line, a.window.out[0]),
			       image = divide(slice, a.window.out[2]);
		const long long x = (long long)(pixel - line * (position)a.window.out[1].by) * a.window.stride[1] -
				    a.window.begin[1];
		const long long y = (long long)(line - slice * (position)a.window.out[0].by) * a.window.stride[0] -
				    a.window.begin[0];
		const long long z = (long long)(slice - image * (position)a.window.out[2].by) * a.window.stride[2] -
				    a.window.begin[2];
		const position tap_line = divide(column, a.taps[1]), tap_slice = divide(tap_line, a.taps[0]),
			       channel = divide(tap_slice, a.taps[2]);
		position tap_x = column - tap_line * (position)a.taps[1].by,
			 tap_y = tap_line - tap_slice * (position)a.taps[0].by,
			 tap_z = tap_slice - channel * (position)a.taps[2].by;
		const STORE(X) *plane = INPUT(X, a.x) + (long long)image * a.image + (long long)channel * a.plane;
		struct pack_z pack;
		for (int n = 0; n < N; n++) {
			const long long at_x = x + (long long)tap_x * a.window.dilation[1],
					at_y = y + (long long)tap_y * a.window.dilation[0],
					at_z = z + (long long)tap_z * a.window.dilation[2];
			const int inside = column + n < (position)a.used && at_x >= 0 && at_x < a.window.in[1] &&
					   at_y >= 0 && at_y < a.window.in[0] && at_z >= 0 && at_z < a.window.in[2];
			pack.element[n] =
				inside ? (STORE(X))(plane[(at_z * a.window.in[0] + at_y) * a.window.in[1] + at_x] ^
						    (STORE(X))a.flip)
				       : (STORE(X))a.pad;
			if (++tap_x < (position)a.taps[1].by)
				continue;
			tap_x = 0;
			if (++tap_y < (position)a.taps[0].by)
				continue;
			tap_y = 0;
			if (++tap_z < (position)a.taps[2].by)
				continue;
			tap_z = 0;
			plane += a.plane;
		}
		((struct pack_z *)a.z)[i] = pack;
	}
}
