/* SPDX-License-Identifier: MIT
 *
 * Writes the patches of a convolution of bytes in one or two dimensions as a matrix, from images with channels last: a
 * row for each output position of each image, the channels of one tap after the other, and then `pad` up to the row's
 * length. Positions outside the image are also `pad`. The bits `flip` are inverted: 0x80 makes unsigned numbers signed.
 * A thread writes N neighbours of a row: words of four channels if packs have channels of one tap alone; else, with
 * MIXED, bytes of any taps. */
#include "common.cuh"

PACK(pack_x, X);

KERNEL(im2col_channels_last, cu_im2col_last_args)
{
	const position packs = (position)a.count;
	for (position i = THREAD; i < packs; i += THREADS) {
		const position row = divide(i, a.packs), column = (i - row * (position)a.packs.by) * N;
		const position pixel = row + (position)a.first;
		const position line = divide(pixel, a.window.out[1]), image = divide(line, a.window.out[0]);
		const position tap = divide(column, a.channels), tap_line = divide(tap, a.taps);
		const long long x = (long long)(pixel - line * (position)a.window.out[1].by) * a.window.stride[1] -
				    a.window.begin[1];
		const long long y = (long long)(line - image * (position)a.window.out[0].by) * a.window.stride[0] -
				    a.window.begin[0];
		position channel = column - tap * (position)a.channels.by, tap_x = tap - tap_line * (position)a.taps.by,
			 tap_y = tap_line;
		long long at_x = x + (long long)tap_x * a.window.dilation[1],
			  at_y = y + (long long)tap_y * a.window.dilation[0];
		const STORE(X) *from = INPUT(X, a.x) + (long long)image * a.image;
		struct pack_x pack;
#ifdef MIXED
		for (int n = 0; n < N; n++) {
			const int inside = tap_y < (position)a.lines && at_x >= 0 && at_x < a.window.in[1] &&
					   at_y >= 0 && at_y < a.window.in[0];
			pack.element[n] = (STORE(X))(
				inside ? from[(at_y * a.window.in[1] + at_x) * a.channels.by + channel] ^ a.flip
				       : a.pad);
			if (++channel < (position)a.channels.by)
				continue;
			channel = 0;
			at_x += a.window.dilation[1];
			if (++tap_x < (position)a.taps.by)
				continue;
			tap_x = 0;
			at_x = x;
			at_y += a.window.dilation[0];
			tap_y++;
		}
#else
		if (tap_y < (position)a.lines && at_x >= 0 && at_x < a.window.in[1] && at_y >= 0 &&
		    at_y < a.window.in[0]) {
			pack = *(const struct pack_x *)(from + (at_y * a.window.in[1] + at_x) * a.channels.by +
							channel);
			for (int n = 0; n < N; n++)
				pack.element[n] ^= a.flip;
		} else {
			for (int n = 0; n < N; n++)
				pack.element[n] = a.pad;
		}
#endif
		((struct pack_x *)a.z)[i] = pack;
	}
}
