/* SPDX-License-Identifier: MIT
 *
 * LRN across channels: y = x / (bias + weight * sum of the squares of the neighbours)^beta. */
#include "common.cuh"

KERNEL(lrn, cu_lrn_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		const position row = divide(i, a.plane);
		const long long c = row - divide(row, a.channels) * (position)a.channels.by;
		const long long below = c < a.low ? c : a.low,
				above = a.channels.by - 1 - c < a.high ? a.channels.by - 1 - c : a.high;
		const STORE(X) *x = INPUT(X, a.x) + i;
		float sum = 0;
		for (long long k = -below; k <= above; k++) {
			const float v = LOAD(X, x[k * a.plane.by]);
			sum += v * v;
		}
		TENSOR(Y, a.z)[i] = KEEP(Y, FUSED(LOAD(X, *x) / powf(a.bias + a.weight * sum, a.beta)));
	}
}
