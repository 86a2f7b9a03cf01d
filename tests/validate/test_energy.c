/* SPDX-License-Identifier: MIT
 *
 * npulab validate energy. What the program promises: calibrated totals are within 5 % of what was published, bottom-up
 * totals without idle within a factor of 2; what was fitted says so, and of each chip a figure is shown that nothing
 * was fitted to; without the calibration only the bottom-up figures stand. */
#include <criterion/criterion.h>
#include <math.h>

#include "npulab/validate.h"
#include "tests/kit/cli_run.h"

static struct npl_validation validated(int n_sets, const char *const *set)
{
	const struct npl_validate_options options = {.n_sets = n_sets, .set = set};
	struct npl_validation v;
	struct npl_err err;
	cr_assert_eq(npl_validate("energy", &options, &v, &err), 0, "%s", err.msg);
	return v;
}

static const struct npl_validation_row *row_of(const struct npl_validation *v, const char *name, const char *metric)
{
	const struct npl_validation_row *row = npl_validation_find(v, "energy", name, metric);
	cr_assert_not_null(row, "%s of %s", metric, name);
	return row;
}

Test(validate_energy, totals_are_met)
{
	static const char *const totals[][2] = {
		{"DianNao", "power"}, {"DianNao", "area"}, {"TPU", "busy_power"}, {"TPU", "idle_power"}};
	static const char *const factors[][2] = {{"DianNao", "power_factor"}, {"TPU", "dynamic_power_factor"}};
	static const char *const predicted[][2] = {{"DianNao, Tn = 8", "area"},
						   {"DianNao's ten layers", "chip_share"},
						   {"DianNao memories", "power_middle"},
						   {"TPU", "power_at_10_percent_load"}};
	struct npl_validation v = validated(0, NULL);
	for (size_t i = 0; i < 4; i++) {
		const struct npl_validation_row *row = row_of(&v, totals[i][0], totals[i][1]);
		cr_expect(row->fitted && fabs(row->model / row->published - 1) < 0.05, "%s: %g, published %g",
			  totals[i][0], row->model, row->published);
	}
	for (size_t i = 0; i < 2; i++) {
		const struct npl_validation_row *row = row_of(&v, factors[i][0], factors[i][1]);
		cr_expect(!row->fitted && row->model >= 1 && row->model < 2, "%s: %g", factors[i][0], row->model);
	}
	for (size_t i = 0; i < 4; i++) {
		const struct npl_validation_row *row = row_of(&v, predicted[i][0], predicted[i][1]);
		cr_expect(!row->fitted && !isnan(row->model), "%s", predicted[i][0]);
	}
	cr_expect_lt(row_of(&v, "DianNao's ten layers", "chip_share")->model, 0.05);
	for (int i = 0; i < v.n; i++)
		cr_expect_neq((int)npl_validation_verdict(&v.row[i]), (int)NPL_OUTSIDE, "%s of %s", v.row[i].metric,
			      v.row[i].case_name);
	npl_validation_free(&v);
}

/* The range lies around its middle, and does not depend on the calibration. */
Test(validate_energy, bottom_up_figures_have_nothing_of_the_chip)
{
	static const char *const none[] = {"diannao.energy.table=none", "tpu_v1.energy.table=none"};
	struct npl_validation calibrated = validated(0, NULL), plain = validated(2, none);
	int compared = 0;
	for (int i = 0; i < calibrated.n; i++) {
		const struct npl_validation_row *row = &calibrated.row[i];
		const char *end = strrchr(row->metric, '_');
		if (!end || (strcmp(end, "_low") && strcmp(end, "_middle") && strcmp(end, "_high")))
			continue;
		const double other = row_of(&plain, row->case_name, row->metric)->model;
		cr_expect(fabs(row->model - other) <= 1e-9 * fabs(other), "%s of %s: %g and %g", row->metric,
			  row->case_name, row->model, other);
		compared++;
	}
	cr_expect_geq(compared, 30, "%d", compared);
	/* Without the calibration the middle is charged, and what no table has is missing. */
	cr_expect_float_eq(row_of(&plain, "DianNao NFU", "area")->model,
			   row_of(&plain, "DianNao NFU", "area_middle")->model, 1e-12);
	cr_expect_eq(npl_validation_verdict(row_of(&plain, "DianNao CP", "power")), NPL_MISSING);
	npl_validation_free(&calibrated);
	npl_validation_free(&plain);
}

Test(validate_energy, check_ends_with_0_and_says_what_was_fitted)
{
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "validate", "energy", "--check");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_expect(cli_says(r.out, "%, fitted") && cli_says(r.out, "predicted"), "%s", r.out);
	cli_free(&r);
	const struct cli_refusal cases[] = {
		{1, "of DianNao", {"validate", "energy", "--quiet", "--check", "--set", "diannao.energy.table=none"}}};
	CLI_CHECK(".", cases);
}
