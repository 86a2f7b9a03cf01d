/* SPDX-License-Identifier: MIT
 *
 * The parts of the tables of layers (layer_table.h). */
#ifndef NPULAB_REPORTS_LAYER_TABLE_IMPL_H
#define NPULAB_REPORTS_LAYER_TABLE_IMPL_H

#include <stdio.h>

#include "layer_figures.h"
#include "npulab/report.h"
#include "reports/format/table.h"

/* The columns that names of layers keep at least, which are also enough for sums such as "all 100 layers". */
#define MIN_LABEL 16

/* Prints the table after an empty line and closes it, as npl_table_close. */
static inline int npl_layer_table_print(struct npl_table *table, FILE *out)
{
	fputc('\n', out);
	npl_table_print(table, out);
	return npl_table_close(table);
}

/* Returns what stands for the time of a layer that takes none of its own: its role. NULL: it takes time. */
static inline const char *npl_layer_timeless_role(const struct npl_layer_run *row)
{
	return row->role == NPL_FUSED || (row->role == NPL_VIEW && npl_row_seconds(row) <= 0) ? npl_role_name(row->role)
											      : NULL;
}

/* Prints all that is known of a device's layers, one in a line, and their sums (device_layers.c). */
int npl_device_layers(FILE *out, const struct npl_comparison *comparison, const struct npl_device_report *report,
		      const struct npl_report_context *context);

/* Prints where the cycles of the entry's layers went that this machine ran; a placement has several machines
 * (layer_causes.c). `name` is the machine's. A machine that counts no causes has no table. */
int npl_layer_causes(FILE *out, const struct npl_comparison *comparison, const struct npl_device_report *report,
		     const struct npl_report_context *context, const struct npl_device_info *info, const char *name);
/* Adds a note on each cause, in the order of that table's columns. */
void npl_layer_causes_note(struct npl_table *notes, const struct npl_device_info *info, const char *name);

#endif
