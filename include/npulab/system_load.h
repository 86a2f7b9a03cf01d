/* SPDX-License-Identifier: MIT
 *
 * What else this computer does while something is measured on it: Linux's load average, and the processors that other
 * programs keep busy (from /proc/stat, less what this process takes itself). A time measured beside other work is a
 * time of both.
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
#define NPL_BUSY_PROCESSORS 0.25 /* from so much work of others on a measurement is called disturbed */

struct npl_system_load {
	int processors;      /* online */
	double load_average; /* over the minute before the start; NAN: not known */
	double others; /* processors that other programs kept busy on average; NAN: not known, or shorter than 0.1 s */
	bool busy;     /* others >= NPL_BUSY_PROCESSORS */
	const char *root;
	double start_seconds, start_total, start_own; /* seconds of the clock, of all processors, of this process */
};

/* root: the folder of loadavg and stat, NULL: NPL_PROC_ROOT; borrowed until stop. */
void npl_system_load_start(struct npl_system_load *load, const char *root);
void npl_system_load_stop(struct npl_system_load *load);

#ifdef __cplusplus
}
#endif

#endif
