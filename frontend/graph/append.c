/* SPDX-License-Identifier: MIT
 *
 * Building a graph in order: each node names inputs that exist already, so it is linked, shaped and folded when it is
 * added, and an error is reported at once. The C interface builds in this way (frontend/api/build.c); files may have
 * their nodes in any order and go through graph_complete. */
#include <stdlib.h>

#include "build.h"
#include "core/base/refuse.h"

const char *graph_free_name(struct graph_builder *b, const char *base)
{
	const char *name = base;
	/* After a few tries the value's number is the suffix, which is mostly free: many values of one name must not
	 * take n^2. */
	for (int i = 2; name && graph_names_find(&b->values, name) >= 0;
	     i = i < 9 || i >= b->n_values ? i + 1 : b->n_values)
		name = npl_arena_printf(&b->graph->arena, "%s#%d", base, i);
	return name;
}

int graph_append_shaped(struct graph_builder *b, const char *name, enum npl_dtype dtype, const struct npl_shape *shape)
{
	char text[192];
	if (npl_shape_count(shape) < 0)
		return npl_fail(b->err, NPL_EINPUT, "input '%s': the shape %s has more than %lld elements", name,
				npl_shape_text(shape, text, sizeof text), (long long)NPL_MAX_ELEMENTS);
	if (!b->n_inputs) /* an empty first dimension makes no batches */
		b->graph->batch = shape->rank && shape->dim[0] ? shape->dim[0] : 1;
	const struct npl_value input = {.name = name,
					.dtype = dtype,
					.shape = *shape,
					.producer = -1,
					.batched = shape->rank && shape->dim[0] == b->graph->batch};
	int v = graph_add_value(b, &input);
	if (v < 0)
		return v;
	int rc = graph_append_input(b, v);
	return rc ? rc : v;
}

/* Names the results. A single one has the node's own name, several are NODE.0, NODE.1... */
static int name_results(struct graph_builder *b, const char *name, const char *op, int n_out, const char **out)
{
	struct npl_arena *arena = &b->graph->arena;
	const char *base = *name ? name : npl_arena_printf(arena, "%s_%d", op, b->n_nodes);
	for (int k = 0; k < n_out; k++) {
		const char *name_copy = n_out == 1 || !base ? base : npl_arena_printf(arena, "%s.%d", base, k);
		out[k] = name_copy ? graph_free_name(b, name_copy) : NULL;
		if (!out[k])
			return npl_no_memory(b->err);
	}
	return 0;
}

/* Removes the last node; its values stay, without a producer and without readers. */
static void drop_last(struct graph_builder *b)
{
	const struct graph_node *node = &b->node[b->n_nodes - 1];
	for (int k = 0; k < node->n_out; k++)
		b->value[node->out[k]].producer = -1;
	b->n_nodes--;
}

int graph_append_node(struct graph_builder *b, const char *name, const char *op, const struct npl_attr_list *list,
		      int n_in, const int *in, int n_out, int *out)
{
	struct npl_arena *arena = &b->graph->arena;
	if (n_in > GRAPH_MAX_NODE_INPUTS)
		return npl_fail(b->err, NPL_EINPUT, "operator '%s' has %d inputs, more than %d", op, n_in,
				GRAPH_MAX_NODE_INPUTS);
	if (n_out > NPL_MAX_OUTPUTS)
		return npl_fail(b->err, NPL_EINPUT, "operator '%s' has %d outputs, more than %d", op, n_out,
				NPL_MAX_OUTPUTS);
	const char **in_name = npl_arena_array(arena, (size_t)n_in, sizeof *in_name), *out_name[NPL_MAX_OUTPUTS];
	int *link = npl_arena_array(arena, (size_t)n_in, sizeof *link);
	if (!in_name || !link)
		return npl_no_memory(b->err);
	for (int k = 0; k < n_in; k++) {
		link[k] = in[k];
		in_name[k] = in[k] < 0 ? "" : b->value[in[k]].name;
	}
	int rc = name_results(b, name, op, n_out, out_name);
	if (!rc)
		rc = graph_add_node(b, name, op, list, n_in, in_name, n_out, out_name);
	if (rc)
		return rc;
	const int index = b->n_nodes - 1;
	b->node[index].in = link;
	rc = graph_scratch(b, b->node[index].n_in);
	if (!rc)
		rc = graph_infer_node(b, &b->node[index]);
	while (rc && b->n_nodes > index)
		drop_last(b);
	if (!rc)
		*out = b->node[index].out[0];
	return rc;
}

int graph_close_appended(struct graph_builder *b)
{
	if (!b->n_outputs)
		return npl_fail(b->err, NPL_EINPUT, "the network has no output");
	b->graph->file_nodes = b->n_nodes;
	b->order = calloc((size_t)b->n_nodes + 1, sizeof *b->order);
	if (!b->order || graph_scratch(b, 0))
		return npl_no_memory(b->err);
	for (int i = 0; i < b->n_nodes; i++)
		b->order[i] = i;
	return graph_simplify(b);
}
