/* SPDX-License-Identifier: MIT
 *
 * Charts of the layers of a comparison (npulab.compare/1): a section each for their times, energies and cycles, with a
 * chart of each device that has any. */
#ifndef NPULAB_PAGES_LAYER_CHARTS_H
#define NPULAB_PAGES_LAYER_CHARTS_H

#include <jansson.h>
#include <stdio.h>

#include "npulab/error.h"

/* Returns 0 or NPL_ENOMEM. */
int page_put_layer_charts(FILE *out, const json_t *devices, struct npl_err *err);

#endif
