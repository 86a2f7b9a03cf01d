/* SPDX-License-Identifier: MIT
 *
 * Passes: the whole set of samples through a session, first for the outputs and to warm up, then timed. */
#ifndef NPULAB_FRONTEND_COMPARE_PASSES_H
#define NPULAB_FRONTEND_COMPARE_PASSES_H

#include "frontend/quantise/layer_noise.h"

struct npl_passes {
	struct npl_graph *graph;
	struct npl_session *session;
	const struct npl_samples *samples;
	int64_t batches;
	bool timing_only, once;        /* once: one timed pass of a simulated machine is enough */
	struct npl_layer_noise *noise; /* looks at the first batch of the first pass; or NULL */
	struct npl_device *const *device;
	int n_devices;
};

/* Fills all[] with the outputs (unless timing_only) and report's run, spread, passes and simulation_wall_seconds. */
int npl_passes_run(const struct npl_passes *passes, struct npl_tensor *all, struct npl_device_report *report,
		   struct npl_err *err);

/* Puts the outputs of batch b (`real` samples of it) into those of all samples. NPL_EINTERNAL where they have no room
 * there. */
int npl_store_batch(const struct npl_graph *graph, const struct npl_samples *samples, const struct npl_tensor *batch,
		    int64_t b, int64_t real, struct npl_tensor *all, struct npl_err *err);

#endif
