/* SPDX-License-Identifier: MIT
 *
 * The limits of folding, and the elements of folded values. */
#include "build.h"

const void *fold_data(struct graph_builder *b, struct npl_value *value)
{
	return npl_value_data(b->graph, value, b->err);
}

bool fold_allowed(struct graph_builder *b, size_t bytes, uint64_t operations)
{
	if (bytes > b->limits.fold_bytes || operations > b->limits.fold_work)
		return false;
	b->limits.fold_bytes -= bytes;
	b->limits.fold_work -= operations;
	return true;
}
