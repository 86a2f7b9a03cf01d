/* SPDX-License-Identifier: MIT
 *
 * GatherND: copies slices of x, of `piece` elements each, whose places tuples of indices give, batch by batch. */
#include "gather.cuh"

KERNEL(gather_tuples, cu_gather_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		const position tuple = divide(i, a.piece);
		long long from = (long long)divide(tuple, a.per_batch) * a.whole;
		for (int k = 0; k < a.tuple; k++)
			from += index_of(a.indices, (long long)tuple * a.tuple + k, a.tuple_size[k], a.fault) *
				a.tuple_step[k];
		TENSOR(UNIT, a.z)[i] = INPUT(UNIT, a.x)[from + (i - tuple * (position)a.piece.by)];
	}
}
