/* SPDX-License-Identifier: MIT
 *
 * What a table's notes say of values that went wrong: sums that wrapped, results that are no finite number.
 */
#ifndef NPULAB_REPORTS_VALUE_NOTES_H
#define NPULAB_REPORTS_VALUE_NOTES_H

#include <stdio.h>

#include "npulab/report.h"

/* Whether a part of the entry counts the sums that wrap. A GPU's sums wrap as well and never reach this machine's
 * memory, so nobody can count them. */
bool npl_report_counts_wraps(const struct npl_device_report *report);
/* Writes "; ..." for each fault of the entry's values, nothing where there is none. */
void npl_value_notes(FILE *note, const struct npl_comparison *comparison, const struct npl_device_report *report);

#endif
