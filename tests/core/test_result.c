/* SPDX-License-Identifier: MIT
 *
 * Sums of results: which energies are one component, and what a sum still says of its coefficient. The origins of
 * energies, which the header and the page list. */
#include <criterion/criterion.h>
#include <math.h>

#include "core/files/words.h"
#include "core/origins.h"
#include "npulab/result.h"
#include "tests/kit/page.h"

#define ORIGIN "modelled:a table"

/* Two parts may call a component alike: a machine's own "host" is not the modelled host's energy. */
Test(result, energies_of_two_parts_stay_apart)
{
	struct npl_result sum = {0}, add = {0};
	struct npl_err err;
	cr_assert_eq(npl_result_energy(&add, "host", 10, 2, ORIGIN, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_result_energy_of(&add, NPL_OF_HOST, "host", 5, 2, ORIGIN, &err), 0, "%s", err.msg);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(npl_result_add(&sum, &add, &err), 0, "%s", err.msg);
	cr_assert_eq(sum.n_energy, 2);
	cr_assert(sum.energy[0].part == NPL_OF_MACHINE && sum.energy[0].events == 20);
	cr_assert(sum.energy[1].part == NPL_OF_HOST && sum.energy[1].events == 10);
}

/* Joules are events times coefficient while all parts of the sum have that coefficient. */
Test(result, a_sum_of_two_coefficients_has_none)
{
	struct npl_result sum = {0}, a = {0}, b = {0};
	struct npl_err err;
	cr_assert_eq(npl_result_energy(&a, "memory", 10, 2, ORIGIN, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_result_energy(&b, "memory", 10, 3, ORIGIN, &err), 0, "%s", err.msg);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(npl_result_add(&sum, &a, &err), 0, "%s", err.msg);
	cr_assert(sum.n_energy == 1 && sum.energy[0].events == 20 && sum.energy[0].pj_per_event == 2);
	cr_assert_eq(npl_result_add(&sum, &b, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_result_add(&sum, &a, &err), 0, "%s", err.msg);
	cr_assert(sum.n_energy == 1 && isnan(sum.energy[0].pj_per_event), "the sum's is that of no part");
	cr_assert_float_eq(npl_result_joules(&sum), (30 * 2 + 10 * 3) * 1e-12, 1e-20);
}

Test(result, origins_have_one_of_the_forms)
{
	static const char *const good[] = {"absent", "modelled:x", "calibrated:T", "assumed:tdp", "measured:rapl-pkg"},
				 *const bad[] = {"",       "absent:x", "modelled:",    "modelled",
						 "Absent", "assumed:", "assumed:tdp2", "measured:rapl"};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		cr_expect(npl_origin_ok(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect(!npl_origin_ok(bad[i]), "%s", bad[i]);
}

Test(result, the_header_and_the_page_have_the_origins)
{
	char *header = cli_read("include/npulab/result.h", NULL),
	     *table = page_section("docs/measuring.md", "## Energy");
	const char *forms = npl_origin_forms, *form;
	size_t length;
	int n = 0;
	for (; (form = npl_next_word(&forms, &length)); n++) {
		char word[64];
		snprintf(word, sizeof word, "%.*s", (int)length, form);
		cr_expect(strstr(header, word), "result.h has no %s", word);
		cr_expect(page_row(table, word), "docs/measuring.md has no row of `%s`", word);
	}
	cr_expect_eq(page_words(table), n);
	free(header);
	free(table);
}
