/* SPDX-License-Identifier: MIT
 *
 * How often a measurement is repeated: until its median is stable, or a limit is reached. docs/measuring.md tells users
 * this rule: after a run that warms up there are at least `least_runs` runs and `enough_seconds` of them. More follow
 * until the median is known within NPL_STABLE_MEDIAN (compare.h), or `most_runs` runs or `long_seconds` are spent. */
#ifndef NPULAB_FRONTEND_COMPARE_REPEATS_H
#define NPULAB_FRONTEND_COMPARE_REPEATS_H

#include <stdbool.h>

struct npl_repeats_rule {
	int least_runs, most_runs;
	double enough_seconds, long_seconds;
};

/* Returns half the width of the median's 95 % confidence interval, divided by the median of these times. The interval
 * is between two order statistics, by the binomial law; with fewer than 6 times it holds all of them. Sorts the times.
 * NAN: n is 0, or the median is not above 0. */
double npl_median_within(double *seconds, int n);

/* Says whether n runs of these times, which took `elapsed` seconds together, are enough. */
bool npl_repeats_enough(const struct npl_repeats_rule *rule, const double *seconds, int n, double elapsed);

#endif
