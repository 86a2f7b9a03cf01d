/* SPDX-License-Identifier: MIT
 *
 * Pages as outputs (page.h). A page is made from the JSON of a result: it has the figures that a script reads. */
#include "page.h"

#include <stdlib.h>

#include "common.h"
#include "core/base/refuse.h"

int cli_page_of_documents(const struct page_document *document, int n, const struct page_format *format,
			  struct page_files *files, const char *folder, struct cli_page *page, struct npl_err *err)
{
	*page = (struct cli_page){0};
	if (page_check(document, n, err))
		return err->code;
	struct page_writer writer = {
		.out = open_memstream(&page->text, &page->bytes), .format = format, .files = files, .folder = folder};
	if (!writer.out)
		return npl_no_memory(err);
	int rc = page_put(&writer, document, n, err);
	if (fclose(writer.out) && !rc)
		rc = npl_no_memory(err);
	if (rc) {
		free(page->text);
		page->text = NULL;
		if (files)
			page_files_free(files);
	}
	return rc;
}

int cli_write_page_of(const char *path, const char *json, size_t bytes, struct npl_err *err)
{
	struct page_document document;
	struct cli_page page;
	if (page_document_parse("the result", json, bytes, &document, err))
		return err->code;
	int rc = cli_page_of_documents(&document, 1, &page_html, NULL, NULL, &page, err);
	page_document_free(&document);
	if (rc)
		return rc;
	rc = cli_write(path, page.text, page.bytes, err);
	free(page.text);
	return rc;
}

int cli_write_page(const char *path, void (*writer)(FILE *out, const void *data), const void *data, struct npl_err *err)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return npl_no_memory(err);
	writer(out, data);
	const int rc = fclose(out) ? npl_no_memory(err) : cli_write_page_of(path, text, bytes, err);
	free(text);
	return rc;
}
