/* SPDX-License-Identifier: MIT
 *
 * What real devices draw while something is repeated on them: measured by the device's meter, else assumed, else
 * absent; the report says which and why. Simulated devices tell their energy layer by layer and are left alone.
 *
 *     npl_energy_measurement_open(&measurement, devices, n, &report->energy);    idle power, before
 *     npl_energy_measurement_start(&measurement);
 *     ... repeats, while npl_energy_measurement_wants_more(&measurement) too ...
 *     npl_energy_measurement_stop(&measurement, repeats);                        idle power, after
 *     npl_energy_measurement_finish(&measurement, &report->run, &err);           joules into the run
 *     npl_energy_measurement_close(&measurement);
 */
#ifndef NPULAB_FRONTEND_COMPARE_ENERGY_H
#define NPULAB_FRONTEND_COMPARE_ENERGY_H

#include "npulab/compare.h"
#include "npulab/energy_meter.h"

struct npl_energy_measurement {
	struct npl_device *const *device;
	int n_devices;
	struct npl_energy_report *report;
	struct npl_energy_meter meter; /* closed: nothing can be measured, the report's note says why */
	double start_seconds;
	const char *origin; /* of what was measured; NULL: nothing was */
	bool own_time;      /* what is told is the device's own time, without its link's */
};

/* report is set to "nothing known". A meter works for one device alone: beside others the counters see their work
 * too. */
void npl_energy_measurement_open(struct npl_energy_measurement *measurement, struct npl_device *const *device,
				 int n_devices, struct npl_energy_report *report);
void npl_energy_measurement_start(struct npl_energy_measurement *measurement);
bool npl_energy_measurement_wants_more(
	const struct npl_energy_measurement *measurement); /* the repeats are too short for the meter yet */
void npl_energy_measurement_stop(struct npl_energy_measurement *measurement, int repeats);
/* Measured: mean power x the run's time, in place of what the device could not tell. Assumed: power x time of each
 * layer. The run's totals are made again. */
int npl_energy_measurement_finish(const struct npl_energy_measurement *measurement, struct npl_run *run,
				  struct npl_err *err);
void npl_energy_measurement_close(struct npl_energy_measurement *measurement);

#endif
