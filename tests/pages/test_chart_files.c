/* SPDX-License-Identifier: MIT
 *
 * Promises of charts as files (npulab report --svg): each has a file of its own, also where names differ little; no
 * file that the run reads or writes otherwise is overwritten; Markdown finds them from where it stands. Figures that no
 * drawing can have are left out of it. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/kit/saved_pages.h"

static void write_comparison(const char *folder)
{
	saved_document(folder,
		       (const char *const[]){"compare", "lenet5", "--devices", "tpu_v1,diannao", "--timing-only", NULL},
		       "a.json");
}

/* Writes b.json: a.json with other names of its two devices. */
static void rename_devices(const char *folder, const char *first, const char *second)
{
	char *text = cli_read(cli_path(folder, "a.json"), NULL);
	json_t *root = cli_parse_json(text), *devices = cli_at(root, "devices");
	json_object_set_new(json_array_get(devices, 0), "instance", json_string(first));
	json_object_set_new(json_array_get(devices, 1), "instance", json_string(second));
	cr_assert_eq(json_dump_file(root, cli_path(folder, "b.json"), 0), 0);
	json_decref(root);
	free(text);
}

static void expect_charts_of_both(const char *folder, const char *first, const char *second)
{
	char command[200];
	rename_devices(folder, first, second);
	cli_expect(&(struct cli_run_options){.enter = folder}, 0, "report", "b.json", "--svg", "charts", "--html",
		   "page.html");
	snprintf(command, sizeof command, "ls '%s/charts' | grep -c ^time-", folder);
	char *count = shell("%s", command);
	cr_expect_str_eq(count, "2\n", "%s and %s: %s", first, second, count);
	saved_pages_checked(folder, "page.html"); /* ids are unlike */
	free(count);
	free(shell("rm -r '%s/charts'", folder));
}

Test(chart_files, of_names_that_differ_little_are_two)
{
	char folder[CLI_PATH], first[200], second[200];
	cli_folder(folder);
	write_comparison(folder);
	expect_charts_of_both(folder, "one:a", "one/a");
	expect_charts_of_both(folder, "One", "one");
	memset(first, 'x', sizeof first - 2);
	memset(second, 'x', sizeof second - 2);
	strcpy(first + sizeof first - 2, "a");
	strcpy(second + sizeof second - 2, "b");
	expect_charts_of_both(folder, first, second);
	cli_remove_folder(folder);
}

Test(chart_files, overwrite_nothing_that_is_read_or_written_otherwise)
{
	static const struct cli_refusal cases[] = {
		{2,
		 "is read by this run and would be overwritten",
		 {"report", "@/charts/time-tpu_v1.svg", "--svg", "@/charts"}},
		{2,
		 "is named for two outputs",
		 {"report", "@/a.json", "--svg", "@/charts", "--html", "@/charts/time-diannao.svg"}},
		{2, "is named for two outputs", {"report", "@/a.json", "--svg", "@/new", "--html", "@/new"}},
		{2, "standard input is given twice", {"report", "-", "-", "--html", "@/page.html"}},
		{2, "expected a folder", {"report", "@/a.json", "--svg", "-"}},
		{2, "expected a folder", {"report", "@/a.json", "--svg", ""}},
		{5, "is a file, expected a folder", {"report", "@/a.json", "--svg", "@/a.json"}}};
	char folder[CLI_PATH];
	cli_folder(folder);
	write_comparison(folder);
	cr_assert_eq(mkdir(cli_path(folder, "charts"), 0777), 0);
	free(shell("cp '%s/a.json' '%s/charts/time-tpu_v1.svg'", folder, folder));
	CLI_CHECK(folder, cases);
	char *files = shell("cd '%s' && ls . charts && cmp a.json charts/time-tpu_v1.svg", folder);
	cr_expect_str_eq(files, ".:\na.json\ncharts\n\ncharts:\ntime-tpu_v1.svg\n", "nothing is written: %s", files);
	free(files);
	cli_remove_folder(folder);
}

/* The targets of all links to charts are files, as a browser reads them. */
static const char follow[] = "/usr/bin/python3 -c '\n"
			     "import os, re, sys, urllib.parse\n"
			     "text = open(sys.argv[1], encoding=\"utf-8\").read()\n"
			     "links = re.findall(r\"!\\[[^\\]]*\\]\\(<([^>]*)>\\)\", text)\n"
			     "assert len(links) > 5, links\n"
			     "for link in links:\n"
			     "    path = urllib.parse.unquote(urllib.parse.urlsplit(link).path)\n"
			     "    assert os.path.isfile(os.path.join(os.path.dirname(sys.argv[1]), path)), link\n"
			     "'";

