/* SPDX-License-Identifier: MIT
 *
 * Medians of measured times, which a busy computer disturbs less than means. */
#ifndef NPULAB_FRONTEND_COMPARE_MEDIAN_H
#define NPULAB_FRONTEND_COMPARE_MEDIAN_H

void npl_sort_doubles(double *values, int n); /* sorts them in ascending order */
/* Sorts values and returns the middle one, or the mean of the two in the middle. n > 0. */
double npl_median(double *values, int n);

#endif
