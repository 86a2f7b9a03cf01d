/* SPDX-License-Identifier: MIT
 *
 * Transposes matrices, x (matrices, rows, columns), by tiles of 32 x 32 in shared memory, so that both sides are read
 * and written in lines. Blocks have 32 x 8 threads; a tile has 33 columns so that the elements of one column are in
 * different banks. UNIT and AS are as in copy.cu. */
#include "common.cuh"

#define TILE 32

COOPERATIVE(transpose, cu_transpose_args)
{
	STORE(MOVED_TYPE) *result = TENSOR(MOVED_TYPE, a.z);
	SHARED STORE(UNIT) tile[TILE][TILE + 1];
	const long long across = (a.columns + TILE - 1) / TILE, down = (a.rows + TILE - 1) / TILE;
	for (long long t = blockIdx.x; t < a.matrices * across * down; t += gridDim.x) {
		const long long row = t / across % down * TILE, column = t % across * TILE,
				matrix = t / across / down * a.rows * a.columns;
		for (unsigned k = threadIdx.y; k < TILE; k += blockDim.y)
			if (row + k < a.rows && column + threadIdx.x < a.columns)
				tile[k][threadIdx.x] = INPUT(
					UNIT, a.x)[matrix + (row + k) * a.columns + column + threadIdx.x];
		__syncthreads();
		for (unsigned k = threadIdx.y; k < TILE; k += blockDim.y)
			if (column + k < a.columns && row + threadIdx.x < a.rows)
				result[matrix + (column + k) * a.rows + row + threadIdx.x] = MOVED(
					tile[threadIdx.x][k]);
		__syncthreads();
	}
}
