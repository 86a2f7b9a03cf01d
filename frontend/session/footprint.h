/* SPDX-License-Identifier: MIT
 *
 * Private: what a comparison takes of memory at its worst, from the graph and the devices alone, before anything large
 * is taken. */
#ifndef NPULAB_FRONTEND_SESSION_FOOTPRINT_H
#define NPULAB_FRONTEND_SESSION_FOOTPRINT_H

#include "npulab/compare.h"

/* Bytes beyond those in use now. kept: the most bytes of values that are held to judge layers by. */
uint64_t npl_footprint(const struct npl_graph *graph, const struct npl_samples *samples,
		       struct npl_device *const *device, const struct npl_compare_options *options, size_t kept);

#endif
