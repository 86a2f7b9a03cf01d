/* SPDX-License-Identifier: MIT
 *
 * Converts the sums of an integer product to its result: adds the bias, wrapping, multiplies by the channel's scale and
 * finishes; with RAW it writes the sums. x is (..., channels, inner), in rows of `length` elements `ld` apart. */
#include "finish.cuh"

KERNEL(integer_sums, cu_integer_args)
{
	const position count = (position)a.count;
	unsigned hits = 0;
	for (position i = THREAD; i < count; i += THREADS) {
		const position row = divide(i, a.inner);
		const position c = row - divide(row, a.channels) * (position)a.channels.by;
		const position line = divide(i, a.length);
		int sum = INPUT(i32, a.x)[(long long)line * a.ld + (i - line * (position)a.length.by)];
		if (a.bias)
			sum = (int)((unsigned)sum + (unsigned)INPUT(i32, a.bias)[c]);
#ifdef RAW
		TENSOR(i32, a.z)[i] = sum < a.low ? a.low : sum;
#else
		TENSOR(Z, a.z)[i] = (STORE(Z))FINISH(&a.finish, (float)sum * INPUT(f32, a.scale)[c], &hits);
#endif
	}
	leave_hits(a.counter, hits);
}
