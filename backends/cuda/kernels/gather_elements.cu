/* SPDX-License-Identifier: MIT
 *
 * GatherElements: z(i, j...) = x(i, index(i, j...)...), where the index is along one axis. */
#include "gather.cuh"

KERNEL(gather_elements, cu_gather_args)
{
	STORE(UNIT) *result = TENSOR(UNIT, a.z);
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS)
		result[i] = INPUT(UNIT,
				  a.x)[walk_at(&a.walk, 0, i) + index_of(a.indices, i, a.size, a.fault) * a.axis_step];
}
