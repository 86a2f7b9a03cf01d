/* SPDX-License-Identifier: MIT
 *
 * Energy of a memory that knows what its commands cost (npulab/memory.h), in the parts of a layer's result. */
#ifndef NPULAB_SIM_COMMON_MEMORY_ENERGY_H
#define NPULAB_SIM_COMMON_MEMORY_ENERGY_H

#include <stdbool.h>

#include "npulab/memory.h"
#include "npulab/result.h"

/* Names of the parts, for the memory's own name. */
#define SIM_MEMORY_PARTS(memory)                                                                                       \
	{                                                                                                              \
		[NPL_MEMORY_ACTIVATE] = memory " activate", [NPL_MEMORY_READ] = memory " read",                        \
		[NPL_MEMORY_WRITE] = memory " write", [NPL_MEMORY_REFRESH] = memory " refresh",                        \
		[NPL_MEMORY_ACTIVE_STANDBY] = memory " standby, rows open",                                            \
		[NPL_MEMORY_IDLE_STANDBY] = memory " standby"                                                          \
	}

/* Which parts are added beside those of commands that were given. SIM_STANDING_PARTS: refresh and standby, which draw
 * power without any work. SIM_UNUSED_PARTS: commands of which there were none, with 0 events. */
enum { SIM_STANDING_PARTS = 1 << 0, SIM_UNUSED_PARTS = 1 << 1 };

/* Adds what the counted commands cost. *known is false, and nothing is added, for a memory without an energy model. */
int sim_memory_energy(struct npl_result *result, const struct npl_memory *memory,
		      const struct npl_memory_counters *counters, const char *const names[NPL_MEMORY_ENERGIES],
		      unsigned parts, bool *known, struct npl_err *err);

#endif
