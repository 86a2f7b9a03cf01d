/* SPDX-License-Identifier: MIT
 *
 * Measures the energy that a real device uses. There are two kinds of meter: the processor's package counters (RAPL,
 * core/computer/rapl.h) and an NVIDIA GPU's board (NVML, backends/cuda/load/nvml.h). Both have the same three calls,
 * start, stop and close. A device opens the meter that fits it (npl_device_open_meter).
 *
 *     struct npl_energy_meter meter;
 *     if (npl_device_open_meter(device, &meter, &err)) ... // err.msg is the reason for "absent"
 *     npl_energy_meter_start(&meter, &err);
 *     ... at least meter.shortest_seconds of repeats ...
 *     if (!npl_energy_meter_stop(&meter, &reading, &err)) ...
 *     npl_energy_meter_close(&meter);
 *
 * A meter counts the energy of its whole component, including other programs and idle cores. It may be started again
 * after a stop. One thread at a time uses a meter. A meter that cannot be read returns NPL_EDEVICE with the reason.
 */
#ifndef NPULAB_ENERGY_METER_H
#define NPULAB_ENERGY_METER_H

#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_POWERCAP_ROOT "/sys/class/powercap"

struct npl_energy_reading {
	/* The joules, and the seconds over which they were counted. These seconds may be up to one step of the counter
	 * fewer than those between start and stop. */
	double joules, seconds;
	const char *origin; /* "measured:rapl-pkg", ... (result.h); a literal */
};

struct npl_energy_meter {
	const char *component;   /* the component that is measured: "package", "board"; a literal */
	char source[160];        /* what measures it: "RAPL: package-0 and package-1" */
	double shortest_seconds; /* a shorter measurement is refused */
	void *state;             /* NULL: not open */
	int (*start)(void *state, struct npl_err *err);
	int (*stop)(void *state, struct npl_energy_reading *reading, struct npl_err *err);
	void (*close)(void *state);
};

int npl_energy_meter_start(struct npl_energy_meter *meter, struct npl_err *err);
int npl_energy_meter_stop(struct npl_energy_meter *meter, struct npl_energy_reading *reading, struct npl_err *err);
void npl_energy_meter_close(struct npl_energy_meter *meter); /* accepts a meter that did not open, or a zeroed one */

/* Returns the mean power while this thread sleeps for at least half a second and the meter's shortest time. NAN: the
 * meter could not be read. */
double npl_energy_meter_idle_watts(struct npl_energy_meter *meter);

/* Opens a meter of all packages of the processor, read from the folder `root` of Linux's powercap files (NULL:
 * NPL_POWERCAP_ROOT). */
int npl_energy_meter_open_rapl(const char *root, struct npl_energy_meter *meter, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
