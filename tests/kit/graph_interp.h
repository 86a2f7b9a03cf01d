/* SPDX-License-Identifier: MIT
 *
 * Runs a loaded graph on the reference kernels, node after node, keeping every value: the plainest executor there
 * can be, so that tests of the importer depend on nothing else.
 */
#ifndef NPULAB_TESTS_KIT_GRAPH_INTERP_H
#define NPULAB_TESTS_KIT_GRAPH_INTERP_H

#include <stdlib.h>
#include <string.h>

#include "npulab/graph.h"

static inline void test_free_values(const struct npl_graph *graph, struct npl_tensor *values)
{
	for (int v = 0; values && v < graph->n_values; v++)
		npl_tensor_free(&values[v]);
	free(values);
}

static inline int test_run_node(const struct npl_graph *graph, const struct npl_node *node, struct npl_tensor *values,
				struct npl_err *err)
{
	const struct npl_tensor **in = calloc((size_t)node->n_in + 1, sizeof *in);
	struct npl_tensor out[NPL_MAX_OUTPUTS] = {{0}};
	int rc = 0;
	for (int k = 0; k < node->n_in; k++)
		in[k] = node->in[k] < 0 ? NULL : &values[node->in[k]];
	for (int k = 0; k < node->n_out && !rc; k++) {
		const struct npl_value *value = &graph->value[node->out[k]];
		out[k] = (struct npl_tensor){.name = value->name, .dtype = value->dtype, .shape = value->shape};
		rc = npl_tensor_alloc(&out[k], err);
	}
	if (!rc)
		rc = npl_op_run(node->op, &node->attrs, in, node->n_in, out, node->n_out, err);
	for (int k = 0; k < node->n_out; k++)
		values[node->out[k]] = out[k];
	free(in);
	return rc;
}

/* All values of the graph for these inputs (in the order of graph->input, their data borrowed), or NULL and err. */
static inline struct npl_tensor *test_run_graph(struct npl_graph *graph, const struct npl_tensor *inputs,
						struct npl_err *err)
{
	struct npl_tensor *values = calloc((size_t)graph->n_values + 1, sizeof *values);
	int rc = 0;
	for (int v = 0; v < graph->n_values && !rc; v++) {
		struct npl_value *value = &graph->value[v];
		values[v] = (struct npl_tensor){.name = value->name, .dtype = value->dtype, .shape = value->shape};
		if (value->constant)
			values[v].data = (void *)npl_value_data(graph, value, err);
		rc = value->constant && !values[v].data ? err->code : 0;
	}
	for (int i = 0; i < graph->n_inputs && !rc; i++) {
		values[graph->input[i]] = inputs[i];
		values[graph->input[i]].owned = false;
	}
	for (int i = 0; i < graph->n_nodes && !rc; i++)
		rc = test_run_node(graph, &graph->node[i], values, err);
	if (!rc)
		return values;
	test_free_values(graph, values);
	return NULL;
}

#endif
