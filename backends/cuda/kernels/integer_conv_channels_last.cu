/* SPDX-License-Identifier: MIT
 *
 * The convolution of integer_conv.cu for images with channels last. Neighbouring threads make neighbouring filters of a
 * position, and each makes N of them: 1, or, of a depthwise convolution, whose filters are the channels, 4 or 16.
 * Weights are (line of taps, tap, channel of the group, filter), in PARTS matrices that sum to them, so that
 * neighbouring threads read neighbours in both operands. Windows have one or two dimensions. */
#include "finish.cuh"

#if N == 1
#define VALUES   u8
#define CHANNELS a.channels
#else
#define VALUES   u32
#define CHANNELS 1
#endif
#define WORDS ((N + 3) / 4)

/* Values of N channels: words of four, or one byte. */
struct ALIGNED(N) pack_x {
	STORE(VALUES) word[WORDS];
};
PACK(pack_w, i8);
PACK(pack_bias, u32);
PACK(pack_scale, f32);
PACK(pack_z, Z);

DEVICE int value_at(const struct pack_x *values, int n)
{
	return (store_i8)(values->word[n / 4] >> n % 4 * 8);
}

KERNEL(integer_conv_channels_last, cu_integer_conv_args)
{
	const position count = (position)a.count;
	unsigned hits = 0;
	for (position i = THREAD; i < count; i += THREADS) {
		const position pixel = divide(i, a.packs), filter = (i - pixel * (position)a.packs.by) * N;
		const position line = divide(pixel, a.window.out[1]), image = divide(line, a.window.out[0]);
		const long long x = (long long)(pixel - line * (position)a.window.out[1].by) * a.window.stride[1] -
				    a.window.begin[1],
				y = (long long)(line - image * (position)a.window.out[0].by) * a.window.stride[0] -
				    a.window.begin[0];
		const store_u8 *from = INPUT(u8, a.x) + (long long)image * a.image +
				       (long long)divide(filter, a.group_filters) * a.channels;
		const store_i8 *w = INPUT(i8, a.w) + filter;
		struct pack_bias sum = {{0}};
		struct pack_z z;
#ifndef RAW
		const struct pack_scale scale = *(const struct pack_scale *)(INPUT(f32, a.scale) + filter);
#endif
		if (a.bias)
			sum = *(const struct pack_bias *)(INPUT(u32, a.bias) + filter);
		for (int l = 0; l < a.window.kernel[0]; l++) {
			const long long at_y = y + (long long)l * a.window.dilation[0];
			const int line_inside = at_y >= 0 && at_y < a.window.in[0];
			long long at_x = x, at = (at_y * a.window.in[1] + x) * a.step;
			for (int m = 0; m < a.window.kernel[1]; m++) {
				const int inside = line_inside && at_x >= 0 && at_x < a.window.in[1];
				for (int c = 0; c < CHANNELS; c++, w += a.ld) {
					struct pack_x values;
					if (inside)
						values = *(const struct pack_x *)(from + (at + c));
					for (int k = 0; k < WORDS; k++)
						values.word[k] = inside ? values.word[k] ^ a.flip : a.pad;
					for (int p = 0; p < PARTS; p++) {
						const struct pack_w part = *(const struct pack_w *)(w + p * a.part);
						for (int n = 0; n < N; n++)
							sum.element[n] += (unsigned)(value_at(&values, n) *
										     part.element[n]);
					}
				}
				at_x += a.window.dilation[1];
				at += a.window.dilation[1] * a.step;
			}
		}
		for (int n = 0; n < N; n++) {
			const int whole = (int)sum.element[n];
#ifdef RAW
			z.element[n] = whole < a.low ? a.low : whole;
#else
			z.element[n] = (STORE(Z))FINISH(&a.finish, (float)whole * scale.element[n], &hits);
#endif
		}
		((struct pack_z *)a.z)[i] = z;
	}
	leave_hits(a.counter, hits);
}
