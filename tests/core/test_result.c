/* SPDX-License-Identifier: MIT
 *
 * Sums of results: every member is added, which energies are one component, and what a sum still says of its
 * coefficient. The origins of energies, which the header and the page list. */
#include <criterion/criterion.h>
#include <math.h>

#include "core/files/words.h"
#include "core/origins.h"
#include "npulab/result.h"
#include "tests/kit/page.h"

#define ORIGIN "modelled:a table"

/* Every member but the origin of the time is added. The constant gives them all in their order, without their names, so
 * that a further member is a missing initialiser: give it a value here, and have it added (core/result.c), summed over
 * the layers of a run (frontend/session/run_total.c) and compared between passes (frontend/compare/passes.c). A row of
 * NPL_RESULT_COUNTS is all that by itself. */
Test(result, sums_add_every_member)
{
#define COUNT_OF_3(name) 3,
	const struct npl_result add = {NPL_RESULT_COUNTS(COUNT_OF_3) 0.5,
				       NPL_TIME_MODELLED,
				       {1, 2, [NPL_MAX_COUNTERS - 1] = 4},
				       {5, 6, 7},
				       {8, 9, 10},
				       {11, 12, 0.25},
				       {13, 14, 0.125},
				       1,
				       {{.component = "array", .origin = ORIGIN, .joules = 2}}};
#undef COUNT_OF_3
	struct npl_result sum = {0};
	struct npl_err err;
	for (int i = 0; i < 2; i++)
		cr_assert_eq(npl_result_add(&sum, &add, &err), 0, "%s", err.msg);
#define CHECK_COUNT(name) cr_expect_eq(sum.name, 6, #name);
	NPL_RESULT_COUNTS(CHECK_COUNT)
#undef CHECK_COUNT
	for (int i = 0; i < NPL_MAX_COUNTERS; i++)
		cr_expect_eq(sum.counter[i], 2 * add.counter[i], "counter %d", i);
	for (int i = 0; i < NPL_MEM_LEVELS; i++)
		cr_expect(sum.bytes[i] == 2 * add.bytes[i] && sum.bytes_at_least[i] == 2 * add.bytes_at_least[i],
			  "level %d", i);
	cr_expect(sum.to_device.n == 22 && sum.to_device.bytes == 24 && sum.to_device.seconds == 0.5);
	cr_expect(sum.to_host.n == 26 && sum.to_host.bytes == 28 && sum.to_host.seconds == 0.25);
	cr_expect(sum.seconds == 1 && sum.n_energy == 1 && sum.energy[0].joules == 4);
}

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
