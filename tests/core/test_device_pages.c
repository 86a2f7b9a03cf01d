/* SPDX-License-Identifier: MIT
 *
 * Devices are in the README's table, and machine files on the page of their driver. A reader who meets a counter or a
 * bound in a report finds on a page what it means. Counters of devices that cannot start here are left out. The tables
 * of a machine with programs are those of the pages: its counters, its energies, its events, and the classes of its
 * instructions' cycles. The GPU's page has its parameters. */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/device_access.h"
#include "npulab/arena.h"
#include "npulab/device.h"
#include "npulab/driver.h"
#include "npulab/energy_model.h"
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

/* The name of a machine's file, as devices have it. */
static void name_of(const char *path, char name[64])
{
	snprintf(name, 64, "%s", strrchr(path, '/') + 1);
	*strstr(name, ".yaml") = '\0';
}

/* Says whether the machine stands on its driver's page, which is called after one of the driver's machines. */
static bool stands_on_its_page(const glob_t *machines, const char *machine, const struct npl_driver *driver)
{
	bool stands = false;
	for (size_t i = 0; i < machines->gl_pathc && !stands; i++) {
		char name[64], page[120], word[120];
		struct npl_device *device;
		struct npl_err err;
		name_of(machines->gl_pathv[i], name);
		snprintf(page, sizeof page, "docs/machine-%s.md", name);
		snprintf(word, sizeof word, "(machines/)?%s([.]yaml)?", machine);
		if (access(page, R_OK))
			continue;
		cr_assert_eq(npl_device_open(name, NULL, &device, &err), 0, "%s", err.msg);
		stands = npl_device_driver(device) == driver && stands_in(page, "", word);
		npl_device_close(device);
	}
	return stands;
}

