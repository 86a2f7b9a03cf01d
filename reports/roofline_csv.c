/* SPDX-License-Identifier: MIT
 *
 * The points of rooflines as CSV, for spreadsheets and plots, each with the roofs above it. Sums over the batches, as
 * in the JSON; without a model a line for each roof. */
#include "npulab/report.h"
#include "roofline_columns.h"

static void put_points(FILE *out, const struct npl_roofline *r, const struct npl_roofline_device *d, const char *model)
{
	for (int i = 0; i <= d->n_points && d->n_points; i++) {
		struct npl_roofline_row row = npl_point_row(r, d, i < d->n_points ? &d->point[i] : &d->network);
		row.model = model;
		npl_roofline_columns_csv(out, &row);
	}
}

static void put_roofs(FILE *out, const struct npl_roofline_device *d)
{
	for (int i = 0; i < d->roofs.n; i++) {
		const struct npl_roofline_row row = npl_roof_row(d, i);
		npl_roofline_columns_csv(out, &row);
	}
}

void npl_roofline_csv(FILE *out, const struct npl_roofline *r, const char *model)
{
	npl_roofline_columns_csv_names(out, r->graph);
	for (int d = 0; d < r->n_devices; d++)
		if (r->graph)
			put_points(out, r, &r->device[d], model);
		else
			put_roofs(out, &r->device[d]);
}
