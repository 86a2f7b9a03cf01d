/* SPDX-License-Identifier: MIT
 *
 * The notes below the tables of a comparison: the explanations that are needed to read them. */
#ifndef NPULAB_REPORTS_NOTES_H
#define NPULAB_REPORTS_NOTES_H

#include <stdio.h>

#include "npulab/report.h"

int npl_report_notes(FILE *out, const struct npl_comparison *comparison, const struct npl_report_context *context);

#endif
