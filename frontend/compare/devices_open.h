/* SPDX-License-Identifier: MIT
 *
 * Which devices a comparison refuses, and what of them outlives their closing. */
#ifndef NPULAB_FRONTEND_COMPARE_DEVICES_OPEN_H
#define NPULAB_FRONTEND_COMPARE_DEVICES_OPEN_H

#include "npulab/compare.h"

/* Whether the device's time is measured, not modelled. */
bool npl_is_measured(const struct npl_device *device);
/* NPL_EUSAGE: timing_only of such a device. */
int npl_refuse_timing(const struct npl_device *device, struct npl_err *err);

/* Copies name, description and settings into the report (strings into the comparison's arena). */
int npl_report_describe(struct npl_comparison *c, const struct npl_device *device, struct npl_device_report *report,
			struct npl_err *err);

/* The rows and energies of a run point at strings of devices and sessions that are about to close: copies them. */
int npl_report_keep_strings(struct npl_comparison *c, struct npl_run *run, struct npl_err *err);

#endif