Test(chart_files, are_found_from_the_markdown)
{
	static const struct {
		const char *markdown, *charts;
	} places[] = {{"page.md", "charts"},
		      {"a/page.md", "charts"},
		      {"page.md", "a/charts"},
		      {"a/page.md", "a/charts"},
		      {"a/b/page.md", "a"},
		      {"page.md", "."},
		      {"page.md", "50% <of> #1? \"x\""}};
	char folder[CLI_PATH], absolute[CLI_PATH + 20];
	cli_folder(folder);
	write_comparison(folder);
	free(shell("mkdir -p '%s/a/b'", folder));
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		cli_expect(&(struct cli_run_options){.enter = folder}, 0, "report", "a.json", "--markdown",
			   places[i].markdown, "--svg", places[i].charts);
		free(shell("%s '%s/%s'", follow, folder, places[i].markdown));
	}
	snprintf(absolute, sizeof absolute, "%s/elsewhere", folder);
	cli_expect(&(struct cli_run_options){.enter = folder}, 0, "report", "a.json", "--markdown", "page.md", "--svg",
		   absolute);
	free(shell("%s '%s/page.md'", follow, folder));
	cli_remove_folder(folder);
}

/* Without the charts no heading stands above nothing. */
Test(chart_files, without_them_their_headings_are_left_out)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_comparison(folder);
	saved_pages(folder, "a.json", NULL);
	char *page = cli_read(cli_path(folder, "page.md"), NULL);
	cr_expect(!strstr(page, "Time by layer") && strstr(page, "## Side by side") && strstr(page, "## Layers"));
	free(page);
	cli_remove_folder(folder);
}

/* The least and the greatest numbers that JSON has neither hang a page nor give it figures that are none. */
Test(chart_files, of_extreme_figures_are_drawn)
{
	static const double figures[] = {5e-324, 1e-200, 1e200, 1.7e308, 0};
	char folder[CLI_PATH];
	cli_folder(folder);
	write_comparison(folder);
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
		char *text = cli_read(cli_path(folder, "a.json"), NULL);
		json_t *root = cli_parse_json(text), *layer;
		size_t l;
		for (int d = 0; d < 2; d++) {
			json_t *device = json_array_get(cli_at(root, "devices"), (size_t)d);
			json_object_set_new(cli_at(device, "totals"), "seconds", json_real(figures[i]));
			json_object_set_new(cli_at(device, "totals"), "latency_s", json_real(figures[i]));
			json_object_set_new(cli_at(device, "totals"), "inferences_per_joule", json_real(figures[i]));
			json_array_foreach (cli_at(device, "layers"), l, layer) {
				json_object_set_new(layer, "seconds", json_real(l % 2 ? figures[i] : 1e-3));
				json_t *roofline = json_object_get(layer, "roofline");
				if (json_is_object(roofline))
					json_object_set_new(roofline, "macs_per_byte", json_real(figures[i]));
			}
		}
		cr_assert_eq(json_dump_file(root, cli_path(folder, "b.json"), 0), 0);
		saved_pages(folder, "b.json", "a.json");
		cli_expect(&(struct cli_run_options){.enter = folder}, 0, "report", "b.json", "--svg", "charts");
		saved_pages_checked(folder, "page.html page.md page.tex charts/*.svg");
		json_decref(root);
		free(text);
	}
	cli_remove_folder(folder);
}

/* Writes b.json: a.json with another number at each key of that name. */
static void set_numbers(const char *folder, const char *key, double value)
{
	free(shell("cd '%s' && /usr/bin/python3 -c '\n"
		   "import json\n"
		   "def edit(one):\n"
		   "    for key, value in one.items() if isinstance(one, dict) else enumerate(one):\n"
		   "        if isinstance(value, (dict, list)):\n"
		   "            edit(value)\n"
		   "        elif key == \"%s\" and value is not None:\n"
		   "            one[key] = %.17g\n"
		   "root = json.load(open(\"a.json\"))\n"
		   "edit(root)\n"
		   "json.dump(root, open(\"b.json\", \"w\"))\n"
		   "'",
		   folder, key, value));
}

Test(chart_files, of_figures_that_cannot_be_are_files_too)
{
	static const struct {
		const char *command[8], *key;
		double value;
	} cases[] = {{{"run", "lenet5", "--place", "Conv*=tpu_v1,*=host"}, "start_seconds", -1e308},
		     {{"run", "lenet5", "--place", "Conv*=tpu_v1,*=host"}, "start_seconds", -2147483648.},
		     {{"validate", "diannao"}, "tolerance", -1e308},
		     {{"dram", "--pattern", "copy", "-n", "1000"}, "row_hit_rate", 1e308},
		     {{"compare", "lenet5", "--devices", "tpu_v1,cpu"}, "seconds_median_within", 1e308}};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		saved_document(folder, cases[i].command, "a.json");
		set_numbers(folder, cases[i].key, cases[i].value);
		saved_pages(folder, "b.json", NULL);
		cli_expect(&(struct cli_run_options){.enter = folder}, 0, "report", "b.json", "--svg", "charts");
		saved_pages_checked(folder, "page.html page.md page.tex charts/*.svg");
	}
	cli_remove_folder(folder);
}
