/* SPDX-License-Identifier: MIT
 *
 * Pages of saved results. What the program promises: a page has the figures of its document, needs no network, and
 * stays a page whatever the names in the document are; a document that was cut or edited, or is of another schema, is
 * refused with the file and the place. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "pages/bounds.h"
#include "pages/drawing.h"
#include "tests/kit/saved_pages.h"
#include "tests/kit/support.h"

static char *page_of(const char *folder, const char *document)
{
	cli_expect(&(struct cli_run_options){.enter = folder}, 0, "report", document, "--html", "page.html");
	return cli_read(cli_path(folder, "page.html"), NULL);
}

static void write_comparison(const char *folder)
{
	cli_expect(&(struct cli_run_options){.enter = folder}, 0, "compare", "lenet5", "--devices",
		   "tpu_v1,diannao,reference", "--json", "a.json", "--quiet");
}

Test(page, has_the_figures_of_its_document)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_comparison(folder);
	char *page = page_of(folder, "a.json"), *text = cli_read(cli_path(folder, "a.json"), NULL);
	json_t *root = cli_parse_json(text), *device, *layer;
	size_t d, l;
	int layers = 0;
	json_array_foreach (cli_at(root, "devices"), d, device) {
		const char *name = cli_text(cli_at(device, "instance"));
		expect_value_on_page(page, cli_at(device, "totals.latency_s"), name);
		expect_value_on_page(page, cli_at(device, "totals.machine_power_w"), name);
		expect_value_on_page(page, cli_at(device, "totals.area_mm2"), name);
		expect_value_on_page(page, cli_at(device, "accuracy.max_abs_error"), name);
		expect_value_on_page(page, cli_at(device, "totals.utilization"), name);
		json_array_foreach (cli_at(device, "layers"), l, layer) {
			if (strcmp(cli_text(cli_at(layer, "role")), "ran") != 0)
				continue;
			expect_value_on_page(page, json_object_get(layer, "seconds"), name);
			expect_value_on_page(page, json_object_get(layer, "energy_j"), name);
			expect_value_on_page(page, json_object_get(layer, "sqnr_db"), name);
			layers++;
		}
	}
	cr_expect_gt(layers, 15);
	json_decref(root);
	free(text);
	free(page);
	cli_remove_folder(folder);
}

static void expect_whole(const char *folder, char *page)
{
	saved_pages_checked(folder, "page.html");
	char *script = strstr(page, "<script>\n");
	cr_assert(script);
	*script = '\0'; /* Chart.js names its own site */
	cr_expect(!strstr(page, "http:") && !strstr(page, "https:") && !strstr(page, "url(") &&
		  !strstr(page, "@import") && !strstr(page, "nan") && !strstr(page, "inf\""));
	*script = '<';
}

/* Writes b.json: a.json with another text in the place of the first `from`. */
static void replace(const char *folder, const char *from, const char *to)
{
	char *text = cli_read(cli_path(folder, "a.json"), NULL), *at = strstr(text, from);
	FILE *file = fopen(cli_path(folder, "b.json"), "w");
	cr_assert(file && at, "%s", from);
	fprintf(file, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	cr_assert_eq(fclose(file), 0);
	free(text);
}

Test(page, is_whole_and_fetches_nothing)
{
	static const char hostile[] =
		"</title></svg></table><script>alert(1)</script>\\\" onload=\\\"x \\u001b[2J\\n&#60;";
	char folder[CLI_PATH], name[200];
	cli_folder(folder);
	write_comparison(folder);
	char *page = page_of(folder, "a.json");
	expect_whole(folder, page);
	free(page);
	static const char *const places[] = {"\"name\":\"lenet5\"", "\"name\":\"conv1\"", "\"instance\":\"tpu_v1\"",
					     "\"component\":\"matrix unit\"", "\"op\":\"Conv\""};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char from[60];
		snprintf(from, sizeof from, "%s", places[i]);
		snprintf(name, sizeof name, "%.*s:\"%s\"", (int)strcspn(from, ":"), from, hostile);
		replace(folder, from, name);
		page = page_of(folder, "b.json");
		expect_whole(folder, page);
		cr_expect(!strstr(page, "<script>alert") && strstr(page, "&lt;script&gt;alert"), "%s", places[i]);
		cr_expect(!strchr(page, '\x1b'));
		free(page);
	}
	cli_remove_folder(folder);
}

