/* SPDX-License-Identifier: MIT
 *
 * Arrays that grow as elements are added.
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

/* Returns the array of `capacity` elements of so many bytes (NULL: an empty one) with room for one more than `count`; a
 * full array is moved and made twice as long. Returns NULL, and leaves the array unchanged, when memory is short. */
void *npl_grow(void *array, int64_t count, int64_t *capacity, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
