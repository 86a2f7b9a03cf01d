/* SPDX-License-Identifier: MIT
 *
 * Energy models in tests. */
#ifndef NPULAB_TESTS_KIT_SIM_ENERGY_H
#define NPULAB_TESTS_KIT_SIM_ENERGY_H

#include <criterion/criterion.h>
#include <string.h>

#include "npulab/energy_model.h"

/* The action that is charged under this name; there must be one. */
static inline const struct npl_action *test_action(const struct npl_energy_model *model, const char *energy)
{
	for (int c = 0; c < model->n_components; c++)
		for (int i = 0; i < model->component[c].n_actions; i++)
			if (!strcmp(model->component[c].action[i].energy, energy))
				return &model->component[c].action[i];
	cr_assert_fail("no energy %s", energy);
	return NULL;
}

#endif
