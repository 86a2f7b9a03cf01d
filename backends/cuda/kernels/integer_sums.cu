/* SPDX-License-Identifier: MIT
 *
 * Converts the sums of an integer product to its result: adds the bias, wrapping, multiplies by the channel's scale and
 * finishes; with RAW it writes the sums. x is (..., channels, inner), in rows of `length` elements `ld` apart. N
 * elements of one channel and one row are done at a time. */
#include "finish.cuh"

PACK(pack_x, i32);
PACK(pack_z, Z);

KERNEL(integer_sums, cu_integer_args)
{
	const position packs = (position)(a.count / N);
	unsigned hits = 0;
	for (position i = THREAD; i < packs; i += THREADS) {
		const position first = i * N, row = divide(first, a.inner), line = divide(first, a.length);
		const position channel = row - divide(row, a.channels) * (position)a.channels.by;
		const struct pack_x x = *(
			const struct pack_x *)(INPUT(i32, a.x) +
					       ((long long)line * a.ld + (first - line * (position)a.length.by)));
		const unsigned bias = a.bias ? (unsigned)INPUT(i32, a.bias)[channel] : 0;
		struct pack_z z;
		for (int n = 0; n < N; n++) {
			const int sum = (int)((unsigned)x.element[n] + bias);
#ifdef RAW
			z.element[n] = sum < a.low ? a.low : sum;
#else
			z.element[n] = (STORE(Z))FINISH(&a.finish, (float)sum * INPUT(f32, a.scale)[channel], &hits);
#endif
		}
		((struct pack_z *)a.z)[i] = z;
	}
	leave_hits(a.counter, hits);
}
