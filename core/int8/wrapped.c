/* SPDX-License-Identifier: MIT
 *
 * Counts the sums of an 8-bit layer that wrapped (docs/integers.md), whatever kernel computed them. For most layers a
 * bound proves that no sum can wrap. For the others the sums are computed again in 64 bits, in simple loops. */
#include "layer.h"

#include <stdlib.h>

#include "core/base/dtype.h"
#include "core/integer.h"

static int64_t reach_of(const struct npl_tensor *t)
{
	int64_t low = (int64_t)t->quant.zero_point - npl_dtype_min(t->dtype),
		high = (int64_t)npl_dtype_max(t->dtype) - t->quant.zero_point;
	return low > high ? low : high;
}

static int64_t weight_at(const struct npl_tensor *w, int64_t i)
{
	return w->dtype == NPL_I8 ? ((const int8_t *)w->data)[i] : ((const uint8_t *)w->data)[i];
}

/* Returns the greatest magnitude of one output channel's sum for any input: by the weights' values if `weights`, else
 * by their type. */
static int64_t channel_reach(const struct npl_layer *layer, int64_t channel, int64_t k, bool weights)
{
	const struct npl_tensor *x = layer->in[0], *w = layer->in[1], *bias = layer->n_in > 2 ? layer->in[2] : NULL;
	int64_t sum = weights ? 0 : k * reach_of(w);
	for (int64_t i = channel * k; weights && i < (channel + 1) * k; i++)
		sum += llabs(weight_at(w, i) - w->quant.zero_point);
	return sum * reach_of(x) + (bias ? llabs((long long)((const int32_t *)bias->data)[channel]) : 0);
}

static bool fits(const struct npl_layer *layer)
{
	const struct npl_shape *w = &layer->in[1]->shape;
	if (layer->op == NPL_OP_MATMUL) {
		const struct npl_shape *x = &layer->in[0]->shape;
		return x->dim[x->rank - 1] * reach_of(layer->in[0]) * reach_of(layer->in[1]) <= INT32_MAX;
	}
	int64_t k = npl_shape_count(w) / w->dim[0];
	for (int64_t c = 0; c < w->dim[0]; c++)
		if (channel_reach(layer, c, k, false) > INT32_MAX && channel_reach(layer, c, k, true) > INT32_MAX)
			return false;
	return true;
}

int npl_int8_count_wrapped(const struct npl_layer *layer, uint64_t *wrapped, struct npl_err *err)
{
	if (npl_tensor_count(layer->out) < 1 || npl_tensor_count(layer->in[0]) < 1 || fits(layer))
		return 0;
	struct npl_integer_counts counts = {0};
	struct npl_tensor sums = {.dtype = NPL_I32, .shape = layer->out->shape};
	struct npl_layer raw = *layer;
	raw.activation = NPL_ACT_NONE;
	raw.out = &sums;
	int rc = npl_tensor_alloc(&sums, err);
	if (!rc)
		rc = npl_run_integer(&raw, &sums, &counts, err);
	npl_tensor_free(&sums);
	*wrapped += counts.overflows;
	return rc;
}
