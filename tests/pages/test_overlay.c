/* SPDX-License-Identifier: MIT
 *
 * Several results on one page. What the program promises: each change is that from the first result of the same device,
 * where both are of the same network and the same batches; what is different is said; results that cannot be compared
 * stand side by side without changes. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/kit/saved_pages.h"
#include "tests/kit/support.h"

static void make(const char *folder, const char *network, const char *setting, const char *batch, const char *json)
{
	cli_expect(&(struct cli_run_options){.enter = folder}, 0, "compare", network, "--devices", "tpu_v1,diannao",
		   "--set", setting, "--batch", batch, "--timing-only", "--json", json, "--quiet");
}

static char *overlay(const char *folder, const char *first, const char *second)
{
	cli_expect(&(struct cli_run_options){.enter = folder}, 0, "report", first, second, "--html", "page.html");
	return cli_read(cli_path(folder, "page.html"), NULL);
}

static void expect_change(const char *page, json_t *before, json_t *after, const char *key)
{
	json_t *change = json_real(cli_number(cli_at(after, key)) / cli_number(cli_at(before, key)) - 1);
	expect_value_on_page(page, change, key);
	json_decref(change);
}

Test(page_overlay, changes_are_from_the_first_result)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	make(folder, "lenet5", "tpu_v1.array.columns=256", "16", "before.json");
	make(folder, "lenet5", "tpu_v1.array.columns=64", "16", "after.json");
	char *page = overlay(folder, "before.json", "after.json"), *text[2];
	json_t *root[2], *layer;
	for (int i = 0; i < 2; i++) {
		text[i] = cli_read(cli_path(folder, i ? "after.json" : "before.json"), NULL);
		root[i] = cli_parse_json(text[i]);
	}
	json_t *before = cli_device(root[0], "tpu_v1"), *after = cli_device(root[1], "tpu_v1");
	size_t l;
	int changed = 0;
	expect_change(page, cli_at(before, "totals"), cli_at(after, "totals"), "latency_s");
	expect_change(page, cli_at(before, "totals"), cli_at(after, "totals"), "energy_j");
	json_array_foreach (cli_at(before, "layers"), l, layer)
		if (json_number_value(cli_at(layer, "seconds")) > 0) {
			expect_change(page, layer, json_array_get(cli_at(after, "layers"), l), "seconds");
			changed++;
		}
	cr_expect_geq(changed, 5);
	cr_expect(strstr(page, "<li><strong>tpu_v1 (after): array.columns 64, was 256</strong>"));
	cr_expect_eq(count_on_page(page, "<strong>diannao (after): "), 0, "nothing of diannao is different");
	cr_expect_eq(count_on_page(page, "id=\"chart-change_time-tpu_v1\""), 1);
	cr_expect_eq(count_on_page(page, "id=\"chart-change_energy-tpu_v1\""), 1);
	cr_expect_eq(count_on_page(page, "id=\"chart-change_time-diannao\""), 0, "a chart shows changes");
	cr_expect(strstr(page, "<p>diannao (after): all layers have the time and the energy that they had.</p>"));
	cr_expect(strstr(page, "<h3>tpu_v1 (after): area<") && !strstr(page, "<h3>diannao (after): area<"),
		  "areas that are the same stand once");
	cr_expect(strstr(strstr(page, "<td>tpu_v1 (before)<"), "<td>tpu_v1 (after)<") <
			  strstr(page, "<td>diannao (before)<"),
		  "the results of a device stand together");
	for (int i = 0; i < 2; i++) {
		json_decref(root[i]);
		free(text[i]);
	}
	free(page);
	cli_remove_folder(folder);
}

/* Energies of other sources cannot be compared without a word. */
Test(page_overlay, other_sources_of_energy_are_named)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	make(folder, "lenet5", "tpu_v1.array.columns=256", "16", "a.json");
	make(folder, "lenet5", "tpu_v1.energy.table=none", "16", "b.json");
	char *page = overlay(folder, "a.json", "b.json");
	cr_expect(strstr(page, "<strong>tpu_v1 (b): energy ") && strstr(page, ", was calibrated:jouppi2017"));
	free(page);
	cli_remove_folder(folder);
}

