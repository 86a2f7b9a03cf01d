/* SPDX-License-Identifier: MIT
 *
 * Random values that a network can take: integers that pick rows pick rows that exist. */
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/half.h"
#include "core/base/refuse.h"
#include "frontend/graph/values.h"

/* Says whether the operator picks elements of input 0 by input 1 along the axis of struct npl_gather_attrs. */
static bool picks(enum npl_op op)
{
	return op == NPL_OP_GATHER || op == NPL_OP_GATHERELEMENTS;
}

/* Says whether the node passes input 0's elements on unchanged. */
static bool is_pass_through(const struct npl_node *node)
{
	return node->n_in && node->in[0] >= 0 &&
	       ((npl_op_defs[node->op].flags & (NPL_OP_IS_VIEW | NPL_OP_KEEPS_RANGE)) || node->op == NPL_OP_CAST ||
		node->op == NPL_OP_IDENTITY);
}

int npl_index_limits(const struct npl_graph *graph, int64_t *below, struct npl_err *err)
{
	/* per value: the input whose elements it holds, or -1 */
	int *input = malloc(((size_t)graph->n_values + 1) * sizeof *input);
	if (!input)
		return npl_no_memory(err);
	for (int v = 0; v < graph->n_values; v++)
		input[v] = -1;
	for (int i = 0; i < graph->n_inputs; i++) {
		input[graph->input[i]] = i;
		below[i] = 0;
	}
	for (int n = 0; n < graph->n_nodes; n++) {
		const struct npl_node *node = &graph->node[n];
		for (int k = 0; k < node->n_out && is_pass_through(node); k++)
			if (node->out[k] >= 0)
				input[node->out[k]] = input[node->in[0]];
		int from = picks(node->op) && node->n_in > 1 && node->in[1] >= 0 ? input[node->in[1]] : -1;
		if (from < 0)
			continue;
		const struct npl_shape *shape = &graph->value[node->in[0]].shape;
		const int64_t attr_axis = node->attrs.gather.axis,
			      axis = attr_axis < 0 ? attr_axis + shape->rank : attr_axis;
		int64_t rows = axis >= 0 && axis < shape->rank ? shape->dim[axis] : 0;
		below[from] = !below[from] || rows < below[from] ? rows : below[from];
	}
	free(input);
	return 0;
}

/* Fills with whole numbers from low to low + n - 1. */
static void fill_integers(struct npl_tensor *t, int64_t low, int64_t n, struct npl_random *random)
{
	const size_t size = npl_dtype_size(t->dtype);
	char *to = t->data;
	for (int64_t i = 0, count = npl_tensor_count(t); i < count; i++, to += size) {
		int64_t value = low + (int64_t)(npl_random_u64(random) % (uint64_t)n);
		memcpy(to, &value, size); /* little-endian: the low bytes */
	}
}

static void fill_floats(struct npl_tensor *t, struct npl_random *random)
{
	for (int64_t i = 0, count = npl_tensor_count(t); i < count; i++) {
		const float x = npl_random_unit(random);
		if (t->dtype == NPL_F32)
			((float *)t->data)[i] = x;
		else if (t->dtype == NPL_F64)
			((double *)t->data)[i] = (double)x;
		else if (npl_is_half(t->dtype))
			((uint16_t *)t->data)[i] = t->dtype == NPL_F16 ? npl_f16_of_float(x) : npl_bf16_of_float(x);
	}
}

void npl_random_sample(struct npl_tensor *t, int64_t below, struct npl_random *random)
{
	if (npl_is_float(t->dtype)) {
		fill_floats(t, random);
		return;
	}
	switch (t->dtype) {
	case NPL_I8:
		fill_integers(t, below ? 0 : -128, below && below < 128 ? below : below ? 128 : 256, random);
		return;
	case NPL_U8:
		fill_integers(t, 0, below && below < 256 ? below : 256, random);
		return;
	default:
		fill_integers(t, 0, below ? below : 2, random);
	}
}
