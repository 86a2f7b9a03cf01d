/* SPDX-License-Identifier: MIT
 *
 * Elements of x in a walk to elements of z in another: everything that only moves (Slice, Split, Concat, Expand, Tile, Transpose,
 * DepthToSpace...). UNIT is a type of the elements' size; where lines are contiguous the host takes units of up to 16 bytes. With AS it
 * is the type of floats that become another's. */
#include "common.cuh"

typedef struct ALIGNED(16) {
	unsigned long long part[2];
} store_u128;

KERNEL(copy, cu_copy_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS)
		TENSOR(MOVED_TYPE, a.z)[walk_at(&a.walk, 1, i)] = MOVED(INPUT(UNIT, a.x)[walk_at(&a.walk, 0, i)]);
}
