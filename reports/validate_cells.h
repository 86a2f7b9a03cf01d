/* SPDX-License-Identifier: MIT
 *
 * The figures of a validation as a person reads them, in the table and on pages. */
#ifndef NPULAB_REPORTS_VALIDATE_CELLS_H
#define NPULAB_REPORTS_VALIDATE_CELLS_H

#include "cells.h"
#include "npulab/validate.h"

/* A row's figures as texts; "" where there is none. */
struct npl_validation_cells {
	char unit[CELL]; /* of `published` and `model`; "" where the metric's name says it */
	char published[CELL], model[CELL];
	/* Of shares in points, of ratios that are not judged as a factor, otherwise in percent of what is published. */
	char difference[CELL];
	char tolerance[CELL]; /* in the form of the difference; "exact" */
};
void npl_validation_cells_of(const struct npl_validation_row *row, struct npl_validation_cells *cells);

/* Returns "within", "outside" or "missing"; NULL: the row is not judged. */
const char *npl_verdict_name(enum npl_verdict verdict);

#endif
