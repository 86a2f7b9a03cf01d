/* SPDX-License-Identifier: MIT
 *
 * Placing pieces of memory by their lifetimes (memory_plan.h). */
#include "memory_plan.h"

#include <stdint.h>
#include <stdlib.h>

#include "arith.h"

static int larger_first(const void *a, const void *b)
{
	const struct npl_memory_piece *x = *(struct npl_memory_piece *const *)a,
				      *y = *(struct npl_memory_piece *const *)b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return (x > y) - (x < y); /* a fixed order for equals */
}

static int lower_first(const void *a, const void *b)
{
	const struct npl_memory_piece *x = *(struct npl_memory_piece *const *)a,
				      *y = *(struct npl_memory_piece *const *)b;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Returns the offset of the lowest gap that is wide enough between the n pieces that live at the same time, which are
 * in busy. */
static size_t lowest_gap(struct npl_memory_piece **busy, int n, size_t bytes, size_t alignment)
{
	size_t offset = 0;
	qsort(busy, (size_t)n, sizeof *busy, lower_first);
	for (int i = 0; i < n; i++) {
		if (busy[i]->offset >= offset && busy[i]->offset - offset >= bytes)
			return offset;
		size_t end = busy[i]->offset + npl_round_up_u64(busy[i]->bytes, alignment);
		offset = end > offset ? end : offset;
	}
	return offset;
}

int npl_plan_memory(struct npl_memory_piece *piece, int n, size_t alignment, size_t *total, struct npl_err *err)
{
	struct npl_memory_piece **order = calloc((size_t)n + 1, sizeof(struct npl_memory_piece *)),
				**busy = calloc((size_t)n + 1, sizeof(struct npl_memory_piece *));
	int rc = order && busy ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for %d pieces of memory", n);
	*total = 0;
	for (int i = 0; i < n && !rc; i++)
		order[i] = &piece[i];
	if (!rc)
		qsort(order, (size_t)n, sizeof *order, larger_first);
	for (int i = 0; i < n && !rc; i++) {
		int n_busy = 0;
		for (int k = 0; k < i; k++)
			if (order[k]->first <= order[i]->last && order[i]->first <= order[k]->last)
				busy[n_busy++] = order[k];
		if (order[i]->bytes > SIZE_MAX / 4) {
			rc = npl_fail(err, NPL_ENOMEM, "out of memory for a piece of %zu bytes", order[i]->bytes);
			break;
		}
		const size_t bytes = npl_round_up_u64(order[i]->bytes, alignment);
		order[i]->offset = lowest_gap(busy, n_busy, bytes, alignment);
		const size_t end = order[i]->offset + bytes;
		if (end > SIZE_MAX / 2)
			rc = npl_fail(err, NPL_ENOMEM, "out of memory for %d pieces of %zu bytes", n, end);
		*total = end > *total ? end : *total;
	}
	free(order);
	free(busy);
	return rc;
}
