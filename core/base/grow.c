/* SPDX-License-Identifier: MIT
 *
 * Growing arrays (grow.h): twice as long each time, so that adding n elements copies fewer than 2 n. */
#include "grow.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

void *npl_grow(void *array, int64_t count, int64_t *capacity, size_t bytes)
{
	if (count < *capacity)
		return array;
	const int64_t new_capacity = *capacity ? 2 * *capacity : FIRST_CAPACITY;
	void *grown = reallocarray(array, (size_t)new_capacity, bytes);
	if (grown)
		*capacity = new_capacity;
	return grown;
}
