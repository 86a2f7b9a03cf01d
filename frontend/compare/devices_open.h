/* SPDX-License-Identifier: MIT
 *
 * Which devices a comparison refuses, and which of their data it copies before they close. */
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

/* Copies name, description and settings into the report (strings into the comparison's arena). */
int npl_report_describe(struct npl_comparison *c, const struct npl_device *device, struct npl_device_report *report,
			struct npl_err *err);

/* Copies the strings of the run's rows, energies and resources into the comparison's arena, because the devices and
 * sessions that own them are about to close. */
int npl_report_keep_strings(struct npl_comparison *c, struct npl_run *run, struct npl_err *err);

#endif
