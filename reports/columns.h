/* SPDX-License-Identifier: MIT
 *
 * The columns of a comparison's reports (columns.def), written as a table, as JSON and as CSV.
 */
#ifndef NPULAB_REPORTS_COLUMNS_H
#define NPULAB_REPORTS_COLUMNS_H

#include <stdio.h>

#include "json.h"
#include "layer_figures.h"
#include "npulab/report.h"
#include "table.h"

/* The tables of entries, and the objects of JSON that hold the same figures. */
enum npl_column_group { NPL_COLUMNS_TOTALS, NPL_COLUMNS_ACCURACY };

/* A device's entry, from which its columns are computed. */
struct npl_entry {
	const struct npl_comparison *c;
	const struct npl_device_report *r;
	const struct npl_run *run; /* the report's */
	const struct npl_report_context *context;
	struct npl_figures f;
	bool modelled; /* its kind's time comes from a model */
	bool metered;  /* a meter told its energy */
	char text[400];
};
void npl_entry_of(const struct npl_comparison *comparison, const struct npl_device_report *report,
		  const struct npl_report_context *context, struct npl_entry *entry);

/* A layer of an entry, from which its columns are computed; or, in CSV alone, the sum of the layers that were not
 * chosen. */
struct npl_layer_entry {
	const struct npl_comparison *c;
	const struct npl_device_report *r;
	const struct npl_report_context *context;
	int index;
	const struct npl_layer_run *row; /* NULL: several layers, and so the next three are */
	const struct npl_node *node;
	const struct npl_device_info *machine;     /* that ran it; NULL: the host */
	const struct npl_layer_accuracy *accuracy; /* NULL: nobody judged it */
	const struct npl_energy *energy; /* of a layer alone the entry's, since the meter's reading is its own */
	int n_energy;
	struct npl_layer_figures f;
	char text[400];
};
/* Layer i; i below 0: those that the context does not choose, of which there may be none (f.layers). */
void npl_layer_entry_of(const struct npl_comparison *comparison, const struct npl_device_report *report,
			const struct npl_report_context *context, int i, struct npl_layer_entry *layer);

/* Opens a table with the headings of a group, of networks or of one layer; returns the number of its columns. */
int npl_columns_open(struct npl_table *table, enum npl_column_group group, bool single_layer);
void npl_columns_row(struct npl_table *table, enum npl_column_group group, struct npl_entry *entry);

void npl_columns_json(struct npl_json *json, enum npl_column_group group, struct npl_entry *entry);
void npl_layer_columns_json(struct npl_json *json, struct npl_layer_entry *layer);

/* The names, and the fields of a layer, each without the end of the line. */
void npl_layer_columns_csv_names(FILE *out);
void npl_layer_columns_csv(FILE *out, struct npl_layer_entry *layer);

/* Values of JSON that are lists or objects (columns_nested.c), each with its key. */
void npl_json_entry_energy(struct npl_json *json, const struct npl_entry *entry);
void npl_json_entry_parts(struct npl_json *json, const struct npl_entry *entry);
void npl_json_entry_bytes(struct npl_json *json, const struct npl_entry *entry);
void npl_json_layer_energy(struct npl_json *json, const struct npl_layer_entry *layer);
void npl_json_layer_output(struct npl_json *json, const struct npl_layer_entry *layer);
void npl_json_layer_counters(struct npl_json *json, const struct npl_layer_entry *layer);

#endif
