/* SPDX-License-Identifier: MIT
 *
 * The columns of rooflines (roofline_columns.def), written as a table, as JSON and as CSV. */
#ifndef NPULAB_REPORTS_ROOFLINE_COLUMNS_H
#define NPULAB_REPORTS_ROOFLINE_COLUMNS_H

#include <stdbool.h>
#include <stdio.h>

#include "npulab/roofline.h"
#include "reports/format/json.h"
#include "reports/format/table.h"

/* A roof, or a point below it, from which its columns are computed. */
struct npl_roofline_row {
	const char *model; /* name of the model; NULL: not known, or none */
	const struct npl_roofline_device *d;
	int roof;                           /* index of the device's roof, or of the roof above the point */
	const struct npl_roofline_point *p; /* NULL: the row is a roof */
	const struct npl_node *node;        /* NULL: a roof, or the whole network */
};
struct npl_roofline_row npl_roof_row(const struct npl_roofline_device *device, int roof);
struct npl_roofline_row npl_point_row(const struct npl_roofline *r, const struct npl_roofline_device *device,
				      const struct npl_roofline_point *point);

/* These open the table of roofs, and that of a device's points; they return the number of columns. */
int npl_roofs_open(struct npl_table *table);
int npl_points_open(struct npl_table *table, const struct npl_roofline_device *device);
/* Adds a row to the table of its kind. */
void npl_roofline_columns_row(struct npl_table *table, const struct npl_roofline_row *row);

void npl_roofline_columns_json(struct npl_json *json, const struct npl_roofline_row *row);

/* These write a whole line: the names, of points too or of roofs alone, and the fields of a row. */
void npl_roofline_columns_csv_names(FILE *out, bool points);
void npl_roofline_columns_csv(FILE *out, const struct npl_roofline_row *row);

#endif
