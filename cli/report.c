/* SPDX-License-Identifier: MIT
 *
 * npulab report: makes a page of results that were saved as JSON. */
#include <stdlib.h>

#include "common.h"
#include "page.h"

static int report_main(int argc, char **argv, struct npl_err *err)
{
	const char *path = NULL, *html = NULL;
	const struct cli_option options[] = {CLI_HTML_OPTION(&html), {0}};
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
	struct cli_page page;
	int rc = cli_page_of_document(&document, &page, err);
	if (!rc)
		rc = cli_write(html, page.text, page.bytes, err);
	free(page.text);
	page_document_free(&document);
	return rc;
}

const struct cli_command cli_report = {"report", "RESULT.json --html FILE", "a page from results that --json has saved",
				       report_main};
