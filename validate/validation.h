/* SPDX-License-Identifier: MIT
 *
 * The rows of a validation (npulab/validate.h), for the validators that fill them.
 */
#ifndef NPULAB_VALIDATE_VALIDATION_H
#define NPULAB_VALIDATE_VALIDATION_H

#include "npulab/device.h"
#include "npulab/validate.h"

/* Each adds the rows of its subject with the model's figures. NPL_EUSAGE: a setting is refused. NPL_EINPUT, NPL_ENOMEM
 * and others are those of the runs. */
typedef int npl_validator(struct npl_validation *validation, const struct npl_validate_options *options,
			  struct npl_err *err);
#define NPL_VALIDATOR(subject, sets) npl_validator npl_validate_##subject;
#include "validators.def"
#undef NPL_VALIDATOR

/* Adds the rows of published/FILE. */
int npl_validation_load(struct npl_validation *validation, const char *machine, const char *file, struct npl_err *err);
/* Sets the model's figure (NAN: it cannot be computed now) in its row. Where there is no such row, a new one is added,
 * unless the figure is 0. */
int npl_validation_set(struct npl_validation *validation, const char *machine, const char *case_name,
		       const char *metric, const char *unit, double model, struct npl_err *err);

/* Adds a row whose published figure is computed from published ones. Strings are copied. Returns NPL_EINTERNAL when the
 * row is there already. */
int npl_validation_add(struct npl_validation *validation, const char *machine, const struct npl_validation_row *row,
		       struct npl_err *err);
/* Adds a row for each parameter that the machine's file, as it ships, has fitted, with its value on the device. Case,
 * source and note are those of `row`. */
int npl_validation_add_fitted(struct npl_validation *validation, const char *machine, const struct npl_device *device,
			      const struct npl_validation_row *row, struct npl_err *err);
/* Gives the rows of a case (NULL: of all cases) that were attempted and have no figure of the model their reason,
 * except rows that have one already. */
int npl_validation_explain(struct npl_validation *validation, const char *machine, const char *case_name,
			   const char *reason, struct npl_err *err);

#endif
