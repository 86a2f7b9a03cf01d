/* SPDX-License-Identifier: MIT
 *
 * Functions on the values of a graph that the float evaluator and the session share. */
#ifndef NPULAB_FRONTEND_GRAPH_VALUES_H
#define NPULAB_FRONTEND_GRAPH_VALUES_H

#include "npulab/graph.h"

/* Returns NPL_EINPUT when the user's tensors do not fit the graph's inputs. */
int npl_check_inputs(const struct npl_graph *graph, const struct npl_tensor *inputs, struct npl_err *err);

/* Returns the input that "NAME=FILE" or "FILE" means: the one of that name, else the first that is not bound, or -1.
 * *file is the file's part. A '=' that does not follow an input's name belongs to the path. */
int npl_input_of_file(const char *const *name, const bool *is_bound, int n, const char *spec, const char **file);

/* Sets, for each input of the graph, the number that its indices must be below where nodes pick rows by it; 0 where
 * none do. */
int npl_index_limits(const struct npl_graph *graph, int64_t *below, struct npl_err *err);
/* Fills an allocated tensor with the random values that model.h describes for inputs without files; below is from
 * npl_index_limits. */
void npl_random_sample(struct npl_tensor *t, int64_t below, struct npl_random *random);

#endif
