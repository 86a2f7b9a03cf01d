/* SPDX-License-Identifier: MIT
 *
 * Compares published figures with the model's. published/MACHINE.csv holds the figures of a machine (columns case,
 * metric, value, unit, tolerance, fitted, reference, source, note); its validator (validate/validators.def) computes
 * the model's figures.
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
	double tolerance;        /* limit of |model - published|, in the unit; NAN: the row is shown and not judged */
	bool attempted;          /* the validator tries to compute the model's figure */
	bool at_most;            /* the model's figure may also be smaller */
	bool fitted;             /* a parameter of the machine was fitted to this figure */
	const char *reference;   /* the paper, or another simulator and its version; "" when nothing is published */
	const char *source;      /* "Table 3, row 1" */
	const char *note;        /* may be "" */
	const char *reason;      /* why the model has no figure; "" where it has one */
};

/* Whether the difference is within the tolerance. NPL_MISSING: there is a tolerance, and the model has no figure.
 * NPL_UNJUDGED: there is no tolerance. */
enum npl_verdict { NPL_UNJUDGED, NPL_WITHIN, NPL_OUTSIDE, NPL_MISSING };
enum npl_verdict npl_validation_verdict(const struct npl_validation_row *row);

struct npl_validation {
	int n;
	int64_t capacity; /* rows that there is room for */
	struct npl_validation_row *row;
	struct npl_arena arena;
};

struct npl_validate_options {
	int n_sets;
	const char *const *set; /* "DEVICE.KEY=VALUE": the same validation on another machine */
};

/* Validates a machine, or, where it is NULL, all machines with a validator. Returns NPL_EUSAGE when this machine has
 * none, with those that have one. */
int npl_validate(const char *machine, const struct npl_validate_options *options, struct npl_validation *validation,
		 struct npl_err *err);
void npl_validation_free(struct npl_validation *validation);

/* Returns a row; NULL: there is none. The pointer is valid until the next row is added. */
const struct npl_validation_row *npl_validation_find(const struct npl_validation *validation, const char *machine,
						     const char *case_name, const char *metric);

/* Returns model / published - 1; NAN: one of them is not known, or published is 0. */
double npl_validation_relative(const struct npl_validation_row *row);

/* Says whether a row is shown: with all every row, otherwise those that are attempted or judged. */
bool npl_validation_shown(const struct npl_validation_row *row, bool all);

#ifdef __cplusplus
}
#endif

#endif
