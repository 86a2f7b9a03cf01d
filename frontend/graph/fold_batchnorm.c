/* SPDX-License-Identifier: MIT
 *
 * Batch normalisation at inference, y = scale * (x - mean) / sqrt(var + epsilon) + shift, is a factor and an offset per
 * channel; after a Conv or Gemm without other readers both are folded into its weight and bias (Jacob et al., CVPR
 * 2018, section 3.2). Factors are computed in double and rounded once. Not folded: a normalisation before the product,
 * or one whose parameters are not constant. */
#include "fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"

enum { SCALE = 1, SHIFT = 2, MEAN = 3, VARIANCE = 4 };

/* Returns the channel of element i of a weight: in Conv (M, ...) and transposed Gemm (N,K) it is the slowest dimension,
 * in Gemm (K,N) the fastest. */
static int64_t channel_of(const struct graph_node *node, int64_t i, int64_t channels, int64_t per_channel)
{
	return node->op == NPL_OP_GEMM && !node->attrs.gemm.trans_b ? i % channels : i / per_channel;
}

/* Computes factor[] and, for a bias of 0, offset[]; *is_uniform is true when all factors are equal. */
static int channel_factors(struct graph_builder *b, const struct graph_node *bn, int64_t channels, double *factor,
			   double *offset, bool *is_uniform)
{
	const float *data[5] = {NULL};
	for (int k = SCALE; k <= VARIANCE; k++) {
		data[k] = fold_data(b, &b->value[bn->in[k]]);
		if (!data[k])
			return b->err->code;
	}
	for (int64_t c = 0; c < channels; c++) {
		factor[c] = data[SCALE][c] / sqrt((double)data[VARIANCE][c] + (double)bn->attrs.norm.epsilon);
		offset[c] = data[SHIFT][c] - data[MEAN][c] * factor[c];
		*is_uniform &= factor[c] == factor[0];
	}
	return 0;
}

/* Scales a description of random elements by one factor, so that they need not be made. False: they must be made. */
static bool scale_description(struct npl_random_law *law, double factor)
{
	float mean = (float)(law->mean * factor), deviation = (float)(law->deviation * factor);
	if (law->uniform || !(factor > 0) || !isfinite(mean) || !isfinite(deviation))
		return false;
	law->mean = mean;
	law->deviation = deviation;
	return true;
}

/* Makes a new constant of the weight times its channels' factors: another node may read the old weight too. */
static int scale_weight(struct graph_builder *b, struct graph_node *node, int64_t channels, const double *factor,
			bool is_uniform)
{
	struct npl_value new_value = b->value[node->in[1]];
	int64_t count = npl_shape_count(&new_value.shape);
	if (new_value.is_fill && is_uniform && channels > 0) {
		float element;
		memcpy(&element, new_value.fill, sizeof element);
		element = (float)(element * factor[0]);
		memcpy(new_value.fill, &element, sizeof element);
		new_value.data = NULL;
	} else if (new_value.is_random && !new_value.data && is_uniform && channels > 0 &&
		   scale_description(&new_value.law, factor[0])) {
		/* scale_description() has scaled the law of the random weights: no data need be made */
	} else {
		const float *former_weights = fold_data(b, &b->value[node->in[1]]);
		float *scaled = npl_arena_array(&b->graph->arena, (size_t)count, sizeof *scaled);
		if (!former_weights || !scaled)
			return former_weights ? npl_no_memory(b->err) : b->err->code;
		for (int64_t i = 0; i < count; i++)
			scaled[i] = (float)(former_weights[i] *
					    factor[channel_of(node, i, channels, count / channels)]);
		new_value.data = scaled;
		new_value.is_fill = new_value.is_random = false;
	}
	int v = graph_add_made(b, node->name, "weight", &new_value);
	if (v < 0)
		return v;
	node->in[1] = v;
	return 0;
}

/* Returns the number of channels when the two nodes can be merged, else 0. */
static int64_t foldable(struct graph_builder *b, const struct graph_node *bn, const struct graph_node *node)
{
	if (bn->attrs.norm.training || !node || (node->op != NPL_OP_CONV && node->op != NPL_OP_GEMM) ||
	    !fold_is_constant(b, node->in[1]) ||
	    b->value[node->in[1]].model_integers) /* quantised by the model: its integers must be kept */
		return 0;
	const struct npl_shape *y = &b->value[bn->in[0]].shape;
	int64_t channels = y->rank > 1 ? y->dim[1] : 0;
	if (!fold_bias_open(b, node, channels))
		return 0;
	for (int k = SCALE; k <= VARIANCE; k++)
		if (!fold_is_constant(b, bn->in[k]) || npl_shape_count(&b->value[bn->in[k]].shape) != channels)
			return 0;
	return channels;
}

int fold_batchnorm(struct graph_builder *b, struct graph_node *bn)
{
	struct graph_node *node = fold_producer(b, bn->in[0]);
	int64_t channels = foldable(b, bn, node);
	if (!channels)
		return 0;
	/* The bytes of weight, bias and the four parameters, all of which may be fills that have to be made. */
	size_t bytes = 2 * (size_t)npl_shape_count(&b->value[node->in[1]].shape) * sizeof(float) +
		       (size_t)channels * 64;
	if (!fold_allowed(b, bytes, bytes))
		return 0;
	double *factor = calloc((size_t)channels, 2 * sizeof *factor);
	if (!factor)
		return npl_no_memory(b->err);
	double *offset = factor + channels;
	bool is_uniform = true;
	int rc = channel_factors(b, bn, channels, factor, offset, &is_uniform);
	if (!rc)
		rc = scale_weight(b, node, channels, factor, is_uniform);
	if (!rc)
		rc = fold_set_bias(b, node, channels, factor, offset);
	free(factor);
	if (rc)
		return rc;
	fold_take_output(b, node, bn);
	b->graph->folded_batchnorms++;
	return 0;
}
