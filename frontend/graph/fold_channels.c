/* SPDX-License-Identifier: MIT
 *
 * What the folding passes share: which values are constant, channel by channel, and how a bias joins a product. */
#include "core/base/refuse.h"
#include "fold.h"
#include <stdlib.h>

struct graph_node *fold_producer(struct graph_builder *b, int value)
{
	if (value < 0 || b->value[value].constant || b->value[value].producer < 0 || b->value[value].uses != 1 ||
	    b->value[value].dtype != NPL_F32)
		return NULL;
	return &b->node[b->value[value].producer];
}

bool fold_is_constant(const struct graph_builder *b, int value)
{
	return value >= 0 && b->value[value].constant && b->value[value].dtype == NPL_F32;
}

bool fold_per_channel(const struct npl_shape *constant, int offset, int rank, int axis, int64_t channels)
{
	if (offset < 0 || offset + constant->rank > rank)
		return false;
	for (int i = 0; i < constant->rank; i++)
		if (constant->dim[i] != 1 && (offset + i != axis || constant->dim[i] != channels))
			return false;
	return true;
}

bool fold_bias_open(const struct graph_builder *b, const struct graph_node *node, int64_t channels)
{
	int bias = node->n_in > 2 ? node->in[2] : -1;
	if (bias < 0)
		return true;
	const struct npl_shape *shape = &b->value[bias].shape;
	return fold_is_constant(b, bias) && fold_per_channel(shape, 2 - shape->rank, 2, 1, channels);
}

double fold_channel(const struct npl_value *value, const float *data, int64_t channel)
{
	return data[npl_shape_count(&value->shape) == 1 ? 0 : channel];
}

int fold_set_bias(struct graph_builder *b, struct graph_node *node, int64_t channels, const double *factor,
		  const double *add)
{
	int old = node->n_in > 2 ? node->in[2] : -1;
	const float *old_data = old < 0 ? NULL : fold_data(b, &b->value[old]);
	double beta = node->op == NPL_OP_GEMM ? node->attrs.gemm.beta : 1;
	float *sum = npl_arena_array(&b->graph->arena, (size_t)channels, sizeof *sum);
	int *in = npl_arena_array(&b->graph->arena, 3, sizeof *in);
	if (!sum || !in)
		return npl_no_memory(b->err);
	if (old >= 0 && !old_data)
		return b->err->code;
	for (int64_t c = 0; c < channels; c++) {
		double bias = old_data && beta != 0 ? beta * fold_channel(&b->value[old], old_data, c) : 0;
		sum[c] = (float)((factor ? factor[c] : 1) * bias + add[c]);
	}
	in[0] = node->in[0];
	in[1] = node->in[1];
	in[2] = graph_add_made(b, node->name, "bias",
			       &(struct npl_value){.dtype = NPL_F32, .shape = npl_shape_of(1, channels), .data = sum});
	node->in = in;
	node->n_in = 3;
	if (node->op == NPL_OP_GEMM)
		node->attrs.gemm.beta = 1;
	return in[2] < 0 ? in[2] : 0;
}

void fold_take_output(struct graph_builder *b, struct graph_node *node, struct graph_node *removed)
{
	node->out[0] = removed->out[0];
	b->value[node->out[0]].producer = (int)(node - b->node);
	removed->removed = true;
}
