/* SPDX-License-Identifier: MIT
 *
 * The builder of build.h: adds values and nodes by name, refuses names used twice, and links the inputs of
 * nodes to the values they name. */
#include "build.h"

#include "core/base/grow.h"
#include "core/base/message.h"
#include <stdlib.h>

#include "core/base/refuse.h"

void graph_builder_init(struct graph_builder *b, struct npl_graph *graph, const struct npl_load_options *options,
			struct graph_limits limits, struct npl_err *err)
{
	*b = (struct graph_builder){.graph = graph, .limits = limits, .opset = graph->opset, .err = err};
	if (options)
		b->options = *options;
}

void graph_builder_free(struct graph_builder *b)
{
	graph_names_free(&b->values);
	graph_names_free(&b->nodes);
	free(b->declared);
	free(b->declared_output);
	free(b->value);
	free(b->node);
	free(b->order);
	free(b->input);
	free(b->output);
	free(b->tensor);
	free(b->tensor_ref);
}

int graph_blame(struct graph_builder *b, const struct graph_node *node)
{
	return npl_prefix(b->err, "node '%s' (%s)", node->name, npl_op_defs[node->op].name);
}

/* Appends a value index to the inputs or outputs. */
static int append(struct graph_builder *b, int **list, int *n, int64_t *capacity, int v)
{
	int *grown = npl_grow(*list, *n, capacity, sizeof **list);
	if (!grown)
		return npl_no_memory(b->err);
	*list = grown;
	grown[(*n)++] = v;
	return 0;
}

int graph_append_input(struct graph_builder *b, int v)
{
	return append(b, &b->input, &b->n_inputs, &b->input_capacity, v);
}

int graph_add_value(struct graph_builder *b, const struct npl_value *value)
{
	if (graph_names_find(&b->values, value->name) >= 0)
		return npl_fail(b->err, NPL_EINPUT, "two tensors are called '%s'", value->name);
	if (b->n_values == GRAPH_MAX_VALUES)
		return npl_fail(b->err, NPL_EINPUT, "the network has more than %d tensors", GRAPH_MAX_VALUES);
	struct npl_value *grown = npl_grow(b->value, b->n_values, &b->value_capacity, sizeof *b->value);
	if (!grown)
		return npl_no_memory(b->err);
	b->value = grown;
	if (graph_names_add(&b->values, value->name, b->n_values))
		return npl_no_memory(b->err);
	b->value[b->n_values] = *value;
	return b->n_values++;
}

int graph_add_constant(struct graph_builder *b, const struct npl_tensor *tensor)
{
	struct npl_value value = {.name = tensor->name,
				  .dtype = tensor->dtype,
				  .shape = tensor->shape,
				  .constant = true,
				  .data = tensor->data,
				  .producer = -1};
	if (!tensor->name || !*tensor->name)
		return npl_fail(b->err, NPL_EINPUT, "an initialiser has no name");
	int v = graph_add_value(b, &value);
	return v < 0 ? v : 0;
}

int graph_add_made(struct graph_builder *b, const char *owner, const char *part, const struct npl_value *value)
{
	struct npl_value new_value = *value;
	new_value.constant = true;
	new_value.producer = -1;
	new_value.uses = 0;
	new_value.name = npl_arena_printf(&b->graph->arena, "%s.%s", owner, part);
	for (int i = 2; new_value.name && graph_names_find(&b->values, new_value.name) >= 0; i++)
		new_value.name = npl_arena_printf(&b->graph->arena, "%s.%s#%d", owner, part, i);
	return new_value.name ? graph_add_value(b, &new_value) : npl_no_memory(b->err);
}

int graph_add_output(struct graph_builder *b, const char *name)
{
	int v = graph_names_find(&b->values, name);
	if (v < 0)
		return npl_fail(b->err, NPL_EINPUT, "output '%s' is made by no node", name);
	return graph_append_output(b, v);
}

int graph_append_output(struct graph_builder *b, int v)
{
	if (b->value[v].uses++) /* listed as an output already; graph_sweep counts the uses anew later */
		return npl_fail(b->err, NPL_EINPUT, "output '%s' is listed twice", b->value[v].name);
	return append(b, &b->output, &b->n_outputs, &b->output_capacity, v);
}

/* Returns a name that no other node has: the node's own or OP_INDEX, with #2, #3... when another node has that. */
static const char *unique_name(struct graph_builder *b, const char *name, const char *op)
{
	struct npl_arena *arena = &b->graph->arena;
	const char *base = *name ? name : npl_arena_printf(arena, "%s_%d", op, b->n_nodes);
	const char *unique = base;
	/* After a few tries the node's number is the suffix, which is mostly free: a million nodes of one name must not
	 * take n^2. */
	for (int i = 2; unique && graph_names_find(&b->nodes, unique) >= 0;
	     i = i < 9 || i >= b->n_nodes ? i + 1 : b->n_nodes)
		unique = npl_arena_printf(arena, "%s#%d", base, i);
	return unique;
}

/* Returns the number of names without the empty ones at the end, which are absent optional inputs or outputs. */
static int trimmed(int n, const char *const *name)
{
	while (n > 0 && !*name[n - 1])
		n--;
	return n;
}

