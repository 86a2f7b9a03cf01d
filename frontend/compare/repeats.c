/* SPDX-License-Identifier: MIT
 *
 * Says when repeats are enough (repeats.h). */
#include "repeats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "median.h"
#include "npulab/compare.h"

#define EXACT 1000 /* for greater n, 2^-n leaves the range of doubles */

/* Returns the index, from 0, of the greatest of n values in ascending order that is below the true median with a
 * probability of 97.5 %; 0 where there is none. */
static int lower_bound(int n)
{
	if (n > EXACT)
		return (int)(0.5 * (n - 1.96 * sqrt(n))) - 1;
	double probability = ldexp(1, -n),
	       sum = probability; /* the chance of no more than `low` draws below the median */
	int low = -1;
	while (sum <= 0.025) {
		low++;
		probability *= (double)(n - low) / (low + 1);
		sum += probability;
	}
	return low < 0 ? 0 : low;
}

double npl_median_within(double *seconds, int n)
{
	if (n < 1)
		return NAN;
	double median = npl_median(seconds, n);
	int low = lower_bound(n);
	return median > 0 ? 0.5 * (seconds[n - 1 - low] - seconds[low]) / median : NAN;
}

bool npl_repeats_enough(const struct npl_repeats_rule *rule, const double *seconds, int n, double elapsed)
{
	if (n < 1)
		return false;
	if (n >= rule->most_runs || elapsed >= rule->long_seconds)
		return true;
	if (n < rule->least_runs || elapsed < rule->enough_seconds)
		return false;
	double *copy = malloc((size_t)n * sizeof *copy);
	if (!copy)
		return true; /* out of memory: the runs so far must be enough */
	memcpy(copy, seconds, (size_t)n * sizeof *copy);
	bool stable = npl_median_within(copy, n) <= NPL_STABLE_MEDIAN;
	free(copy);
	return stable;
}
