/* SPDX-License-Identifier: MIT
 *
 * Promises of pages in all formats: tables have as many cells in each row as headings, LaTeX's environments end, SVG
 * files are XML without a figure that is no number, and names stay text, whatever a document holds. Documents of
 * several schemas are refused, and those that were cut. */
#include <criterion/criterion.h>
#include <string.h>

#include "pages/drawing.h"
#include "tests/kit/saved_pages.h"

static const struct {
	const char *first[12], *second[12]; /* two commands whose documents are compared */
	bool has_drawings;
} kinds[] = {
	{{"compare", "lenet5", "--devices", "tpu_v1,diannao"},
	 {"compare", "lenet5", "--devices", "tpu_v1", "--set", "tpu_v1.clock_hz=900MHz"},
	 true},
	{{"validate", "tpu_v1"}, {"validate", "tpu_v1", "--set", "tpu_v1.clock_hz=900MHz"}, true},
	{{"validate", "dram", "--all"}, {"validate", "hosts", "--all"}, true},
	{{"dram", "--pattern", "copy", "-n", "4000"},
	 {"dram", "--pattern", "stream_wr", "-n", "100", "--preset", "diannao-250gbps"},
	 true},
	{{"roofline", "lenet5", "--devices", "tpu_v1,gpu_k80"}, {"roofline", "lenet5", "--devices", "tpu_v1"}, true},
	{{"roofline", "--devices", "tpu_v1,diannao"}, {"roofline", "--devices", "gpu_a100"}, true},
	{{"energy", "tpu_v1"}, {"energy", "diannao"}, false},
	{{"inspect", "lenet5"}, {"inspect", "digits"}, false}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void check_drawings(const char *folder, const char *first, const char *second)
{
	cli_expect(&(struct cli_run_options){.enter = folder}, 0, "report", first, second, "--svg", "drawings");
	saved_pages_checked(folder, "drawings/*.svg");
	free(shell("rm -r '%s/drawings'", folder));
}

Test(page_formats, follow_their_rules)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	for (int i = 0; i < KINDS; i++) {
		saved_document(folder, kinds[i].first, "a.json");
		saved_document(folder, kinds[i].second, "b.json");
		for (int overlaid = 0; overlaid < 2; overlaid++) {
			saved_pages(folder, "a.json", overlaid ? "b.json" : NULL);
			saved_pages_checked(folder, "page.html page.md page.tex");
			if (kinds[i].has_drawings)
				check_drawings(folder, "a.json", overlaid ? "b.json" : "a.json");
		}
	}
	cli_remove_folder(folder);
}

Test(page_formats, have_hostile_names_as_text)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	for (int i = 0; i < KINDS; i++) {
		saved_document(folder, kinds[i].first, "a.json");
		free(shell("/usr/bin/python3 tests/pages/check_pages.py --hostile '%s/a.json' '%s/b.json'", folder,
			   folder));
		for (int overlaid = 0; overlaid < 2; overlaid++) {
			saved_pages(folder, "b.json", overlaid ? "a.json" : NULL);
			saved_pages_checked(folder, "page.html page.md page.tex");
			char *page = cli_read(cli_path(folder, "page.html"), NULL);
			cr_expect(strstr(page, "&lt;script&gt;alert") && !strstr(page, "<script>alert"), "%s",
				  kinds[i].first[0]);
			free(page);
			if (kinds[i].has_drawings)
				check_drawings(folder, "b.json", overlaid ? "a.json" : "b.json");
		}
	}
	cli_remove_folder(folder);
}

static void write_cut(const char *folder, const char *from, const char *to, size_t bytes)
{
	char *text = cli_read(cli_path(folder, from), NULL);
	cr_assert_lt(bytes, strlen(text));
	text[bytes] = '\0';
	cli_write_text(folder, to, text);
	free(text);
}

