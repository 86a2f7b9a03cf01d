/* SPDX-License-Identifier: MIT
 *
 * Pages of saved results. What the program promises: a page has the figures of its document, needs no network, and
 * stays a page whatever the names in the document are; a document that was cut or edited, or is of another schema, is
 * refused with the file and the place. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "pages/bars.h"
#include "pages/html.h"
#include "tests/kit/cli_json.h"
#include "tests/kit/shell.h"
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

static void expect_figure(const char *page, const json_t *object, const char *key, const char *of)
{
	char text[80];
	const json_t *value = json_object_get(object, key);
	if (!json_is_number(value))
		return;
	snprintf(text, sizeof text, " data-v=\"%.9g\">", json_number_value(value));
	cr_expect(strstr(page, text), "%s of %s: %s is not on the page", key, of, text);
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
		expect_figure(page, cli_at(device, "totals"), "latency_s", name);
		expect_figure(page, cli_at(device, "totals"), "energy_j", name);
		expect_figure(page, cli_at(device, "totals"), "utilization", name);
		json_array_foreach (cli_at(device, "layers"), l, layer) {
			if (strcmp(cli_text(cli_at(layer, "role")), "ran") != 0)
				continue;
			expect_figure(page, layer, "seconds", name);
			expect_figure(page, layer, "energy_j", name);
			expect_figure(page, layer, "sqnr_db", name);
			layers++;
		}
	}
	cr_expect_gt(layers, 15);
	json_decref(root);
	free(text);
	free(page);
	cli_remove_folder(folder);
}

/* Elements that have to be closed are, in their order; others, such as cells, HTML closes itself. */
static const char closes[] =
	"/usr/bin/python3 -c '\n"
	"from html.parser import HTMLParser\n"
	"OWN = {\"html\", \"head\", \"body\", \"main\", \"h1\", \"h2\", \"h3\", \"section\", \"div\", \"table\",\n"
	"       \"thead\", \"tbody\", \"caption\", \"svg\", \"title\", \"text\", \"ul\", \"details\", \"summary\",\n"
	"       \"p\", \"footer\", \"style\", \"script\", \"rect\", \"span\"}\n"
	"class Page(HTMLParser):\n"
	"    def __init__(self):\n"
	"        super().__init__()\n"
	"        self.open, self.tags = [], []\n"
	"    def handle_starttag(self, tag, attrs):\n"
	"        self.tags.append((tag, dict(attrs)))\n"
	"        if tag in OWN:\n"
	"            self.open.append(tag)\n"
	"    def handle_endtag(self, tag):\n"
	"        if tag in OWN:\n"
	"            assert self.open.pop() == tag, tag\n"
	"page = Page()\n"
	"page.feed(open(\"page.html\", encoding=\"utf-8\").read())\n"
	"page.close()\n"
	"assert not page.open, page.open\n"
	"for tag, attrs in page.tags:\n"
	"    assert tag not in (\"link\", \"img\", \"iframe\", \"base\", \"object\"), tag\n"
	"    assert not {\"src\", \"href\", \"onclick\", \"onload\", \"onmouseover\"} & set(attrs), attrs\n"
	"assert sum(tag == \"script\" for tag, _ in page.tags) == 1\n"
	"'";

static void expect_whole(const char *folder, const char *page)
{
	char command[4000];
	snprintf(command, sizeof command, "cd '%s' && %s", folder, closes);
	free(shell(command));
	cr_expect(!strstr(page, "http:") && !strstr(page, "https:") && !strstr(page, "url(") &&
		  !strstr(page, "@import") && !strstr(page, "nan") && !strstr(page, "inf\""));
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
		struct cli_result r = cli_run(&options, "report", "d.json", "--html", "page.html");
		cli_check_refusal(&r, 3, "d.json: there is no page for npulab.", commands[i][0]);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* A document of the same schema from an older npulab lacks keys that may be null, one from a newer has others. */
Test(page, older_and_newer_documents_are_read)
{
	static const char *const edits[][2] = {{"\"area_mm2\":", "\"another_key\":"},
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
		{2, "report: expected a file", {"report"}},
		{2, "report: expected --html", {"report", "@/a.json"}},
		{2, "a.json", {"report", "@/a.json", "--html", "@/a.json"}},
		{3, "no.json", {"report", "@/no.json", "--html", "@/page.html"}},
		{5, "page.html", {"report", "@/a.json", "--html", "@/no/page.html"}},
	};
	CLI_CHECK(folder, refusals);
	cli_remove_folder(folder);
}

static int count(const char *text, const char *part)
{
	int n = 0;
	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		n++;
	return n;
}

/* A device that could not start is named, and the others have all that they have without it. */
Test(page, of_devices_that_could_not_start)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_comparison(folder);
	char *text = cli_read(cli_path(folder, "a.json"), NULL);
	json_t *root = cli_parse_json(text), *first = json_array_get(cli_at(root, "devices"), 0), *value;
	const char *key;
	void *next;
	json_object_foreach_safe(first, next, key, value)
	{
		if (strcmp(key, "name") != 0 && strcmp(key, "instance") != 0)
			json_object_set_new(first, key, json_null());
	}
	json_object_set_new(first, "unavailable", json_string("no <driver> here"));
	cr_assert_eq(json_dump_file(root, cli_path(folder, "b.json"), 0), 0);
	char *page = page_of(folder, "b.json");
	expect_whole(folder, page);
	cr_expect(strstr(page, "<td>tpu_v1<td>is not available here:<td>no &lt;driver&gt; here"));
	cr_expect(strstr(page, "<td>conv1<td>Conv") && strstr(page, "diannao time") && !strstr(page, "tpu_v1 time"));
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
			*strstr(cycles, "</ul>") = '\0';
		cr_expect_eq(cycles ? count(cycles, "<li ") : 0, cases[i].classes, "%s: %s", cases[i].rules,
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
