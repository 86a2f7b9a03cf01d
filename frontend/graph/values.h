/* SPDX-License-Identifier: MIT
 *
 * What the float evaluator and the session share about the values of a graph. */
#ifndef NPULAB_FRONTEND_GRAPH_VALUES_H
#define NPULAB_FRONTEND_GRAPH_VALUES_H

#include "npulab/graph.h"

/* Fills in[] (node->n_in entries) with the tensors a node reads: live[] for computed values, storage[] (node->n_in
 * entries, not owning) for constants, NULL for absent ones. */
int npl_node_inputs(struct npl_graph *graph, const struct npl_node *node, const struct npl_tensor *live,
		    struct npl_tensor *storage, const struct npl_tensor **in, struct npl_err *err);

/* Do the user's tensors fit the graph's inputs? */
int npl_check_inputs(const struct npl_graph *graph, const struct npl_tensor *inputs, struct npl_err *err);

/* Which input does "NAME=FILE" or "FILE" mean: the one of the name, else the first that is not taken, or -1. *file is
 * the file's part; a '=' in a path without such an input name belongs to the path. */
int npl_input_of_file(const char *const *name, const bool *taken, int n, const char *spec, const char **file);

/* For each input of the graph: one more than the greatest index that it may hold where nodes pick rows by it, 0 where
 * none do. */
int npl_index_limits(const struct npl_graph *graph, int64_t *below, struct npl_err *err);
/* Fills an allocated tensor as model.h says of inputs without files; below as above. */
void npl_random_sample(struct npl_tensor *t, int64_t below, struct npl_random *random);

/* Moves (or copies, where it is not owned) value v into output. */
int npl_take_output(struct npl_graph *graph, int v, struct npl_tensor *live, struct npl_tensor *output,
		    struct npl_err *err);

#endif
