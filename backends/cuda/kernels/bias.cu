/* SPDX-License-Identifier: MIT
 *
 * Adds a bias after a product: z = fused(x + bias), x and z (..., channels, inner), bias (channels) of type S. z may be
 * x. N elements are done at a time: of one channel or, with CHANNELS_LAST, of neighbouring ones; `inner` or `channels`
 * then counts packs. */
#include "common.cuh"

#ifndef N
#define N 1
#endif
PACK(pack_x, X);
PACK(pack_y, Y);

#ifdef CHANNELS_LAST
#define STEP 1
#else
#define STEP 0
#endif

KERNEL(bias, cu_bias_args)
{
	const position packs = (position)a.count / N;
	for (position i = THREAD; i < packs; i += THREADS) {
		const position row = STEP ? i : divide(i, a.inner);
		const position c = (row - divide(row, a.channels) * (position)a.channels.by) * (STEP ? N : 1);
		const struct pack_x x = ((const struct pack_x *)a.x)[i];
		struct pack_y y;
		for (int n = 0; n < N; n++)
			y.element[n] = KEEP(Y, FUSED(LOAD(X, x.element[n]) +
						     (a.bias ? LOAD(S, INPUT(S, a.bias)[c + n * STEP]) : 0)));
		((struct pack_y *)a.z)[i] = y;
	}
}
