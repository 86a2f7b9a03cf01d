/* SPDX-License-Identifier: MIT
 *
 * Keeps the integers that folded constants were made from: with the result of a DequantizeLinear, and with the result
 * of a node that only moves the elements of such a result. Machines of integers then use the model's integers, bit for
 * bit. */
#include "build.h"
#include "core/base/dtype.h"
#include "core/base/refuse.h"

static int remember_integers(struct graph_builder *b, const struct graph_node *node)
{
	const struct npl_value q = b->value[node->in[0]], *scale = &b->value[node->in[1]];
	const struct npl_value *zero = node->n_in > 2 && node->in[2] >= 0 ? &b->value[node->in[2]] : NULL;
	struct npl_model_integers *from = npl_arena_alloc(&b->graph->arena, sizeof *from);
	int64_t parts = npl_shape_count(&scale->shape);
	int32_t *zeros = npl_arena_array(&b->graph->arena, (size_t)parts, sizeof *zeros);
	if (!npl_is_byte(q.dtype) && q.dtype != NPL_I32)
		return 0;
	if (scale->dtype != NPL_F32 || b->value[node->out[0]].dtype != NPL_F32)
		return 0;
	if (!from || !zeros)
		return npl_no_memory(b->err);
	for (int64_t i = 0; i < parts && zero; i++)
		zeros[i] = zero->dtype == NPL_I8   ? ((const int8_t *)zero->data)[i]
			   : zero->dtype == NPL_U8 ? ((const uint8_t *)zero->data)[i]
						   : ((const int32_t *)zero->data)[i];
	*from = (struct npl_model_integers){.dtype = q.dtype,
					    .data = q.data,
					    .parts = parts,
					    .axis = (int)node->attrs.quantise.axis,
					    .scale = scale->data,
					    .zero = zeros};
	b->value[node->out[0]].model_integers = from;
	return 0;
}

/* Returns the axis of the output along which the scales of the input run; -1: there is none. */
static int moved_axis(const struct graph_builder *b, const struct graph_node *node,
		      const struct npl_model_integers *from)
{
	const struct npl_shape *x = &b->value[node->in[0]].shape, *y = &b->value[node->out[0]].shape;
	int64_t inner = 1, parts = 1;
	if (node->op == NPL_OP_TRANSPOSE) {
		for (int d = 0; d < y->rank; d++)
			if (node->attrs.transpose.perm[d] == from->axis)
				return d;
		return -1;
	}
	if (!(npl_op_defs[node->op].flags & NPL_OP_IS_VIEW))
		return -1;
	for (int d = 0; d < from->axis; d++)
		parts *= x->dim[d];
	for (int d = 0; d < y->rank; inner *= y->dim[d++])
		if (inner == parts && y->dim[d] == from->parts)
			return d;
	return -1;
}

/* Says whether each element of the result is an element of the first input. Trilu also writes zeros. */
static bool only_moves(const struct graph_node *node)
{
	const unsigned flags = npl_op_defs[node->op].flags;
	return flags & NPL_OP_KEEPS_RANGE && flags & NPL_OP_ANY_TYPE && node->op != NPL_OP_TRILU && node->n_out == 1;
}

/* Moves the integers by the node's own kernel, as it moves the numbers. Returns NULL where that would exceed the limits
 * of folding, or with an error. */
static const void *move(struct graph_builder *b, const struct graph_node *node, const struct npl_model_integers *from)
{
	struct npl_tensor *out = &b->tensor[node->n_in];
	const size_t bytes = (size_t)npl_shape_count(&b->value[node->out[0]].shape) * npl_dtype_size(from->dtype);
	if (npl_op_defs[node->op].flags & NPL_OP_IS_VIEW)
		return from->data;
	if (!fold_allowed(b, bytes, bytes))
		return NULL;
	graph_node_tensors(b, node);
	b->tensor[0].dtype = out->dtype = from->dtype;
	b->tensor[0].data = (void *)from->data;
	out->data = npl_arena_alloc(&b->graph->arena, bytes);
	if (!out->data) {
		npl_no_memory(b->err);
		return NULL;
	}
	int rc = npl_op_run(node->op, &node->attrs, b->tensor_ref, node->n_in, out, 1, b->err);
	return rc ? NULL : out->data;
}

static int move_integers(struct graph_builder *b, const struct graph_node *node)
{
	const struct npl_model_integers *from = b->value[node->in[0]].model_integers;
	const int axis = from->parts > 1 ? moved_axis(b, node, from) : 0;
	if (axis < 0)
		return 0;
	b->err->code = 0;
	const void *data = move(b, node, from);
	struct npl_model_integers *reordered = data ? npl_arena_alloc(&b->graph->arena, sizeof *reordered) : NULL;
	if (!data)
		return b->err->code;
	if (!reordered)
		return npl_no_memory(b->err);
	*reordered = *from;
	reordered->data = data;
	reordered->axis = axis;
	b->value[node->out[0]].model_integers = reordered;
	return 0;
}

int fold_integers(struct graph_builder *b, const struct graph_node *node)
{
	if (node->op == NPL_OP_DEQUANTIZELINEAR)
		return remember_integers(b, node);
	if (node->n_in && node->in[0] >= 0 && b->value[node->in[0]].model_integers && only_moves(node))
		return move_integers(b, node);
	return 0;
}
