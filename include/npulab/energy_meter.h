/* SPDX-License-Identifier: MIT
 *
 * Measuring what a real device draws. Each way of measuring is one kind of meter behind the same three calls: the
 * processor's package counters (RAPL, core/computer/rapl.h), an NVIDIA GPU's board (NVML, backends/cuda/load/nvml.h). A
 * device opens the one that fits it (npl_device_open_meter).
 *
 *     struct npl_energy_meter meter;
 *     if (npl_device_open_meter(device, &meter, &err)) ... // err.msg is the reason for "absent"
 *     npl_energy_meter_start(&meter, &err);
 *     ... at least meter.shortest_seconds of repeats ...
 *     if (!npl_energy_meter_stop(&meter, &reading, &err)) ...
 *     npl_energy_meter_close(&meter);
 *
 * A meter counts all that goes on in what it measures, other programs and idle cores too. It may be started again
 * after a stop. One thread at a time. All failures are NPL_EDEVICE, with the reason: nothing can be read.
 */
#ifndef NPULAB_ENERGY_METER_H
#define NPULAB_ENERGY_METER_H

#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_POWERCAP_ROOT "/sys/class/powercap"

struct npl_energy_reading {
	/* The joules, and the seconds over which they were counted: up to one step of the counter fewer than between
	 * start and stop. */
	double joules, seconds;
	const char *origin; /* "measured:rapl-pkg", ... (result.h); a literal */
};

struct npl_energy_meter {
	const char *component;   /* what is measured: "package", "board"; a literal */
	char source[160];        /* by what: "RAPL: package-0 and package-1" */
	double shortest_seconds; /* a shorter measurement is refused */
	void *state;             /* NULL: not open */
	int (*start)(void *state, struct npl_err *err);
	int (*stop)(void *state, struct npl_energy_reading *reading, struct npl_err *err);
	void (*close)(void *state);
};

int npl_energy_meter_start(struct npl_energy_meter *meter, struct npl_err *err);
int npl_energy_meter_stop(struct npl_energy_meter *meter, struct npl_energy_reading *reading, struct npl_err *err);
void npl_energy_meter_close(struct npl_energy_meter *meter); /* accepts one that did not open, or a zeroed one */

/* The mean power while this thread sleeps for a while: at least half a second and the meter's shortest time. NAN: it
 * could not be read. */
double npl_energy_meter_idle_watts(struct npl_energy_meter *meter);

/* The processor's packages, all of them, through the folder of Linux's powercap files (NULL: NPL_POWERCAP_ROOT). */
int npl_energy_meter_open_rapl(const char *root, struct npl_energy_meter *meter, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
