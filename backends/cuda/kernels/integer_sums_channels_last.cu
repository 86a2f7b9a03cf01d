/* SPDX-License-Identifier: MIT
 *
 * Converts the sums of an integer product to its result, as integer_sums.cu does, where channels are last: x is (rows,
 * channels), its rows `ld` elements apart. A thread converts N neighbouring channels of ROWS rows, so it loads bias and
 * scales once for all of them and has several loads of sums on their way at a time. */
#include "finish.cuh"

PACK(pack_x, i32);
PACK(pack_scale, f32);
PACK(pack_z, Z);

KERNEL(integer_sums_channels_last, cu_integer_rows_args)
{
	const position count = (position)a.count;
	unsigned hits = 0;
	for (position i = THREAD; i < count; i += THREADS) {
		const position block = divide(i, a.packs), channel = (i - block * (position)a.packs.by) * N;
		const long long row = (long long)block * ROWS;
		const STORE(i32) *from = INPUT(i32, a.x) + (row * a.ld + channel);
		STORE(Z) *to = TENSOR(Z, a.z) + (row * a.channels + channel);
		struct pack_x x[ROWS], bias = {{0}};
#ifndef RAW
		const struct pack_scale scale = *(const struct pack_scale *)(INPUT(f32, a.scale) + channel);
#endif
		if (a.bias)
			bias = *(const struct pack_x *)(INPUT(i32, a.bias) + channel);
		for (int r = 0; r < ROWS; r++)
			if (row + r < a.rows)
				x[r] = *(const struct pack_x *)(from + r * a.ld);
		for (int r = 0; r < ROWS; r++) {
			struct pack_z z;
			if (row + r >= a.rows)
				continue;
			for (int n = 0; n < N; n++) {
				const int sum = (int)((unsigned)x[r].element[n] + (unsigned)bias.element[n]);
#ifdef RAW
				z.element[n] = sum < a.low ? a.low : sum;
#else
				z.element[n] = (STORE(Z))FINISH(&a.finish, (float)sum * scale.element[n], &hits);
#endif
			}
			*(struct pack_z *)(to + r * a.channels) = z;
		}
	}
	leave_hits(a.counter, hits);
}
