/* SPDX-License-Identifier: MIT
 *
 * Energy of real devices (energy.h). */
#include "energy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/message.h"
#include "core/computer/clock.h"
#include "core/energy_merge.h"
#include "devices_open.h"

/* Appends text to the report's note, with "; " between them. */
static void note(struct npl_energy_report *report, const char *text)
{
	if (*text)
		npl_append(report->note, sizeof report->note, "; ", "%s", text);
}

void npl_energy_measurement_open(struct npl_energy_measurement *measurement, struct npl_device *const *device,
				 int n_devices, struct npl_energy_report *report)
{
	struct npl_err error = {0};
	*report = NPL_ENERGY_UNKNOWN;
	*measurement = (struct npl_energy_measurement){.device = device, .n_devices = n_devices, .report = report};
	if (n_devices != 1) {
		note(report, "not measured: the counters would see the other devices' work as well");
		return;
	}
	if (npl_device_open_meter(device[0], &measurement->meter, &error)) {
		note(report, error.msg);
		return;
	}
	report->idle_watts_before = npl_energy_meter_idle_watts(&measurement->meter);
}

/* Closes the meter and notes the error; from then on nothing is measured. */
static void stop_measuring(struct npl_energy_measurement *measurement, const struct npl_err *error)
{
	npl_energy_meter_close(&measurement->meter);
	note(measurement->report, error->msg);
}

void npl_energy_measurement_start(struct npl_energy_measurement *measurement)
{
	struct npl_err error;
	measurement->start_seconds = npl_clock_seconds();
	if (measurement->meter.state && npl_energy_meter_start(&measurement->meter, &error))
		stop_measuring(measurement, &error);
}

bool npl_energy_measurement_needs_run(const struct npl_energy_measurement *measurement)
{
	return measurement->meter.state &&
	       npl_clock_seconds() - measurement->start_seconds < 1.05 * measurement->meter.shortest_seconds;
}

void npl_energy_measurement_stop(struct npl_energy_measurement *measurement, int repeats)
{
	struct npl_energy_report *report = measurement->report;
	struct npl_energy_reading reading;
	struct npl_err error;
	char text[320];
	if (!measurement->meter.state)
		return;
	if (npl_energy_meter_stop(&measurement->meter, &reading, &error)) {
		stop_measuring(measurement, &error);
		return;
	}
	report->idle_watts_after = npl_energy_meter_idle_watts(&measurement->meter);
	measurement->origin = reading.origin;
	report->joules = reading.joules;
	report->seconds = reading.seconds;
	report->repeats = repeats;
	snprintf(text, sizeof text,
		 "%s, %.3g W over %.2g s of repeats, %.3g W idle before and %.3g W after, not subtracted",
		 measurement->meter.source, reading.joules / reading.seconds, reading.seconds,
		 report->idle_watts_before, report->idle_watts_after);
	note(report, text);
}

static bool is_unknown(const struct npl_energy *energy)
{
	return npl_origin_is_absent(energy->origin);
}

/* Removes absent energies from the list. Returns how many entries are left. */
static int drop_unknown(struct npl_energy *list, int n)
{
	int n_kept = 0;
	for (int i = 0; i < n; i++)
		if (!is_unknown(&list[i]))
			list[n_kept++] = list[i];
	return n_kept;
}

/* Puts the measured energy into the run. The device draws the measured power while layers and transfers go on, not
 * while the modelled host works. */
static int settle_measured(const struct npl_energy_measurement *measurement, struct npl_run *run, struct npl_err *err)
{
	double seconds = fmax(run->seconds - run->host_seconds, run->device_seconds);
	const struct npl_energy measured = {.component = measurement->meter.component,
					    .origin = measurement->origin,
					    .joules = seconds * measurement->report->joules /
						      measurement->report->seconds};
	run->n_energy = drop_unknown(run->energy, run->n_energy);
	return npl_energy_merge(run->energy, &run->n_energy, NPL_MAX_RUN_ENERGY, &measured, err);
}

/* Sets a layer's absent energy to the power times its time. This time includes its transfers over the device's link,
 * because the board draws the power then too. Transfers that the row does not count, such as those of a list of layers,
 * add nothing. */
static void assume_row(struct npl_layer_run *row, double watts, bool own_time)
{
	const bool has_no_transfers = own_time || !(row->link_seconds > 0);
	const double transfers = has_no_transfers ? 0 : row->result.to_device.seconds + row->result.to_host.seconds;
	for (int e = 0; e < row->result.n_energy; e++)
		if (is_unknown(&row->result.energy[e])) {
			row->result.energy[e].origin = "assumed:tdp";
			row->result.energy[e].joules = watts * (row->result.seconds + transfers);
			return;
		}
}

int npl_energy_measurement_finish(const struct npl_energy_measurement *measurement, struct npl_run *run,
				  struct npl_err *err)
{
	if (measurement->origin)
		return settle_measured(measurement, run, err);
	for (int d = 0; d < measurement->n_devices; d++) {
		struct npl_assumed_power power;
		if (!npl_is_measured(measurement->device[d]))
			continue;
		npl_device_assume_power(measurement->device[d], &power);
		note(measurement->report, power.note);
		for (int i = 0; i < run->n_layers && isfinite(power.watts); i++)
			if (run->layer[i].role == NPL_RAN && run->layer[i].device == d)
				assume_row(&run->layer[i], power.watts, measurement->own_time);
	}
	return npl_run_total(run, err);
}

void npl_energy_measurement_close(struct npl_energy_measurement *measurement)
{
	npl_energy_meter_close(&measurement->meter);
}
