/* SPDX-License-Identifier: MIT
 *
 * The folding passes, in one walk over the sorted nodes: views that change nothing (Dropout at inference, a Reshape to
 * the same shape) disappear, batch normalisations and bias additions are folded into the product before them. */
#include "fold.h"

#include <stdlib.h>

#include "core/base/refuse.h"

/* Says whether the node's output equals its input in every element and dimension. */
static bool is_identity(const struct graph_builder *b, const struct graph_node *node)
{
	if (!(npl_op_defs[node->op].flags & NPL_OP_IS_VIEW))
		return false;
	const struct npl_value *in = &b->value[node->in[0]], *out = &b->value[node->out[0]];
	if (node->n_out > 1 && b->value[node->out[1]].uses)
		return false; /* Dropout's mask has a reader */
	for (int k = 1; k < node->n_in; k++)
		if (node->in[k] >= 0 && !b->value[node->in[k]].constant)
			return false; /* an input tells Dropout at run time whether it trains */
	return in->dtype == out->dtype && npl_shape_equal(&in->shape, &out->shape);
}

/* Removes a node that changes nothing: its readers read its input instead. If its output is an output of the graph, the
 * node before it makes that output. The node stays when it connects an input (or another output) of the graph with an
 * output. */
static void remove_view(struct graph_builder *b, struct graph_node *node, int *alias, const bool *is_output)
{
	int x = node->in[0], y = node->out[0];
	if (!is_output[y]) {
		alias[y] = x;
		b->value[x].uses += b->value[y].uses - 1;
		node->removed = true;
	} else if (b->value[x].producer >= 0 && b->value[x].uses == 1) {
		struct graph_node *maker = &b->node[b->value[x].producer];
		for (int k = 0; k < maker->n_out; k++)
			if (maker->out[k] == x)
				maker->out[k] = y;
		b->value[y].producer = b->value[x].producer;
		node->removed = true;
	}
}

int fold_nodes(struct graph_builder *b)
{
	size_t n = (size_t)b->n_values;
	int *alias = malloc((n + 1) * sizeof *alias);
	bool *is_output = calloc(n + 1, sizeof *is_output);
	int rc = 0;
	if (!alias || !is_output) {
		rc = npl_no_memory(b->err);
		goto out;
	}
	for (size_t v = 0; v < n; v++)
		alias[v] = (int)v;
	for (int i = 0; i < b->n_outputs; i++)
		is_output[b->output[i]] = true;
	for (int i = 0; i < b->n_nodes && !rc; i++) {
		struct graph_node *node = &b->node[b->order[i]];
		if (node->removed)
			continue;
		/* Indices stay below alias's n: constants that this pass adds have greater ones, but only nodes already
		 * walked read them. */
		for (int k = 0; k < node->n_in; k++)
			node->in[k] = node->in[k] < 0 ? -1 : alias[node->in[k]];
		if (is_identity(b, node))
			remove_view(b, node, alias, is_output);
		else if (node->op == NPL_OP_BATCHNORMALIZATION)
			rc = fold_batchnorm(b, node);
		else if (node->op == NPL_OP_ADD)
			rc = fold_bias(b, node);
		if (rc)
			graph_blame(b, node);
	}
out:
	free(alias);
	free(is_output);
	return rc;
}
