/* SPDX-License-Identifier: MIT
 *
 * Promises of the rule for repeats: the interval that it takes for the median's holds it with about 95 %, by the exact
 * binomial law; it is never ended before the least, always at a limit, and in between as soon as the median is known
 * within NPL_STABLE_MEDIAN. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "frontend/compare/repeats.h"
#include "npulab/compare.h"
#include "tests/kit/support.h"

/* The chance that the median lies between the order statistics low and n - 1 - low (from 0) of n draws. */
static double coverage(int n, int low)
{
	double below = 0, term = exp2(-n); /* of k draws below the median, k = 0, 1, ... */
	for (int k = 0; k <= low; k++) {
		below += term;
		term *= (double)(n - k) / (k + 1);
	}
	return 1 - 2 * below;
}

Test(repeats, interval_holds_the_median_with_95_percent)
{
	for (int n = 6; n <= 400; n++) {
		double seconds[400];
		for (int i = 0; i < n; i++) /* ranks can be read off, the median is the middle of 1000.. */
			seconds[i] = 1000 + (i * 7) % n;
		while (n % 7 == 0 && seconds[0] == seconds[n / 7]) /* 7 does not permute: take the ranks as they are */
			for (int i = 0; i < n; i++)
				seconds[i] = 1000 + i;
		double median = 1000 + 0.5 * (n - 1), half = npl_median_within(seconds, n) * median;
		double low = 0.5 * (n - 1) - half;
		cr_assert_float_eq(low, rint(low), 1e-6, "n %d: not at an order statistic: %g", n, low);
		double covered = coverage(n, (int)rint(low));
		cr_assert(covered >= 0.95 && covered <= 0.9922, "n %d: %g", n, covered);
	}
}

Test(repeats, few_repeats_have_their_range_as_interval)
{
	double seconds[] = {1.1, 0.9, 1.0, 1.05, 0.95};
	cr_assert_float_eq(npl_median_within(seconds, 5), 0.1, 1e-12);
	cr_assert_float_eq(npl_median_within((double[]){3}, 1), 0, 0);
	cr_assert(isnan(npl_median_within(NULL, 0)));
	cr_assert(isnan(npl_median_within((double[]){0, 0}, 2)), "nothing is known of what takes no time");
}

Test(repeats, repetition_ends_when_stable_or_out_of_time)
{
	const struct npl_repeats_rule rule = {
		.least_runs = 5, .most_runs = 40, .enough_seconds = 0.5, .long_seconds = 4};
	double same[40], wild[40];
	uint64_t rng = 42;
	for (int i = 0; i < 40; i++) {
		same[i] = 1 + 0.001 * (i % 3);
		wild[i] = 1 + 0.5 * (double)test_range(&rng, 0, 1000) / 1000;
	}
	for (int n = 0; n <= 40; n++)
		for (int quarter = 0; quarter < 20; quarter++) {
			const double spent = 0.25 * quarter;
			bool limit = n && (n >= rule.most_runs || spent >= rule.long_seconds);
			bool enough = n >= rule.least_runs && spent >= rule.enough_seconds;
			double copy[40];
			for (int i = 0; i < n; i++)
				copy[i] = wild[i];
			bool wild_is_stable = npl_median_within(copy, n) <= NPL_STABLE_MEDIAN;
			cr_assert_eq(npl_repeats_enough(&rule, same, n, spent), limit || enough, "%d runs, %g s", n,
				     spent);
			cr_assert_eq(npl_repeats_enough(&rule, wild, n, spent), limit || (enough && wild_is_stable),
				     "%d runs, %g s", n, spent);
		}
}
