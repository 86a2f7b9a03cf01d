/* SPDX-License-Identifier: MIT
 *
 * Medians (median.h). */
#include "median.h"

#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

void npl_sort_doubles(double *values, int n)
{
	qsort(values, (size_t)n, sizeof *values, compare_doubles);
}

double npl_median(double *values, int n)
{
	npl_sort_doubles(values, n);
	return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}
