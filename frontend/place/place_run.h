/* SPDX-License-Identifier: MIT
 *
 * Runs placements by sessions, as `npulab run` does. */
#ifndef NPULAB_FRONTEND_PLACE_PLACE_RUN_H
#define NPULAB_FRONTEND_PLACE_PLACE_RUN_H

#include "place_impl.h"

struct place_job {
	struct npl_graph *graph;
	const struct npl_samples *samples;
	const struct npl_compare_options *options;
	struct npl_device **device; /* options->n_devices of them */
	struct npl_device *host;
	struct npl_calibration *calibration; /* NULL: nothing to quantise with values */
};

/* A placement that has been run. */
struct place_ran {
	struct npl_session *session;
	struct npl_device_report report; /* run: the sum over the batches */
	double batches;
	double seconds, joules; /* of a batch; joules NAN: not known */
};

/* Opens the devices and the host, and finds ranges where real devices need values. Returns 0 or err->code. */
int place_job_open(struct place_job *job, const struct npl_samples *calibration, struct npl_err *err);
void place_job_close(struct place_job *job);

/* Runs a placement: per node, the index of its device or NPL_ON_HOST. Only the devices that it names are in the
 * session. Without real devices one batch runs, without values. The caller frees *ran. */
int place_job_run(const struct place_job *job, const int *place, struct place_ran *ran, struct npl_err *err);
void place_ran_free(struct place_ran *ran);

#endif
