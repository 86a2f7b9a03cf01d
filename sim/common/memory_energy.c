/* SPDX-License-Identifier: MIT
 *
 * Energy of a memory by its commands (memory_energy.h). */
#include "memory_energy.h"

static bool is_standing(enum npl_memory_part part)
{
	return part == NPL_MEMORY_REFRESH || part == NPL_MEMORY_ACTIVE_STANDBY || part == NPL_MEMORY_IDLE_STANDBY;
}

int sim_memory_energy(struct npl_result *result, const struct npl_memory *memory,
		      const struct npl_memory_counters *counters, const char *const names[NPL_MEMORY_ENERGIES],
		      unsigned parts, bool *is_known, struct npl_err *err)
{
	struct npl_memory_energy part[NPL_MEMORY_ENERGIES];
	const int n = npl_memory_energy_of(memory, counters, part);
	*is_known = n > 0;
	for (int i = 0; i < n; i++) {
		if ((!part[i].events && !(parts & SIM_UNUSED_PARTS)) ||
		    (is_standing(part[i].part) && !(parts & SIM_STANDING_PARTS)))
			continue;
		if (npl_result_energy_of(result, NPL_OF_MEMORY, names[part[i].part], part[i].events, part[i].pj,
					 part[i].origin, err))
			return err->code;
	}
	return 0;
}
