/* SPDX-License-Identifier: MIT
 *
 * npulab report: makes pages, tables and drawings of results that were saved as JSON. */
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "core/base/refuse.h"
#include "core/files/file.h"
#include "drawing_files.h"
#include "page.h"
#include "pages/csv.h"

/* Where the results of a report go; NULL: they are not wanted. */
struct report_outputs {
	const char *html, *markdown, *latex, *svg, *csv;
};

static int write_in(const struct page_document *document, int n, const struct page_format *format, const char *folder,
		    const char *path, struct npl_err *err)
{
	struct cli_page page;
	if (!path)
		return 0;
	if (cli_page_of_documents(document, n, format, NULL, folder, &page, err))
		return err->code;
	const int rc = cli_write(path, page.text, page.bytes, err);
	free(page.text);
	return rc;
}

static int write_csv(const struct page_document *document, int n, const char *path, struct npl_err *err)
{
	char *text = NULL;
	size_t bytes = 0;
	if (!path)
		return 0;
	if (page_check(document, n, err))
		return err->code;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return npl_no_memory(err);
	int rc = page_csv_put(out, document, n, err);
	if (fclose(out) && !rc)
		rc = npl_no_memory(err);
	if (!rc)
		rc = cli_write(path, text, bytes, err);
	free(text);
	return rc;
}

/* The drawings of the documents; without --svg none. */
static int draw(const struct page_document *document, int n, const char *folder, struct page_files *files,
		struct npl_err *err)
{
	struct cli_page page;
	if (!folder)
		return 0;
	if (cli_page_of_documents(document, n, &page_html, files, NULL, &page, err))
		return err->code;
	free(page.text);
	if (!files->n)
		return npl_fail(err, NPL_EINPUT, "%s: has nothing to draw", document->path);
	return cli_check_drawings(folder, files, err);
}

static int write_markdown(const struct page_document *document, int n, const struct report_outputs *outputs,
			  struct npl_err *err)
{
	char *folder = outputs->svg && outputs->markdown ? cli_folder_as_named_by(outputs->markdown, outputs->svg)
							 : NULL;
	if (outputs->svg && outputs->markdown && !folder)
		return npl_no_memory(err);
	const int rc = write_in(document, n, &page_markdown, folder, outputs->markdown, err);
	free(folder);
	return rc;
}

static int write_outputs(const struct page_document *document, int n, const struct report_outputs *outputs,
			 struct npl_err *err)
{
	struct page_files files = {0};
	int rc = draw(document, n, outputs->svg, &files, err);
	if (!rc && files.n)
		rc = cli_write_drawings(outputs->svg, &files, err);
	page_files_free(&files);
	if (!rc)
		rc = write_in(document, n, &page_html, NULL, outputs->html, err);
	if (!rc)
		rc = write_markdown(document, n, outputs, err);
	if (!rc)
		rc = write_in(document, n, &page_latex, NULL, outputs->latex, err);
	if (!rc)
		rc = write_csv(document, n, outputs->csv, err);
	return rc;
}

static int report(const char *const *path, int n, const struct report_outputs *outputs, struct npl_err *err)
{
	struct page_document *document = calloc((size_t)n + 1, sizeof *document);
	int rc = 0;
	if (!document)
		return npl_no_memory(err);
	npl_file_note_reads(); /* a file among the charts may be one of the results */
	for (int i = 0; i < n && !rc; i++)
		rc = page_document_read(path[i], &document[i], err);
	if (!rc)
		rc = write_outputs(document, n, outputs, err);
	for (int i = 0; i < n; i++)
		page_document_free(&document[i]);
	free(document);
	return rc;
}

static int check_inputs(const char *const *path, int n, struct npl_err *err)
{
	bool has_input = false;
	for (int i = 0; i < n; i++) {
		if (!*path[i])
			return npl_fail(err, NPL_EUSAGE, "report: expected a file, not an empty name");
		if (has_input && !strcmp(path[i], "-"))
			return npl_fail(err, NPL_EUSAGE, "report: standard input is given twice");
		has_input |= !strcmp(path[i], "-");
	}
	return n ? 0 : npl_fail(err, NPL_EUSAGE, "report: expected files that --json has written");
}

static int check_outputs(const struct report_outputs *o, struct npl_err *err)
{
	const struct cli_destination outputs[] = {
		{"--html", o->html}, {"--markdown", o->markdown}, {"--latex", o->latex}, {"--csv", o->csv}};
	if (!o->html && !o->markdown && !o->latex && !o->csv && !o->svg)
		return npl_fail(err, NPL_EUSAGE, "report: expected --html, --markdown, --latex, --csv or --svg");
	if (o->svg && (!*o->svg || cli_is_stdout(o->svg)))
		return npl_fail(err, NPL_EUSAGE, "report: --svg: expected a folder");
	return cli_check_stdout(outputs, sizeof outputs / sizeof *outputs, err);
}

static int report_main(int argc, char **argv, struct npl_err *err)
{
	struct report_outputs outputs = {0};
	const struct cli_option options[] = {
		CLI_HTML_OPTION(&outputs.html),
		{"markdown", CLI_OUTPUT, &outputs.markdown, 0, 0, "FILE",
		 "the tables in Markdown, for issues and wikis"},
		{"latex", CLI_OUTPUT, &outputs.latex, 0, 0, "FILE", "the tables in LaTeX, for papers"},
		{"csv", CLI_OUTPUT, &outputs.csv, 0, 0, "FILE", "the figures as CSV, for spreadsheets"},
		{"svg", CLI_TEXT, &outputs.svg, 0, 0, "FOLDER",
		 "each chart as a file in this folder; --markdown shows them"},
		{0}};
	const char **words = calloc((size_t)argc, sizeof *words);
	bool help_printed = false;
	int n_words = 0;
	int rc = words ? cli_parse(&cli_report, options, argc, argv, words, argc, &n_words, &help_printed, err)
		       : npl_no_memory(err);
	if (!rc && !help_printed)
		rc = check_inputs(words, n_words, err);
	if (!rc && !help_printed)
		rc = check_outputs(&outputs, err);
	if (!rc && !help_printed)
		rc = report(words, n_words, &outputs, err);
	free(words);
	return rc;
}

const struct cli_command cli_report = {"report", "RESULT.json... --html|--markdown|--latex|--csv FILE | --svg FOLDER",
				       "pages, tables and charts of results that --json has saved", report_main};
