/* SPDX-License-Identifier: MIT
 *
 * Notes as progress which layer of a layer group a device has reached (progress.h). */
#include "npulab/layer_group.h"

#include "npulab/progress.h"

void npl_layer_group_progress(const struct npl_layer_group *group, int layer)
{
	const bool known = group->node != NULL;
	npl_progress_step("layer", (known ? group->node[layer] : layer) + 1, known ? group->n_nodes : group->n,
			  group->layer[layer]->name);
}
