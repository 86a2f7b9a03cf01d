/* SPDX-License-Identifier: MIT
 *
 * What follows a product: z = fused(x + bias), the bias one of each channel; S is its type. z may be x. */
#include "common.cuh"

KERNEL(bias, cu_bias_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		const position row = divide(i, a.inner);
		const position c = row - divide(row, a.channels) * (position)a.channels.by;
		const float y = LOAD(X, INPUT(X, a.x)[i]) + (a.bias ? LOAD(S, INPUT(S, a.bias)[c]) : 0);
		TENSOR(Y, a.z)[i] = KEEP(Y, FUSED(y));
	}
}
