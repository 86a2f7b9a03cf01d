/* SPDX-License-Identifier: MIT
 *
 * How often a measurement is repeated: until its median is stable, or a limit is reached. The rule, which
 * docs/measuring.md tells users: after a run that warms up, at least `least` runs and `enough_seconds` of them, then on
 * until the median is known within NPL_STABLE_MEDIAN (compare.h), or `most` runs or `long_seconds` are spent. */
#ifndef NPULAB_FRONTEND_COMPARE_REPEATS_H
#define NPULAB_FRONTEND_COMPARE_REPEATS_H

#include <stdbool.h>

struct npl_repeats_rule {
	int least, most;
	double enough_seconds, long_seconds;
};

/* Half the width of the interval that holds the median of what was drawn from with 95 % (between two order statistics,
 * by the binomial law; of fewer than 6 all of them), over the median. Sorts the times. NAN: n is 0. */
double npl_median_within(double *seconds, int n);

/* Whether the n runs, of these times, that took `spent` seconds are enough. */
bool npl_repeats_enough(const struct npl_repeats_rule *rule, const double *seconds, int n, double spent);

#endif
