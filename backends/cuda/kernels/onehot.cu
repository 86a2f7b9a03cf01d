/* SPDX-License-Identifier: MIT
 *
 * OneHot: z(outer, depth, inner) is the second of two values if the index of (outer, inner) is the depth, else the
 * first. X is the indices' type; negative ones count from the end if `wraps`. */
#include "common.cuh"

KERNEL(onehot, cu_sequence_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		const position row = divide(i, a.inner), outer = divide(row, a.middle);
		const VALUE(X)
			index = LOAD(X, INPUT(X, a.x)[outer * (position)a.inner.by + i - row * (position)a.inner.by]);
		const long long depth = row - outer * (position)a.middle.by;
#ifdef FLOATS /* the fraction is cut off, as by Cast */
		long long at = index != index                    ? 0
			       : index > -9e18f && index < 9e18f ? (long long)index
								 : -1 - a.middle.by;
#else
		long long at = (long long)index;
#endif
		if (at < 0 && a.wraps)
			at += a.middle.by;
		TENSOR(UNIT, a.z)[i] = INPUT(UNIT, a.extra)[at == depth];
	}
}
