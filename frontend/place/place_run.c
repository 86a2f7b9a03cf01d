/* SPDX-License-Identifier: MIT
 *
 * Runs placements by sessions (place_run.h). */
#include "place_run.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/refuse.h"
#include "frontend/compare/batches.h"
#include "frontend/compare/devices_open.h"
#include "frontend/compare/passes.h"
#include "frontend/session/footprint.h"
#include "npulab/budget.h"
#include "npulab/progress.h"

static bool any_measured(const struct place_job *job)
{
	bool any = false;
	for (int d = 0; d < job->options->n_devices; d++)
		any |= npl_is_measured(job->device[d]);
	return any;
}

static int refuse_device(const struct place_job *job, struct npl_err *err)
{
	for (int d = 0; d < job->options->n_devices; d++)
		if (npl_device_get_info(job->device[d])->link.measured)
			return npl_fail(err, NPL_EUSAGE,
					"%s copies its inputs and outputs itself, so that no cost of a cut is known; "
					"`npulab run --place` takes it",
					npl_device_instance(job->device[d]));
	return 0;
}

struct evaluation {
	struct npl_calibration *calibration;
	int pass;
};

static int evaluate_batch(void *context, int64_t batch, const struct npl_tensor *in, struct npl_tensor *out,
			  struct npl_err *err)
{
	const struct evaluation *evaluation = context;
	(void)batch;
	return npl_calibration_batch(evaluation->calibration, evaluation->pass, in, out, NULL, err);
}

/* Finds the ranges that devices of integers need beside a real device, for which values are computed. */
static int calibrate(struct place_job *job, const struct npl_samples *samples, struct npl_err *err)
{
	bool quantised = false;
	for (int d = 0; d < job->options->n_devices; d++)
		quantised |= npl_device_get_info(job->device[d])->format != NPL_FORMAT_F32;
	if (!quantised || !any_measured(job))
		return 0;
	if (npl_calibration_open(job->graph, &job->options->calibration, &job->calibration, err))
		return err->code;
	for (int pass = 0; pass < npl_calibration_passes(job->calibration); pass++) {
		struct evaluation evaluation = {job->calibration, pass};
		if (npl_each_batch(job->graph, samples, "calibrating", evaluate_batch, &evaluation, NULL, err))
			return err->code;
	}
	return 0;
}

int place_job_open(struct place_job *job, const struct npl_samples *calibration, struct npl_err *err)
{
	job->device = calloc((size_t)job->options->n_devices + 1, sizeof *job->device);
	if (!job->device)
		return npl_no_memory(err);
	if (npl_devices_open(job->options, job->device, NULL, err) || refuse_device(job, err) ||
	    npl_host_open(job->options, &job->host, err))
		return err->code;
	if (any_measured(job) && npl_budget_check(npl_footprint(job->graph, job->samples, job->device, job->options, 0),
						  job->graph->name, err))
		return err->code;
	return calibrate(job, calibration ? calibration : job->samples, err);
}

void place_job_close(struct place_job *job)
{
	for (int d = 0; job->device && d < job->options->n_devices; d++)
		npl_device_close(job->device[d]);
	npl_device_close(job->host);
	npl_calibration_close(job->calibration);
	free(job->device);
	*job = (struct place_job){0};
}

/* Opens the session of a placement over the devices that it names. devices[]: has room for all. Sets *n_devices and
 * *measured, which says whether one of them is real. */
static int open_session(const struct place_job *job, const int *place, struct npl_device **devices, int *n_devices,
			bool *measured, struct npl_session **session, struct npl_err *err)
{
	const int n = job->graph->n_nodes;
	int index[NPL_PLACE_DEVICES], *own_place = calloc((size_t)n + 1, sizeof *own_place);
	if (!own_place)
		return npl_no_memory(err);
	for (int d = 0; d < job->options->n_devices; d++) {
		bool used = false;
		for (int i = 0; i < n; i++)
			used |= place[i] == d;
		index[d] = *n_devices;
		if (!used)
			continue;
		*measured |= npl_is_measured(job->device[d]);
		devices[(*n_devices)++] = job->device[d];
	}
	for (int i = 0; i < n; i++)
		own_place[i] = place[i] == NPL_ON_HOST ? NPL_ON_HOST : index[place[i]];
	struct npl_session_options options = {.n_devices = *n_devices,
					      .device = devices,
					      .place = own_place,
					      .host = job->host,
					      .plan = job->options->plan};
	options.plan.timing_only = !*measured;
	if (*measured && job->calibration) {
		options.ranges = npl_calibration_ranges(job->calibration, NPL_FORMAT_F32);
		options.ranges_int8 = npl_calibration_ranges(job->calibration, NPL_FORMAT_INT8);
	}
	const int rc = npl_session_open(job->graph, &options, session, err);
	free(own_place);
	return rc;
}

int place_job_run(const struct place_job *job, const int *place, struct place_ran *ran, struct npl_err *err)
{
	struct npl_device *devices[NPL_PLACE_DEVICES] = {0};
	bool measured = false;
	int n_devices = 0;
	*ran = (struct place_ran){.batches = 1};
	int rc = open_session(job, place, devices, &n_devices, &measured, &ran->session, err);
	if (!rc && !measured)
		rc = npl_session_run(ran->session, NULL, NULL, &ran->report.run, err);
	if (!rc && measured) {
		const struct npl_passes passes = {.graph = job->graph,
						  .session = ran->session,
						  .samples = job->samples,
						  .device = devices,
						  .n_devices = n_devices};
		ran->batches = (double)npl_samples_batches(job->graph, job->samples);
		rc = npl_passes_run(&passes, NULL, &ran->report, err);
		if (rc == NPL_EINPUT)
			npl_prefix(err, "%s", job->graph->name);
	}
	const struct npl_run *run = &ran->report.run;
	ran->seconds = run->seconds / ran->batches;
	ran->joules = run->n_energy ? npl_energy_sum(run->energy, run->n_energy) / ran->batches : 0;
	if (rc)
		place_ran_free(ran);
	return rc;
}

void place_ran_free(struct place_ran *ran)
{
	npl_run_free(&ran->report.run);
	npl_session_close(ran->session);
	ran->session = NULL;
}
