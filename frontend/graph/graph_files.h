/* SPDX-License-Identifier: MIT
 *
 * The mapped files of a graph, which its constants point into; graph.c unmaps them. */
#ifndef NPULAB_FRONTEND_GRAPH_GRAPH_FILES_H
#define NPULAB_FRONTEND_GRAPH_GRAPH_FILES_H

#include "core/files/file.h"

struct npl_graph_files {
	int n;
	struct npl_file *file; /* the model's, then those of the files that it names */
};

#endif
