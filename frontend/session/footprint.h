/* SPDX-License-Identifier: MIT
 *
 * Private: how much memory a comparison needs at its worst, computed from the graph and the devices alone, before
 * anything large is allocated. */
#ifndef NPULAB_FRONTEND_SESSION_FOOTPRINT_H
#define NPULAB_FRONTEND_SESSION_FOOTPRINT_H

#include "npulab/compare.h"

/* Returns the bytes that the comparison needs beyond those in use now. It returns 0 in timing_only, and UINT64_MAX when
 * memory is too short to find out. device[d] is NULL for a device that cannot start. judged_bytes is the most bytes
 * of values that are held to judge layers by. */
uint64_t npl_footprint(const struct npl_graph *graph, const struct npl_samples *samples,
		       struct npl_device *const *device, const struct npl_compare_options *options,
		       size_t judged_bytes);

#endif
