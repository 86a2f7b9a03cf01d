/* SPDX-License-Identifier: MIT
 *
 * The roofs of a device: parameters of a simulated one, measurements of a real one. */
#ifndef NPULAB_FRONTEND_COMPARE_ROOFS_H
#define NPULAB_FRONTEND_COMPARE_ROOFS_H

#include "npulab/roofline.h"

/* Fills roofs_origin, roof, n_roofs, memory_bytes_per_second and memory_explanation, and load if it measures.
 * NPL_EUSAGE: the device is of a kind that has no roofs. */
int npl_roofs_find(struct npl_device *device, struct npl_roofline_device *roofs, struct npl_err *err);

#endif
