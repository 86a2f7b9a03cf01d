/* SPDX-License-Identifier: MIT
 *
 * Notes of a table on faults of values: sums that wrapped, results that are not finite.
 */
#ifndef NPULAB_REPORTS_VALUE_NOTES_H
#define NPULAB_REPORTS_VALUE_NOTES_H

#include <stdio.h>

#include "npulab/report.h"

/* Says whether a part of the entry counts the sums that wrap. A GPU's sums wrap too, but they never reach this
 * machine's memory, so they cannot be counted. */
bool npl_report_counts_wraps(const struct npl_device_report *report);
/* Writes "; ..." for each fault of the entry's values, and nothing where there is none. */
void npl_value_notes(FILE *note, const struct npl_comparison *comparison, const struct npl_device_report *report);

#endif
