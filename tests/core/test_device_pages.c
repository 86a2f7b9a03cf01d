/* SPDX-License-Identifier: MIT
 *
 * Devices are in the README's table, and a reader who meets a counter or a bound in a report finds on a page what it
 * means. Counters of devices that cannot start here are left out. The tables of a machine with programs are those of
 * the pages: its counters, and the classes of its instructions' cycles. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/device_access.h"
#include "npulab/arena.h"
#include "npulab/device.h"
#include "sim/common/isa.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/page.h"

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

static const struct {
	const char *name,
		*classes; /* the machine, and the section of docs/exec.md that has the classes of its cycles */
} machines[] = {{"tpu_v1", "### Of a TPU"}, {"diannao", "### Of DianNao"}};

/* Opens the machine with all its counters. */
static struct npl_device *opened(const char *name)
{
	static const char *const sets[] = {"activity=counted"};
	const struct npl_device_options options = {.set = sets, .n_sets = 1};
	struct npl_device *device;
	struct npl_err err;
	cr_assert_eq(npl_device_open(name, &options, &device, &err), 0, "%s", err.msg);
	return device;
}

Test(device_pages, the_tables_of_counters_are_those_of_the_machines)
{
	for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
		char path[80], code[80];
		struct npl_device *device = opened(machines[m].name);
		const struct npl_device_info *info = npl_device_get_info(device);
		const char *manual = npl_device_driver(device)->isa->set->page;
		snprintf(path, sizeof path, "docs/machine-%s.md", machines[m].name);
		char *table = page_section(path, "## Counters"), *rules = page_section(manual, "### Counters");
		for (size_t i = 0; i < info->n_counters; i++) {
			snprintf(code, sizeof code, "`%s`", info->counter_def[i].name);
			cr_expect(page_row(table, info->counter_def[i].name), "%s has no row of %s", path, code);
			cr_expect(strstr(rules, code), "%s does not say what %s counts", manual, code);
		}
		cr_expect_eq(page_words(table), (int)info->n_counters, "%s has counters that %s has not", path,
			     machines[m].name);
		free(table);
		free(rules);
		npl_device_close(device);
	}
}

Test(device_pages, the_classes_of_cycles_are_those_of_the_machines)
{
	static const char *const kinds[] = {
		[NPL_CLASS_WORKING] = "work", [NPL_CLASS_WAITING] = "wait", [NPL_CLASS_PASSING] = "on its way"};
	for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
		struct npl_device *device = opened(machines[m].name);
		const struct npl_isa *isa = npl_device_driver(device)->isa;
		char *table = page_section("docs/exec.md", machines[m].classes), cell[40];
		for (int i = 0; i < isa->n_time_classes; i++) {
			const struct npl_cycle_class *class = &isa->time_class[i];
			const char *row = page_row(table, class->name);
			cr_expect(row, "docs/exec.md has no row of `%s` of %s", class->name, machines[m].name);
			snprintf(cell, sizeof cell, "| %s |", kinds[class->kind]);
			cr_expect(!row || !strncmp(strchr(row + 1, '|'), cell, strlen(cell)),
				  "docs/exec.md: `%s` is of the kind '%s'", class->name, kinds[class->kind]);
		}
		cr_expect_eq(page_words(table), isa->n_time_classes, "docs/exec.md has reasons that %s has not",
			     machines[m].name);
		free(table);
		npl_device_close(device);
	}
}
