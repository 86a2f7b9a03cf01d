/* SPDX-License-Identifier: MIT
 *
 * Arrays that grow as things are added to them.
 *
 *     struct thing *more = npl_grow(list->thing, list->count, &list->capacity, sizeof *more);
 *     if (!more)
 *         ...
 *     list->thing = more;
 *     more[list->count++] = thing;
 */
#ifndef NPULAB_CORE_BASE_GROW_H
#define NPULAB_CORE_BASE_GROW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The array of `capacity` elements of so many bytes (NULL: of none) with room for one more than `count`, moved and made
 * twice as long where it is full. NULL when there is no memory for it, and the array is as it was. */
void *npl_grow(void *array, int64_t count, int64_t *capacity, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
