/* SPDX-License-Identifier: MIT
 *
 * Packs 8-bit matrices for integer products. z is (matrices, rows, ld) of signed numbers; x has `used` of the rows and
 * `columns` of their elements, the others are 0. With TURNED the rows are the columns of x and pass through a tile in
 * shared memory, so that both sides are read and written in lines. `sums` gets the sum of each row. A block of 32 x 8
 * threads makes 32 rows. */
#include "common.cuh"

#define TILE  32
#define LINES 8

COOPERATIVE(integer_pack, cu_integer_pack_args)
{
	SHARED int sum[TILE][TILE + 1];
#ifdef TURNED
	SHARED store_u8 tile[TILE][TILE + 4];
#endif
	const long long blocks = (a.rows + TILE - 1) / TILE;
	for (long long t = blockIdx.x; t < a.matrices * blocks; t += gridDim.x) {
		const long long matrix = t / blocks, first = t % blocks * TILE;
		const store_u8 *x = INPUT(u8, a.x) + matrix * a.used * a.columns;
		store_u8 *z = TENSOR(u8, a.z) + matrix * a.rows * a.ld;
		int mine[TILE / LINES] = {0};
		for (long long column = 0; column < a.ld; column += TILE) {
#ifdef TURNED
			for (unsigned k = threadIdx.y; k < TILE; k += LINES)
				if (column + k < a.columns && first + threadIdx.x < a.used)
					tile[k][threadIdx.x] = x[(column + k) * a.used + first + threadIdx.x];
			__syncthreads();
#endif
			const long long at = column + threadIdx.x;
			for (unsigned k = threadIdx.y; k < TILE; k += LINES) {
				const long long row = first + k;
				store_u8 element = 0;
				if (row < a.used && at < a.columns) {
#ifdef TURNED
					element = tile[threadIdx.x][k];
#else
					element = x[row * a.columns + at];
#endif
					element = (store_u8)(element ^ a.flip);
				}
				if (row < a.rows && at < a.ld)
					z[row * a.ld + at] = element;
				mine[k / LINES] += (store_i8)element;
			}
			__syncthreads();
		}
		if (!a.sums)
			continue;
		for (unsigned k = threadIdx.y; k < TILE; k += LINES)
			sum[k][threadIdx.x] = mine[k / LINES];
		__syncthreads();
		if (threadIdx.y == 0 && first + threadIdx.x < a.rows) {
			int all = 0;
			for (unsigned k = 0; k < TILE; k++)
				all += sum[threadIdx.x][k];
			TENSOR(i32, a.sums)[matrix * a.rows + first + threadIdx.x] = all;
		}
		__syncthreads();
	}
}
