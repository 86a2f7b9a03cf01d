/* SPDX-License-Identifier: MIT
 *
 * A layer group of one layer. */
#ifndef NPULAB_CORE_ONE_LAYER_GROUP_H
#define NPULAB_CORE_ONE_LAYER_GROUP_H

#include "npulab/layer_group.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `group` points to the other members, so that the struct stays where it is until the group is closed. */
struct npl_one_layer_group {
	struct npl_layer_group group;
	const struct npl_layer *layer;
	const struct npl_tensor *output[NPL_MAX_OUTPUTS];
};

/* Makes the group of this layer, which is borrowed. All results of the layer are outputs of the group. */
static inline void npl_one_layer_group_init(struct npl_one_layer_group *one, const struct npl_layer *layer)
{
	const int n_outputs = npl_layer_outputs(layer);
	one->layer = layer;
	for (int k = 0; k < n_outputs; k++)
		one->output[k] = &layer->out[k];
	one->group = (struct npl_layer_group){.n = 1,
					      .layer = &one->layer,
					      .n_outputs = n_outputs,
					      .output = one->output,
					      .timing_only = layer->timing_only};
}

#ifdef __cplusplus
}
#endif

#endif
