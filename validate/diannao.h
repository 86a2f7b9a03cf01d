/* SPDX-License-Identifier: MIT
 *
 * The parts of `npulab validate diannao`. */
#ifndef NPULAB_VALIDATE_DIANNAO_H
#define NPULAB_VALIDATE_DIANNAO_H

#include "npulab/device.h"
#include "npulab/validate.h"

#define NPL_DIANNAO_MACHINE "diannao"

/* Returns the paper's figure of a case; NAN: none. */
double npl_diannao_published(const struct npl_validation *validation, const char *case_name, const char *metric);

/* Adds the figures that follow from the configuration alone: operations per cycle, peak, sizes, power, fitted
 * parameters, and the areas. */
int npl_diannao_machine(struct npl_validation *validation, const struct npl_device *device, struct npl_err *err);

#endif
