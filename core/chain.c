/* SPDX-License-Identifier: MIT
 *
 * Which layer of a chain a device is at, for whoever waits (stage.h). */
#include "npulab/chain.h"

#include "npulab/stage.h"

void npl_chain_stage(const struct npl_chain *chain, int layer)
{
	const bool known = chain->node != NULL;
	npl_stage_step("layer", (known ? chain->node[layer] : layer) + 1, known ? chain->n_nodes : chain->n,
		       chain->layer[layer]->name);
}
