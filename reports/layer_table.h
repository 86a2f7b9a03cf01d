/* SPDX-License-Identifier: MIT
 *
 * The layers of a comparison one by one: their times and what limited them, where the cycles of a machine went, and how
 * far their results are from float32. */
#ifndef NPULAB_REPORTS_LAYER_TABLE_H
#define NPULAB_REPORTS_LAYER_TABLE_H

#include <stdio.h>

#include "npulab/report.h"
#include "reports/format/table.h"

int npl_layer_tables(FILE *out, const struct npl_comparison *comparison, const struct npl_report_context *context);
/* Adds the rows of notes that these tables need. */
void npl_layer_notes(struct npl_table *notes, const struct npl_comparison *comparison,
		     const struct npl_report_context *context);

#endif
