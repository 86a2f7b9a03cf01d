/* SPDX-License-Identifier: MIT
 *
 * What a comparison copies into its reports before the devices and sessions that own it close. */
#ifndef NPULAB_FRONTEND_COMPARE_REPORT_COPY_H
#define NPULAB_FRONTEND_COMPARE_REPORT_COPY_H

#include "npulab/compare.h"

/* Copies name, description and settings into the report (strings into the comparison's arena). */
int npl_report_describe(struct npl_comparison *c, const struct npl_device *device, struct npl_device_report *report,
			struct npl_err *err);

/* Copies the strings of the run's rows, energies and resources into the comparison's arena, because the devices and
 * sessions that own them are about to close. */
int npl_report_keep_strings(struct npl_comparison *c, struct npl_run *run, struct npl_err *err);

#endif
