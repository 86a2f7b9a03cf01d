/* SPDX-License-Identifier: MIT
 *
 * z = condition ? x : y, all three broadcast; X is any type of the elements' size. */
#include "common.cuh"

KERNEL(where, cu_where_args)
{
	STORE(X) *result = TENSOR(X, a.z);
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		const int holds = INPUT(u8, a.condition)[walk_at(&a.walk, 0, i)] != 0;
		result[i] = holds ? INPUT(X, a.x)[walk_at(&a.walk, 1, i)] : INPUT(X, a.y)[walk_at(&a.walk, 2, i)];
	}
}
