/* SPDX-License-Identifier: MIT
 *
 * The end of building: links the inputs of nodes to the values that they name, infers shapes and folds. */
#include "build.h"
#include "core/base/grow.h"
#include "core/base/refuse.h"
#include <stdlib.h>

/* Turns the names of the nodes' inputs into value indices, and makes scratch for the widest node. */
static int link_nodes(struct graph_builder *b)
{
	int widest = 0;
	for (int i = 0; i < b->n_nodes; i++) {
		struct graph_node *node = &b->node[i];
		node->in = npl_arena_array(&b->graph->arena, (size_t)node->n_in, sizeof *node->in);
		if (!node->in)
			return npl_no_memory(b->err);
		for (int k = 0; k < node->n_in; k++) {
			node->in[k] = *node->in_name[k] ? graph_names_find(&b->values, node->in_name[k]) : -1;
			if (node->in[k] < 0 && *node->in_name[k]) {
				npl_fail(b->err, NPL_EINPUT,
					 "its input '%s' is not an input, initialiser or output of a node",
					 node->in_name[k]);
				return graph_blame(b, node);
			}
		}
		widest = node->n_in > widest ? node->n_in : widest;
	}
	return graph_scratch(b, widest);
}

/* Removes outputs of BatchNormalization after the first that have no readers: exporters list the statistics of training
 * there, which inference does not use. */
static int drop_statistics(struct graph_builder *b)
{
	bool *read = calloc((size_t)b->n_values + 1, sizeof *read);
	if (!read)
		return npl_no_memory(b->err);
	for (int i = 0; i < b->n_outputs; i++)
		read[b->output[i]] = true;
	for (int i = 0; i < b->n_nodes; i++)
		for (int k = 0; k < b->node[i].n_in; k++)
			if (b->node[i].in[k] >= 0)
				read[b->node[i].in[k]] = true;
	for (int i = 0; i < b->n_nodes; i++) {
		struct graph_node *node = &b->node[i];
		while (node->op == NPL_OP_BATCHNORMALIZATION && node->n_out > 1 && !read[node->out[node->n_out - 1]])
			node->n_out--;
	}
	free(read);
	return 0;
}

static int check_known(struct graph_builder *b)
{
	for (int i = 0; i < b->options.n_constant_inputs; i++) {
		const char *name = b->options.constant_input[i].name;
		int v = name ? graph_names_find(&b->values, name) : -1;
		if (v < 0 || !b->value[v].constant)
			return npl_fail(b->err, NPL_EINPUT, "no input is called '%s', whose value is given",
					name ? name : "");
	}
	return 0;
}

int graph_complete(struct graph_builder *b)
{
	if (!b->n_outputs)
		return npl_fail(b->err, NPL_EINPUT, "the network has no output");
	b->graph->file_nodes = b->n_nodes;
	int rc = check_known(b);
	if (!rc)
		rc = link_nodes(b);
	if (!rc)
		rc = drop_statistics(b);
	if (!rc)
		rc = graph_sort(b);
	if (!rc)
		rc = graph_infer(b);
	return rc ? rc : graph_simplify(b);
}

int graph_simplify(struct graph_builder *b)
{
	graph_sweep(b);
	int rc = b->options.no_fold ? 0 : fold_nodes(b);
	return rc ? rc : graph_finish(b);
}
