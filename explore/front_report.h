/* SPDX-License-Identifier: MIT
 *
 * A Pareto front for readers. */
#ifndef NPULAB_EXPLORE_FRONT_REPORT_H
#define NPULAB_EXPLORE_FRONT_REPORT_H

#include <stdio.h>

#include "front.h"
#include "recorded.h"

/* Prints the points of the front as a table: their parameters that differ, their objectives, and which is the knee or
 * the best in an objective. A long front is thinned out unless all are asked for. Returns 0, or NPL_ENOMEM when cells
 * are missing. */
int sweep_front_table(FILE *out, const struct sweep_results *results, const struct sweep_front *front, bool all);

/* The document npulab.pareto/1 (schemas/npulab.pareto-1.json): the points of the front one by one, and all points as
 * columns, a list of values for each parameter and figure. */
struct sweep_front_document {
	const struct sweep_results *results;
	const struct sweep_front *front;
	struct sweep_recorded *recorded; /* its settings change */
	/* Derived parameters: derived[r * plan->derived.n + d] is that of point r; NULL: the point has none of it. */
	const char **derived;
	struct npl_arena arena; /* of these */
};
/* Computes derived parameters. Zero-initialise the rest of the document. */
int sweep_front_derive(struct sweep_front_document *document, struct npl_err *err);
void sweep_front_document_free(struct sweep_front_document *document);
/* Writes the document; data is a const struct sweep_front_document. */
void sweep_front_json(FILE *out, const void *data);

#endif