Test(page_formats, documents_that_do_not_fit_are_refused)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	saved_document(folder, kinds[1].first, "v.json");
	saved_document(folder, kinds[3].first, "d.json");
	saved_document(folder, kinds[4].first, "r.json");
	write_cut(folder, "v.json", "cut.json", 300);
	free(shell("cd '%s' && sed 's/\"case\":/\"casf\":/' v.json > lacks.json && "
		   "sed 's/\"cycles\":[0-9]*/\"cycles\":\"x\"/' d.json > edited.json && "
		   "sed 's/\"roofs\":/\"rooves\":/' r.json > other.json",
		   folder));
	const struct cli_refusal refusals[] = {
		{3,
		 "d.json: is of the schema npulab.dram/1, and ",
		 {"report", "@/v.json", "@/d.json", "--html", "@/x.html"}},
		{3, "of npulab.validate/1", {"report", "@/v.json", "@/d.json", "--csv", "@/x.csv"}},
		{3, "cut.json:1: is no JSON", {"report", "@/cut.json", "--csv", "@/x.csv"}},
		{3, "lacks.json: rows[0]: lacks the key case", {"report", "@/lacks.json", "--html", "@/x.html"}},
		{3, "edited.json: cycles: expected a whole number", {"report", "@/edited.json", "--csv", "@/x.csv"}},
		{2,
		 "--html - and --csv - cannot both have standard output",
		 {"report", "@/v.json", "--html", "-", "--csv", "-"}},
		{2,
		 "--json - and --html - cannot both have standard output",
		 {"validate", "tpu_v1", "--json", "-", "--html", "-"}},
		{2,
		 "--json - and --html - cannot both have standard output",
		 {"dram", "--pattern", "copy", "--json", "-", "--html", "-"}},
		{2, "cannot both have standard output", {"roofline", "--json", "-", "--html", "-"}},
		{2, "--list goes alone", {"dram", "--list", "--html", "@/x.html"}},
		{2, "--yaml goes with", {"dram", "--yaml", "--html", "@/x.html"}},
		{5, "x.csv", {"report", "@/v.json", "--csv", "@/no/x.csv"}},
		{3, "energy.json: has nothing to draw", {"report", "@/energy.json", "--svg", "@/drawings"}},
	};
	saved_document(folder, kinds[6].first, "energy.json");
	CLI_CHECK(folder, refusals);
	cli_remove_folder(folder);
}

/* A command makes the page that its JSON makes later, in a file or on standard output. */
Test(page_formats, of_a_command_are_those_of_its_json)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (int i = 0; i < 6; i++) {
		static const char *const outputs[] = {"--json", "a.json", "--html", "-"};
		const char *args[CLI_ARGUMENTS] = {0};
		int n = 0;
		for (; kinds[i].first[n]; n++)
			args[n] = kinds[i].first[n];
		memcpy(args + n, outputs, sizeof outputs);
		struct cli_result at_once = cli_run_list(&options, args),
				  saved = cli_run(&options, "report", "a.json", "--html", "-");
		cr_expect_eq(at_once.status, 0, "%s", at_once.err);
		cr_expect_str_eq(at_once.out, saved.out, "%s", kinds[i].first[0]);
		cli_free(&at_once);
		cli_free(&saved);
	}
	cli_remove_folder(folder);
}

Test(page_formats, long_names_make_words_of_their_own)
{
	char first[PAGE_WORD], second[PAGE_WORD], name[300];
	memset(name, 'a', sizeof name);
	name[299] = '\0';
	cr_expect_str_eq(page_word(first, sizeof first, "time", "tpu_v1"), "time-tpu_v1");
	cr_expect_str_eq(page_word(first, sizeof first, "time", ""), "time");
	cr_expect_str_eq(page_word(first, sizeof first, "time", "a, \"b\""), "time-a_b");
	page_word(first, sizeof first, "time", name);
	name[298] = 'b';
	page_word(second, sizeof second, "time", name);
	cr_expect_str_neq(first, second);
	cr_expect_lt(strlen(first), (size_t)PAGE_WORD);
}
