/* SPDX-License-Identifier: MIT
 *
 * Parts of the document of a Pareto front (front_report.h). */
#ifndef NPULAB_EXPLORE_FRONT_DOCUMENT_H
#define NPULAB_EXPLORE_FRONT_DOCUMENT_H

#include "front_report.h"
#include "reports/format/json.h"

/* A parameter of the document: one that was varied, or a derived one. */
struct sweep_column {
	const char *key;
	int derived; /* its place in plan->derived; -1: it was varied */
};
#define SWEEP_COLUMNS (SWEEP_KEYS + SWEEP_PLAN_LIST)
/* Fills the columns of parameters; returns how many there are. */
int sweep_columns_of(const struct sweep_front_document *document, struct sweep_column column[SWEEP_COLUMNS]);
/* Returns the value of a point; NULL: it has none. */
const char *sweep_column_value(const struct sweep_front_document *document, const struct sweep_column *column,
			       int64_t point);

/* Writes "parameters", "metrics" and "points": all points, as columns. */
void sweep_put_columns(struct npl_json *json, const struct sweep_front_document *document);

#endif
