/* SPDX-License-Identifier: MIT
 *
 * Follows samples through a network, node by node (follow.h). */
#include "follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Says whether the node's results are fixed, as those of fixed inputs are. */
static bool is_fixed(const struct follow *f, const struct npl_node *node)
{
	for (int k = 0; k < node->n_in; k++)
		if (node->in[k] >= 0 && f->distance[node->in[k]])
			return false;
	return true;
}

/* Says whether a fixed output is the same at another batch. A computed output is the same where it has the same
 * shape. */
static bool is_batch_invariant(struct follow *f, int v)
{
	if (f->graph->value[v].constant)
		return follow_steady(f, v);
	const struct npl_value *rebatched_value = f->rebatched_graph ? follow_same_value(f, v) : NULL;
	return !rebatched_value || npl_shape_equal(&f->graph->value[v].shape, &rebatched_value->shape);
}

/* Finds the rows of the graph's results for each sample. */
static void follow_outputs(struct follow *f, struct follow_result *result)
{
	for (int i = 0; i < f->graph->n_outputs; i++) {
		struct spread spread;
		const int v = f->graph->output[i];
		const char *name = f->graph->value[v].name;
		result->rows[i] = 0;
		if (!f->distance[v] && is_batch_invariant(f, v))
			continue;
		if (!f->distance[v]) {
			snprintf(result->mixed_by, sizeof result->mixed_by,
				 "output '%s' follows from the number of samples", name);
			return;
		}
		const bool found = follow_spread(f, v, &spread);
		if (found && spread.axis == 0 && spread.outer == 1) {
			result->rows[i] = spread.inner;
			continue;
		}
		if (found && spread.axis)
			snprintf(result->mixed_by, sizeof result->mixed_by,
				 "output '%s' has the samples along dimension %d", name, spread.axis);
		else
			snprintf(result->mixed_by, sizeof result->mixed_by,
				 "output '%s' has each sample in several pieces", name);
		return;
	}
}

const struct npl_node *follow_nodes(struct follow *f, const char **reason)
{
	const struct npl_graph *graph = f->graph;
	for (int i = 0; i < graph->n_inputs; i++)
		if (graph->value[graph->input[i]].batched)
			follow_input(f, graph->input[i]);
	for (int i = 0; i < graph->n_nodes; i++) {
		*reason = "mixes samples";
		if (!is_fixed(f, &graph->node[i]) && !follow_node(f, &graph->node[i], reason))
			return &graph->node[i];
	}
	return NULL;
}

/* Returns an input whose samples are along another dimension than the first; it cannot be cut. */
static const struct npl_value *batched_inside(const struct npl_graph *graph)
{
	for (int i = 0; i < graph->n_inputs; i++)
		if (graph->value[graph->input[i]].batched_inside)
			return &graph->value[graph->input[i]];
	return NULL;
}

/* Says whether the value at the other batch has the same shape, except for more samples. */
static bool grows(const struct follow *f, int v, const struct npl_shape *other)
{
	const struct npl_shape *shape = &f->graph->value[v].shape;
	const int64_t batch = f->graph->batch, there = f->rebatched_graph->batch;
	struct spread x;
	if (!follow_spread(f, v, &x))
		return npl_shape_count(shape) / batch * there == npl_shape_count(other);
	bool same = shape->rank == other->rank;
	for (int d = 0; d < shape->rank && same; d++)
		same = other->dim[d] == (d == x.axis ? shape->dim[d] / batch * there : shape->dim[d]);
	return same;
}

/* Returns a value that does not grow with the batch; -1: none. One batch may equal a dimension of the model by chance
 * (as of an Expand), but two batches cannot. */
static int find_unsteady(const struct follow *f)
{
	for (int v = 0; v < f->graph->n_values && f->rebatched_graph; v++) {
		const struct npl_value *rebatched_value = f->distance[v] ? follow_same_value(f, v) : NULL;
		if (rebatched_value && !grows(f, v, &rebatched_value->shape))
			return v;
	}
	return -1;
}

static int index_rebatched_graph(struct follow *f)
{
	int rc = 0;
	for (int v = 0; f->rebatched_graph && v < f->rebatched_graph->n_values && !rc; v++)
		rc = graph_names_add(&f->rebatched_values, f->rebatched_graph->value[v].name, v);
	return rc;
}

int follow_samples(const struct npl_graph *graph, const struct npl_graph *rebatched_graph, struct follow_result *result,
		   struct npl_err *err)
{
	struct follow f = {.graph = graph, .rebatched_graph = rebatched_graph};
	f.distance = calloc((size_t)graph->n_values + 1, sizeof *f.distance);
	if (!f.distance || index_rebatched_graph(&f)) {
		free(f.distance);
		graph_names_free(&f.rebatched_values);
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d values", graph->n_values);
	}
	const struct npl_value *inside = batched_inside(graph);
	int unsteady;
	const char *reason;
	const struct npl_node *node = inside ? NULL : follow_nodes(&f, &reason);
	result->mixed_by[0] = '\0';
	if (inside)
		snprintf(result->mixed_by, sizeof result->mixed_by,
			 "input '%s' has the samples along another dimension than the first", inside->name);
	else if (node)
		snprintf(result->mixed_by, sizeof result->mixed_by, "node '%s' (%s) %s", node->name,
			 npl_op_defs[node->op].name, reason);
	else if ((unsteady = find_unsteady(&f)) >= 0)
		snprintf(result->mixed_by, sizeof result->mixed_by, "value '%s' does not grow with the samples",
			 graph->value[unsteady].name);
	else
		follow_outputs(&f, result);
	free(f.distance);
	graph_names_free(&f.rebatched_values);
	return 0;
}
