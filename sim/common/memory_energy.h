/* SPDX-License-Identifier: MIT
 *
 * The energy of a memory that knows what its commands cost (npulab/memory.h), as parts of a layer's result. */
#ifndef NPULAB_SIM_COMMON_MEMORY_ENERGY_H
#define NPULAB_SIM_COMMON_MEMORY_ENERGY_H

#include <stdbool.h>

#include "npulab/memory.h"
#include "npulab/result.h"

/* The names of the parts, which begin with the memory's own name. */
#define SIM_MEMORY_PARTS(memory)                                                                                       \
	{                                                                                                              \
		[NPL_MEMORY_ACTIVATE] = memory " activate", [NPL_MEMORY_READ] = memory " read",                        \
		[NPL_MEMORY_WRITE] = memory " write", [NPL_MEMORY_REFRESH] = memory " refresh",                        \
		[NPL_MEMORY_ACTIVE_STANDBY] = memory " standby, rows open",                                            \
		[NPL_MEMORY_IDLE_STANDBY] = memory " standby"                                                          \
	}
_Static_assert(sizeof((const char *[])SIM_MEMORY_PARTS("")) == NPL_MEMORY_ENERGIES * sizeof(char *),
	       "each part has a name");

/* The parts that are added beside those of commands that occurred. SIM_STANDING_PARTS: refresh and standby, which draw
 * power without any work. SIM_UNUSED_PARTS: commands that did not occur, with 0 events. */
enum { SIM_STANDING_PARTS = 1 << 0, SIM_UNUSED_PARTS = 1 << 1 };

/* Adds the energy of the counted commands. For a memory without an energy model *is_known is false and nothing is
 * added. */
int sim_memory_energy(struct npl_result *result, const struct npl_memory *memory,
		      const struct npl_memory_counters *counters, const char *const names[NPL_MEMORY_ENERGIES],
		      unsigned parts, bool *is_known, struct npl_err *err);

#endif
