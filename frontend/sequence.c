/* SPDX-License-Identifier: MIT
 *
 * Sequences along dimension 0 (sequence.h). */
#include "sequence.h"

#include <stdbool.h>
#include <stddef.h>

static bool goes_by_steps(const struct npl_node *node)
{
	return (node->op == NPL_OP_LSTM || node->op == NPL_OP_GRU || node->op == NPL_OP_RNN) &&
	       !node->attrs.recurrent.batch_first;
}

/* The operand that is computed, of two. */
static int computed(const struct npl_graph *graph, const struct npl_node *node)
{
	return node->in[graph->value[node->in[0]].constant ? 1 : 0];
}

/* The input from which the node's result has dimension 0; -1: it has a dimension 0 of its own. */
static int source(const struct npl_graph *graph, const struct npl_node *node)
{
	switch (node->op) {
	case NPL_OP_GATHER: /* of a table of words, their numbers */
		return node->attrs.axis == 0 && graph->value[node->in[0]].constant ? node->in[1] : -1;
	case NPL_OP_CONCAT:
		return node->attrs.axis == 0 ? -1 : node->in[0];
	case NPL_OP_ADD:
	case NPL_OP_SUB:
	case NPL_OP_MUL:
	case NPL_OP_DIV:
		return computed(graph, node);
	case NPL_OP_CAST:
	case NPL_OP_DROPOUT:
	case NPL_OP_LAYERNORMALIZATION:
	case NPL_OP_MATMUL:
	case NPL_OP_RELU:
	case NPL_OP_SIGMOID:
	case NPL_OP_TANH:
		return node->in[0];
	default:
		return -1;
	}
}

const struct npl_node *npl_node_of_steps(const struct npl_graph *graph, int i)
{
	for (int k = 0; k < graph->n_nodes; k++) {
		const struct npl_node *node = &graph->node[k];
		int v = goes_by_steps(node) ? node->in[0] : -1;
		while (v >= 0 && graph->value[v].producer >= 0)
			v = source(graph, &graph->node[graph->value[v].producer]);
		if (v >= 0 && v == graph->input[i])
			return node;
	}
	return NULL;
}
