/* SPDX-License-Identifier: MIT
 *
 * Pages as outputs (page.h). A page is made from the JSON of a result: it has the figures that a script reads. */
#include "page.h"

#include <stdlib.h>

#include "core/base/refuse.h"

int cli_page_of_document(const struct page_document *document, struct cli_page *page, struct npl_err *err)
{
	*page = (struct cli_page){0};
	if (page_check(document, err))
		return err->code;
	FILE *out = open_memstream(&page->text, &page->bytes);
	if (!out)
		return npl_no_memory(err);
	int rc = page_put(out, document, err);
	if (fclose(out) && !rc)
		rc = npl_no_memory(err);
	if (rc) {
		free(page->text);
		page->text = NULL;
	}
	return rc;
}

int cli_page_of_result(void (*writer)(FILE *out, const void *data), const void *data, struct cli_page *page,
		       struct npl_err *err)
{
	char *text = NULL;
	size_t bytes = 0;
	struct page_document document;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return npl_no_memory(err);
	writer(out, data);
	int rc = fclose(out) ? npl_no_memory(err) : page_document_parse("the result", text, bytes, &document, err);
	free(text);
	if (rc)
		return rc;
	rc = cli_page_of_document(&document, page, err);
	page_document_free(&document);
	return rc;
}
