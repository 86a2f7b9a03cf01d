/* SPDX-License-Identifier: MIT
 *
 * A depthwise convolution of floats with channels last: one filter for each channel. x is (image, position, channel),
 * w is (tap, channel), bias is (channel). A thread makes N neighbouring channels of one position. It sums in float32,
 * the bias first, and rounds once, after the activation. Taps outside the image count as 0. */
#include "common.cuh"

PACK(pack, X);

KERNEL(depthwise, cu_depthwise_args)
{
	const struct pack *w = (const struct pack *)a.w;
	for (position i = THREAD; i < (position)a.count; i += THREADS) {
		const position pixel = divide(i, a.packs), row = divide(pixel, a.window.out[1]),
			       slice = divide(row, a.window.out[0]), image = divide(slice, a.window.out[2]);
		const position at = i - pixel * (position)a.packs.by; /* the pack among those of a position */
		const long long x = (long long)(pixel - row * (position)a.window.out[1].by) * a.window.stride[1] -
				    a.window.begin[1],
				y = (long long)(row - slice * (position)a.window.out[0].by) * a.window.stride[0] -
				    a.window.begin[0],
				z = (long long)(slice - image * (position)a.window.out[2].by) * a.window.stride[2] -
				    a.window.begin[2];
		const struct pack *from = (const struct pack *)a.x + (long long)image * a.image + at;
		float sum[N];
		struct pack result;
		for (int n = 0; n < N; n++)
			sum[n] = a.bias ? LOAD(X, INPUT(X, a.bias)[at * N + n]) : 0;
		for (int k = 0; k < KERNEL_DEPTH; k++)
			for (int l = 0; l < KERNEL_HEIGHT; l++)
				for (int m = 0; m < KERNEL_WIDTH; m++) {
					const long long at_z = z + (long long)k * a.window.dilation[2],
							at_y = y + (long long)l * a.window.dilation[0],
							at_x = x + (long long)m * a.window.dilation[1];
					if (at_x < 0 || at_x >= a.window.in[1] || at_y < 0 || at_y >= a.window.in[0] ||
					    at_z < 0 || at_z >= a.window.in[2])
						continue;
					const struct pack
						value = from[((at_z * a.window.in[0] + at_y) * a.window.in[1] + at_x) *
							     (long long)a.packs.by],
						weight = w[((k * KERNEL_HEIGHT + l) * KERNEL_WIDTH + m) *
								   (long long)a.packs.by +
							   at];
					for (int n = 0; n < N; n++)
						sum[n] += LOAD(X, value.element[n]) * LOAD(X, weight.element[n]);
				}
		for (int n = 0; n < N; n++)
			result.element[n] = KEEP(X, FUSED(sum[n]));
		((struct pack *)a.z)[i] = result;
	}
}
