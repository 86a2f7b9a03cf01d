/* SPDX-License-Identifier: MIT
 *
 * Growing arrays (grow.h): twice as long each time, so that adding n elements copies fewer than 2 n. */
#include "grow.h"

#include <stdlib.h>

enum { FIRST_ROOM = 64 };

void *npl_grow(void *array, int64_t count, int64_t *room, size_t bytes)
{
	if (count < *room)
		return array;
	const int64_t more = *room ? 2 * *room : FIRST_ROOM;
	void *bigger = reallocarray(array, (size_t)more, bytes);
	if (bigger)
		*room = more;
	return bigger;
}
