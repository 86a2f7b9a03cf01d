/* SPDX-License-Identifier: MIT
 *
 * Private: what the folding passes share. Each pass looks at one node and, if it can be merged into the node that
 * makes its input, changes that one and removes this one. The survivor keeps its name and makes the removed node's
 * output, so names that come later in the network stay as they are.
 */
#ifndef NPULAB_FRONTEND_GRAPH_FOLD_H
#define NPULAB_FRONTEND_GRAPH_FOLD_H

#include "build.h"

/* fold_batchnorm.c: a BatchNormalization into the Conv or Gemm before it */
int fold_batchnorm(struct graph_builder *b, struct graph_node *bn);
/* fold_bias.c: an Add of a constant per output channel into the Conv, Gemm or MatMul before it */
int fold_bias(struct graph_builder *b, struct graph_node *add);

/* The node that makes a float value which this one alone reads, or NULL. */
struct graph_node *fold_producer(struct graph_builder *b, int value);
/* Is the value a float constant? -1 (absent) is not. */
bool fold_is_constant(const struct graph_builder *b, int value);
/* Does a constant broadcast along nothing but dimension `axis` of an output, of which it has 1 or `channels`?
 * Its dimension 0 lies at dimension `offset` of the output. */
bool fold_per_channel(const struct npl_shape *constant, int offset, int rank, int axis, int64_t channels);
/* Can the node's bias be replaced: absent, or constant per channel? */
bool fold_bias_open(const struct graph_builder *b, const struct graph_node *node, int64_t channels);
/* Computes for each channel c: factor[c] * (the node's bias, or 0) + add[c], as the node's new bias (a Gemm's beta
 * becomes 1). factor NULL: 1. */
int fold_set_bias(struct graph_builder *b, struct graph_node *node, int64_t channels, const double *factor,
		  const double *add);
/* Elements of a per-channel constant as double; *data from fold_data. */
double fold_channel(const struct npl_value *value, const float *data, int64_t channel);
/* The node takes over the output of `gone`, which is removed. */
void fold_take_output(struct graph_builder *b, struct graph_node *node, struct graph_node *gone);

#endif
