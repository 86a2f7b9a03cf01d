/* SPDX-License-Identifier: MIT
 *
 * Sequences that lie along dimension 0 of an input, as ONNX's recurrent operators take them unless told otherwise: what elsewhere is
 * a sample is a step there, and steps cannot be cut into batches. */
#ifndef NPULAB_FRONTEND_SEQUENCE_H
#define NPULAB_FRONTEND_SEQUENCE_H

#include "npulab/graph.h"

/* The first recurrent node that goes through dimension 0 of input i step by step, seen through operators that keep that dimension.
 * NULL: none. */
const struct npl_node *npl_node_of_steps(const struct npl_graph *graph, int i);

#endif
