/* SPDX-License-Identifier: MIT
 *
 * Promises of the time left: nothing is told on too little evidence, or against it; steady work has its true time; a
 * change of the rate shows, but not at once; other work begins anew. The clock is the test's. */
#include "cli/time_left.h"

#include <criterion/criterion.h>
#include <math.h>

#include "npulab/progress.h"

/* Work number `work` that has this share after so many seconds. */
static struct npl_progress progress_at(uint64_t work, double seconds, double share, int64_t advances)
{
	return (struct npl_progress){.share = share, .work = work, .seconds = seconds, .advances = advances};
}

static double left_at(struct cli_time_left *left, double now, double seconds, double share, int64_t advances)
{
	const struct npl_progress p = progress_at(1, seconds, share, advances);
	return cli_time_left(left, &p, now);
}

Test(time_left, needs_evidence)
{
	struct cli_time_left left = {0};
	cr_assert(isnan(left_at(&left, 10, 10, NAN, 9)), "no share");
	cr_assert(isnan(left_at(&left, 10, 1.9, 0.5, 9)), "too early");
	cr_assert(isnan(left_at(&left, 10, 10, 0.01, 9)), "too little is done");
	cr_assert(isnan(left_at(&left, 10, 10, 0.5, 2)), "too few steps");
	cr_assert_float_eq(left_at(&left, 10, 10, 0.5, 3), 10, 1e-9);
}

Test(time_left, is_true_for_steady_work)
{
	struct cli_time_left left = {0};
	for (int s = 3; s < 40; s++)
		cr_assert_float_eq(left_at(&left, 100 + s, s, s / 40.0, s), 40 - s, 1e-9, "after %d s", s);
	cr_assert_float_eq(left_at(&left, 140, 40, 1, 40), 0, 1e-9);
}

/* Half of the work takes 10 seconds, the other half 30: the time goes up, by a few seconds at a time. */
Test(time_left, follows_another_rate_without_jumps)
{
	struct cli_time_left left = {0};
	double before = NAN;
	for (int s = 3; s < 40; s++) {
		const double share = s < 10 ? s / 20.0 : 0.5 + (s - 10) / 60.0, now = left_at(&left, s, s, share, s);
		cr_assert(isnan(before) || isnan(now) || fabs(now - before) < 3, "%g after %g s", now, before);
		cr_assert(s > 30 || !isnan(now), "after %d s", s);
		before = now;
	}
	cr_assert(isnan(before) || before <= 6, "%g s near the end", before);
}

/* The last step takes as long as all before it. */
Test(time_left, is_not_told_when_the_expected_end_is_past)
{
	struct cli_time_left left = {0};
	double told = 0;
	for (int s = 3; s <= 10; s++)
		told = left_at(&left, s, s, s / 11.0, s);
	cr_assert_float_eq(told, 1, 1e-9);
	for (int s = 11; s < 20; s++)
		told = left_at(&left, s, s, 10 / 11.0, 10);
	cr_assert(isnan(told), "%g", told);
}

Test(time_left, begins_anew_with_other_work)
{
	struct cli_time_left left = {0};
	left_at(&left, 50, 50, 0.5, 50);
	const struct npl_progress other = progress_at(2, 2, 0.5, 9);
	cr_assert_float_eq(cli_time_left(&left, &other, 60), 2, 1e-9);
	const struct npl_progress begun = progress_at(3, 1, 0.5, 9);
	cr_assert(isnan(cli_time_left(&left, &begun, 61)));
}

Test(time_left, is_told_in_few_digits)
{
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {{0, "about 1 s left"},    {0.7, "about 1 s left"},    {7.4, "about 7 s left"},
		     {9.9, "about 10 s left"}, {12.6, "about 15 s left"},  {57, "about 55 s left"},
		     {58, "about 1 min left"}, {100, "about 2 min left"},  {3600, "about 60 min left"},
		     {7300, "about 2 h left"}, {86400, "about 24 h left"}, {NAN, ""}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[40];
		cli_time_left_text(cases[i].seconds, text, sizeof text);
		cr_assert_str_eq(text, cases[i].text);
	}
}
