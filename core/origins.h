/* SPDX-License-Identifier: MIT
 *
 * The origins of energies in machine files. */
#ifndef NPULAB_CORE_ORIGINS_H
#define NPULAB_CORE_ORIGINS_H

#include "npulab/params.h"

/* All forms of origins.def, with a blank after each. */
extern const char npl_origin_forms[];
/* Returns the source that an origin means for the figures beside it. */
enum npl_source npl_origin_source(const char *origin);

#endif