static int check_arity(struct graph_builder *b, const struct graph_node *node)
{
	const struct npl_op_def *def = &npl_op_defs[node->op];
	if (node->n_in > GRAPH_MAX_NODE_INPUTS)
		return npl_fail(b->err, NPL_EINPUT, "has %d input%s, more than %d", node->n_in, npl_plural(node->n_in),
				GRAPH_MAX_NODE_INPUTS);
	if (node->n_in < def->min_in || (def->max_in >= 0 && node->n_in > def->max_in)) {
		if (def->max_in < 0)
			return npl_fail(b->err, NPL_EINPUT, "has %d input%s, expected at least %d", node->n_in,
					npl_plural(node->n_in), def->min_in);
		return npl_fail(b->err, NPL_EINPUT, "has %d input%s, expected %d to %d", node->n_in,
				npl_plural(node->n_in), def->min_in, def->max_in);
	}
	for (int i = 0; i < node->n_in; i++)
		if ((i < def->min_in || def->max_in < 0) && !*node->in_name[i])
			return npl_fail(b->err, NPL_EINPUT, "input %d is absent but needed", i);
	if (node->n_out < 1)
		return npl_fail(b->err, NPL_EINPUT, "has no output");
	if (node->n_out > def->outputs || node->n_out > NPL_MAX_OUTPUTS)
		return npl_fail(b->err, NPL_EINPUT, "has %d output%s, npulab supports %d", node->n_out,
				npl_plural(node->n_out), def->outputs);
	return 0;
}

static int add_node_outputs(struct graph_builder *b, struct graph_node *node, const char *const *out)
{
	node->out = npl_arena_array(&b->graph->arena, (size_t)node->n_out, sizeof *node->out);
	if (!node->out)
		return npl_no_memory(b->err);
	for (int i = 0; i < node->n_out; i++) {
		/* An optional output that the file leaves out becomes a value without readers. */
		const char *name = *out[i] ? out[i] : npl_arena_printf(&b->graph->arena, "%s.output%d", node->name, i);
		if (!name)
			return npl_no_memory(b->err);
		node->out[i] = graph_add_value(b, &(struct npl_value){.name = name, .producer = b->n_nodes});
		if (node->out[i] < 0)
			return node->out[i];
	}
	return 0;
}

int graph_add_node(struct graph_builder *b, const char *name, const char *op, const struct npl_attr_list *list,
		   int n_in, const char *const *in, int n_out, const char *const *out)
{
	struct graph_node node = {.op = npl_op_find(op),
				  .opset = b->opset,
				  .list = *list,
				  .n_in = trimmed(n_in, in),
				  .n_out = trimmed(n_out, out),
				  .in_name = in};
	if (node.op == NPL_OP_SPLIT)
		node.n_out = n_out; /* there are as many parts as outputs, whether they are read or not */
	if (b->n_nodes == GRAPH_MAX_NODES)
		return npl_fail(b->err, NPL_EINPUT, "the network has more than %d nodes", GRAPH_MAX_NODES);
	struct graph_node *grown = npl_grow(b->node, b->n_nodes, &b->node_capacity, sizeof *b->node);
	if (!grown)
		return npl_no_memory(b->err);
	b->node = grown;
	node.name = unique_name(b, name, op);
	if (!node.name || graph_names_add(&b->nodes, node.name, b->n_nodes))
		return npl_no_memory(b->err);
	if (node.op == NPL_OPS && graph_refusal_reason(op))
		return npl_fail(b->err, NPL_EINPUT, "node '%s': operator '%s' is not supported: %s", node.name, op,
				graph_refusal_reason(op));
	if (node.op == NPL_OPS && graph_is_unwritten(op))
		return npl_fail(b->err, NPL_EINPUT,
				"node '%s': ONNX's operator '%s' is not implemented; docs/onnx.md lists those that are",
				node.name, op);
	if (node.op == NPL_OPS)
		return npl_fail(b->err, NPL_EINPUT, "node '%s': operator '%s' (opset %d) is not known%s%s", node.name,
				op, b->opset, npl_op_nearest(op) ? "; nearest is " : "",
				npl_op_nearest(op) ? npl_op_nearest(op) : "");
	int rc = npl_op_version(node.op, b->opset, b->err);
	if (rc > 0)
		rc = check_arity(b, &node);
	if (!rc)
		rc = add_node_outputs(b, &node, out);
	if (rc)
		return graph_blame(b, &node);
	b->node[b->n_nodes++] = node;
	return 0;
}

int graph_scratch(struct graph_builder *b, int n_in)
{
	int widest = n_in < 3 ? 3 : n_in; /* folding gives a node up to three inputs */
	if (widest <= b->widest)
		return 0;
	free(b->tensor);
	free(b->tensor_ref);
	b->tensor = calloc((size_t)widest + NPL_MAX_OUTPUTS, sizeof *b->tensor);
	b->tensor_ref = calloc((size_t)widest, sizeof *b->tensor_ref);
	b->widest = b->tensor && b->tensor_ref ? widest : 0;
	return b->widest ? 0 : npl_no_memory(b->err);
}
