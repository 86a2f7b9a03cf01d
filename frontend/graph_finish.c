/* SPDX-License-Identifier: MIT
 *
 * The last steps of building a graph: nodes whose results nobody reads are dropped, uses are counted, and what is
 * left is packed into the graph's own arrays, values renumbered. */
#include "graph_build.h"

#include <stdlib.h>

#include "npulab/half.h"

void graph_sweep(struct graph_builder *b)
{
	for (int v = 0; v < b->n_values; v++)
		b->value[v].uses = 0;
	for (int i = 0; i < b->n_outputs; i++)
		b->value[b->output[i]].uses++;
	for (int i = b->n_nodes - 1; i >= 0; i--) { /* readers before makers */
		struct graph_node *node = &b->node[b->order[i]];
		bool read = false;
		for (int k = 0; k < node->n_out; k++)
			read |= b->value[node->out[k]].uses > 0;
		if (!read)
			node->removed = true;
		for (int k = 0; k < node->n_in && !node->removed; k++)
			if (node->in[k] >= 0)
				b->value[node->in[k]].uses++;
	}
}

static int *renumbered(struct graph_builder *b, const int *index, int n, const int *map)
{
	int *copy = npl_arena_array(&b->graph->arena, (size_t)n, sizeof *copy);
	for (int i = 0; copy && i < n; i++)
		copy[i] = index[i] < 0 ? -1 : map[index[i]];
	return copy;
}

/* map[v]: the new number of a value that is an input, an output, or at a node that is left; -1 for the others. */
static void number_values(struct graph_builder *b, int *map)
{
	for (int v = 0; v < b->n_values; v++)
		map[v] = b->value[v].uses ? 0 : -1;
	for (int i = 0; i < b->n_inputs; i++)
		map[b->input[i]] = 0;
	for (int i = 0; i < b->n_nodes; i++)
		for (int k = 0; k < b->node[i].n_out && !b->node[i].removed; k++)
			map[b->node[i].out[k]] = 0;
	for (int v = 0; v < b->n_values; v++)
		if (!map[v])
			map[v] = b->graph->n_values++;
}

static int pack_values(struct graph_builder *b, const int *map)
{
	struct npl_graph *graph = b->graph;
	graph->value = npl_arena_array(&graph->arena, (size_t)graph->n_values, sizeof *graph->value);
	if (!graph->value)
		return graph_no_memory(b);
	for (int v = 0; v < b->n_values; v++)
		if (map[v] >= 0) {
			graph->value[map[v]] = b->value[v];
			graph->value[map[v]].producer = -1;
		}
	graph->n_inputs = b->n_inputs;
	graph->n_outputs = b->n_outputs;
	graph->input = renumbered(b, b->input, b->n_inputs, map);
	graph->output = renumbered(b, b->output, b->n_outputs, map);
	return graph->input && graph->output ? 0 : graph_no_memory(b);
}

static int pack_node(struct graph_builder *b, const struct graph_node *from, const int *map)
{
	struct npl_graph *graph = b->graph;
	struct npl_node *node = &graph->node[graph->n_nodes];
	*node = (struct npl_node){
		.name = from->name, .op = from->op, .attrs = from->attrs, .n_in = from->n_in, .n_out = from->n_out};
	graph_node_tensors(b, from);
	if (npl_op_defs[from->op].macs)
		node->macs = npl_op_defs[from->op].macs(&from->attrs, b->tensor_ref, from->n_in,
							&b->tensor[from->n_in]);
	if (__builtin_add_overflow(graph->macs, node->macs, &graph->macs))
		return npl_fail(b->err, NPL_EINPUT, "the network needs more than 2^64 multiply-accumulates");
	node->in = renumbered(b, from->in, from->n_in, map);
	node->out = renumbered(b, from->out, from->n_out, map);
	if (!node->in || !node->out)
		return graph_no_memory(b);
	for (int k = 0; k < node->n_out; k++)
		graph->value[node->out[k]].producer = graph->n_nodes;
	graph->n_nodes++;
	return 0;
}

bool npl_value_is_weight(const struct npl_value *value)
{
	const bool floats = value->dtype == NPL_F32 || value->dtype == NPL_F64 || npl_dtype_is_half(value->dtype);
	return value->constant && floats && value->shape.rank > 0;
}

/* Elements of the weights that nodes read, each counted once. */
static uint64_t count_parameters(const struct npl_graph *graph)
{
	uint64_t sum = 0;
	for (int i = 0; i < graph->n_outputs; i++)
		graph->value[graph->output[i]].uses--; /* being an output is no reading */
	for (int v = 0; v < graph->n_values; v++) {
		const struct npl_value *value = &graph->value[v];
		if (value->uses && npl_value_is_weight(value))
			sum += (uint64_t)npl_shape_count(&value->shape);
	}
	for (int i = 0; i < graph->n_outputs; i++)
		graph->value[graph->output[i]].uses++;
	return sum;
}

static int count_activations(struct graph_builder *b)
{
	struct npl_graph *graph = b->graph;
	for (int i = 0; i < graph->n_nodes; i++)
		for (int k = 0; k < graph->node[i].n_out; k++) {
			const struct npl_node *node = &graph->node[i];
			uint64_t count = node->out[k] < 0
						 ? 0
						 : (uint64_t)npl_shape_count(&graph->value[node->out[k]].shape);
			if (npl_op_defs[node->op].flags & NPL_OP_IS_VIEW)
				continue;
			if (__builtin_add_overflow(graph->activations, count, &graph->activations))
				return npl_fail(b->err, NPL_EINPUT,
						"the network's values have more than 2^64 elements");
		}
	return 0;
}

int graph_finish(struct graph_builder *b)
{
	graph_sweep(b);
	int *map = malloc(((size_t)b->n_values + 1) * sizeof *map);
	if (!map)
		return graph_no_memory(b);
	number_values(b, map);
	int rc = pack_values(b, map), left = 0;
	for (int i = 0; i < b->n_nodes; i++)
		left += !b->node[i].removed;
	b->graph->node = npl_arena_array(&b->graph->arena, (size_t)left, sizeof *b->graph->node);
	if (!rc && !b->graph->node)
		rc = graph_no_memory(b);
	for (int i = 0; i < b->n_nodes && !rc; i++)
		if (!b->node[b->order[i]].removed)
			rc = pack_node(b, &b->node[b->order[i]], map);
	if (!rc)
		rc = count_activations(b);
	if (!rc)
		b->graph->parameters = count_parameters(b->graph);
	free(map);
	return rc ? rc : graph_warn(b);
}
