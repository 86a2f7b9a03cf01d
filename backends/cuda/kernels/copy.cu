/* SPDX-License-Identifier: MIT
 *
 * Copies elements of x along one walk to elements of z along another, for all operators that only move (Slice, Split,
 * Concat, Expand, Tile, Transpose, DepthToSpace...). UNIT is a type of the elements' size; if lines are contiguous the
 * host takes units of up to 16 bytes. With AS floats are converted from UNIT to AS. */
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
