/* SPDX-License-Identifier: MIT
 *
 * Pad: positions outside x get a constant, x mirrored at its edges, the edge, or x repeated. In each dimension `left`
 * elements of x, from `first` on, are used. */
#include "common.cuh"

/* Returns the position in 0..n-1 from which position i, counted from the first used element, is copied; -1: it gets the
 * constant. */
DEVICE long long source(int mode, long long i, long long n)
{
	if (i >= 0 && i < n)
		return i;
	if (mode == 0)
		return -1;
	if (mode == 3)
		return (i % n + n) % n;
	if (mode == 2 || n == 1)
		return i < 0 ? 0 : n - 1;
	const long long period = 2 * (n - 1), at = (i % period + period) % period;
	return at < n ? at : period - at;
}

KERNEL(pad, cu_pad_args)
{
	const position count = (position)a.count;
	const STORE(UNIT) fill = a.value ? *INPUT(UNIT, a.value) : (STORE(UNIT))a.fill;
	for (position i = THREAD; i < count; i += THREADS) {
		position rest = i;
		long long from = 0;
		for (int d = a.rank - 1; d >= 0; d--) {
			const position before = divide(rest, a.dim[d]);
			const long long at = source(
				a.mode, (long long)(rest - before * (position)a.dim[d].by) - a.before[d], a.left[d]);
			from = at < 0 || from < 0 ? -1 : from + (a.first[d] + at) * a.step[d];
			rest = before;
		}
		TENSOR(UNIT, a.z)[i] = from < 0 ? fill : INPUT(UNIT, a.x)[from];
	}
}
