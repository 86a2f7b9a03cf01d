/* SPDX-License-Identifier: MIT
 *
 * An Add of a constant with one element per output channel, after a Conv, Gemm or MatMul without other readers, becomes
 * that product's bias. A MatMul (rows,K) x constant (K,N) then becomes a Gemm. With rows of more dimensions it stays a
 * MatMul and gets the bias as a third input, which no MatMul of a file has. */
#include "fold.h"

#include <stdlib.h>

#include "core/base/refuse.h"

/* Returns the dimension of the output that dimension 0 of the constant meets: right-aligned, or `axis` by the rule
 * before opset 7. */
static int alignment(const struct graph_node *add, const struct npl_shape *constant, int rank)
{
	if (add->attrs.binary.legacy_broadcast && add->attrs.binary.axis >= 0)
		return (int)add->attrs.binary.axis;
	return rank - constant->rank;
}

/* Says whether the node multiplies rows of any number of dimensions by one constant matrix. */
static bool is_rows_by_matrix(const struct graph_builder *b, const struct graph_node *node)
{
	return node->op == NPL_OP_MATMUL && fold_is_constant(b, node->in[1]) && b->value[node->in[0]].shape.rank >= 2 &&
	       b->value[node->in[1]].shape.rank == 2;
}

/* Returns the dimension of a product's result that holds the output channels. */
static int channel_axis(const struct graph_node *node, int rank)
{
	return node->op == NPL_OP_MATMUL ? rank - 1 : 1;
}

/* Says whether the constant in[1 - side] can become the bias of the node that makes in[side]. */
static bool foldable(struct graph_builder *b, const struct graph_node *add, int side, const struct graph_node *node)
{
	int x = add->in[side], c = add->in[1 - side];
	if (!node || !fold_is_constant(b, c))
		return false;
	if (node->op != NPL_OP_CONV && node->op != NPL_OP_GEMM && !is_rows_by_matrix(b, node))
		return false;
	/* A constant of at most the product's rank that broadcasts along the channels does not change the product's
	 * shape. */
	const struct npl_shape *y = &b->value[x].shape, *shape = &b->value[c].shape;
	const int axis = channel_axis(node, y->rank);
	return fold_per_channel(shape, alignment(add, shape, y->rank), y->rank, axis, y->dim[axis]) &&
	       fold_bias_open(b, node, y->dim[axis]);
}

/* Makes the MatMul of two matrices a Gemm with default attributes, which computes the same. Its shape rule must wait
 * for the bias, which Gemm needs before opset 11. */
static int make_gemm(struct graph_builder *b, struct graph_node *node)
{
	node->op = NPL_OP_GEMM;
	node->list = (struct npl_attr_list){0};
	node->attrs = (struct npl_attrs){.opset = node->opset};
	b->err->code = 0;
	return npl_op_attrs(NPL_OP_GEMM, &node->list, &node->attrs, b->err);
}

static int merge(struct graph_builder *b, struct graph_node *add, int side, struct graph_node *node)
{
	const struct npl_value *y = &b->value[add->in[side]];
	struct npl_value *constant = &b->value[add->in[1 - side]];
	int64_t channels = y->shape.dim[channel_axis(node, y->shape.rank)];
	if (!fold_allowed(b, (size_t)channels * 32, (uint64_t)channels))
		return 0;
	const float *data = fold_data(b, constant);
	if (!data)
		return b->err->code;
	double *offset = calloc((size_t)channels + 1, sizeof *offset);
	if (!offset)
		return npl_no_memory(b->err);
	for (int64_t c = 0; c < channels; c++)
		offset[c] = fold_channel(constant, data, c);
	bool matmul = node->op == NPL_OP_MATMUL && y->shape.rank == 2;
	int rc = matmul ? make_gemm(b, node) : 0;
	if (!rc)
		rc = fold_set_bias(b, node, channels, NULL, offset);
	if (!rc && matmul)
		rc = graph_shape_node(b, node);
	free(offset);
	if (rc)
		return rc;
	fold_take_output(b, node, add);
	b->graph->folded_biases++;
	return 0;
}

int fold_bias(struct graph_builder *b, struct graph_node *add)
{
	for (int side = 0; side < 2; side++) {
		struct graph_node *node = fold_producer(b, add->in[side]);
		if (foldable(b, add, side, node))
			return merge(b, add, side, node);
	}
	return 0;
}
