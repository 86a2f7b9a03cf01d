/* SPDX-License-Identifier: MIT
 *
 * npulab report: makes a page of results that were saved as JSON. */
#include <stdlib.h>

#include "common.h"
#include "core/base/refuse.h"
#include "pages/page.h"

/* Writes the page, whole or not at all. */
static int write_page(const char *path, const struct page_document *document, struct npl_err *err)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return npl_no_memory(err);
	int rc = page_put(out, document, err);
	if (fclose(out) && !rc)
		rc = npl_no_memory(err);
	if (!rc)
		rc = cli_write(path, text, bytes, err);
	free(text);
	return rc;
}

static int report_main(int argc, char **argv, struct npl_err *err)
{
	const char *path = NULL, *html = NULL;
	const struct cli_option options[] = {
		{"html", CLI_OUTPUT, &html, 0, 0, "FILE", "a page with everything in it; - for standard output"}, {0}};
	struct page_document document;
	bool help_printed;
	int n_words;
	if (cli_parse(&cli_report, options, argc, argv, &path, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!n_words)
		return npl_fail(err, NPL_EUSAGE, "report: expected a file that --json has written");
	if (!html)
		return npl_fail(err, NPL_EUSAGE, "report: expected --html FILE");
	if (page_document_read(path, &document, err))
		return err->code;
	int rc = page_check(&document, err);
	if (!rc)
		rc = write_page(html, &document, err);
	page_document_free(&document);
	return rc;
}

const struct cli_command cli_report = {"report", "RESULT.json --html FILE", "a page from results that --json has saved",
				       report_main};
