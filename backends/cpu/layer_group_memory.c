/* SPDX-License-Identifier: MIT
 *
 * Where the tensors of a layer group lie (layer_group.h): the largest first, each at the lowest offset where nothing
 * lies that is needed at the same time. */
#include <stdlib.h>

#include "layer_group.h"

#define ALIGNMENT 64

struct block {
	size_t offset, bytes;
	int first, last;
	struct cpu_location *location;
	enum cpu_layout layout;
};

static int larger(const void *a, const void *b)
{
	const struct block *x = a, *y = b;
	return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes) : x->first - y->first;
}

static int by_offset(const void *a, const void *b)
{
	const struct block *x = *(const struct block *const *)a, *y = *(const struct block *const *)b;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Below the first gap that is large enough between those that are needed at the same time. */
static void put(struct block *block, struct block *earlier, int n, struct block **beside)
{
	int count = 0;
	for (int i = 0; i < n; i++)
		if (earlier[i].first <= block->last && block->first <= earlier[i].last)
			beside[count++] = &earlier[i];
	qsort(beside, (size_t)count, sizeof(struct block *), by_offset);
	size_t at = 0;
	for (int i = 0; i < count && beside[i]->offset < at + block->bytes; i++) {
		size_t end = beside[i]->offset + beside[i]->bytes;
		at = end > at ? end : at;
	}
	block->offset = at;
}

int cpu_layer_group_memory(struct cpu_layer_group *group, struct npl_err *err)
{
	size_t room = (size_t)group->n_locations * CPU_LAYOUTS + 1;
	struct block *block = calloc(room, sizeof *block), **beside = calloc(room, sizeof(struct block *));
	int n = 0;
	if (!block || !beside) {
		free(block);
		free(beside);
		return npl_fail(err, NPL_ENOMEM, "out of memory for a group of %d layers", group->request.n);
	}
	for (int p = 0; p < group->n_locations; p++)
		for (int f = 0; f < CPU_LAYOUTS; f++) {
			struct cpu_location *location = &group->location[p];
			bool callers = f == CPU_FIRST && (location->given || location->wanted);
			if (!location->has[f] || callers)
				continue;
			size_t bytes = (npl_tensor_bytes(location->tensor) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
			block[n++] = (struct block){.bytes = bytes ? bytes : ALIGNMENT,
						    .first = location->first[f],
						    .last = location->last[f],
						    .location = location,
						    .layout = (enum cpu_layout)f};
		}
	qsort(block, (size_t)n, sizeof *block, larger);
	group->memory_bytes = 0;
	for (int i = 0; i < n; i++) {
		put(&block[i], block, i, beside);
		block[i].location->offset[block[i].layout] = block[i].offset;
		if (block[i].offset + block[i].bytes > group->memory_bytes)
			group->memory_bytes = block[i].offset + block[i].bytes;
	}
	free(block);
	free(beside);
	return 0;
}