Test(page_overlay, a_result_beside_itself_has_not_changed)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	make(folder, "lenet5", "tpu_v1.array.columns=256", "16", "a.json");
	cr_assert_eq(mkdir(cli_path(folder, "later"), 0777), 0);
	make(folder, "lenet5", "tpu_v1.array.columns=256", "16", "later/a.json");
	char *page = overlay(folder, "a.json", "later/a.json");
	cr_expect(strstr(page, "<td>tpu_v1 (a)<") && strstr(page, "<td>tpu_v1 (2: later/a.json)<"));
	cr_expect(strstr(page, " data-v=\"0\">0") && !strstr(page, "was "));
	cr_expect(!strstr(page, "%<td class=\"n\">+") && strstr(page, "<p>No parameter of a device differs.") &&
		  !strstr(page, "time changes most"));
	free(page);
	cli_remove_folder(folder);
}

Test(page_overlay, what_cannot_be_compared_has_no_change)
{
	static const struct {
		const char *network, *batch;
	} others[] = {{"digits", "16"}, {"lenet5", "32"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	make(folder, "lenet5", "tpu_v1.array.columns=256", "16", "a.json");
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		make(folder, others[i].network, "tpu_v1.array.columns=64", others[i].batch, "b.json");
		char *page = overlay(folder, "a.json", "b.json");
		cr_expect(strstr(page, "<strong>b is shown without changes: no result before it has the same network"),
			  "%s", others[i].network);
		cr_expect(!strstr(page, "chart-change") && !strstr(page, "was 256"));
		cr_expect(!strstr(page, " %<td class=\"n\">~") || !strstr(page, "data-v=\"-0."), "%s",
			  others[i].network);
		cr_expect_eq(count_on_page(page, "Each layer on each device"), 4,
			     "each network has its table, named twice");
		cr_expect(strstr(page, "<td>tpu_v1 (a)<") && strstr(page, "<td>tpu_v1 (b)<"));
		free(page);
	}
	cli_remove_folder(folder);
}

/* What was run on the host takes another time, so its parameters are named too. */
Test(page_overlay, a_changed_host_is_named)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	make(folder, "lenet5", "host.cores=18", "16", "a.json");
	make(folder, "lenet5", "host.cores=2", "16", "b.json");
	char *page = overlay(folder, "a.json", "b.json");
	cr_expect(strstr(page, "<strong>the modelled host, b: cores 2, was 18</strong>"));
	cr_expect(strstr(page, "<summary>the modelled host, b</summary>"));
	free(page);
	cli_remove_folder(folder);
}

/* A device that only the later result has is named, and has no change. */
Test(page_overlay, of_other_devices)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	make(folder, "lenet5", "tpu_v1.array.columns=256", "16", "a.json");
	cli_expect(&(struct cli_run_options){.enter = folder}, 0, "compare", "lenet5", "--devices",
		   "tpu_v1,systolic_16x16", "--batch", "16", "--timing-only", "--json", "b.json", "--quiet");
	char *page = overlay(folder, "a.json", "b.json");
	cr_expect(strstr(page,
			 "<strong>systolic_16x16 (b) is shown without changes: no result before it has this device"));
	cr_expect(strstr(page, "<td>diannao (a)<") && !strstr(page, "chart-change_time-diannao"));
	free(page);
	cli_remove_folder(folder);
}

/* A document edited by hand may have a device twice: the results of later documents stand on the page once. */
Test(page_overlay, of_a_device_that_stands_twice)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	make(folder, "lenet5", "tpu_v1.array.columns=256", "16", "b.json");
	char *text = cli_read(cli_path(folder, "b.json"), NULL);
	json_t *root = cli_parse_json(text), *devices = cli_at(root, "devices");
	for (int i = 0; i < 5; i++)
		json_array_append_new(devices, json_deep_copy(json_array_get(devices, 1)));
	cr_assert_eq(json_dump_file(root, cli_path(folder, "a.json"), 0), 0);
	cli_expect(&(struct cli_run_options){.enter = folder}, 0, "report", "a.json", "b.json", "b.json", "--html",
		   "page.html", "--markdown", "page.md");
	char *page = cli_read(cli_path(folder, "page.md"), NULL), *side_by_side = strstr(page, "## Side by side");
	cr_assert(side_by_side && strstr(side_by_side, "### "));
	*strstr(side_by_side, "### ") = '\0';
	cr_expect_eq(count_on_page(side_by_side, "| diannao (a) |"), 6);
	cr_expect_eq(count_on_page(side_by_side, "| diannao (b) |"), 1);
	free(page);
	free(text);
	json_decref(root);
	cli_remove_folder(folder);
}
