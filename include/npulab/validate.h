/* SPDX-License-Identifier: MIT
 *
 * Published figures beside the model's. The figures of a machine stand in published/MACHINE.csv (columns case, metric,
 * value, unit, tolerance, fitted, reference, source, note); its validator (validate/validators.def) works out what the
 * model says of them.
 *
 *     struct npl_validation validation;
 *     if (npl_validate(NULL, &options, &validation, &err)) ...
 *     npl_validation_table(stdout, &validation, false);
 *     npl_validation_free(&validation);
 */
#ifndef NPULAB_VALIDATE_H
#define NPULAB_VALIDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "npulab/arena.h"
#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_validation_row { /* strings live in the validation */
	const char *machine, *case_name, *metric;
	const char *unit;        /* "fraction", "MiB", ... */
	double published, model; /* NAN: not known */
	double tolerance;        /* of |model - published|, in the unit; NAN: shown, not judged */
	bool attempted;          /* the validator has a way to the model's figure */
	bool at_most;            /* the model's figure may also be smaller */
	bool fitted;             /* a parameter of the machine was fitted to it */
	const char *reference;   /* "paper", or another simulator and its version; "" when nothing is published */
	const char *source;      /* "Table 3, row 1" */
	const char *note;        /* or "" */
	const char *reason;      /* why the model has no figure; "" where it has one */
};

/* Difference within the tolerance? NPL_MISSING: there is a tolerance, and no figure to hold against it. NPL_UNJUDGED:
 * there is none. */
enum npl_verdict { NPL_UNJUDGED, NPL_WITHIN, NPL_OUTSIDE, NPL_MISSING };
enum npl_verdict npl_validation_verdict(const struct npl_validation_row *row);

struct npl_validation {
	int n;
	int64_t capacity;
	struct npl_validation_row *row;
	struct npl_arena arena;
};

struct npl_validate_options {
	int n_sets;
	const char *const *set; /* "DEVICE.KEY=VALUE": the same validation on another machine */
};

/* machine NULL: all that have a validator. NPL_EUSAGE: this one has none, naming those that do. */
int npl_validate(const char *machine, const struct npl_validate_options *options, struct npl_validation *validation,
		 struct npl_err *err);
void npl_validation_free(struct npl_validation *validation);

/* For validators. Adds the rows of published/FILE. */
int npl_validation_load(struct npl_validation *validation, const char *machine, const char *file, struct npl_err *err);
/* The model's figure (NAN: not to be had now) of a row that is there, or of a new one: a figure that nobody has
 * published is worth a row unless it is 0. */
int npl_validation_set(struct npl_validation *validation, const char *machine, const char *case_name,
		       const char *metric, const char *unit, double model, struct npl_err *err);

/* A figure beside one that follows from what is published: strings are copied. NPL_EINTERNAL: it is there already. */
int npl_validation_add(struct npl_validation *validation, const char *machine, const struct npl_validation_row *row,
		       struct npl_err *err);
/* Why the model has no figure where it was tried for one and has none, of a case (NULL: of all), unless a row tells
 * already. */
int npl_validation_explain(struct npl_validation *validation, const char *machine, const char *case_name,
			   const char *reason, struct npl_err *err);
/* NULL: there is none. Until the next row is added. */
const struct npl_validation_row *npl_validation_find(const struct npl_validation *validation, const char *machine,
						     const char *case_name, const char *metric);

/* model / published - 1; NAN: one is not known, or published is 0. */
double npl_validation_relative(const struct npl_validation_row *row);

/* Figures that nobody works out and nobody judges are left away unless all. */
bool npl_validation_shown(const struct npl_validation_row *row, bool all);

#ifdef __cplusplus
}
#endif

#endif
