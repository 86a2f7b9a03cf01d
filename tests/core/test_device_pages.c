/* SPDX-License-Identifier: MIT
 *
 * Devices are in the README's table, and a reader who meets a counter or a bound in a report finds on a page what it
 * means. Counters of devices that cannot start here are left out. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "npulab/arena.h"
#include "npulab/device.h"

static bool stands_in(const char *files, const char *line_begins, const char *word)
{
	char command[200];
	snprintf(command, sizeof command, "grep -qE '^%s.*`%s`' %s", line_begins, word, files);
	return !system(command); /* NOLINT(cert-env33-c) */
}

Test(device_pages, every_device_is_in_the_table_of_the_readme)
{
	struct npl_arena arena = {0};
	struct npl_err err;
	const char *const *name;
	int n;
	cr_assert_eq(npl_device_list(&arena, &name, &n, &err), 0, "%s", err.msg);
	for (int i = 0; i < n; i++)
		cr_expect(stands_in("README.md", "[|]", name[i]), "README.md does not have `%s`", name[i]);
	npl_arena_free(&arena);
}

Test(device_pages, counters_and_bounds_are_explained)
{
	struct npl_arena arena = {0};
	struct npl_err err;
	const char *const *name;
	int n, counters = 0;
	cr_assert_eq(npl_device_list(&arena, &name, &n, &err), 0, "%s", err.msg);
	for (int i = 0; i < n; i++) {
		struct npl_device *device;
		if (npl_device_open(name[i], NULL, &device, &err))
			continue;
		const struct npl_device_info *info = npl_device_get_info(device);
		for (size_t k = 0; k < info->n_counters; k++) {
			const struct npl_counter_def *def = &info->counter_def[k];
			cr_expect(stands_in("docs/*.md", "", def->name), "%s: no page has the counter `%s`", name[i],
				  def->name);
			cr_expect(!def->bound || stands_in("docs/roofline.md", "[|]", def->bound),
				  "%s: docs/roofline.md does not have the bound `%s`", name[i], def->bound);
			counters++;
		}
		npl_device_close(device);
	}
	cr_assert_gt(counters, 40);
	npl_arena_free(&arena);
}
