/* SPDX-License-Identifier: MIT
 *
 * The processor's own energy counters (RAPL), read through the powercap files of Linux, which AMD's processors
 * share under Intel's name. A meter counts whole packages: every core, its caches and its memory controller, and
 * every other process that runs meanwhile.
 *
 *     struct npl_energy_meter meter;
 *     if (npl_energy_meter_open(NULL, &meter, &err)) ...        err.msg is the reason for "absent"
 *     npl_energy_meter_start(&meter, &err);
 *     ... at least meter.shortest_seconds of repeats ...
 *     if (!npl_energy_meter_stop(&meter, &joules, &seconds, &err)) ...   origin: measured:rapl-pkg
 *     npl_energy_meter_close(&meter);
 *
 * The counters step about every millisecond, so a reading over T seconds is off by up to 2 ms / T: whole repeated
 * runs are measured, never one layer. One thread at a time. All failures are NPL_EDEVICE: nothing can be read here.
 */
#ifndef NPULAB_ENERGY_METER_H
#define NPULAB_ENERGY_METER_H

#include <stdint.h>

#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_POWERCAP_ROOT  "/sys/class/powercap"
#define NPL_ENERGY_DOMAINS 32 /* packages, or dies where a package has several */

struct npl_energy_domain {
	char name[32];     /* "package-0", "package-1-die-0" */
	int fd;            /* of energy_uj */
	uint64_t range_uj; /* where the counter wraps to 0; 0: not known */
	uint64_t start_uj;
};

struct npl_energy_meter {
	int n_domains;
	struct npl_energy_domain domain[NPL_ENERGY_DOMAINS];
	double start_seconds;
	double shortest_seconds; /* a shorter measurement is refused: 0.1, which bounds the error of the step at 2 % */
};

/* Finds the package domains below root (NULL: NPL_POWERCAP_ROOT) and keeps those whose counter advances while
 * this thread is busy for up to 100 ms; a virtual machine may offer one that always reads 0. */
int npl_energy_meter_open(const char *root, struct npl_energy_meter *meter, struct npl_err *err);
void npl_energy_meter_close(struct npl_energy_meter *meter); /* accepts a meter that did not open, or a zeroed one */

int npl_energy_meter_start(struct npl_energy_meter *meter, struct npl_err *err);
/* Joules of all domains since start, and the time over which they were counted. */
int npl_energy_meter_stop(struct npl_energy_meter *meter, double *joules, double *seconds, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
