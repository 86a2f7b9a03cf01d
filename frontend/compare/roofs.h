/* SPDX-License-Identifier: MIT
 *
 * The roofs of a device: parameters of a simulated one, measurements of a real one. */
#ifndef NPULAB_FRONTEND_COMPARE_ROOFS_H
#define NPULAB_FRONTEND_COMPARE_ROOFS_H

#include "npulab/roofline.h"

/* Fills from, roof, memory_bytes_per_second and how they were found. NPL_EUSAGE: it is none of those that have
 * roofs. */
int npl_roofs_find(struct npl_device *device, struct npl_roofline_device *roofs, struct npl_err *err);

#endif
