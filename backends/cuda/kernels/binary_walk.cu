/* SPDX-License-Identifier: MIT
 *
 * z = FUNCTION(x, y), where x and y broadcast. */
#include "binary.cuh"

KERNEL(binary_walk, cu_binary_args)
{
	STORE(Z) *result = TENSOR(Z, a.z);
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS)
		result[i] = OF(INPUT(X, a.x)[walk_at(&a.walk, 0, i)], INPUT(X, a.y)[walk_at(&a.walk, 1, i)]);
}
