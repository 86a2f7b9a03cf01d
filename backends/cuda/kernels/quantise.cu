/* SPDX-License-Identifier: MIT
 *
 * Quantises floats to integers per tensor or per channel, z = saturate(rint(x / scale) + zero); with BACK dequantises,
 * z = (x - zero) * scale. Q is the type of the integers and of their zero points, S that of the scales. */
#include "common.cuh"

KERNEL(quantise, cu_quantise_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		const position row = divide(i, a.inner);
		const position c = row - divide(row, a.channels) * (position)a.channels.by;
		const float scale = a.scale ? LOAD(S, INPUT(S, a.scale)[c]) : a.one_scale;
		const int zero = a.zero ? (int)INPUT(Q, a.zero)[c] : a.one_zero;
#ifdef BACK
		TENSOR(Y, a.z)[i] = KEEP(Y, (float)((long long)INPUT(Q, a.x)[i] - zero) * scale);
#else
		const float q = rintf((float)LOAD(X, INPUT(X, a.x)[i]) / scale) + (float)zero;
		TENSOR(Q, a.z)[i] = (STORE(Q))(q > LEAST ? q < MOST ? q : MOST : LEAST); /* a NaN becomes the least */
#endif
	}
}