/* Each document that npulab writes is as its schema says, by this check too. */
Test(page, documents_of_every_schema_are_read)
{
	static const char *const commands[][8] = {
		{"models", "--json", "d.json"},
		{"energy", "tpu_v1", "--json", "d.json"},
		{"validate", "diannao", "--json", "d.json"},
		{"dram", "--pattern", "stream_rd", "--json", "d.json"},
		{"roofline", "lenet5", "--devices", "tpu_v1,diannao", "--json", "d.json"},
		{"inspect", "lenet5", "--json", "d.json"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		cli_expect_list(&options, 0, commands[i]);
		char *page = page_of(folder, "d.json");
		expect_whole(folder, page);
		free(page);
	}
	cli_remove_folder(folder);
}

/* A document of the same schema from an older npulab lacks keys that may be null, one from a newer has others. */
Test(page, older_and_newer_documents_are_read)
{
	static const char *const edits[][2] = {{"\"peak_buffer_bytes\":", "\"another_key\":"},
					       {"\"schema\":", "\"a_later_key\":{\"x\":[1]},\"schema\":"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	write_comparison(folder);
	char *page = page_of(folder, "a.json");
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
		replace(folder, edits[i][0], edits[i][1]);
		char *edited = page_of(folder, "b.json");
		cr_expect_str_eq(edited, page, "%s", edits[i][1]);
		free(edited);
	}
	free(page);
	cli_remove_folder(folder);
}

/* The first documents of this schema had fewer keys: their pages lack what these say, and nothing else. */
Test(page, of_the_first_documents_of_the_schema)
{
	static const char *const of_devices[] = {"sources", "components", "roofs", "memory"};
	static const char *const of_layers[] = {"roofline", "utilization", "memory_bytes"};
	char folder[CLI_PATH];
	cli_folder(folder);
	write_comparison(folder);
	char *text = cli_read(cli_path(folder, "a.json"), NULL);
	json_t *root = cli_parse_json(text), *device, *layer;
	size_t d, l;
	json_array_foreach (cli_at(root, "devices"), d, device) {
		for (size_t i = 0; i < sizeof of_devices / sizeof *of_devices; i++)
			cr_expect_eq(json_object_del(device, of_devices[i]), 0);
		json_array_foreach (cli_at(device, "layers"), l, layer)
			for (size_t i = 0; i < sizeof of_layers / sizeof *of_layers; i++)
				cr_expect_eq(json_object_del(layer, of_layers[i]), 0);
	}
	cr_assert_eq(json_dump_file(root, cli_path(folder, "b.json"), 0), 0);
	char *page = page_of(folder, "b.json");
	expect_whole(folder, page);
	cr_expect(!strstr(page, "id=\"roofline\"") && !strstr(page, ": area") && strstr(page, "id=\"energy\""));
	free(page);
	free(text);
	json_decref(root);
	cli_remove_folder(folder);
}

Test(page, documents_that_are_none_are_refused)
{
	static const struct {
		const char *from, *to, *says;
	} edits[] = {
		{"npulab.compare/1", "npulab.compare/99", "b.json: is of the schema npulab.compare/99, which this"},
		{"npulab.compare/1", "npulab.../../compare/1",
		 "b.json: is of the schema npulab.../../compare/1, which"},
		{"\"schema\":", "\"schemb\":", "b.json: is no result of npulab"},
		{"\"instance\":", "\"instanse\":", "b.json: devices[0]: lacks the key instance"},
		{"\"kind\":\"work\"", "\"kind\":\"wrk\"",
		 "b.json: devices[0].cycle_classes[0].kind: expected one of work, memory, waiting"},
		{"\"batch\":64", "\"batch\":\"64\"", "b.json: model.batch: expected a whole number"},
		{"\"seconds\":", "\"seconds\":[],\"x\":", "b.json: devices[0].totals.seconds: expected a number"},
		{"\"op\":\"Conv\"", "\"op\":7", "b.json: devices[0].layers[0].op: expected text"},
		{"\"model\":{", "\"model\":{]", "b.json:1: is no JSON"},
		{"\"model\":{", "\"model\":{\"name\":\"a\",", "b.json:1: is no JSON"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	write_comparison(folder);
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
		replace(folder, edits[i].from, edits[i].to);
		struct cli_result r = cli_run(&options, "report", "b.json", "--html", "page.html");
		cli_check_refusal(&r, 3, edits[i].says, edits[i].to);
		cli_free(&r);
	}
	const struct cli_refusal refusals[] = {
		{2, "report: expected files", {"report"}},
		{2, "report: expected --html, --markdown", {"report", "@/a.json"}},
		{2, "a.json", {"report", "@/a.json", "--html", "@/a.json"}},
		{3, "no.json", {"report", "@/no.json", "--html", "@/page.html"}},
		{5, "page.html", {"report", "@/a.json", "--html", "@/no/page.html"}},
	};
	CLI_CHECK(folder, refusals);
	cli_remove_folder(folder);
}

/* A device that could not start is named, and the others have all that they have without it. */
Test(page, of_devices_that_could_not_start)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_comparison(folder);
	char *text = cli_read(cli_path(folder, "a.json"), NULL);
	json_t *root = saved_without_first_device(cli_parse_json(text));
	cr_assert_eq(json_dump_file(root, cli_path(folder, "b.json"), 0), 0);
	char *page = page_of(folder, "b.json");
	expect_whole(folder, page);
	cr_expect(strstr(page, "<td>tpu_v1<td class=\"n\">not available") &&
		  strstr(page, "not available here: no &lt;driver&gt; here"));
	cr_expect(strstr(page, "<td>conv1<td>Conv") && strstr(page, "diannao: time") && !strstr(page, "tpu_v1: time"));
	cr_expect(strstr(page, "<td class=\"n\">exact"), "the reference has no error");
	free(page);
	free(text);
	json_decref(root);
	cli_remove_folder(folder);
}

/* Each class of cycles and each component stands once in a legend, also where two devices of a placement have it; what
 * counts cycles and what counts times share no chart. Of nine classes the last two are `others`. */
Test(page, series_of_placements_stand_once)
{
	static const struct {
		const char *rules;
		int classes, sections;
	} cases[] = {{"Conv*=tpu_v1,*=tpu_v1@clock_hz=600000000", 4, 1},
		     {"Conv*=tpu_v1,*=diannao", 8, 1},
		     {"Conv*=tpu_v1,*=gpu_k80", 0, 0}};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cli_expect(&(struct cli_run_options){.enter = folder}, 0, "run", "lenet5", "--place", cases[i].rules,
			   "--timing-only", "--html", "page.html", "--quiet");
		char *page = cli_read(cli_path(folder, "page.html"), NULL), *cycles = strstr(page, "id=\"cycles\"");
		expect_whole(folder, page);
		cr_expect_eq(cycles != NULL, cases[i].sections, "%s", cases[i].rules);
		if (cycles)
			*strstr(cycles, "</svg>") = '\0';
		cr_expect_eq(cycles ? count_on_page(cycles, "v9h-9z") : 0, cases[i].classes, "%s: %s", cases[i].rules,
			     cycles ? cycles : "");
		free(page);
	}
	cli_remove_folder(folder);
}

/* Made at once and made of the saved JSON it is the same page, of each command that has one. */
Test(page, of_a_command_is_that_of_its_json)
{
	static const char *const commands[][12] = {
		{"compare", "lenet5", "--devices", "tpu_v1,diannao", "--timing-only"},
		{"run", "lenet5", "--place", "Conv*=tpu_v1,*=diannao", "--batch", "2"},
		{"layer", "gemm", "-m", "4", "-n", "8", "-k", "8", "--devices", "tpu_v1"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		const char *args[CLI_ARGUMENTS] = {0};
		int n = 0;
		while (commands[i][n]) {
			args[n] = commands[i][n];
			n++;
		}
		static const char *const outputs[] = {"--json", "a.json", "--html", "at_once.html", "--quiet"};
		memcpy(args + n, outputs, sizeof outputs);
		cli_expect_list(&options, 0, args);
		char *page = page_of(folder, "a.json"), *at_once = cli_read(cli_path(folder, "at_once.html"), NULL);
		cr_expect_str_eq(page, at_once);
		cr_expect(strstr(page, "ran on") ? i == 1 : i != 1);
		expect_whole(folder, page);
		free(page);
		free(at_once);
	}
	cli_remove_folder(folder);
}

Test(page, names_are_cut_in_their_middle)
{
	char buf[200];
	cr_expect_str_eq(page_short_name(buf, sizeof buf, "layer1.0.conv2", 28), "layer1.0.conv2");
	cr_expect_str_eq(page_short_name(buf, sizeof buf, "abcdefghij", 10), "abcdefghij");
	cr_expect_str_eq(page_short_name(buf, sizeof buf, "abcdefghijk", 10), "abcd\u2026ghijk");
	cr_expect_str_eq(page_short_name(buf, sizeof buf, "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", 5),
			 "\u00e9\u00e9\u2026\u00e9\u00e9");
}

Test(page, axes_have_ticks_that_are_read)
{
	uint64_t rng = 7;
	for (int i = 0; i < 2000; i++) {
		const double most = pow(10, (double)test_range(&rng, -20000, 20000) / 1000), tick = page_tick(most),
			     digit = tick / pow(10, floor(log10(tick * 1.0000001)));
		cr_expect(most / tick >= 3.999 && most / tick <= 10.001, "%g by %g", most, tick);
		cr_expect(fabs(digit - 1) < 1e-6 || fabs(digit - 2) < 1e-6 || fabs(digit - 5) < 1e-6, "%g", tick);
	}
}

/* Whatever bound a machine gives, the page says what it means. */
Test(page, explains_every_bound)
{
	static const char *const lists[] = {"cycle_classes", "cycle_parts"};
	char folder[CLI_PATH];
	int n = 0;
	cli_folder(folder);
	cli_expect(&(struct cli_run_options){.enter = folder}, 0, "compare", "lenet5", "--devices",
		   "tpu_v1,diannao,gpu_a100,systolic_16x16", "--timing-only", "--json", "a.json", "--quiet");
	char *text = cli_read(cli_path(folder, "a.json"), NULL);
	json_t *root = cli_parse_json(text), *device, *layer, *one;
	size_t d, l;
	json_array_foreach (cli_at(root, "devices"), d, device) {
		for (int list = 0; list < 2; list++)
			json_array_foreach (cli_at(device, lists[list]), l, one) {
				const char *bound = cli_text(cli_at(one, "bound"));
				cr_expect(*page_bound_meaning(bound), "%s", bound);
				n++;
			}
		json_array_foreach (cli_at(device, "layers"), l, layer) {
			const char *bound = json_string_value(json_object_get(layer, "bound"));
			cr_expect(!bound || *page_bound_meaning(bound), "%s", bound);
		}
	}
	cr_expect_gt(n, 15);
	cr_expect(*page_bound_meaning("peak") && *page_bound_meaning("memory") && *page_bound_meaning("host") &&
		  *page_bound_meaning("neither roof"));
	json_decref(root);
	free(text);
	cli_remove_folder(folder);
}

/* Names that differ at their end alone stay apart. */
Test(page, has_long_names_whole)
{
	enum { LENGTH = 300 };
	char folder[CLI_PATH], name[2][LENGTH + 1], cell[2 * LENGTH + 20];
	cli_folder(folder);
	write_comparison(folder);
	char *text = cli_read(cli_path(folder, "a.json"), NULL);
	json_t *root = cli_parse_json(text), *devices = cli_at(root, "devices");
	for (int d = 0; d < 2; d++) {
		memset(name[d], 'x', LENGTH);
		snprintf(name[d] + LENGTH - 1, 2, "%d", d);
		json_object_set_new(json_array_get(devices, (size_t)d), "instance", json_string(name[d]));
	}
	cr_assert_eq(json_dump_file(root, cli_path(folder, "b.json"), 0), 0);
	char *page = page_of(folder, "b.json");
	for (int d = 0; d < 2; d++) {
		snprintf(cell, sizeof cell, "<td>%s<", name[d]);
		cr_expect(strstr(page, cell), "device %d", d);
	}
	free(page);
	free(text);
	json_decref(root);
	cli_remove_folder(folder);
}

/* DianNao's NFU has no operation for Add: the host has run the sixteen of ResNet-50. */
Test(page, says_why_layers_ran_on_the_host)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_expect(&(struct cli_run_options){.enter = folder}, 0, "compare", "resnet50", "--devices", "diannao",
		   "--timing-only", "--html", "page.html", "--quiet");
	char *page = cli_read(cli_path(folder, "page.html"), NULL);
	cr_expect(strstr(page, "<br>16 layers on the host, Add: the NFU has no operation for it"));
	free(page);
	cli_remove_folder(folder);
}

/* A machine of somebody else has bounds of its own: its counter says what they mean. */
Test(page, explains_bounds_of_other_machines)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_comparison(folder);
	free(shell("cd '%s' && sed -i 's/\"bound\":\"idle lanes\"/\"bound\":\"gates shut\"/g' a.json", folder));
	char *page = page_of(folder, "a.json");
	cr_expect(strstr(page, "<td>gates shut"));
	cr_expect(count_on_page(page, "<td>a step enters the NFU") == 2, "with its class, and with its bound");
	free(page);
	cli_remove_folder(folder);
}
