/* SPDX-License-Identifier: MIT
 *
 * Private: SCALE-Sim topologies as networks (docs/topologies.md). */
#ifndef NPULAB_FRONTEND_IMPORT_TOPOLOGY_H
#define NPULAB_FRONTEND_IMPORT_TOPOLOGY_H

#include "npulab/graph.h"

bool topology_is(const char *path); /* says whether the name ends in .csv */
/* Loads such a file as npl_graph_load does. NPL_EINPUT names file, line and column, and what was expected there. */
int topology_load(const char *path, const struct npl_load_options *options, struct npl_graph **graph,
		  struct npl_err *err);

#endif
