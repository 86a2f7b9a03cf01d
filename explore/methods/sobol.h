/* SPDX-License-Identifier: MIT
 *
 * Sobol's sequence (method.h). */
#ifndef NPULAB_EXPLORE_METHODS_SOBOL_H
#define NPULAB_EXPLORE_METHODS_SOBOL_H

#include <stdint.h>

#define SWEEP_SOBOL_DIMENSIONS 21

/* Returns component `dimension` of element `index`, as a share of 2^32; index is below 2^32. */
uint32_t sweep_sobol(int dimension, uint32_t index);

#endif
