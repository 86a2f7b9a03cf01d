/* SPDX-License-Identifier: MIT
 *
 * The energy of real devices while work is repeated on them: measured by the device's meter, else assumed, else absent;
 * the report says which and why. Simulated devices give the energy of each layer themselves, which stays as it is.
 *
 *     npl_energy_measurement_open(&measurement, devices, n, &report->energy);    idle power, before
 *     npl_energy_measurement_start(&measurement);
 *     ... repeats, while npl_energy_measurement_needs_run(&measurement) too ...
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
	struct npl_energy_meter meter; /* closed: nothing can be measured, and the report's note says why */
	double start_seconds;
	const char *origin; /* origin of the measured energy; NULL: none was measured */
	bool own_time;      /* the rows' times are the device's own, without its link's */
};

/* Opens the meter of a device and reads its idle power; sets the report to "nothing known". Beside other devices
 * nothing is measured, because the meter's counters would see their work too. */
void npl_energy_measurement_open(struct npl_energy_measurement *measurement, struct npl_device *const *device,
				 int n_devices, struct npl_energy_report *report);
void npl_energy_measurement_start(struct npl_energy_measurement *measurement);
/* Says whether the repeats so far were too short for the meter. */
bool npl_energy_measurement_needs_run(const struct npl_energy_measurement *measurement);
void npl_energy_measurement_stop(struct npl_energy_measurement *measurement, int repeats);
/* Puts the energy into the run. Measured: the mean power times the run's time without the modelled host's, in place of
 * absent energies. Assumed: the power times the time of each layer, after which the run's totals are computed again.
 * Returns 0 or err->code. */
int npl_energy_measurement_finish(const struct npl_energy_measurement *measurement, struct npl_run *run,
				  struct npl_err *err);
void npl_energy_measurement_close(struct npl_energy_measurement *measurement);

#endif
