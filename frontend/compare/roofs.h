/* SPDX-License-Identifier: MIT
 *
 * The roofs of a device: parameters of a simulated one, measurements of a real one. */
#ifndef NPULAB_FRONTEND_COMPARE_ROOFS_H
#define NPULAB_FRONTEND_COMPARE_ROOFS_H

#include "npulab/roofs.h"

/* Finds the roofs of a device; measures those of a real one.
 * NPL_EUSAGE: the device is of a kind that has no roofs. */
int npl_roofs_find(struct npl_device *device, struct npl_roofs *roofs, struct npl_err *err);
/* Fills the roofs of a modelled device from what it says of itself; none where it has no peak, and of a real device. */
void npl_roofs_of_model(const struct npl_device_info *info, struct npl_roofs *roofs);

#endif
