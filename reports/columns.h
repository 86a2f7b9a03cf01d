/* SPDX-License-Identifier: MIT
 *
 * The columns of a comparison's reports (columns.def), written as a table, as JSON and as CSV.
 */
#ifndef NPULAB_REPORTS_COLUMNS_H
#define NPULAB_REPORTS_COLUMNS_H

#include <stdio.h>

#include "layer_figures.h"
#include "npulab/report.h"
#include "reports/format/json.h"
#include "reports/format/table.h"

/* The tables of entries, and the objects of JSON that hold the same figures. */
enum npl_column_group { NPL_COLUMNS_TOTALS, NPL_COLUMNS_ACCURACY };

/* A device's entry, from which its columns are computed. */
struct npl_entry {
	const struct npl_comparison *comparison;
	const struct npl_device_report *report;
	const struct npl_run *run; /* the run of the report */
	const struct npl_report_context *context;
	struct npl_figures figures;
	bool modelled; /* the time of its kind of device comes from a model */
	bool metered;  /* a meter measured its energy */
	char text[400];
};
void npl_entry_of(const struct npl_comparison *comparison, const struct npl_device_report *report,
		  const struct npl_report_context *context, struct npl_entry *entry);

/* A layer of an entry, from which its columns are computed. In CSV it may be the sum of the layers that were not
 * chosen. */
struct npl_layer_entry {
	const struct npl_comparison *comparison;
	const struct npl_device_report *report;
	const struct npl_report_context *context;
	int index;
	const struct npl_layer_run *row; /* NULL: several layers; the next three are then NULL too */
	const struct npl_node *node;
	const struct npl_device_info *machine;     /* the machine that ran it; NULL: the host */
	const struct npl_layer_accuracy *accuracy; /* NULL: it was not compared */
	/* its energies; for a single layer the entry's, because the meter's reading is the layer's */
	const struct npl_energy *energy;
	int n_energy;
	struct npl_layer_figures figures;
	char text[400];
};
/* Fills the entry of layer i. i below 0: the sum of the layers that the context does not choose, of which there may be
 * none (figures.layers). */
void npl_layer_entry_of(const struct npl_comparison *comparison, const struct npl_device_report *report,
			const struct npl_report_context *context, int i, struct npl_layer_entry *layer);

/* Opens a table with the headings of a group, of networks or of one layer; returns the number of its columns. */
int npl_columns_open(struct npl_table *table, enum npl_column_group group, bool single_layer);
void npl_columns_row(struct npl_table *table, enum npl_column_group group, struct npl_entry *entry);

void npl_columns_json(struct npl_json *json, enum npl_column_group group, struct npl_entry *entry);
void npl_layer_columns_json(struct npl_json *json, struct npl_layer_entry *layer);

/* These write the names, and the fields of a layer, each without the end of the line. */
void npl_layer_columns_csv_names(FILE *out);
void npl_layer_columns_csv(FILE *out, struct npl_layer_entry *layer);

/* These write values of JSON that are lists or objects, each with its key (columns_nested.c). */
void npl_json_entry_energy(struct npl_json *json, const struct npl_entry *entry);
void npl_json_entry_parts(struct npl_json *json, const struct npl_entry *entry);
void npl_json_entry_bytes(struct npl_json *json, const struct npl_entry *entry);
void npl_json_layer_energy(struct npl_json *json, const struct npl_layer_entry *layer);
void npl_json_layer_output(struct npl_json *json, const struct npl_layer_entry *layer);
void npl_json_layer_roofline(struct npl_json *json, const struct npl_layer_entry *layer);
void npl_json_layer_counters(struct npl_json *json, const struct npl_layer_entry *layer);

#endif
