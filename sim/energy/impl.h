/* SPDX-License-Identifier: MIT
 *
 * What the files of this folder share. */
#ifndef NPULAB_SIM_ENERGY_IMPL_H
#define NPULAB_SIM_ENERGY_IMPL_H

#include "tables.h"

/* Rounds to 9 digits, so that a figure does not depend on the last bit of a computer's logarithms. */
double sim_round9(double value);
/* Returns the value at x on the line through two points in log-log. */
double sim_log_log(double x, double x0, double y0, double x1, double y1);
/* Makes a range wider, so that it holds the estimate; a range that was zeroed holds none. sim_range_close fills in the
 * middle and rounds. */
void sim_range_add(struct npl_estimates *range, double estimate);
void sim_range_close(struct npl_estimates *range);

#endif
