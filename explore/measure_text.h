/* SPDX-License-Identifier: MIT
 *
 * The value of a measure as a table shows it. */
#ifndef NPULAB_EXPLORE_MEASURE_TEXT_H
#define NPULAB_EXPLORE_MEASURE_TEXT_H

#include "explore/evaluate/measure.h"

/* Writes a value with the unit of the measure, which only a figure alone has; "-" where it is not known. */
const char *sweep_measure_text(const struct sweep_measure *measure, double value, char *text, size_t bytes);

#endif
