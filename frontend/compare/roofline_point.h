/* SPDX-License-Identifier: MIT
 *
 * Points below roofs: what their figures follow from. */
#ifndef NPULAB_FRONTEND_COMPARE_ROOFLINE_POINT_H
#define NPULAB_FRONTEND_COMPARE_ROOFLINE_POINT_H

#include "npulab/roofline.h"

/* Fills the intensity, the roof and the share of a point from its counts, below this peak (multiply-accumulates per
 * second). */
void npl_roofline_fill(const struct npl_roofs *roofs, double peak, struct npl_roofline_point *point);

#endif
