/* SPDX-License-Identifier: MIT
 *
 * Trilu: copies the triangle of each matrix on one side of a diagonal; other elements become 0. */
#include "common.cuh"

KERNEL(triangle, cu_sequence_args)
{
	const position count = (position)a.count;
	const long long least = -a.middle.by, most = a.inner.by, asked = a.extra ? *INPUT(i64, a.extra) : 0;
	const long long diagonal = asked < least ? least : asked > most ? most : asked;
	for (position i = THREAD; i < count; i += THREADS) {
		const position line = divide(i, a.inner);
		const long long row = line - divide(line, a.middle) * (position)a.middle.by,
				column = i - line * (position)a.inner.by;
		const int stays = a.upper ? column >= row + diagonal : column <= row + diagonal;
		TENSOR(UNIT, a.z)[i] = stays ? INPUT(UNIT, a.x)[i] : (STORE(UNIT))0;
	}
}