Test(device_pages, every_machine_file_is_on_the_page_of_its_driver)
{
	glob_t machines;
	char *list = page_section("docs/machine-host.md", "## The machines");
	char *starts = page_section("docs/machine-host.md", "## What starting an operator costs");
	cr_assert_eq(glob("machines/*.yaml", 0, NULL, &machines), 0);
	for (size_t i = 0; i < machines.gl_pathc; i++) {
		char name[64];
		struct npl_device *device;
		struct npl_err err;
		name_of(machines.gl_pathv[i], name);
		cr_assert_eq(npl_device_open(name, NULL, &device, &err), 0, "%s", err.msg);
		const struct npl_driver *driver = npl_device_driver(device);
		cr_expect(stands_on_its_page(&machines, name, driver), "%s: no page of the driver %s has the machine",
			  name, driver->name);
		cr_expect(strcmp(driver->name, "processor") || (page_row(list, name) && page_row(starts, name)),
			  "docs/machine-host.md: a table does not have `%s`", name);
		npl_device_close(device);
	}
	globfree(&machines);
	free(list);
	free(starts);
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

/* Opens the device, with all its counters where it has a choice; NULL: it cannot start here. */
static struct npl_device *opened(const char *name)
{
	static const char *const sets[] = {"activity=counted"};
	const struct npl_device_options options = {.set = sets, .n_sets = 1};
	struct npl_device *device;
	struct npl_err err;
	return !npl_device_open(name, &options, &device, &err) || !npl_device_open(name, NULL, &device, &err) ? device
													      : NULL;
}

/* Calls the function for each machine with programs that has a page, PAGE, of its own. Each driver of such machines has
 * one, as others that it runs differ in sizes only. */
static void for_programmed(void (*check)(const char *page, const struct npl_device *device))
{
	struct npl_arena arena = {0};
	struct npl_err err;
	const char *const *name;
	int n;
	cr_assert_eq(npl_device_list(&arena, &name, &n, &err), 0, "%s", err.msg);
	for (const struct npl_driver *const *driver = npl_drivers; *driver; driver++) {
		int pages = 0;
		for (int i = 0; i < n && (*driver)->isa; i++) {
			char page[80];
			snprintf(page, sizeof page, "docs/machine-%s.md", name[i]);
			struct npl_device *device = access(page, R_OK) ? NULL : opened(name[i]);
			if (device && npl_device_driver(device) == *driver) {
				check(page, device);
				pages++;
			}
			npl_device_close(device);
		}
		cr_expect(pages || !(*driver)->isa, "no machine of the driver %s has a page", (*driver)->name);
	}
	npl_arena_free(&arena);
}

static void check_counters(const char *page, const struct npl_device *device)
{
	const struct npl_device_info *info = npl_device_get_info(device);
	const char *manual = npl_device_driver(device)->isa->set->page;
	char *table = page_section(page, "## Counters"), *rules = page_section(manual, "### Counters"), code[80];
	for (size_t i = 0; i < info->n_counters; i++) {
		snprintf(code, sizeof code, "`%s`", info->counter_def[i].name);
		cr_expect(page_row(table, info->counter_def[i].name), "%s has no row of %s", page, code);
		cr_expect(strstr(rules, code), "%s does not say what %s counts", manual, code);
	}
	cr_expect_eq(page_words(table), (int)info->n_counters, "%s has counters that the machine has not", page);
	free(table);
	free(rules);
}

Test(device_pages, the_tables_of_counters_are_those_of_the_machines)
{
	for_programmed(check_counters);
}

static void check_energies(const char *page, const struct npl_device *device)
{
	const struct npl_energy_model *model = npl_device_energy_model(device);
	char *table = page_section(page, "## Energy"), row[80];
	for (int c = 0; model && c < model->n_components; c++)
		for (int i = 0; i < model->component[c].n_actions; i++) {
			snprintf(row, sizeof row, "\n| %s |", model->component[c].action[i].energy);
			cr_expect(strstr(table, row), "%s has no row of the energy '%s'", page, row + 1);
		}
	free(table);
}

Test(device_pages, the_tables_of_energies_have_those_of_the_machines)
{
	for_programmed(check_energies);
}

static void check_events(const char *page, const struct npl_device *device)
{
	const struct npl_isa *isa = npl_device_driver(device)->isa;
	char *table = page_section(isa->set->page, "### Events");
	(void)page;
	for (int i = 0; i < isa->n_events; i++)
		cr_expect(page_row(table, isa->event_name[i]), "%s has no row of `%s`", isa->set->page,
			  isa->event_name[i]);
	cr_expect_eq(page_words(table), isa->n_events, "%s has events that the engines do not tell", isa->set->page);
	free(table);
}

Test(device_pages, the_tables_of_events_are_those_of_the_engines)
{
	for_programmed(check_events);
}

/* A section of docs/exec.md has the classes of cycles of each driver. */
static void check_classes(const char *page, const struct npl_device *device)
{
	static const char *const kinds[] = {
		[NPL_CLASS_WORKING] = "work", [NPL_CLASS_WAITING] = "wait", [NPL_CLASS_PASSING] = "on its way"};
	const struct npl_driver *driver = npl_device_driver(device);
	char heading[80], cell[40];
	(void)page;
	snprintf(heading, sizeof heading, "### Of the driver %s", driver->name);
	char *table = page_section("docs/exec.md", heading);
	for (int i = 0; i < driver->isa->n_time_classes; i++) {
		const struct npl_cycle_class *class = &driver->isa->time_class[i];
		const char *row = page_row(table, class->name);
		cr_expect(row, "docs/exec.md has no row of `%s` of %s", class->name, driver->name);
		snprintf(cell, sizeof cell, "| %s |", kinds[class->kind]);
		cr_expect(!row || !strncmp(strchr(row + 1, '|'), cell, strlen(cell)),
			  "docs/exec.md: `%s` is of the kind '%s'", class->name, kinds[class->kind]);
	}
	cr_expect_eq(page_words(table), driver->isa->n_time_classes, "docs/exec.md has reasons that %s has not",
		     driver->name);
	free(table);
}

Test(device_pages, the_classes_of_cycles_are_those_of_the_machines)
{
	for_programmed(check_classes);
}

/* The driver has its parameters on a computer without a GPU too. */
Test(device_pages, the_parameters_of_the_gpu_are_those_of_its_page)
{
	static const char page[] = "docs/machine-cuda.md";
	char *table = page_section(page, "## What it needs"), key[64], cell[80];
	int parameters = 0, rows = 0;
	for (const struct npl_param *p = npl_driver_named("cuda")->params; p->key; p++, parameters++) {
		snprintf(key, sizeof key, "cuda.%s", p->key);
		snprintf(cell, sizeof cell, "| %s |", p->default_text);
		const char *row = page_row(table, key);
		cr_expect(row, "%s has no row of `%s`", page, key);
		cr_expect(!row || !strncmp(strchr(row + 1, '|'), cell, strlen(cell)), "%s: the default of `%s` is %s",
			  page, key, p->default_text);
	}
	for (const char *row = strstr(table, "\n| `cuda."); row; row = strstr(row + 1, "\n| `cuda."))
		rows++;
	cr_expect_eq(rows, parameters, "%s has parameters that the driver has not", page);
	free(table);
}
