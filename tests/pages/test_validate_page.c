/* SPDX-License-Identifier: MIT
 *
 * Promises of the page of validations: each figure is there, with the verdict that the command has too; several
 * documents have their figures in one row; what published them is said; and no figure is shown as an infinity. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "core/base/message.h"
#include "npulab/validate.h"
#include "pages/validated.h"
#include "tests/kit/saved_pages.h"

static json_t *read_json(const char *folder, const char *file)
{
	char *text = cli_read(cli_path(folder, file), NULL);
	json_t *root = cli_parse_json(text);
	free(text);
	return root;
}

Test(validate_page, has_the_figures_and_verdicts_of_its_document)
{
	char folder[CLI_PATH], line[300];
	int counts[3] = {0}, unjudged = 0, published = 0;
	size_t i;
	json_t *row;
	cli_folder(folder);
	saved_document(folder,
		       (const char *const[]){"validate", "tpu_v1", "--all", "--set", "tpu_v1.clock_hz=900MHz", NULL},
		       "a.json");
	saved_pages(folder, "a.json", NULL);
	char *page = cli_read(cli_path(folder, "page.html"), NULL);
	json_t *root = read_json(folder, "a.json");
	json_array_foreach (cli_at(root, "rows"), i, row) {
		static const char *const names[] = {"within", "outside", "missing"};
		struct npl_validation_row figure;
		const char *verdict = page_text(row, "verdict");
		expect_value_on_page(page, cli_at(row, "published"), "published");
		expect_value_on_page(page, cli_at(row, "model"), "model");
		page_validated_read(row, &figure);
		published += *figure.reference != '\0';
		const enum npl_verdict judged = npl_validation_verdict(&figure);
		cr_expect_str_eq(verdict, judged == NPL_UNJUDGED ? "" : names[judged - NPL_WITHIN]);
		if (judged == NPL_UNJUDGED)
			unjudged += !isnan(figure.published);
		else
			counts[judged - NPL_WITHIN]++;
	}
	cr_expect(counts[0] > 50 && counts[1] > 10 && !counts[2] && unjudged > 50);
	snprintf(line, sizeof line,
		 ">%d figures are judged: %d within the tolerance, %d outside. %d more are published, but not judged. ",
		 counts[0] + counts[1], counts[0], counts[1], unjudged);
	cr_expect(strstr(page, line), "%s", line);
	cr_expect(strstr(page, "Differences in percent of the published figure") &&
		  strstr(page, "Differences of shares, in points"));
	snprintf(line, sizeof line, "Published by Jouppi et al. (ISCA 2017), %d figures.", published);
	cr_expect(strstr(page, line), "%s", line);
	cr_expect(!strstr(page, "<td>Jouppi"), "one source is named once");
	cr_expect(strstr(page, "<td>fitted") && strstr(page, "<td>not judged") && strstr(page, "<td>not published"));
	cr_expect(strstr(page, "<td>outside") && strstr(page, "<td>within, fitted"));
	json_decref(root);
	free(page);
	cli_remove_folder(folder);
}

/* A figure that one document lacks is there with an empty cell. */
Test(validate_page, several_documents_have_their_figures_in_one_row)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(
		folder, "a.json",
		"{\"schema\":\"npulab.validate/1\",\"rows\":["
		"{\"machine\":\"m\",\"case\":\"both\",\"metric\":\"cycles\",\"published\":100,\"model\":110,"
		"\"difference\":10,\"relative_difference\":0.1,\"tolerance\":10,\"at_most\":false,\"fitted\":false,"
		"\"reference\":\"paper\",\"source\":\"Table 1\",\"unit\":\"cycles\",\"note\":null,\"reason\":null},"
		"{\"machine\":\"m\",\"case\":\"first\",\"metric\":\"cycles\",\"published\":100,\"model\":null,"
		"\"difference\":null,\"relative_difference\":null,\"tolerance\":10,\"at_most\":false,\"fitted\":false,"
		"\"reference\":\"paper\",\"source\":\"Table 1\",\"unit\":\"cycles\",\"note\":\"a note\","
		"\"reason\":\"a reason\"}]}");
	cli_write_text(
		folder, "b.json",
		"{\"schema\":\"npulab.validate/1\",\"rows\":["
		"{\"machine\":\"n\",\"case\":\"second\",\"metric\":\"cycles\",\"published\":null,\"model\":7,"
		"\"difference\":null,\"relative_difference\":null,\"tolerance\":null,\"at_most\":false,\"fitted\":true,"
		"\"reference\":null,\"source\":null,\"unit\":null,\"note\":null,\"reason\":null},"
		"{\"machine\":\"m\",\"case\":\"both\",\"metric\":\"cycles\",\"published\":100,\"model\":121,"
		"\"difference\":21,\"relative_difference\":0.21,\"tolerance\":10,\"at_most\":false,\"fitted\":true,"
		"\"reference\":\"paper\",\"source\":\"Table 1\",\"unit\":\"cycles\",\"note\":null,\"reason\":null}]}");
	saved_pages(folder, "a.json", "b.json");
	saved_pages_checked(folder, "page.html page.md page.tex");
	char *page = cli_read(cli_path(folder, "page.md"), NULL);
	static const char *const rows[] = {
		"| published | model, a | verdict | model, b | change | verdict | tolerance | published in | remark |",
		"| both | cycles |  | 100 | 110 | within | 121 | +10 % | outside, fitted | 10 % | Table 1 |  |",
		"| first | cycles |  | 100 |  | missing |  |  |  | 10 % | Table 1 | a reason; a note |",
		"| second | cycles |  |  |  |  | 7 |  | fitted |  |  |  |",
		"| m | a | 2 | 1 | 0 | 1 | 0 | 0 | 0 |",
		"| n | b | 0 | 0 | 0 | 0 | 0 | 0 | 1 |",
		"a: 2 figures are judged: 1 within the tolerance, 0 outside. For 1 of them the "
		"model has no figure.",
		"b: 1 figure is judged: 0 within the tolerance, 1 outside. 1 is from the model alone. "
		"1 figure was used to fit parameters.",
		"m, cycles of first: missing, a reason",
		"m, cycles of both: published 100, model 121, tolerance 10 %"};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(strstr(page, rows[i]), "%s\n%s", rows[i], page);
	free(page);
	cli_remove_folder(folder);
}

