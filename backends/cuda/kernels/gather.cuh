/* SPDX-License-Identifier: MIT
 *
 * Indices as the gathering kernels read them: INDEX is their type, and a negative one counts from the end. An index
 * outside its tensor sets the fault word and is replaced by the nearest valid one, so that nothing outside is read. */
#include "common.cuh"

DEVICE long long index_of(cu_address indices, long long i, long long size, cu_address fault)
{
	long long index = INPUT(INDEX, indices)[i];
	if (index < 0)
		index += size;
	if (index >= 0 && index < size)
		return index;
	if (fault)
		*TENSOR(i32, fault) = CU_FAULT_INDEX;
	return index < 0 ? 0 : size - 1;
}
