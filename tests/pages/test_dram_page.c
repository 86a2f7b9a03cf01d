/* SPDX-License-Identifier: MIT
 *
 * Promises of the page of memories: it has every figure of its document and every parameter with its meaning; several
 * documents have a column each, with the change, and what differs between them is said. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/kit/saved_pages.h"

/* Copies a cell of the row of Markdown that begins with a label. */
static const char *cell_of(const char *page, const char *label, int column, char *cell, size_t n)
{
	char begins[100];
	snprintf(begins, sizeof begins, "\n| %s |", label);
	const char *at = strstr(page, begins);
	cr_assert(at, "%s", label);
	for (at = strchr(at, '|'); column > 0; column--)
		at = strchr(at + 1, '|');
	at++;
	at += strspn(at, " ");
	snprintf(cell, n, "%.*s", (int)strcspn(at, "|"), at);
	for (size_t length = strlen(cell); length && cell[length - 1] == ' '; length--)
		cell[length - 1] = '\0';
	return cell;
}

static void expect_numbers(const char *page, json_t *object, const char *without)
{
	const char *key;
	json_t *value;
	json_object_foreach (object, key, value)
		if (json_is_object(value))
			expect_numbers(page, value, without);
		else if (!strstr(without, key))
			expect_value_on_page(page, value, key);
}

Test(dram_page, has_the_figures_of_its_document)
{
	static const char *const presets[] = {"ddr3-2133", "hbm", "gddr6", "diannao-250gbps", "ideal"};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
		saved_document(
			folder,
			(const char *const[]){"dram", "--pattern", "copy", "-n", "2000", "--preset", presets[i], NULL},
			"a.json");
		saved_pages(folder, "a.json", NULL);
		saved_pages_checked(folder, "page.html page.md page.tex");
		char *page = cli_read(cli_path(folder, "page.html"), NULL),
		     *text = cli_read(cli_path(folder, "a.json"), NULL);
		json_t *root = cli_parse_json(text);
		/* the share of hits says what row_hits counts, and the sentence what was offered */
		expect_numbers(page, root, "row_hits requests inject");
		cr_expect(strstr(page, "Pattern copy, 1000 reads and 1000 writes"), "%s", presets[i]);
		if (!i)
			cr_expect(strstr(page,
					 "<td>timing.tRFC<td class=\"n\" data-v=\"278\">278<td>clocks: REF to ACT"));
		if (i == 3)
			cr_expect(strstr(page, "bytes/s: of all requests together"));
		json_decref(root);
		free(text);
		free(page);
	}
	cli_remove_folder(folder);
}

Test(dram_page, several_documents_have_a_column_each)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	saved_document(folder, (const char *const[]){"dram", "--pattern", "stream_rd", "-n", "1000", NULL}, "a.json");
	saved_document(folder,
		       (const char *const[]){"dram", "--pattern", "copy", "-n", "2000", "--channels", "2", NULL},
		       "b.json");
	saved_pages(folder, "a.json", "b.json");
	char *page = cli_read(cli_path(folder, "page.md"), NULL);
	static const char *const says[] = {"| figure | a | b | change | meaning |",
					   "| reads | 1000 | 1000 | 0 | requests |",
					   "| writes | 0 | 1000 |  | requests |",
					   "b: traffic.name copy, was stream_rd",
					   "b: traffic.requests 2000, was 1000",
					   "b: memory.channels 2, was 1",
					   "b: settings.organisation.channels 2, was 1",
					   "| organisation.channels | 1 | 2 | each with its own controller |"};
	for (size_t i = 0; i < sizeof says / sizeof *says; i++)
		cr_expect(strstr(page, says[i]), "%s\n%s", says[i], page);
	cr_expect(!strstr(page, "timing.tRFC 278, was") && !strstr(page, "peak_gb_per_s"));
	free(page);
	cli_remove_folder(folder);
}

/* Cycles of two clocks are no measure of each other; times are. */
Test(dram_page, cycles_of_another_clock_have_no_change)
{
	char folder[CLI_PATH], row[300];
	cli_folder(folder);
	saved_document(folder, (const char *const[]){"dram", "--pattern", "stream_rd", "-n", "1000", NULL}, "a.json");
	saved_document(folder,
		       (const char *const[]){"dram", "--pattern", "stream_rd", "-n", "1000", "--preset", "hbm", NULL},
		       "b.json");
	saved_pages(folder, "a.json", "b.json");
	char *page = cli_read(cli_path(folder, "page.md"), NULL);
	static const char *const in_cycles[] = {"cycles", "latency, mean, in cycles",
						"read latency, longest, in cycles", "rank cycles with a row open",
						"rank cycles with all rows closed"};
	static const char *const in_time[] = {"time", "latency, mean", "read latency, longest"};
	for (size_t i = 0; i < sizeof in_cycles / sizeof *in_cycles; i++)
		cr_expect_str_eq(cell_of(page, in_cycles[i], 3, row, sizeof row), "", "%s: %s", in_cycles[i], row);
	for (size_t i = 0; i < sizeof in_time / sizeof *in_time; i++)
		cr_expect(strchr(cell_of(page, in_time[i], 3, row, sizeof row), '%'), "%s: %s", in_time[i], row);
	cr_expect(strchr(cell_of(page, "latency, mean", 1, row, sizeof row), 's'), "%s", row);
	cr_expect(strstr(page, "Cycles have no change where the clock is another."));
	cr_expect(strstr(page, "b: memory.clock_hz 500000000, was 1066666667"));
	free(page);
	cli_remove_folder(folder);
}

Test(dram_page, results_that_are_the_same_have_no_list_of_differences)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	saved_document(folder, (const char *const[]){"dram", "--pattern", "stream_rd", "-n", "1000", NULL}, "a.json");
	saved_document(folder, (const char *const[]){"dram", "--pattern", "stream_rd", "-n", "1000", NULL}, "b.json");
	saved_pages(folder, "a.json", "b.json");
	char *page = cli_read(cli_path(folder, "page.html"), NULL);
	cr_expect(strstr(page, "<p>Traffic, memory and parameters are the same."));
	cr_expect(!strstr(page, ", was "));
	free(page);
	cli_remove_folder(folder);
}

/* What a row of a chart says of itself names the figure, and not the chart again. */
Test(dram_page, charts_of_one_result_name_their_figures)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	saved_document(folder, (const char *const[]){"dram", "--pattern", "stream_rd", "-n", "1000", NULL}, "a.json");
	saved_pages(folder, "a.json", NULL);
	char *page = cli_read(cli_path(folder, "page.html"), NULL);
	cr_expect(strstr(page, "<title>peak used\nshare: ") && strstr(page, "<title>mean\nlatency: ") &&
		  strstr(page, "<title>read\nenergy: "));
	free(page);
	cli_remove_folder(folder);
}
