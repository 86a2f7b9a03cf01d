/* SPDX-License-Identifier: MIT
 *
 * Passes: runs of the whole set of samples through a session, the first for the outputs and to warm up, the others
 * timed. */
#ifndef NPULAB_FRONTEND_COMPARE_PASSES_H
#define NPULAB_FRONTEND_COMPARE_PASSES_H

#include "frontend/quantise/layer_noise.h"

struct npl_passes {
	struct npl_graph *graph;
	struct npl_session *session;
	const struct npl_samples *samples;
	bool timing_only, once;        /* once: one timed pass of a simulated machine is enough */
	struct npl_layer_noise *noise; /* observes the first batch of the first pass; NULL: layers are not judged */
	/* Watches the first pass, which is then the only one; NULL: nobody watches. Of its functions on_start is not
	 * called here. */
	const struct npl_run_watcher *watcher;
	struct npl_device *const *device;
	int n_devices;
};

/* Runs the passes. Fills outputs[] (unless timing_only), and run, spread, median_within, passes,
 * simulation_wall_seconds, energy and load of the report. Returns 0 or err->code. */
int npl_passes_run(const struct npl_passes *passes, struct npl_tensor *outputs, struct npl_device_report *report,
		   struct npl_err *err);

#endif
