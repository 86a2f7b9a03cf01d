/* SPDX-License-Identifier: MIT
 *
 * Private: what the folding passes share. Each pass looks at one node and, if it can be merged into the node that makes
 * its input, changes that producer and removes the node. The producer keeps its name and makes the removed node's
 * output, so later names in the network do not change.
 */
#ifndef NPULAB_FRONTEND_GRAPH_FOLD_H
#define NPULAB_FRONTEND_GRAPH_FOLD_H

#include "build.h"

/* fold_batchnorm.c: folds a BatchNormalization into the Conv or Gemm before it. */
int fold_batchnorm(struct graph_builder *b, struct graph_node *bn);
/* fold_bias.c: folds an Add of a constant per output channel into the Conv, Gemm or MatMul before it. */
int fold_bias(struct graph_builder *b, struct graph_node *add);

/* Returns the node that makes a float value which only the caller's node reads, or NULL. */
struct graph_node *fold_producer(struct graph_builder *b, int value);
/* Says whether the value is a float constant; -1 (absent) is not. */
bool fold_is_constant(const struct graph_builder *b, int value);
/* Says whether a constant broadcasts only along dimension `axis` of an output, where it has 1 or `channels` elements.
 * Its dimension 0 is dimension `offset` of the output. */
bool fold_per_channel(const struct npl_shape *constant, int offset, int rank, int axis, int64_t channels);
/* Says whether the node's bias can be replaced: it is absent or constant per channel. */
bool fold_bias_open(const struct graph_builder *b, const struct graph_node *node, int64_t channels);
/* Computes the node's new bias: for each channel c, factor[c] * (the bias, or 0) + add[c]. A Gemm's beta becomes 1.
 * factor NULL: 1. */
int fold_set_bias(struct graph_builder *b, struct graph_node *node, int64_t channels, const double *factor,
		  const double *add);
/* Returns an element of a per-channel constant as double; data is from fold_data. */
double fold_channel(const struct npl_value *value, const float *data, int64_t channel);
/* Gives the node the output of `removed`, which is removed. */
void fold_take_output(struct graph_builder *b, struct graph_node *node, struct graph_node *removed);

#endif
