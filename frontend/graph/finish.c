/* SPDX-License-Identifier: MIT
 *
 * The last steps of building a graph: drops nodes whose results have no readers, counts uses, and packs the rest into
 * the graph's own arrays, with values renumbered. */
#include "build.h"

#include <stdlib.h>

#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "core/op_functions.h"
#include "core/ops/integer_inputs.h"

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

/* Drops the axes input of reductions: the axes are in the attributes by now, so a device need not receive it. */
static void drop_axes(struct graph_builder *b)
{
	for (int i = 0; i < b->n_nodes; i++)
		if (npl_op_share_kernel(b->node[i].op, NPL_OP_REDUCESUM))
			b->node[i].n_in = 1;
}

static int *renumbered(struct graph_builder *b, const int *index, int n, const int *map)
{
	int *copy = npl_arena_array(&b->graph->arena, (size_t)n, sizeof *copy);
	for (int i = 0; copy && i < n; i++)
		copy[i] = index[i] < 0 ? -1 : map[index[i]];
	return copy;
}

/* Sets map[v] to the new number of a value that is an input, an output, or used by a remaining node; -1 for the
 * others. */
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
		return npl_no_memory(b->err);
	for (int v = 0; v < b->n_values; v++)
		if (map[v] >= 0) {
			graph->value[map[v]] = b->value[v];
			graph->value[map[v]].producer = -1;
		}
	graph->n_inputs = b->n_inputs;
	graph->n_outputs = b->n_outputs;
	graph->input = renumbered(b, b->input, b->n_inputs, map);
	graph->output = renumbered(b, b->output, b->n_outputs, map);
	return graph->input && graph->output ? 0 : npl_no_memory(b->err);
}

static int pack_node(struct graph_builder *b, const struct graph_node *from, const int *map)
{
	struct npl_graph *graph = b->graph;
	struct npl_node *node = &graph->node[graph->n_nodes];
	*node = (struct npl_node){
		.name = from->name, .op = from->op, .attrs = from->attrs, .n_in = from->n_in, .n_out = from->n_out};
	graph_node_tensors(b, from);
	node->macs = npl_op_macs(from->op, &from->attrs, b->tensor_ref, from->n_in, &b->tensor[from->n_in]);
	if (__builtin_add_overflow(graph->macs, node->macs, &graph->macs))
		return npl_fail(b->err, NPL_EINPUT, "the network needs more than 2^64 multiply-accumulates");
	node->in = renumbered(b, from->in, from->n_in, map);
	node->out = renumbered(b, from->out, from->n_out, map);
	if (!node->in || !node->out)
		return npl_no_memory(b->err);
	for (int k = 0; k < node->n_out; k++)
		graph->value[node->out[k]].producer = graph->n_nodes;
	graph->n_nodes++;
	return 0;
}

/* Says whether input k of the operator only describes another input (scales and zero points) or the window of a
 * Resize. */
static bool is_about_data(enum npl_op op, int k)
{
	const struct npl_integer_inputs *integer_inputs = npl_integer_inputs_of(op);
	if (op == NPL_OP_QUANTIZELINEAR || op == NPL_OP_DEQUANTIZELINEAR || op == NPL_OP_RESIZE ||
	    op == NPL_OP_UPSAMPLE)
		return k > 0;
	return integer_inputs &&
	       (k == integer_inputs->a_scale || k == integer_inputs->a_zero || k == integer_inputs->b_scale ||
		k == integer_inputs->b_zero || k == integer_inputs->y_scale || k == integer_inputs->y_zero);
}

bool npl_input_is_parameter(const struct npl_graph *graph, const struct npl_node *node, int k)
{
	const struct npl_value *value = node->in[k] < 0 ? NULL : &graph->value[node->in[k]];
	const struct npl_integer_inputs *integer_inputs = npl_integer_inputs_of(node->op);
	if (!value || !value->constant || value->shape.rank == 0 || is_about_data(node->op, k))
		return false;
	if (value->dtype == NPL_I32)
		return node->op == NPL_OP_DEQUANTIZELINEAR || (integer_inputs && k == integer_inputs->bias);
	return npl_is_float(value->dtype) || npl_is_byte(value->dtype); /* others are indices, axes and lengths */
}

static int count_parameters(struct graph_builder *b)
{
	struct npl_graph *graph = b->graph;
	bool *is_counted = calloc((size_t)graph->n_values + 1, sizeof *is_counted);
	if (!is_counted)
		return npl_no_memory(b->err);
	for (int i = 0; i < graph->n_nodes; i++)
		for (int k = 0; k < graph->node[i].n_in; k++) {
			const struct npl_node *node = &graph->node[i];
			if (!npl_input_is_parameter(graph, node, k) || is_counted[node->in[k]])
				continue;
			is_counted[node->in[k]] = true;
			graph->parameters += (uint64_t)npl_shape_count(&graph->value[node->in[k]].shape);
		}
	free(is_counted);
	return 0;
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
	drop_axes(b);
	graph_sweep(b);
	int *map = malloc(((size_t)b->n_values + 1) * sizeof *map);
	if (!map)
		return npl_no_memory(b->err);
	number_values(b, map);
	int rc = pack_values(b, map), left = 0;
	for (int i = 0; i < b->n_nodes; i++)
		left += !b->node[i].removed;
	b->graph->node = npl_arena_array(&b->graph->arena, (size_t)left, sizeof *b->graph->node);
	if (!rc && !b->graph->node)
		rc = npl_no_memory(b->err);
	for (int i = 0; i < b->n_nodes && !rc; i++)
		if (!b->node[b->order[i]].removed)
			rc = pack_node(b, &b->node[b->order[i]], map);
	if (!rc)
		rc = count_activations(b);
	if (!rc)
		rc = count_parameters(b);
	free(map);
	return rc ? rc : graph_warn(b);
}
