/* SPDX-License-Identifier: MIT
 *
 * Other work of this computer during a measurement: Linux's load average, and the processors that other programs keep
 * busy (from /proc/stat, less the time of this process). Other work makes a measured time longer.
 *
 *     struct npl_system_load load;
 *     npl_system_load_start(&load, NULL);
 *     ... the measurement ...
 *     npl_system_load_stop(&load);                     load.busy
 */
#ifndef NPULAB_SYSTEM_LOAD_H
#define NPULAB_SYSTEM_LOAD_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_PROC_ROOT       "/proc"
#define NPL_BUSY_PROCESSORS 0.25 /* a measurement beside at least this much other work is called disturbed */

struct npl_system_load {
	int processors;      /* online */
	double load_average; /* the average over the minute before the start; NAN: not known */
	/* processors that other programs kept busy on average; NAN: not known, or the measurement was shorter than 0.1
	 * s */
	double other_processors;
	bool busy; /* other_processors >= NPL_BUSY_PROCESSORS */
	const char *root;
	/* at the start, the seconds of the clock, of all processors and of this process */
	double start_seconds, start_total_seconds, start_process_seconds;
};

/* Starts a measurement. root: the folder of loadavg and stat, borrowed until stop; NULL: NPL_PROC_ROOT. */
void npl_system_load_start(struct npl_system_load *load, const char *root);
void npl_system_load_stop(struct npl_system_load *load);

#ifdef __cplusplus
}
#endif

#endif
