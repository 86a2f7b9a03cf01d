/* SPDX-License-Identifier: MIT
 *
 * Which devices a comparison refuses. */
#ifndef NPULAB_FRONTEND_COMPARE_DEVICES_OPEN_H
#define NPULAB_FRONTEND_COMPARE_DEVICES_OPEN_H

#include "npulab/compare.h"

/* Says whether the device's time is measured, not modelled. */
bool npl_is_measured(const struct npl_device *device);
/* Returns NPL_EUSAGE, with a message that the device's time can only be measured: timing_only is refused. */
int npl_refuse_timing(const struct npl_device *device, struct npl_err *err);

/* Returns NPL_EUSAGE for a setting that is of none of these n devices: `reason` says so, and the message names the
 * nearest, or the form DEVICE.KEY=VALUE where no device stands before the key. */
int npl_refuse_set(const char *set, const char *const *names, int n, const char *reason, struct npl_err *err);

/* Lets the watcher see the n devices (NULL: one that cannot start), and starts it. */
int npl_start_watching(const struct npl_run_watcher *watcher, struct npl_device *const *device, int n,
		       const struct npl_comparison *comparison, struct npl_err *err);

#endif
