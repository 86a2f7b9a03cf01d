/* SPDX-License-Identifier: MIT
 *
 * Gather: z(outer, n, piece) = x(outer, index(n), piece). */
#include "gather.cuh"

KERNEL(gather, cu_gather_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		const position row = divide(i, a.piece), outer = divide(row, a.n);
		const long long index = index_of(a.indices, row - outer * (position)a.n.by, a.size, a.fault);
		const long long from = ((long long)outer * a.size + index) * a.piece.by;
		TENSOR(UNIT, a.z)[i] = INPUT(UNIT, a.x)[from + (i - row * (position)a.piece.by)];
	}
}
