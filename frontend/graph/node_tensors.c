/* SPDX-License-Identifier: MIT
 *
 * A node as its operator sees it: tensors of its inputs and outputs, and the shapes that follow. */
#include "build.h"
#include "core/base/grow.h"
#include "npulab/progress.h"
#include <stdlib.h>

/* A shape rule may need the values of a constant that is still a fill; no rule reads more elements than this. */
#define MAX_SHAPE_ELEMENTS 64 /* except those with NPL_OP_READS_ALL, which count off the limits of folding */

void graph_node_tensors(struct graph_builder *b, const struct graph_node *node)
{
	for (int k = 0; k < node->n_in; k++) {
		b->tensor_ref[k] = NULL;
		if (node->in[k] < 0)
			continue;
		const struct npl_value *value = &b->value[node->in[k]];
		b->tensor[k] = (struct npl_tensor){.name = value->name, .dtype = value->dtype, .shape = value->shape};
		if (value->constant)
			b->tensor[k].data = (void *)value->data; /* kernels only read their inputs */
		b->tensor_ref[k] = &b->tensor[k];
	}
	for (int k = 0; k < node->n_out; k++) {
		const struct npl_value *value = &b->value[node->out[k]];
		b->tensor[node->n_in + k] = (struct npl_tensor){
			.name = value->name, .dtype = value->dtype, .shape = value->shape};
	}
}

/* Makes the elements of small constants for rules that read values, and of single ones for all (Dropout's mode). */
static int materialise_shapes(struct graph_builder *b, const struct graph_node *node)
{
	unsigned flags = npl_op_defs[node->op].flags;
	int64_t most = flags & NPL_OP_NEEDS_VALUES ? MAX_SHAPE_ELEMENTS : 1;
	for (int k = 0; k < node->n_in; k++) {
		struct npl_value *value = node->in[k] < 0 ? NULL : &b->value[node->in[k]];
		if (!value || value->data || !(value->is_fill || value->is_random))
			continue;
		int64_t count = npl_shape_count(&value->shape);
		bool make = count <= most;
		if (!make && flags & NPL_OP_READS_ALL)
			make = fold_allowed(b, (size_t)count * npl_dtype_size(value->dtype), (uint64_t)count);
		if (make && !fold_data(b, value))
			return b->err->code;
	}
	return 0;
}

int graph_shape_node(struct graph_builder *b, struct graph_node *node)
{
	int rc = materialise_shapes(b, node);
	if (rc)
		return rc;
	graph_node_tensors(b, node);
	struct npl_tensor *out = &b->tensor[node->n_in];
	rc = npl_op_shape(node->op, &node->attrs, b->tensor_ref, node->n_in, out, node->n_out, b->err);
	if (rc)
		return rc;
	for (int k = 0; k < node->n_out; k++) {
		char text[192];
		if (npl_shape_count(&out[k].shape) < 0)
			return npl_fail(b->err, NPL_EINPUT, "its output would have the shape %s, more than can be",
					npl_shape_text(&out[k].shape, text, sizeof text));
		b->value[node->out[k]].dtype = out[k].dtype;
		b->value[node->out[k]].shape = out[k].shape;
	}
	return 0;
}
