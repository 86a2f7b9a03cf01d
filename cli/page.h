/* SPDX-License-Identifier: MIT
 *
 * Pages as outputs of commands. */
#ifndef NPULAB_CLI_PAGE_H
#define NPULAB_CLI_PAGE_H

#include <stdio.h>

#include "pages/page.h"

struct cli_page {
	char *text; /* allocated */
	size_t bytes;
};
/* Makes the page of documents in a format. files: receives its drawings; NULL: they are not wanted. folder: as in
 * page_writer. After an error there is nothing to free. */
int cli_page_of_documents(const struct page_document *document, int n, const struct page_format *format,
			  struct page_files *files, const char *folder, struct cli_page *page, struct npl_err *err);
/* Writes the page of HTML of a result, of which it takes the JSON. */
int cli_write_page_of(const char *path, const char *json, size_t bytes, struct npl_err *err);
/* Writes the page of HTML of a result whose JSON `writer` writes. */
int cli_write_page(const char *path, void (*writer)(FILE *out, const void *data), const void *data,
		   struct npl_err *err);

#endif
