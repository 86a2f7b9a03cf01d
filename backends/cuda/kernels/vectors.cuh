/* SPDX-License-Identifier: MIT
 *
 * Kernels over vectors: blockDim.x vectors at a time, blockDim.y threads to each. Neighbouring threads take
 * neighbouring vectors or, if blockDim.x is 1, neighbouring elements: the host chooses those that are neighbours in
 * memory. All threads of a block, also those without a vector, run the loop equally often, because they wait for each
 * other in it. */
#include "common.cuh"

#define EACH_VECTOR                                                                                                    \
	for (position first = (position)blockIdx.x * blockDim.x; first < (position)a.vectors;                          \
	     first += (position)gridDim.x * blockDim.x)
#define VECTOR (first + threadIdx.x)
#define LIVE   (VECTOR < (position)a.vectors)
/* Loops over the elements of the vector that this thread takes; over none if it has no vector. */
#define EACH_ELEMENT(j) for (position j = threadIdx.y; LIVE && j < (position)a.length; j += blockDim.y)
