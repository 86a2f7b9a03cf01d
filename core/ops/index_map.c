/* SPDX-License-Identifier: MIT
 *
 * Copies whose source is found dimension by dimension (ops.h): Expand, Tile, Pad, Resize to the nearest. */
#include <stdlib.h>
#include <string.h>

#include "ops.h"

int op_index_map_alloc(struct op_index_map *map, const struct npl_shape *y, struct npl_err *err)
{
	size_t sum = 1;
	for (int d = 0; d < y->rank; d++)
		sum += (size_t)y->dim[d];
	int64_t *block = calloc(sum, sizeof *block);
	if (!block)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the indices of %s", OP_TEXT(y));
	map->from[0] = block;
	for (int d = 1; d < y->rank; d++)
		map->from[d] = map->from[d - 1] + y->dim[d - 1];
	return 0;
}

void op_index_map_free(struct op_index_map *map)
{
	free(map->from[0]);
	map->from[0] = NULL;
}

/* Copies one row of the output. Elements that are adjacent in the input too are copied at once. */
static void copy_line(const int64_t *from, int64_t n, const char *x, const void *fill, size_t element, char *y)
{
	for (int64_t i = 0; i < n;) {
		int64_t run = 1;
		if (from[i] < 0) {
			memcpy(y + (size_t)i * element, fill, element);
		} else {
			while (i + run < n && from[i + run] == from[i] + run)
				run++;
			memcpy(y + (size_t)i * element, x + (size_t)from[i] * element, (size_t)run * element);
		}
		i += run;
	}
}

void op_index_map_copy(const struct op_index_map *map, const struct npl_tensor *x, const void *fill,
		       struct npl_tensor *y)
{
	const struct npl_shape *shape = &y->shape;
	size_t element = npl_dtype_size(y->dtype);
	int64_t stride[NPL_MAX_RANK], position[NPL_MAX_RANK] = {0};
	int last = shape->rank - 1, d;
	char *to = y->data;
	if (!npl_tensor_count(y))
		return;
	if (last < 0) {
		memcpy(to, x->data, element);
		return;
	}
	op_strides(&x->shape, stride);
	do {
		int64_t index = 0;
		bool is_outside = false;
		for (d = 0; d < last; d++) {
			is_outside |= map->from[d][position[d]] < 0;
			index += map->from[d][position[d]] * stride[d];
		}
		if (is_outside)
			op_fill(to, fill, element, shape->dim[last]);
		else
			copy_line(map->from[last], shape->dim[last], (const char *)x->data + index * (int64_t)element,
				  fill, element, to);
		to += (size_t)shape->dim[last] * element;
		for (d = last - 1; d >= 0 && ++position[d] == shape->dim[d]; d--)
			position[d] = 0;
	} while (d >= 0);
}