struct sample {
	const char *published, *model, *tolerance, *unit, *reference;
};

static void write_samples(const char *folder, const char *file, const struct sample *sample, size_t n)
{
	char text[6000] = "{\"schema\":\"npulab.validate/1\",\"rows\":[";
	for (size_t i = 0; i < n; i++)
		npl_append(text, sizeof text, i ? "," : "",
			   "{\"machine\":\"m\",\"case\":\"case %d\",\"metric\":\"x\",\"published\":%s,\"model\":%s,"
			   "\"difference\":null,\"relative_difference\":null,\"tolerance\":%s,\"at_most\":false,"
			   "\"fitted\":false,\"reference\":\"%s\",\"source\":\"Table 1\",\"unit\":\"%s\",\"note\":null,"
			   "\"reason\":null}",
			   (int)i, sample[i].published, sample[i].model, sample[i].tolerance, sample[i].reference,
			   sample[i].unit);
	npl_append(text, sizeof text, "", "]}");
	cli_write_text(folder, file, text);
}

/* Of several sources each stands before the place in it. */
Test(validate_page, names_what_published_each_figure)
{
	static const struct sample samples[] = {{"10", "11", "2", "s", "A paper"},
						{"10", "11", "2", "s", "A simulator"},
						{"10", "11", "2", "s", "A paper"},
						{"null", "11", "null", "s", ""}};
	char folder[CLI_PATH];
	cli_folder(folder);
	write_samples(folder, "a.json", samples, sizeof samples / sizeof *samples);
	saved_pages(folder, "a.json", NULL);
	char *page = cli_read(cli_path(folder, "page.html"), NULL);
	cr_expect(strstr(page, "<p>Published by A paper, 2 figures; A simulator, 1 figure."));
	cr_expect(strstr(page, "<td>A paper, Table 1") && strstr(page, "<td>A simulator, Table 1"), "%s", page);
	free(page);
	cli_remove_folder(folder);
}

/* Returns where a text has "nan" or "inf" as a number, and not within a word; NULL: nowhere. */
static const char *find_no_number(const char *text)
{
	static const char *const names[] = {"nan", "inf"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (const char *at = strstr(text, names[i]); at; at = strstr(at + 1, names[i]))
			if (!islower((unsigned char)at[-1]) && !islower((unsigned char)at[3]))
				return at;
	return NULL;
}

/* A document that was edited may have figures whose quotient or difference is no number of the computer. */
Test(validate_page, has_no_infinities)
{
	static const struct sample samples[] = {
		{"5e-324", "1e308", "0", "s", "p"},      {"5e-324", "-1e308", "1e308", "J", "p"},
		{"-1e308", "1e308", "0", "W", "p"},      {"1", "1e308", "1e308", "fraction", "p"},
		{"1", "-1e308", "0", "fraction", "p"},   {"5e-324", "-1e308", "null", "ratio", "p"},
		{"1e-300", "3e-300", "1e308", "W", "p"}, {"0", "1e308", "1e308", "J", "p"}};
	static const struct sample others[] = {{"5e-324", "5e-324", "0", "s", "p"},
					       {"5e-324", "5e-324", "1e308", "J", "p"},
					       {"-1e308", "1e-308", "0", "W", "p"}};
	static const char *const pages[] = {"page.html", "page.md", "page.tex"};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (int several = 0; several < 2; several++) {
		write_samples(folder, "a.json", several ? others : samples,
			      several ? sizeof others / sizeof *others : sizeof samples / sizeof *samples);
		write_samples(folder, "b.json", samples, sizeof samples / sizeof *samples);
		saved_pages(folder, "a.json", several ? "b.json" : NULL);
		for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
			char *page = cli_read(cli_path(folder, pages[i]), NULL);
			const char *at = find_no_number(page);
			cr_expect(!at, "%s: %.60s", pages[i], at);
			free(page);
		}
	}
	cli_remove_folder(folder);
}
