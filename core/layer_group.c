/* SPDX-License-Identifier: MIT
 *
 * Which layer of a layer group a device is at, for whoever waits (stage.h). */
#include "npulab/layer_group.h"

#include "npulab/stage.h"

void npl_layer_group_stage(const struct npl_layer_group *group, int layer)
{
	const bool known = group->node != NULL;
	npl_stage_step("layer", (known ? group->node[layer] : layer) + 1, known ? group->n_nodes : group->n,
		       group->layer[layer]->name);
}
