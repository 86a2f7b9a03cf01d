/* SPDX-License-Identifier: MIT
 *
 * Kernels over vectors: blockDim.x vectors at a time, blockDim.y threads to each. Threads side by side take neighbouring vectors or,
 * where blockDim.x is 1, neighbouring elements: the host chooses what lies side by side in memory. All threads of a block pass
 * through the loop equally often, also those without a vector, because they meet. */
#include "common.cuh"

#define EACH_VECTOR                                                                                                    \
	for (position first = (position)blockIdx.x * blockDim.x; first < (position)a.vectors;                          \
	     first += (position)gridDim.x * blockDim.x)
#define VECTOR (first + threadIdx.x)
#define LIVE   (VECTOR < (position)a.vectors)
/* The elements of the vector that are this thread's; none where it has no vector. */
#define EACH_ELEMENT(j) for (position j = threadIdx.y; LIVE && j < (position)a.length; j += blockDim.y)
