/* SPDX-License-Identifier: MIT
 *
 * The precisions of the cuda device are those of its page, with the compute capability that each needs. */
#include <criterion/criterion.h>

#include "backends/cuda/kernel/precision.h"
#include "tests/kit/page.h"

Test(cuda_precision, precisions_are_those_of_the_page)
{
	static const char page[] = "docs/machine-cuda.md";
	char *section = page_section(page, "## What it needs"), needs[80];
	const char *table = strstr(section, "\n| precision |");
	cr_assert(table, "%s has no table of precisions", page);
	for (int i = 0; i < CU_PRECISIONS; i++) {
		const struct cu_precision_def *def = &cu_precisions[i];
		const char *row = page_row(table, def->word);
		cr_assert(row, "%s has no row of the precision `%s`", page, def->word);
		snprintf(needs, sizeof needs, "| %d.%d |", def->capability / 10, def->capability % 10);
		/* CUDA 12 and 13 know no GPU below 5.0. */
		const char *found = strstr(row, def->capability > 50 ? needs : "| any |");
		cr_expect(found && found < strchr(row, '\n'), "%s: `%s` needs %s", page, def->word, needs);
	}
	cr_expect_eq(page_words(table), CU_PRECISIONS, "%s has precisions that the device has not", page);
	free(section);
}
