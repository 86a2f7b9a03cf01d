/* SPDX-License-Identifier: MIT
 *
 * Converts the sums of an integer product to its result: adds the bias, wrapping, multiplies by the channel's scale and
 * finishes; with RAW it writes the sums. x is (..., channels, inner), in rows of `length` elements `ld` apart. N
 * elements of a row are done at a time: of neighbouring channels if STEP is 1, of one channel if it is 0. */
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
		struct pack_z z;
		for (int n = 0; n < N; n++) {
			const position c = channel + n * STEP;
			int sum = x.element[n];
			if (a.bias)
				sum = (int)((unsigned)sum + (unsigned)INPUT(i32, a.bias)[c]);
#ifdef RAW
			z.element[n] = sum < a.low ? a.low : sum;
#else
			z.element[n] = (STORE(Z))FINISH(&a.finish, (float)sum * INPUT(f32, a.scale)[c], &hits);
#endif
		}
		((struct pack_z *)a.z)[i] = z;
	}
	leave_hits(a.counter, hits);
}
