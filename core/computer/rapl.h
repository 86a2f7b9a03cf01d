/* SPDX-License-Identifier: MIT
 *
 * The processor's own energy counters (RAPL), read through the powercap files of Linux, which AMD's processors
 * share under Intel's name. Whole packages are counted, all that there are: every core, its caches and its memory
 * controller, and every other process that runs meanwhile.
 *
 *     struct npl_rapl rapl;
 *     if (npl_rapl_open(NULL, &rapl, &err)) ...        err.msg is the reason for "absent"
 *     npl_rapl_start(&rapl, &err);
 *     ... at least NPL_RAPL_SHORTEST_SECONDS of repeats ...
 *     if (!npl_rapl_stop(&rapl, &joules, &seconds, &err)) ...   origin: measured:rapl-pkg
 *     npl_rapl_close(&rapl);
 *
 * The counters step about every millisecond, so a reading over T seconds is off by up to 2 ms / T: whole repeated runs
 * are measured, never one layer. One thread at a time. All failures are NPL_EDEVICE: nothing can be read here. Other
 * code sees it as a struct npl_energy_meter (npulab/energy_meter.h).
 */
#ifndef NPULAB_CORE_COMPUTER_RAPL_H
#define NPULAB_CORE_COMPUTER_RAPL_H

#include <stdint.h>

#include "npulab/error.h"

#define NPL_RAPL_DOMAINS          32  /* packages, or dies where a package has several */
#define NPL_RAPL_SHORTEST_SECONDS 0.1 /* bounds the error of the step at 2 % */

struct npl_rapl_domain {
	char name[32];     /* "package-0", "package-1-die-0" */
	int fd;            /* file descriptor of energy_uj */
	uint64_t range_uj; /* where the counter wraps to 0; 0: not known */
	uint64_t start_uj;
};

struct npl_rapl {
	int n_domains;
	char stuck_package[32]; /* a package whose counter stands still and which is not among the domains; "": none */
	struct npl_rapl_domain domain[NPL_RAPL_DOMAINS];
	double start_seconds;
	double shortest_seconds; /* a shorter measurement is refused: NPL_RAPL_SHORTEST_SECONDS */
};

/* Finds the package domains below root (NULL: NPL_POWERCAP_ROOT) and keeps those whose counter advances while
 * this thread is busy for up to 100 ms; a virtual machine may offer one that always reads 0. */
int npl_rapl_open(const char *root, struct npl_rapl *rapl, struct npl_err *err);
void npl_rapl_close(struct npl_rapl *rapl); /* accepts a struct that did not open, or a zeroed one */

int npl_rapl_start(struct npl_rapl *rapl, struct npl_err *err);
/* Gives the joules of all domains since start, and the time over which they were counted. */
int npl_rapl_stop(struct npl_rapl *rapl, double *joules, double *seconds, struct npl_err *err);

#endif
